//! The sizes of the same hello on other frameworks, built from their published crates: `tests/peers`.

use std::fs;

use crate::run::{cargo, run, text};
use crate::{root, say};

/// Builds the peers and prints a row for each: name, bytes as `cargo build` leaves them, and how many crates they
/// compile.
///
/// # Errors
/// When one of them cannot be built.
pub fn print() -> Result<(), String> {
    let folder = root().join("tests").join("peers");
    say("building the peers: their macros take some minutes");
    run(cargo().current_dir(&folder).args(["build", "--release", "--target", tabi_toolchain::TARGET]))?;
    println!("| hello | bytes | crates |\n| --- | --: | --: |");
    for name in ["spin-sdk", "wstd", "wstd-axum"] {
        let built = folder.join("target").join(tabi_toolchain::TARGET).join("release");
        // A library's file has underscores, a program's has not.
        let files = [format!("peer-{name}.wasm"), format!("peer_{}.wasm", name.replace('-', "_"))];
        let bytes = files.iter().find_map(|file| fs::metadata(built.join(file)).ok()).ok_or("no component")?.len();
        println!("| {name} | {bytes} | {} |", crates(&folder, &format!("peer-{name}"))?);
    }
    println!("| tabi | | {} |", crates(&root().join("apps"), "hello")?);
    Ok(())
}

/// Counts the crates that an app compiles, itself among them.
///
/// # Errors
/// When cargo cannot tell.
pub fn crates(workspace: &std::path::Path, package: &str) -> Result<usize, String> {
    let tree = ["tree", "--package", package, "--edges", "normal,build", "--prefix", "none"];
    let output = cargo().current_dir(workspace).args(tree).args(["--target", tabi_toolchain::TARGET]).output();
    let output = String::from_utf8(output.map_err(text)?.stdout).map_err(text)?;
    let mut lines: Vec<&str> = output.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    lines.sort_unstable();
    lines.dedup();
    Ok(lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each crate is time to compile and a thing to trust: a hello compiles no more than these.
    #[test]
    fn a_hello_compiles_few_crates() {
        let apps = root().join("apps");
        for (app, most) in [("hello", 6), ("hello-no-std", 6)] {
            let count = crates(&apps, app).unwrap();
            assert!((3..=most).contains(&count), "{app}: {count}");
        }
    }
}
