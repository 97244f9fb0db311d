//! The server as one file that needs nothing of the system but its kernel.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::{cargo, output, run, text};
use crate::{root, say, sizes, train};

/// Everything is in the file.
const STATIC: [&str; 2] = ["-C", "target-feature=+crt-static"];

/// How the file is linked: the list of addresses to adjust in its short form, and of functions that come to the same code one,
/// as nothing here tells them apart by where they are.
const LINK: [&str; 5] = ["--", "-C", "link-arg=-Wl,-z,pack-relative-relocs", "-C", "link-arg=-Wl,--icf=all"];

/// Builds `tabi` with everything linked into it, and says where it is and how large; with the flag `--no-compiler` one
/// that serves what was compiled before, and keeps no keys in files unless `--redb` is there, too. With `--pgo` it is built
/// twice, the second time with what the compiler has learned of the first at work.
///
/// # Errors
/// When it can't be built, still wants a loader of shared libraries, or is larger than `sizes.toml` says.
pub fn build(flags: &[&str]) -> Result<(), String> {
    let (profile, features, name) = match flags {
        [] => ("dist", "compiler,redb", "tabi"),
        ["--pgo"] => ("dist", "compiler,redb", "tabi-pgo"),
        ["--no-compiler"] => ("small", "", "tabi-no-compiler"),
        ["--no-compiler", "--redb"] => ("small", "redb", "tabi-no-compiler-redb"),
        _ => return Err("dist takes nothing but --pgo, --no-compiler, or --no-compiler --redb".to_owned()),
    };
    let budget = sizes::program(flags)?;
    let version = output(std::process::Command::new("rustc").arg("-vV"))?;
    let triple = version.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("rustc does not name its host")?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let compile = |more: &[&str]| {
        // With `--target` the flags are for the program alone, and not for build scripts and macros.
        let arguments = ["rustc", "--profile", profile, "--package", "tabi-host", "--bin", "tabi", "--target", triple];
        let features = ["--no-default-features", "--features", features];
        let flags = [&STATIC, more].concat().join("\x1f");
        run(cargo().args(arguments).args(features).args(LINK).env("CARGO_ENCODED_RUSTFLAGS", flags))?;
        Ok::<_, String>(target.join(triple).join(profile).join("tabi"))
    };
    let built = if flags.contains(&"--pgo") {
        let counting = |raw: &Path| compile(&["-C", &format!("profile-generate={}", raw.display())]);
        let learned = train::train(&target.join("pgo"), triple, counting)?;
        compile(&["-C", &format!("profile-use={}", learned.display())])?
    } else {
        compile(&[])?
    };
    // Each form has a name of its own, so that one does not take the place of the other.
    let folder = target.join(triple).join("dist/forms");
    let program = folder.join(name);
    fs::create_dir_all(&folder).map_err(text)?;
    fs::copy(built, &program).map_err(text)?;
    let bytes = fs::read(&program).map_err(text)?;
    if wants_loader(&bytes)? {
        return Err(format!("{} is not static: it wants shared libraries", program.display()));
    }
    say(&format!("{} is static and has {} bytes, of {budget} that it may have", shown(&program), bytes.len()));
    if bytes.len() as u64 > budget { Err(format!("{} is over its budget", shown(&program))) } else { Ok(()) }
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
