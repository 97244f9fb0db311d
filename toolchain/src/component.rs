//! From a crate folder to the component's file.

use std::ffi::OsString;
use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::manifest::{self, Package};
use crate::shrink::shrink;
use crate::{Error, TARGET, ensure_wasm_target_in, messages, paths, strip_sections};

/// How a crate is built: the choices that `cargo build` has too.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Optimised, and without names: what is served. Otherwise quick to build, with names for backtraces.
    pub release: bool,
    /// Features of the crate to switch on.
    pub features: Vec<String>,
    /// Whether the crate's default features stay off.
    pub no_default_features: bool,
    /// Whether a `Cargo.lock` that would have to change is an error.
    pub locked: bool,
    /// Whether cargo tells only of warnings and errors.
    pub quiet: bool,
    /// Where cargo puts what it makes, if not where it always does: for a build beside the usual one.
    pub target_dir: Option<PathBuf>,
}

/// Builds the crate in the folder `dir` and returns the file of its component.
///
/// Cargo's own output goes to the standard error as it comes; `progress` gets the lines of
/// [`ensure_wasm_target`](crate::ensure_wasm_target), which is seen to first. A release component is freed of names
/// ([`strip_sections`]) and of what else is there for the parts inside alone, and lies in the folder `tabi` beside cargo's
/// own file, which stays as it is. It names no folder of this machine: paths begin at the repository, or at cargo's folder.
///
/// # Errors
/// When the folder holds no crate that gives a component, the target cannot be installed, or the
/// crate does not compile.
pub fn build_component(dir: &Path, options: &Options, progress: &mut dyn FnMut(&str)) -> Result<PathBuf, Error> {
    let package = manifest::package(&mut cargo(), dir)?;
    ensure_wasm_target_in(dir, progress)?;
    let made = compile(dir, &package, options)?;
    if options.release { stripped(&made) } else { Ok(made) }
}

fn compile(dir: &Path, package: &Package, options: &Options) -> Result<PathBuf, Error> {
    let mut command = cargo();
    command
        .current_dir(dir)
        .args(["build", "--target", TARGET, "--message-format", "json-render-diagnostics"])
        .args(arguments(options))
        .args(if options.release { paths::arguments(dir, &package.workspace) } else { Vec::new() })
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| Error::new(manifest::no_cargo(&error)))?;
    let output = child.stdout.take().map(BufReader::new);
    let made = output.map_or(Ok(None), |output| messages::artifact(output, &package.id));
    let status = child.wait().map_err(|error| Error::new(manifest::no_cargo(&error)))?;
    if !status.success() {
        return Err(Error::new(format!("the crate `{}` does not compile; cargo's messages are above", package.name)));
    }
    let made = made.map_err(|error| Error::new(format!("cargo's output breaks off: {error}")))?;
    made.ok_or_else(|| {
        let place = package.target_dir.display();
        Error::new(format!("cargo built `{}` in {place}, but names no .wasm file of it", package.name))
    })
}

fn arguments(options: &Options) -> Vec<String> {
    let flags = [
        (options.release, "--release"),
        (options.no_default_features, "--no-default-features"),
        (options.locked, "--locked"),
        (options.quiet, "--quiet"),
    ];
    let mut arguments: Vec<String> = flags.iter().filter(|(on, _)| *on).map(|(_, flag)| (*flag).to_owned()).collect();
    if let Some(folder) = &options.target_dir {
        arguments.extend(["--target-dir".to_owned(), folder.display().to_string()]);
    }
    if !options.features.is_empty() {
        arguments.extend(["--features".to_owned(), options.features.join(",")]);
    }
    arguments
}

/// The cargo that runs this program, if one does, so that both are of one toolchain.
fn cargo() -> Command {
    let program = std::env::var_os("CARGO").filter(|path| Path::new(path).is_file());
    let mut command = Command::new(program.unwrap_or_else(|| OsString::from("cargo")));
    // Installing a missing toolchain is the user's decision.
    command.env("RUSTUP_AUTO_INSTALL", "0");
    command
}

