//! Components under real servers: `tabi serve`, `wasmtime serve`, or whatever `TABI_SERVER` says.
//!
//! `TABI_SERVER` is a command in which `{component}` stands for the file and `{address}`, `{host}` and `{port}` for where to
//! listen, for example `jco serve {component} --host {host} --port {port}`. With it, the corpus runs against that server
//! instead of the two that are built here.

mod endpoints;
mod server;

pub use endpoints::{endpoints, nobody};
pub use server::{Server, release};

use std::path::PathBuf;

/// Returns the release component of an app, and builds it where that has not been done.
///
/// # Panics
/// Where it can't be built.
#[must_use]
pub fn component(app: &str) -> PathBuf {
    build(app, &tabi_toolchain::Options { release: true, ..tabi_toolchain::Options::default() })
}

/// Returns the release component of an app for WASI 0.3, and builds it where that has not been done.
///
/// # Panics
/// Where it can't be built.
#[must_use]
pub fn component_p3(app: &str) -> PathBuf {
    build(app, &xtask::apps::p3())
}

fn build(app: &str, options: &tabi_toolchain::Options) -> PathBuf {
    let built = xtask::apps::build(&xtask::root().join("apps").join(app), options);
    built.unwrap_or_else(|error| panic!("{app}: {error}"))
}

/// Returns the names of all apps.
///
/// # Panics
/// Where the folder can't be read.
#[must_use]
pub fn apps() -> Vec<String> {
    let folders = xtask::apps::folders().unwrap_or_else(|error| panic!("{error}"));
    folders.iter().filter_map(|folder| Some(folder.file_name()?.to_str()?.to_owned())).collect()
}

/// Returns the folder of the corpus that an app answers: that of the app, or that of its twin with std.
#[must_use]
pub fn corpus_of(app: &str) -> Option<&str> {
    let name = app.strip_suffix("-no-std").unwrap_or(app);
    xtask::root().join("tests/corpus/cases").join(name).is_dir().then_some(name)
}
