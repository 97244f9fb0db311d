//! The server as one file that needs nothing of the system but its kernel.

use std::fs;
use std::path::Path;

use crate::run::{cargo, output, run, text};
use crate::{root, say};

/// Builds `tabi` with everything linked into it, and says where it is and how large.
///
/// # Errors
/// When it can't be built, or still wants a loader of shared libraries.
pub fn build() -> Result<(), String> {
    let version = output(std::process::Command::new("rustc").arg("-vV"))?;
    let triple = version.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("rustc does not name its host")?;
    // With `--target` the flags are for the program alone, and not for build scripts and macros.
    let arguments = ["build", "--release", "--package", "tabi-host", "--bin", "tabi", "--target", triple];
    run(cargo().args(arguments).env("RUSTFLAGS", "-C target-feature=+crt-static"))?;
    let program = root().join("target").join(triple).join("release/tabi");
    let bytes = fs::read(&program).map_err(text)?;
    if wants_loader(&bytes)? {
        return Err(format!("{} is not static: it wants shared libraries", program.display()));
    }
    say(&format!("{} is static and has {} bytes", shown(&program), bytes.len()));
    Ok(())
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// Whether a program for Linux names a loader (`PT_INTERP`), as all do that use shared libraries.
fn wants_loader(elf: &[u8]) -> Result<bool, String> {
    const INTERPRETER: u32 = 3;
    let number = |at: usize, length: usize| {
        let bytes = elf.get(at..at + length)?;
        Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    };
    if !elf.starts_with(b"\x7fELF\x02\x01") {
        return Err("this is no 64-bit program for Linux".to_owned());
    }
    let headers = || Some((number(32, 8)?, number(54, 2)?, number(56, 2)?));
    let (begin, size, count) = headers().ok_or("the program is cut off")?;
    let kinds: Option<Vec<_>> = (0..count).map(|index| number(begin + index * size, 4)).collect();
    Ok(kinds.ok_or("the program is cut off")?.contains(&(INTERPRETER as usize)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The head of a program with headers of these kinds.
    fn elf(kinds: &[u8]) -> Vec<u8> {
        let mut elf = b"\x7fELF\x02\x01".to_vec();
        elf.resize(64, 0);
        elf[32] = 64;
        elf[54] = 56;
        elf[56] = u8::try_from(kinds.len()).unwrap();
        for kind in kinds {
            elf.push(*kind);
            elf.resize(elf.len() + 55, 0);
        }
        elf
    }

    #[test]
    fn programs_with_a_loader_are_not_static() {
        assert_eq!(wants_loader(&elf(&[1, 2, 6])), Ok(false));
        assert_eq!(wants_loader(&elf(&[6, 3, 1])), Ok(true));
        assert!(wants_loader(&elf(&[1])[..64]).is_err());
        assert!(wants_loader(b"#!/bin/sh\n").is_err());
        // This very test is linked as programs usually are.
        let own = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(wants_loader(&own), Ok(true));
    }
}