/// Writes the component without what nobody needs into a folder of its own: cargo puts its own file back at
/// every build, even when nothing has changed.
fn stripped(made: &Path) -> Result<PathBuf, Error> {
    let fail = |path: &Path, error: &dyn std::fmt::Display| Error::new(format!("{}: {error}", path.display()));
    let folder = made.with_file_name("tabi");
    let target = folder.join(made.file_name().unwrap_or_default());
    let bytes = fs::read(made).map_err(|error| fail(made, &error))?;
    let bytes = strip_sections(&bytes).map_err(|error| fail(made, &error))?;
    let bytes = shrink(&bytes).unwrap_or(bytes);
    // The same bytes keep their time, so that a compile cache or a watcher sees no change.
    if fs::read(&target).is_ok_and(|old| old == bytes) {
        return Ok(target);
    }
    fs::create_dir_all(&folder).map_err(|error| fail(&folder, &error))?;
    let temporary = folder.join(temporary_name());
    fs::write(&temporary, bytes).map_err(|error| fail(&temporary, &error))?;
    fs::rename(&temporary, &target).map_err(|error| fail(&target, &error))?;
    Ok(target)
}

/// A name that no other build uses, in this process or beside it: the same app may be built twice at once.
fn temporary_name() -> String {
    static BUILDS: AtomicUsize = AtomicUsize::new(0);
    format!(".{}-{}", std::process::id(), BUILDS.fetch_add(1, Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::tests::Scratch;

    #[track_caller]
    fn check(options: Options, expected: &[&str]) {
        assert_eq!(arguments(&options), expected, "{options:?}");
    }

    #[test]
    fn passes_the_choices_to_cargo() {
        check(Options::default(), &[]);
        check(Options { release: true, ..Options::default() }, &["--release"]);
        let features = vec!["p3".to_owned(), "json".to_owned()];
        check(
            Options {
                features,
                no_default_features: true,
                locked: true,
                quiet: true,
                target_dir: Some("/t".into()),
                ..Options::default()
            },
            &["--no-default-features", "--locked", "--quiet", "--target-dir", "/t", "--features", "p3,json"],
        );
    }

    #[test]
    fn many_may_write_the_same_file_at_once() {
        let scratch = Scratch::new("strip-race");
        let made = scratch.path().join("app.wasm");
        fs::write(&made, b"\0asm\x0d\0\x01\0\0\x0a\x09producers\x07\0").unwrap();
        for _ in 0..50 {
            let _ = fs::remove_dir_all(scratch.path().join("tabi"));
            let together = std::sync::Barrier::new(8);
            std::thread::scope(|scope| {
                for _ in 0..8 {
                    scope.spawn(|| {
                        together.wait();
                        let target = stripped(&made).unwrap();
                        assert_eq!(fs::read(target).unwrap(), b"\0asm\x0d\0\x01\0\x07\0");
                    });
                }
            });
            assert_eq!(fs::read_dir(scratch.path().join("tabi")).unwrap().count(), 1);
        }
    }

    #[test]
    fn writes_the_stripped_file_once() {
        let scratch = Scratch::new("strip");
        let made = scratch.path().join("app.wasm");
        fs::write(&made, b"\0asm\x0d\0\x01\0\0\x0a\x09producers\x07\0").unwrap();
        let target = stripped(&made).unwrap();
        assert_eq!(target, scratch.path().join("tabi/app.wasm"));
        assert_eq!(fs::read(&target).unwrap(), b"\0asm\x0d\0\x01\0\x07\0");
        let before = fs::metadata(&target).unwrap().modified().unwrap();
        assert_eq!(stripped(&made).unwrap(), target);
        assert_eq!(fs::metadata(&target).unwrap().modified().unwrap(), before);

        fs::write(&made, b"\0asm\x01\0\0\0").unwrap();
        let error = stripped(&made).unwrap_err().to_string();
        assert!(error.ends_with("app.wasm: this is a core module, not a component"), "{error}");
    }
}
