//! The house rules that a machine can check. Each is a function from a file to its offences, with a
//! table of what it lets pass and what not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A rule: the path below the repository's root, with `/`, and the text give one line per offence.
type Rule = fn(&str, &str) -> Vec<String>;

const RULES: [(&str, Rule); 6] = [
    ("files are short", short),
    ("files say what they are", introduced),
    ("WASI stays in its room", layered),
    ("nothing is left to do", finished),
    ("exceptions have reasons", reasoned),
    ("no machine and no registry is named", portable),
];

const LINES: usize = 400;

#[test]
fn files_keep_the_house_rules() {
    let mut offences = Vec::new();
    for path in tracked() {
        // What is not text has no lines to judge.
        let Ok(text) = fs::read_to_string(root().join(&path)) else { continue };
        for (name, rule) in RULES {
            offences.extend(rule(&path, &text).into_iter().map(|offence| format!("{path}: {name}: {offence}")));
        }
    }
    assert!(offences.is_empty(), "\n{}\n", offences.join("\n"));
}

/// The server knows nothing of the framework, so each has the table; files are of the same type from both.
#[test]
fn both_tables_of_content_types_are_the_same() {
    let table = |path: &str| {
        let text = fs::read_to_string(root().join(path)).unwrap();
        let begin = text.find("const TABLE").unwrap_or_else(|| panic!("{path} has no table"));
        let end = text[begin..].find("];").unwrap_or_else(|| panic!("the table of {path} has no end"));
        text[begin..begin + end].to_owned()
    };
    let (framework, host) = (table("framework/src/mime.rs"), table("host/src/media.rs"));
    assert!(framework.contains("\"html\""), "{framework}");
    assert_eq!(framework, host);
}

#[test]
fn every_app_has_tests() {
    let apps = xtask::apps::folders().unwrap();
    assert!(!apps.is_empty(), "there are no apps");
    let untested: Vec<_> = apps.iter().filter(|app| !has_test(app)).collect();
    assert!(untested.is_empty(), "apps without a test: {untested:?}");
}

fn short(path: &str, text: &str) -> Vec<String> {
    let lines = text.lines().count();
    let limit = if path == "ARCHITECTURE.md" { 200 } else { LINES };
    let counts = is_own_source(path) || path == "ARCHITECTURE.md";
    if counts && lines > limit { vec![format!("{lines} lines, at most {limit}")] } else { Vec::new() }
}

fn introduced(path: &str, text: &str) -> Vec<String> {
    let first = text.lines().next().unwrap_or_default();
    if is_own_source(path) && !first.starts_with("//! ") {
        vec!["the first line is no `//!`".to_owned()]
    } else {
        Vec::new()
    }
}

fn layered(path: &str, text: &str) -> Vec<String> {
    if !path.starts_with("framework/src/") || path.starts_with("framework/src/wasi/") {
        return Vec::new();
    }
    // The compiler's target has the same name as the bindings.
    let names = |line: &str| {
        let line = line.replace("wasm32-wasip2", "");
        line.contains("wasip2") || line.contains("wasip3")
    };
    numbered(text, names)
}

fn finished(path: &str, text: &str) -> Vec<String> {
    let marks = [["TO", "DO"], ["FIX", "ME"], ["todo", "!("], ["unimpl", "emented!("], ["db", "g!("]]
        .map(|parts| parts.concat());
    if !path.ends_with(".rs") {
        return Vec::new();
    }
    numbered(text, |line| marks.iter().any(|mark| has_word(line, mark)))
}

/// An attribute may span lines: it ends at the bracket that closes it.
fn reasoned(path: &str, text: &str) -> Vec<String> {
    if !path.ends_with(".rs") {
        return Vec::new();
    }
    let mut offences = Vec::new();
    let starts = ["allow(", "expect("].iter().flat_map(|name| ["#[", "#!["].map(|open| format!("{open}{name}")));
    for start in starts {
        for (index, _) in text.match_indices(&start) {
            let (before, attribute) = text.split_at(index);
            let line_start = before.rsplit('\n').next().unwrap_or_default();
            let attribute = attribute.split_once(")]").map_or(attribute, |(inside, _)| inside);
            if line_start.trim().is_empty() && !attribute.contains("reason = ") {
                offences.push(format!("line {}: {start}…) without a reason", before.lines().count() + 1));
            }
        }
    }
    offences
}

fn portable(path: &str, text: &str) -> Vec<String> {
    // The lock file names the registry by itself.
    if path.ends_with("Cargo.lock") {
        return Vec::new();
    }
    let names = [
        ["crates", ".io"],
        ["deb.deb", "ian"],
        ["static.rust", "-lang"],
        ["pypi", ".org"],
        ["npmjs", ".org"],
        ["registry.npm", "js"],
        ["proxy.go", "lang"],
        ["/root", "/"],
        ["/home", "/"],
    ]
    .map(|parts| parts.concat());
    numbered(text, |line| names.iter().any(|name| line.contains(name)))
}

