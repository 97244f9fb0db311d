//! The folders of the machine that builds, which are no part of what it builds.
//!
//! A panic names its source file, and of a crate from another folder or from a registry that is the whole path: it would
//! tell everybody how the machine is arranged, and make the component larger or smaller by where it was built.

use std::fs;
use std::path::{Path, PathBuf};

use crate::TARGET;

/// What cargo is told so that paths in the component begin at the repository and at cargo's own folder.
///
/// Flags of the environment (`RUSTFLAGS`) are stronger, and leave these out.
pub(crate) fn arguments(dir: &Path, workspace: &Path) -> Vec<String> {
    let mut folders = vec![(repository(workspace), "")];
    let home = cargo_home();
    folders.extend(home.clone().map(|home| (home, "cargo")));
    let flags: Vec<String> = folders.iter().filter_map(|(from, to)| flag(from, to)).collect();
    if flags.is_empty() {
        return Vec::new();
    }
    let key = match files(dir, home).iter().any(|text| only_for_all(text)) || set("CARGO_BUILD_RUSTFLAGS") {
        true => "build".to_owned(),
        false => format!("target.{TARGET}"),
    };
    vec!["--config".to_owned(), format!("{key}.rustflags=[{}]", flags.join(","))]
}

/// One flag as TOML has it. A path that cannot be written so keeps its folder.
fn flag(from: &Path, to: &str) -> Option<String> {
    let from = from.to_str().filter(|path| !path.contains(['\'', '=', '\n']))?;
    Some(format!("'--remap-path-prefix={from}={to}'"))
}

/// The folder that has the folder `.git`, or the workspace where there is none.
fn repository(workspace: &Path) -> PathBuf {
    workspace.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(workspace).to_owned()
}

fn cargo_home() -> Option<PathBuf> {
    let home = || std::env::home_dir().map(|home| home.join(".cargo"));
    std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home)
}

/// The configuration that cargo reads for the folder.
fn files(dir: &Path, home: Option<PathBuf>) -> Vec<String> {
    let folders = dir.ancestors().map(|folder| folder.join(".cargo")).chain(home);
    folders.filter_map(|folder| fs::read_to_string(folder.join("config.toml")).ok()).collect()
}

fn set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}

/// Whether the user has flags under `build` and none for the target: cargo takes the flags of one place alone, and its
/// own of the target would make it forget the user's.
fn only_for_all(config: &str) -> bool {
    let (mut table, mut build, mut target) = (String::new(), false, false);
    for line in config.lines().map(str::trim) {
        if let Some(header) = line.strip_prefix('[') {
            table = format!("{}.", header.trim_end_matches(']'));
        }
        let key = format!("{table}{line}");
        if line.starts_with('#') || !key.contains("rustflags") {
            continue;
        }
        build |= key.starts_with("build.");
        target |= key.starts_with("target.") && (key.contains("wasm") || key.contains("cfg("));
    }
    build && !target
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::tests::Scratch;

    #[track_caller]
    fn check(config: &str, expected: bool) {
        assert_eq!(only_for_all(config), expected, "{config}");
    }

    #[test]
    fn flags_of_the_user_are_kept() {
        check("", false);
        check("[build]\ntarget = 'wasm32-wasip2'\n", false);
        check("[build]\n# rustflags = ['-O']\n", false);
        check("[build]\nrustflags = ['-O']\n", true);
        check("build.rustflags = ['-O']\n", true);
        check("[target.wasm32-wasip2]\nrustflags = ['-O']\n", false);
        check("[build]\nrustflags = ['-O']\n[target.'cfg(target_family = \"wasm\")']\nrustflags = ['-O']\n", false);
        check("[build]\nrustflags = ['-O']\n[target.x86_64-unknown-linux-gnu]\nrustflags = ['-O']\n", true);
    }

    #[test]
    fn a_path_is_told_where_it_can_be() {
        assert_eq!(flag(Path::new("/a b"), "c").as_deref(), Some("'--remap-path-prefix=/a b=c'"));
        for odd in ["/a'b", "/a=b", "/a\nb"] {
            assert_eq!(flag(Path::new(odd), "c"), None, "{odd:?}");
        }
    }

    #[test]
    fn paths_begin_at_the_repository() {
        let scratch = Scratch::new("paths");
        let app = scratch.path().join("apps/app");
        fs::create_dir_all(&app).unwrap();
        fs::create_dir_all(scratch.path().join(".git")).unwrap();
        assert_eq!(repository(&app), scratch.path());
        fs::create_dir_all(app.join(".cargo")).unwrap();
        for (config, key) in [("", "target.wasm32-wasip2."), ("build.rustflags = ['-O']", "build.")] {
            fs::write(app.join(".cargo/config.toml"), config).unwrap();
            let arguments = arguments(&app, &app);
            let start = format!("{key}rustflags=['--remap-path-prefix={}=',", scratch.path().display());
            assert!(arguments[1].starts_with(&start), "{arguments:?}");
        }
    }
}
