//! The second way's compile step: the standard library from its source, for one target.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::debian::Parts;
use crate::process::Step;
use crate::{TARGET, Toolchain};

/// Compiling `core` shows nothing for as long as it takes, on a slow machine for minutes.
const PATIENCE: u64 = 900;

/// The crate that is compiled so that cargo builds the standard library beneath it.
const CRATE: &str = "tabi-std-carrier";

const MANIFEST: &str =
    "[package]\nname = \"tabi-std-carrier\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n";

/// Variables that would change what is compiled, or where it goes.
const FOREIGN: [&str; 6] = [
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_BUILD_TARGET",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
];

/// Compiles the standard library in `work` and returns its archives.
///
/// # Errors
/// The reason in half a sentence.
pub(crate) fn compile(
    toolchain: &Toolchain,
    parts: &Parts,
    work: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<PathBuf>, String> {
    let folder = work.join("carrier");
    write_crate(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let what = format!("compiling the standard library of rustc {} for {TARGET} (about a minute)", toolchain.release);
    let mut command = cargo(toolchain, parts);
    command.current_dir(&folder).arg("--target-dir").arg(work.join("target"));
    let built = Step::new(&what, PATIENCE).run(&mut command, progress);
    built.map_err(|failure| failure.explain("cargo build -Z build-std"))?;
    let deps = work.join("target").join(TARGET).join("release").join("deps");
    archives(&deps).map_err(|error| format!("{}: {error}", deps.display()))
}

fn write_crate(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("Cargo.toml"), MANIFEST)?;
    fs::write(folder.join("src").join("lib.rs"), "#![no_std]\n")
}

fn cargo(toolchain: &Toolchain, parts: &Parts) -> Command {
    // The toolchain's own programs, not rustup's: in the work folder rustup could choose another one.
    let own = |name: &str, other: OsString| {
        let path = toolchain.sysroot.join("bin").join(name);
        if path.is_file() { path.into_os_string() } else { other }
    };
    let mut command = Command::new(own("cargo", std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())));
    for name in FOREIGN {
        command.env_remove(name);
    }
    let flags = [
        format!("-Lnative={}", parts.libc.display()),
        "-Clink-self-contained=no".to_owned(),
        "-Cembed-bitcode=yes".to_owned(),
        // Panic messages name source files: the same paths as in rustup's library, not a folder
        // that changes from run to run and would make the components differ.
        format!("--remap-path-prefix={}=/rustc/{}/library", parts.library.display(), toolchain.commit),
    ];
    command
        .args(["build", "--release", "-Z", "build-std=std,panic_abort", "--target", TARGET])
        .env("RUSTC", own("rustc", toolchain.rustc.clone()))
        // Unstable options on a stable compiler: what is built is that compiler's own library.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("__CARGO_TESTS_ONLY_SRC_ROOT", &parts.library)
        // With LTO here the archives would hold bitcode alone, and builds without LTO fail to link.
        .env("CARGO_PROFILE_RELEASE_LTO", "off")
        .env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "1")
        .env("CARGO_TERM_COLOR", "never")
        // One flag per element: the path may contain spaces.
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    command
}

fn archives(deps: &Path) -> std::io::Result<Vec<PathBuf>> {
    let carrier = format!("lib{}-", CRATE.replace('-', "_"));
    let mut found = Vec::new();
    for entry in fs::read_dir(deps)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".rlib") && !name.starts_with(&carrier) {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::tests::Scratch;

    #[test]
    fn takes_every_archive_but_that_of_the_carrier() {
        let scratch = Scratch::new("archives");
        for name in ["libstd-1.rlib", "libcore-2.rlib", "libtabi_std_carrier-3.rlib", "libcore-2.rmeta", "core-2.d"] {
            fs::write(scratch.path().join(name), "").unwrap();
        }
        let expected: Vec<_> =
            ["libcore-2.rlib", "libstd-1.rlib"].iter().map(|name| scratch.path().join(name)).collect();
        assert_eq!(archives(scratch.path()).unwrap(), expected);
        assert!(MANIFEST.contains(&format!("{CRATE:?}")));
    }
}
