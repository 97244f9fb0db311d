//! The project's own commands, so that a developer and CI run the same ones.

pub mod apps;
pub mod build_times;
pub mod ci;
pub mod costs;
pub mod dependencies;
pub mod dist;
pub mod encoders;
pub mod fuzz;
pub mod instructions;
pub mod packages;
pub mod peers;
pub mod run;
pub mod sizes;
pub mod train;
pub mod trial;

use std::path::{Path, PathBuf};

/// Returns the folder of the repository.
#[must_use]
pub fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_owned()
}

/// Prints a line of progress; the standard output is for results.
pub fn say(line: &str) {
    eprintln!("{line}");
}
