//! Which toolchain cargo will use in a folder, and what is in it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Error, TARGET};

/// The file that tells a hand-made standard library from rustup's.
pub(crate) const MARKER: &str = "made-by-tabi.txt";

/// The compiler that cargo uses in a folder.
#[derive(Debug, Clone)]
pub struct Toolchain {
    /// The compiler's own folder, which holds the standard libraries.
    pub sysroot: PathBuf,
    /// Its version, such as `1.95.0`.
    pub release: String,
    /// The commit it was made from: two nightlies differ in it.
    pub commit: String,
    /// The folder that was asked for.
    pub(crate) dir: PathBuf,
    /// The program that was asked.
    pub(crate) rustc: OsString,
}

impl Toolchain {
    /// Returns the toolchain that cargo would use in the folder `dir`: `RUSTC` says it, or else the
    /// `rustc` on the path, which asks rustup's settings, `RUSTUP_TOOLCHAIN` and
    /// `rust-toolchain.toml` when it is rustup's.
    ///
    /// # Errors
    /// When there is no `rustc`, or it does not answer (a pinned toolchain that is not installed).
    pub fn of(dir: &Path) -> Result<Self, Error> {
        let rustc = ["RUSTC", "CARGO_BUILD_RUSTC"].iter().find_map(|name| non_empty(name));
        let rustc = rustc.unwrap_or_else(|| "rustc".into());
        // `rustc` answers one question a call.
        let sysroot = ask(&rustc, dir, &["--print", "sysroot"])?;
        let version = ask(&rustc, dir, &["-vV"])?;
        let field = |name: &str| field(&version, name).unwrap_or("unknown").to_owned();
        Ok(Self {
            sysroot: PathBuf::from(sysroot.trim()),
            release: field("release:"),
            commit: field("commit-hash:"),
            dir: dir.to_owned(),
            rustc,
        })
    }

    /// Whether the standard library for [`TARGET`] is whole and belongs to this very compiler.
    #[must_use]
    pub fn has_target(&self) -> bool {
        let target = self.target_dir();
        let marker = fs::read_to_string(target.join(MARKER)).ok();
        is_whole(&target) && marker.is_none_or(|text| self.wrote(&text))
    }

    /// The folder of the target's standard library.
    pub(crate) fn target_dir(&self) -> PathBuf {
        self.rustlib().join(TARGET)
    }

    /// The folder of all standard libraries.
    pub(crate) fn rustlib(&self) -> PathBuf {
        self.sysroot.join("lib").join("rustlib")
    }

    /// The line of a marker that names this compiler. A hand-made library outlives an update of
    /// the toolchain, and the new compiler refuses it.
    pub(crate) fn marker_line(&self) -> String {
        format!("rustc {} ({})", self.release, self.commit)
    }

    fn wrote(&self, marker: &str) -> bool {
        let expected = self.marker_line();
        marker.lines().any(|line| line == expected)
    }
}

/// Whether `target` holds a standard library with its C library. Empty files count for nothing: an
/// interrupted repair may leave some.
pub(crate) fn is_whole(target: &Path) -> bool {
    let lib = target.join("lib");
    let has_libc = fs::metadata(lib.join("self-contained").join("libc.a")).is_ok_and(|file| file.len() > 0);
    has_libc && ["libstd-", "libcore-"].iter().all(|name| has_rlib(&lib, name))
}

fn has_rlib(lib: &Path, prefix: &str) -> bool {
    let Ok(entries) = fs::read_dir(lib) else { return false };
    entries.flatten().any(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let fits = name.starts_with(prefix) && name.ends_with(".rlib");
        fits && entry.metadata().is_ok_and(|file| file.len() > 0)
    })
}

fn non_empty(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// What `rustc` writes when it is called in `dir`.
fn ask(rustc: &OsStr, dir: &Path, arguments: &[&str]) -> Result<String, Error> {
    let mut command = Command::new(rustc);
    // A toolchain that is missing is the user's to install: never change it behind their back.
    command.args(arguments).current_dir(dir).env("RUSTUP_AUTO_INSTALL", "0");
    let reason = match command.output() {
        Ok(output) if output.status.success() => {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) if !dir.is_dir() => {
            return Err(Error::new(format!("{}: {error}", dir.display())));
        }
        Err(error) => error.to_string(),
    };
    Err(Error::new(format!(
        "the Rust compiler `{}` does not answer: {reason}\n\
         Is Rust installed, and its folder on the PATH? `rustc -vV` has to work in this folder.",
        rustc.display()
    )))
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::tests::Scratch;

    #[track_caller]
    fn check(text: &str, expected: (Option<&str>, Option<&str>)) {
        assert_eq!((field(text, "release:"), field(text, "commit-hash:")), expected, "{text}");
    }

    #[test]
    fn reads_the_version_of_rustc() {
        let version = "rustc 1.95.0 (59807616e 2026-04-14)\nbinary: rustc\ncommit-hash: 598\nhost: x86_64\nrelease: 1.95.0\nLLVM version: 22\n";
        check(version, (Some("1.95.0"), Some("598")));
        check("release: 1.97.0-nightly\r\n", (Some("1.97.0-nightly"), None));
        check("", (None, None));
    }

    #[test]
    #[cfg(unix)]
    fn passes_on_what_a_broken_compiler_says() {
        let answer = ask(OsStr::new("false"), Path::new("."), &[]).unwrap_err().to_string();
        assert!(answer.starts_with("the Rust compiler `false` does not answer: \n"), "{answer}");
        let answer = ask(OsStr::new("/nowhere/rustc"), Path::new("."), &[]).unwrap_err().to_string();
        assert!(answer.contains("`/nowhere/rustc` does not answer: No such file"), "{answer}");
        assert!(answer.ends_with("`rustc -vV` has to work in this folder."), "{answer}");
    }

    #[test]
    fn knows_a_whole_library_from_a_half_one() {
        let scratch = Scratch::new("whole");
        let target = scratch.path().join("lib/rustlib").join(TARGET);
        let toolchain = scratch.toolchain("1.95.0", "598");
        let steps: [(&str, &str, bool); 8] = [
            ("lib/libcore-1f.rlib", "x", false),
            ("lib/libstd-1f.rmeta", "x", false),
            ("lib/libstd_detect-1f.rlib", "x", false),
            ("lib/self-contained/libc.a", "x", false),
            ("lib/libstd-1f.rlib", "", false),
            ("lib/libstd-1f.rlib", "x", true),
            (MARKER, "made by hand\nrustc 1.95.0 (598)\n", true),
            (MARKER, "made by hand\nrustc 1.94.0 (123)\n", false),
        ];
        for (file, text, whole) in steps {
            let path = target.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            assert_eq!(toolchain.has_target(), whole, "{file}");
        }
    }

    #[test]
    fn asks_the_real_compiler() {
        let toolchain = Toolchain::of(Path::new(".")).unwrap();
        assert!(toolchain.sysroot.join("lib").is_dir() && toolchain.release.contains('.'), "{toolchain:?}");
        let error = Toolchain::of(Path::new("/not/a/folder")).unwrap_err().to_string();
        assert!(error.starts_with("/not/a/folder: "), "{error}");
    }
}
