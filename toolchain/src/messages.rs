//! Reads what `cargo build` says on its standard output, for the one file that matters.

use std::io::{self, BufRead};
use std::path::PathBuf;

use serde_json::Value;

use crate::manifest::{list, text};

/// The component that cargo made for the package `id`, once its output has ended.
pub(crate) fn artifact(output: impl BufRead, id: &str) -> io::Result<Option<PathBuf>> {
    let mut found = None;
    for line in output.lines() {
        found = from_line(&line?, id).or(found);
    }
    Ok(found)
}

/// Lines that are no message come from build scripts and the like; they are none of ours.
fn from_line(line: &str, id: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    if text(&message, "reason") != "compiler-artifact" || text(&message, "package_id") != id {
        return None;
    }
    let kinds = list(message.get("target")?, "crate_types");
    if !kinds.iter().any(|kind| kind == "cdylib") {
        return None;
    }
    let names = list(&message, "filenames").iter().filter_map(Value::as_str);
    names.map(PathBuf::from).find(|path| path.extension().is_some_and(|extension| extension == "wasm"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lines: &[&str], expected: Option<&str>) {
        let found = artifact(lines.join("\n").as_bytes(), "app 0.1").unwrap();
        assert_eq!(found, expected.map(PathBuf::from), "{lines:?}");
    }

    #[test]
    fn finds_the_file_of_the_package() {
        let ours = r#"{"reason":"compiler-artifact","package_id":"app 0.1","target":{"crate_types":["cdylib","rlib"]},"filenames":["/t/libapp.rlib","/t/app.wasm"]}"#;
        let other = r#"{"reason":"compiler-artifact","package_id":"dep 1.0","target":{"crate_types":["cdylib"]},"filenames":["/t/dep.wasm"]}"#;
        let bin = r#"{"reason":"compiler-artifact","package_id":"app 0.1","target":{"crate_types":["bin"]},"filenames":["/t/main.wasm"]}"#;
        let script = r#"{"reason":"build-script-executed","package_id":"app 0.1"}"#;
        check(&[other, script, ours, bin, r#"{"reason":"build-finished","success":true}"#], Some("/t/app.wasm"));
        check(&["a line of a program", "", "{\"reason\":", ours, "[1]", "null"], Some("/t/app.wasm"));
        check(&[other, bin], None);
        check(&[r#"{"reason":"compiler-artifact","package_id":"app 0.1"}"#], None);
        check(&[], None);
    }
}
