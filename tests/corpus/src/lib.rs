//! HTTP exchanges as files, and what sends them: natively, to a component, to any server.
//!
//! `README.md` beside this crate says how the files are written.

mod case;
mod message;
mod native;
mod wire;

pub use case::Case;
pub use message::{Answer, Request};
pub use native::native;
pub use wire::{connect, exchange};

use std::path::{Path, PathBuf};

/// Returns the cases of an app that a lane runs, in order.
///
/// # Panics
/// Where the app has none, or one is not well-formed.
#[must_use]
pub fn cases(app: &str, lane: &str) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases").join(app);
    let mut files = Vec::new();
    find(&folder, &mut files);
    files.sort();
    assert!(!files.is_empty(), "no cases in {}", folder.display());
    let filter = std::env::var("TABI_CASES").unwrap_or_default();
    let files = files.iter().filter(|file| file.to_string_lossy().contains(&filter));
    let cases = files.map(|file| Case::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display())));
    cases.filter(|case| case.runs_in(lane)).collect()
}

/// Sends each case and holds the answers against the files.
///
/// # Panics
/// Where one is not as expected; the message names all of them.
#[track_caller]
pub fn check(app: &str, lane: &str, mut send: impl FnMut(&Request) -> Result<Answer, String>) {
    let bless = lane == "native" && std::env::var_os("TABI_BLESS").is_some();
    let mut faults = Vec::new();
    let cases = cases(app, lane);
    for case in &cases {
        let fault = match send(&case.request) {
            Ok(answer) if bless => case.bless(&answer).err(),
            Ok(answer) => case.fault(&answer),
            Err(error) => Some(error),
        };
        if let Some(fault) = fault {
            faults.push(format!("{}\n{fault}", case.file.display()));
        }
    }
    assert!(
        faults.is_empty(),
        "{} of {} exchanges in the lane `{lane}`:\n\n{}",
        faults.len(),
        cases.len(),
        faults.join("\n\n")
    );
    eprintln!("{app}: {} exchanges in the lane `{lane}`", cases.len());
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            find(&path, files);
        } else if path.extension().is_some_and(|end| end == "http") {
            files.push(path);
        }
    }
}
