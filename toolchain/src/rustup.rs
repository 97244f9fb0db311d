//! The first way: `rustup target add`, within limits and for the active toolchain alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::Step;
use crate::{TARGET, Toolchain};

/// A download that stands still for so many seconds is given up: rustup itself waits for minutes.
const PATIENCE: u64 = 60;

/// Lets rustup install the target.
///
/// # Errors
/// The reason in half a sentence; whatever it is, the other way may still work.
pub(crate) fn add_target(toolchain: &Toolchain, progress: &mut dyn FnMut(&str)) -> Result<(), String> {
    let home = home(toolchain)?;
    let name = toolchain_name(&toolchain.sysroot, &home)
        .ok_or_else(|| format!("{} is not one of rustup's toolchains", toolchain.sysroot.display()))?;
    clear_leftovers(toolchain, &name, progress)?;

    let downloads = home.join("downloads");
    let activity = || folder_size(&downloads);
    let what = format!("rustup target add {TARGET} --toolchain {name}");
    let mut step = Step::new(&what, PATIENCE);
    step.activity = &activity;
    let result = step.run(rustup(toolchain).args(["target", "add", TARGET, "--toolchain", &name]), progress);
    result.map_err(|failure| failure.explain("rustup target add"))?;
    if toolchain.has_target() {
        Ok(())
    } else {
        Err("`rustup target add` reported success, but the target is not there".to_owned())
    }
}

/// What to type for this way.
pub(crate) fn command_line(toolchain: &Toolchain) -> String {
    let name = home(toolchain).ok().and_then(|home| toolchain_name(&toolchain.sysroot, &home));
    match name {
        Some(name) => format!("rustup target add {TARGET} --toolchain {name}"),
        None => format!("rustup target add {TARGET}"),
    }
}

/// A half-installed target makes rustup refuse ("detected conflict") or do nothing ("up to date").
fn clear_leftovers(toolchain: &Toolchain, name: &str, progress: &mut dyn FnMut(&str)) -> Result<(), String> {
    let target = toolchain.target_dir();
    let components = fs::read_to_string(toolchain.rustlib().join("components")).unwrap_or_default();
    let component = format!("rust-std-{TARGET}");
    if components.lines().any(|line| line == component) {
        fill_gaps(toolchain).map_err(|error| format!("{}: {error}", target.display()))?;
        let what = format!("removing what is left of {TARGET}: rustup installed it, but files are missing");
        let mut command = rustup(toolchain);
        command.args(["target", "remove", TARGET, "--toolchain", name]);
        let result = Step::new(&what, PATIENCE).run(&mut command, progress);
        result.map_err(|failure| failure.explain("rustup target remove"))?;
    }
    if target.exists() {
        progress(&format!("removing {}: it is incomplete or of another compiler", target.display()));
        fs::remove_dir_all(&target).map_err(|error| format!("{}: {error}", target.display()))?;
    }
    Ok(())
}

/// Puts an empty file wherever one is missing that rustup has on its list: it removes nothing
/// unless all of them are there.
fn fill_gaps(toolchain: &Toolchain) -> std::io::Result<()> {
    let list = toolchain.rustlib().join(format!("manifest-rust-std-{TARGET}"));
    let list = fs::read_to_string(list).unwrap_or_default();
    let own = format!("lib/rustlib/{TARGET}/");
    for name in list.lines().filter_map(|line| line.strip_prefix("file:")) {
        let path = toolchain.sysroot.join(name);
        if name.starts_with(&own) && !name.contains("..") && !path.exists() {
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            fs::write(path, "")?;
        }
    }
    Ok(())
}

/// The folder in which rustup keeps its toolchains.
fn home(toolchain: &Toolchain) -> Result<PathBuf, String> {
    let output = rustup(toolchain).args(["show", "home"]).output();
    let output = output.map_err(|_| "`rustup` is not installed".to_owned())?;
    let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() && !path.is_empty() {
        Ok(PathBuf::from(path))
    } else {
        Err("`rustup show home` failed".to_owned())
    }
}

/// The name under which rustup knows `sysroot`. A toolchain that was linked from elsewhere has
/// none: rustup adds nothing to those.
fn toolchain_name(sysroot: &Path, home: &Path) -> Option<String> {
    let sysroot = sysroot.canonicalize().ok()?;
    let toolchains = home.join("toolchains").canonicalize().ok()?;
    let name = sysroot.strip_prefix(toolchains).ok()?;
    if name.components().count() == 1 { name.to_str().map(str::to_owned) } else { None }
}

fn rustup(toolchain: &Toolchain) -> Command {
    let mut command = Command::new("rustup");
    // Installing a missing toolchain on the way would change the machine more than was asked for.
    command.current_dir(&toolchain.dir).env("RUSTUP_AUTO_INSTALL", "0").env("RUST_BACKTRACE", "0");
    command
}

/// The bytes of all files in `dir`: it grows while a download gets on.
fn folder_size(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|data| data.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::tests::Scratch;

    #[track_caller]
    fn check(sysroot: &str, expected: Option<&str>) {
        let scratch = Scratch::new("rustup");
        let sysroot = scratch.path().join(sysroot);
        fs::create_dir_all(&sysroot).unwrap();
        fs::create_dir_all(scratch.path().join("home/toolchains")).unwrap();
        assert_eq!(toolchain_name(&sysroot, &scratch.path().join("home")).as_deref(), expected, "{sysroot:?}");
    }

    #[test]
    fn names_only_the_toolchains_that_rustup_manages() {
        check("home/toolchains/stable-x86_64-unknown-linux-gnu", Some("stable-x86_64-unknown-linux-gnu"));
        check("home/toolchains/../toolchains/1.95.0", Some("1.95.0"));
        check("elsewhere/rust/build", None);
        check("home/toolchains/stable/nested", None);
        check("home/toolchains", None);
    }

    #[test]
    fn fills_only_gaps_of_the_target() {
        let scratch = Scratch::new("gaps");
        let toolchain = scratch.toolchain("1.95.0", "598");
        let own = "lib/rustlib/wasm32-wasip2/lib";
        let names = [
            &format!("{own}/self-contained/libc.a"),
            &format!("{own}/kept"),
            "bin/rustc",
            &format!("{own}/../../../x"),
        ];
        let list: String = names.iter().map(|name| format!("file:{name}\n")).collect();
        fs::write(toolchain.rustlib().join("manifest-rust-std-wasm32-wasip2"), list).unwrap();
        fs::create_dir_all(scratch.path().join(own)).unwrap();
        fs::write(scratch.path().join(own).join("kept"), "old").unwrap();
        fill_gaps(&toolchain).unwrap();
        let texts = names.map(|name| fs::read_to_string(scratch.path().join(name)).ok());
        assert_eq!(texts, [Some(String::new()), Some("old".to_owned()), None, None]);
        // Without a list there is nothing to do, and nothing fails.
        fs::remove_file(toolchain.rustlib().join("manifest-rust-std-wasm32-wasip2")).unwrap();
        fill_gaps(&toolchain).unwrap();
    }
}
