//! What stands between a Rust toolchain and a component: the standard library for
//! `wasm32-wasip2`, the cargo call, and what of the result nobody needs.
//!
//! ```no_run
//! use std::path::Path;
//! use tabi_toolchain::{Options, build_component};
//!
//! let options = Options { release: true, ..Options::default() };
//! let wasm = build_component(Path::new("apps/hello"), &options, &mut |line| eprintln!("{line}"))?;
//! println!("{}", wasm.display());
//! # Ok::<(), tabi_toolchain::Error>(())
//! ```
//!
//! The standard library comes from `rustup target add`. Where rustup or its server is missing, it is
//! built on the spot from Debian's packages of the very same version ([`ensure_wasm_target`] tells
//! which of the two it does, line by line). In that case `lib/rustlib/wasm32-wasip2/` of the
//! toolchain holds a file `made-by-tabi.txt`, and a later `rustup target add wasm32-wasip2` of
//! your own reports a conflict until that folder is removed.

#![forbid(unsafe_code)]

mod build_std;
mod component;
mod debian;
mod error;
mod install;
mod manifest;
mod messages;
mod paths;
mod process;
mod rustup;
mod shrink;
mod sources;
mod strip;
mod sysroot;

use std::path::Path;

pub use component::{Options, build_component};
pub use error::Error;
pub use strip::strip_sections;
pub use sysroot::Toolchain;

/// The target that components are compiled for, whichever version of `wasi:http` they export.
pub const TARGET: &str = "wasm32-wasip2";

/// Sees to it that the toolchain of the current folder can compile for [`TARGET`].
///
/// Does nothing but ask `rustc` for its folder when all is there already. Otherwise `progress`
/// gets a line as each step starts, and one every few seconds while it lasts.
///
/// # Errors
/// When neither rustup nor Debian's packages can give it; the message says what to type.
pub fn ensure_wasm_target(progress: &mut dyn FnMut(&str)) -> Result<(), Error> {
    ensure_wasm_target_in(Path::new("."), progress)
}

/// Like [`ensure_wasm_target`], for the toolchain that cargo would use in the folder `dir`, which
/// a `rust-toolchain.toml` there may choose.
///
/// # Errors
/// As [`ensure_wasm_target`].
pub fn ensure_wasm_target_in(dir: &Path, progress: &mut dyn FnMut(&str)) -> Result<(), Error> {
    let toolchain = Toolchain::of(dir)?;
    if toolchain.has_target() {
        return Ok(());
    }
    install::install(&toolchain, progress)
}
