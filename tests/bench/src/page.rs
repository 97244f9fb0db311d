//! The page of the documentation that keeps the tables.

use std::fs;
use std::process::Command;

use crate::builds::root;

/// Where it is in the repository.
pub const PAGE: &str = "docs/benchmarks.md";

/// The end of each table.
const END: &str = "<!-- end of table -->";

/// Puts a table into the page, in place of the one that is there.
///
/// # Errors
/// When the page has no place for it, or can't be written.
pub fn put(name: &str, table: &str) -> Result<(), String> {
    let file = root().join(PAGE);
    let text = |error: std::io::Error| format!("{}: {error}", file.display());
    let page = replace(&fs::read_to_string(&file).map_err(text)?, name, table);
    fs::write(&file, page.ok_or(format!("{PAGE} has no place for the table {name}"))?).map_err(text)
}

fn replace(page: &str, name: &str, table: &str) -> Option<String> {
    let begin = begin(name);
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(END)?;
    Some([before, &begin, table, END, after].concat())
}

/// Returns the table that a page has.
pub fn find<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    Some(page.split_once(&begin(name))?.1.split_once(END)?.0)
}

fn begin(name: &str) -> String {
    format!("<!-- table: {name} -->\n")
}

/// Returns a line that says where and when numbers are taken, and how much else the machine does at the time.
pub fn machine() -> String {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    let output = |program: &str, argument: &str| {
        let output = Command::new(program).arg(argument).output();
        let output = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        output.unwrap_or_default()
    };
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let info = read("/proc/cpuinfo");
    let model =
        info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':')).map_or("", |(_, name)| name);
    let (kernel, rustc) = (read("/proc/sys/kernel/osrelease"), output("rustc", "-V"));
    let (kernel, model, date) = (kernel.trim(), model.trim(), output("date", "+%Y-%m-%d"));
    let load = read("/proc/loadavg");
    let load = load.split(' ').next().unwrap_or_default();
    format!("{cores} cores, {model}, Linux {kernel}, {rustc}, {date}, load {load} before the start")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(page: &str, expected: Option<&str>) {
        assert_eq!(replace(page, "a", "new\n").as_deref(), expected);
    }

    #[test]
    fn replaces_its_own_table() {
        let (a, b) = ("<!-- table: a -->\n", "<!-- table: b -->\n");
        let end = "<!-- end of table -->";
        let page = |a_has: &str| format!("top\n{b}theirs\n{end}\n{a}{a_has}{end}\nbottom\n");
        check(&page("old\nold\n"), Some(&page("new\n")));
        check(&page(""), Some(&page("new\n")));
        check("", None);
        check(a, None);
    }

    #[test]
    fn every_table_has_its_place() {
        let page = fs::read_to_string(root().join(PAGE)).unwrap();
        for name in crate::tables::NAMES {
            assert!(replace(&page, name, "").is_some(), "{name}");
        }
    }
}
