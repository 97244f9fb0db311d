//! The apps: every folder in `apps/` whose `Cargo.toml` has a package.

use std::fs;
use std::path::{Path, PathBuf};

use tabi_toolchain::{Options, build_component};

use crate::run::text;
use crate::{root, say};

/// Returns the folders of all apps, in order.
///
/// # Errors
/// When `apps/` cannot be read.
pub fn folders() -> Result<Vec<PathBuf>, String> {
    let apps = root().join("apps");
    let entries = fs::read_dir(&apps).map_err(|error| format!("{}: {error}", apps.display()))?;
    let has_package = |folder: &Path| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        manifest.lines().any(|line| line.trim() == "[package]")
    };
    let mut found: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    found.retain(|folder| has_package(folder));
    found.sort();
    Ok(found)
}

/// Builds the release component of every app and returns the files.
///
/// # Errors
/// When one of them cannot be built.
pub fn build_all() -> Result<Vec<PathBuf>, String> {
    let options = Options { release: true, ..Options::default() };
    folders()?.iter().map(|folder| build(folder, &options)).collect()
}

/// Builds the release component of every app for WASI 0.3, in a folder of its own, and returns the files.
///
/// # Errors
/// When one of them cannot be built.
pub fn build_all_p3() -> Result<Vec<PathBuf>, String> {
    folders()?.iter().map(|folder| build(folder, &p3())).collect()
}

/// Returns how a component for WASI 0.3 is built beside the usual one.
#[must_use]
pub fn p3() -> Options {
    Options {
        release: true,
        no_default_features: true,
        features: vec!["p3".to_owned()],
        target_dir: Some(root().join("apps/target/p3")),
        ..Options::default()
    }
}

/// Builds the crate in `folder` with the given flags of cargo, and prints the file.
///
/// # Errors
/// When a flag is unknown, or it cannot be built.
pub fn build_one(folder: &str, flags: &[&str]) -> Result<(), String> {
    let file = build(Path::new(folder), &options(flags)?)?;
    println!("{}", file.display());
    Ok(())
}

/// Reads the flags of cargo that make a variant of an app.
///
/// # Errors
/// When there is one that makes none.
pub fn options(flags: &[&str]) -> Result<Options, String> {
    let mut options = Options::default();
    let mut flags = flags.iter();
    while let Some(&flag) = flags.next() {
        match flag {
            "--release" => options.release = true,
            "--no-default-features" => options.no_default_features = true,
            "--features" => {
                let names = flags.next().ok_or("--features wants names")?;
                options.features.extend(names.split(',').map(str::to_owned));
            }
            _ => return Err(format!("unknown flag {flag}")),
        }
    }
    Ok(options)
}

/// Builds one component.
///
/// # Errors
/// When it cannot be built.
pub fn build(folder: &Path, options: &Options) -> Result<PathBuf, String> {
    say(&format!("building {}", folder.display()));
    build_component(folder, options, &mut say).map_err(text)
}