fn is_own_source(path: &str) -> bool {
    let crates = ["framework/src/", "host/src/", "toolchain/src/", "xtask/src/"];
    path.ends_with(".rs") && crates.iter().any(|folder| path.starts_with(folder))
}

/// Whether `line` has `word` on its own, not within a longer one such as `TODOS`.
fn has_word(line: &str, word: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    line.match_indices(word).any(|(index, _)| {
        let (before, after) = line.split_at(index);
        let after = after.strip_prefix(word).unwrap_or_default();
        !before.ends_with(is_letter) && (word.ends_with('(') || !after.starts_with(is_letter))
    })
}

fn numbered(text: &str, is_offence: impl Fn(&str) -> bool) -> Vec<String> {
    let lines = text.lines().enumerate().filter(|(_, line)| is_offence(line));
    lines.map(|(index, line)| format!("line {}: {}", index + 1, line.trim())).collect()
}

fn has_test(app: &Path) -> bool {
    let files = ["src", "tests"].iter().flat_map(|folder| files_below(&app.join(folder)));
    files.filter_map(|file| fs::read_to_string(file).ok()).any(|text| text.contains("#[test]"))
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

/// The files that git has or would take, so that an offence shows before it is committed.
fn tracked() -> Vec<String> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").args(arguments).current_dir(root()).output().expect("git is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("paths are text");
    let files: Vec<_> = text.split_terminator('\0').map(str::to_owned).collect();
    assert!(files.iter().any(|file| file == "xtask/tests/tidy.rs"), "git lists other files than this one: {files:?}");
    files
}

fn root() -> PathBuf {
    xtask::root()
}

mod rules {
    use super::*;

    /// Each text with the number of offences that the rule finds in it.
    #[track_caller]
    fn check(rule: Rule, path: &str, cases: &[(&str, usize)]) {
        for (text, expected) in cases {
            let found = rule(path, text);
            assert_eq!(found.len(), *expected, "{path}: {text:?} gives {found:?}");
        }
    }

    #[test]
    fn short_files() {
        let (fits, long) = ("x\n".repeat(400), "x\n".repeat(401));
        check(short, "host/src/a.rs", &[(&fits, 0), (&long, 1)]);
        check(short, "tests/corpus/a.http", &[(&long, 0)]);
        check(short, "ARCHITECTURE.md", &[(&"x\n".repeat(200), 0), (&"x\n".repeat(201), 1)]);
    }

    #[test]
    fn introduced_files() {
        check(
            introduced,
            "framework/src/wasi/p2.rs",
            &[("//! What it is.\n", 0), ("\n//! Late", 1), ("//!x", 1), ("use x;", 1), ("", 1)],
        );
        check(introduced, "framework/tests/a.rs", &[("use x;", 0)]);
    }

    #[test]
    fn layers() {
        let cases =
            [("use wasip2::http;", 1), ("x\nwasip3::y\nwasip2", 2), ("cargo build --target wasm32-wasip2", 0), ("", 0)];
        check(layered, "framework/src/body.rs", &cases);
        check(layered, "framework/src/wasi/p2.rs", &[("use wasip2::http;", 0)]);
        check(layered, "host/src/a.rs", &[("use wasip2::http;", 0)]);
    }

    #[test]
    fn finished_files() {
        let mark = ["TO", "DO"].concat();
        let (alone, within, call) =
            (format!("// {mark}: x"), format!("const {mark}S: u8"), format!("{}!()", mark.to_lowercase()));
        check(
            finished,
            "apps/x/src/lib.rs",
            &[(&alone, 1), (&within, 0), (&call, 1), ("fn todo(x: u8)", 0), ("autodo!(", 0)],
        );
        check(finished, "README.md", &[(&alone, 0)]);
    }

    #[test]
    fn reasons() {
        check(
            reasoned,
            "a.rs",
            &[
                ("#[allow(dead_code)]", 1),
                ("    #![allow(dead_code)]\n#[expect(unused)]", 2),
                ("#[allow(dead_code, reason = \"a cause\")]", 0),
                ("#[expect(\n    unused,\n    reason = \"a cause\"\n)]", 0),
                ("#[allow(\n    unused,\n)]\nfn x() {}\n#[allow(y, reason = \"z\")]", 1),
                ("// no `#[allow(x)]` here", 0),
                ("let allow = 5;", 0),
            ],
        );
    }

    #[test]
    fn portable_files() {
        let host = ["https://crates", ".io/x"].concat();
        check(
            portable,
            "README.md",
            &[(&host, 1), ("https://example.org/", 0), (&["cd /ho", "me/ada"].concat(), 1), ("GET /houses/7", 0)],
        );
        check(portable, "apps/Cargo.lock", &[(&host, 0)]);
    }
}
