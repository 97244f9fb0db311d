//! What requests cost guests: instructions, calls to the host and memory, as exact numbers. A line of
//! `tests/instructions/instructions.toml` is a row of `docs/instructions.md` with what it may cost.

use std::fs;
use std::path::{Path, PathBuf};

use tabi_toolchain::Options;

use crate::run::{cargo, output, run, text};
use crate::{apps, root};

/// What the columns are, in the order of the numbers.
const COLUMNS: [&str; 5] = ["first request", "next request", "calls", "4 KiB pages", "memory, KiB"];

/// The rows whose calls are listed by name: others make the same ones.
const LISTED: [&str; 4] = ["raw", "hello", "params", "post-json"];

/// A row.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    /// The name: of a component or what is asked of it.
    pub name: String,
    /// A number for each column.
    pub numbers: [u64; COLUMNS.len()],
}

/// What was measured.
struct Found {
    rows: Vec<Row>,
    /// Row, function and how often.
    calls: Vec<(String, String, u64)>,
}

/// Builds all of it and prints the table.
///
/// # Errors
/// When something can't be built, a row costs 2 % more instructions than its line says, or more of anything else.
pub fn print() -> Result<(), String> {
    let budgets = parse(&fs::read_to_string(budgets()).map_err(text)?)?;
    let found = measure()?;
    println!("{}", table(&found.rows));
    let over: Vec<_> = found.rows.iter().filter_map(|row| excess(row, &budgets)).collect();
    if over.is_empty() { Ok(()) } else { Err(format!("over budget: {}", over.join(", "))) }
}

/// Builds all of it, and writes what it finds into `instructions.toml` and `docs/instructions.md`.
///
/// # Errors
/// When something can't be built or written.
pub fn bless() -> Result<(), String> {
    let found = measure()?;
    let toml = fs::read_to_string(budgets()).map_err(text)?;
    let comments = toml.lines().take_while(|line| line.starts_with('#')).map(|line| format!("{line}\n"));
    let lines = found.rows.iter().map(|row| format!("{} = {}\n", row.name, words(&row.numbers, " ")));
    fs::write(budgets(), comments.chain(lines).collect::<String>()).map_err(text)?;
    let text_before = fs::read_to_string(page()).map_err(text)?;
    let page_text = put(&text_before, "costs", &table(&found.rows))?;
    let page_text = put(&page_text, "calls", &calls(&found.calls))?;
    fs::write(page(), page_text).map_err(text)
}

/// Says what a row has too much of, if anything.
fn excess(row: &Row, budgets: &[Row]) -> Option<String> {
    let Some(budget) = budgets.iter().find(|budget| budget.name == row.name) else {
        return Some(format!("{} has no line", row.name));
    };
    let columns = COLUMNS.iter().zip(row.numbers).zip(budget.numbers);
    let over = columns.enumerate().filter(|(index, ((_, found), budget))| {
        let slack = if *index < 2 { budget / 50 } else { 0 };
        *found > budget + slack
    });
    let over: Vec<_> = over.map(|(_, ((column, found), budget))| format!("{column} {found} of {budget}")).collect();
    (!over.is_empty()).then(|| format!("{}: {}", row.name, over.join(", ")))
}

fn measure() -> Result<Found, String> {
    let folder = root().join("target/instructions");
    fs::create_dir_all(&folder).map_err(text)?;
    let p3 = ["--no-default-features", "--features", "p3"];
    for app in ["hello", "hello-no-std", "json", "bench"] {
        app_component(app, &[], &folder.join(app))?;
        app_component(app, &p3, &folder.join(format!("{app}-p3")))?;
    }
    raw(&folder.join("raw"))?;
    // The whole workspace, so that wasmtime is the one that is compiled already.
    run(cargo().args(["build", "--release", "--quiet", "--workspace", "--bin", "instructions"]))?;
    let program = root().join("target/release/instructions");
    read(&output(std::process::Command::new(program).arg(&folder))?)
}

/// Builds an app as `cargo xtask sizes` does, where it has perhaps been built already.
fn app_component(app: &str, flags: &[&str], to: &Path) -> Result<(), String> {
    let apps = root().join("apps");
    let target_dir = Some(apps.join("target/sizes").join(flags.concat()));
    let options = Options { release: true, target_dir, ..apps::options(flags)? };
    let file = apps::build(&apps.join(app), &options)?;
    fs::copy(file, to.with_extension("wasm")).map(|_| ()).map_err(text)
}

/// Builds hello on nothing but the bindings, with the linker's flags of the apps.
fn raw(to: &Path) -> Result<(), String> {
    let config = root().join("apps/.cargo/config.toml").display().to_string();
    let target = root().join("target/instructions/raw");
    let build = ["build", "--quiet", "--profile", "component", "--package", "raw", "--config", &config];
    let (mut command, workspace) = (cargo(), root().join("tests/bench"));
    run(command
        .current_dir(workspace)
        .args(build)
        .args(["--target", tabi_toolchain::TARGET])
        .env("CARGO_TARGET_DIR", &target))?;
    let file = target.join(tabi_toolchain::TARGET).join("component/raw.wasm");
    fs::copy(file, to.with_extension("wasm")).map(|_| ()).map_err(text)
}

/// Reads what the program prints.
fn read(lines: &str) -> Result<Found, String> {
    let mut found = Found { rows: Vec::new(), calls: Vec::new() };
    for line in lines.lines() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            [row, function, times] => {
                found.calls.push((row.to_owned(), function.to_owned(), times.parse().map_err(text)?));
            }
            [name, ref numbers @ ..] => found.rows.push(row(name, numbers)?),
            [] => {}
        }
    }
    Ok(found)
}

/// Reads the lines of `instructions.toml`.
///
/// # Errors
/// When a line is neither empty, a comment, nor a name with its numbers.
pub fn parse(toml: &str) -> Result<Vec<Row>, String> {
    let lines = toml.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let rows = lines.filter(|line| !line.is_empty()).map(|line| {
        let (name, numbers) = line.split_once('=').ok_or(format!("instructions.toml: `{line}` has no `=`"))?;
        row(name.trim(), &numbers.split_whitespace().collect::<Vec<_>>())
    });
    rows.collect()
}

fn row(name: &str, numbers: &[&str]) -> Result<Row, String> {
    let parsed = numbers.iter().map(|number| number.parse()).collect::<Result<Vec<u64>, _>>();
    let numbers = parsed.ok().and_then(|numbers| numbers.try_into().ok());
    let numbers = numbers.ok_or_else(|| format!("instructions: `{name}` has not {} numbers", COLUMNS.len()))?;
    Ok(Row { name: name.to_owned(), numbers })
}

fn table(rows: &[Row]) -> String {
    let mut lines =
        vec![format!("| request | {} |", COLUMNS.join(" | ")), format!("| --- |{}", " --: |".repeat(COLUMNS.len()))];
    lines.extend(rows.iter().map(|row| format!("| {} | {} |", row.name, words(&row.numbers, " | "))));
    lines.join("\n")
}

/// The table of the functions that requests call.
fn calls(calls: &[(String, String, u64)]) -> String {
    let mut functions: Vec<&str> = calls.iter().map(|(_, function, _)| function.as_str()).collect();
    functions.sort_unstable();
    functions.dedup();
    let times = |row: &str, function: &str| {
        let found = calls.iter().find(|(a, b, _)| a == row && b == function);
        found.map_or(String::new(), |(_, _, times)| times.to_string())
    };
    let mut lines =
        vec![format!("| function | {} |", LISTED.join(" | ")), format!("| --- |{}", " --: |".repeat(LISTED.len()))];
    for function in functions {
        let cells = LISTED.map(|row| times(row, function));
        if cells.iter().any(|cell| !cell.is_empty()) {
            lines.push(format!("| `{function}` | {} |", cells.join(" | ")));
        }
    }
    lines.join("\n")
}

/// Puts a table between its marks.
pub(crate) fn put(page: &str, name: &str, table: &str) -> Result<String, String> {
    let (start, end) = (format!("<!-- {name} -->\n"), format!("\n<!-- /{name} -->"));
    let (before, rest) = page.split_once(&start).ok_or(format!("the page has no mark {name}"))?;
    let (_, after) = rest.split_once(&end).ok_or(format!("the page has no end of {name}"))?;
    Ok([before, &start, table, &end, after].concat())
}

fn words(numbers: &[u64], between: &str) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(between)
}

fn budgets() -> PathBuf {
    root().join("tests/instructions/instructions.toml")
}

fn page() -> PathBuf {
    root().join("docs/instructions.md")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_table_of_the_budgets() {
        let rows = parse(&fs::read_to_string(budgets()).unwrap()).unwrap();
        let page = fs::read_to_string(page()).unwrap();
        assert!(page.contains(&table(&rows)), "`cargo xtask instructions --bless` writes the page");
    }

    #[track_caller]
    fn check(line: &str, expected: Option<&str>) {
        let budgets = parse("# what it may cost\nhello = 1000 500 10 3 128\n").unwrap();
        let row = parse(line).unwrap().remove(0);
        assert_eq!(excess(&row, &budgets).as_deref(), expected, "{line}");
    }

    #[test]
    fn tells_what_is_over() {
        check("hello = 1000 500 10 3 128", None);
        check("hello = 1020 510 9 1 64", None);
        check("hello = 1021 500 10 3 128", Some("hello: first request 1021 of 1000"));
        check("hello = 1000 500 11 3 192", Some("hello: calls 11 of 10, memory, KiB 192 of 128"));
        check("other = 1 1 1 1 1", Some("other has no line"));
    }

    #[test]
    fn reads_lines() {
        assert!(parse("hello = 1 2 3 4").is_err() && parse("hello 5").is_err());
        let found = read("hello 5 4 2 1 64\nhello [method]a 2\n").unwrap();
        assert_eq!(found.rows, parse("hello = 5 4 2 1 64").unwrap());
        assert_eq!(found.calls, [("hello".to_owned(), "[method]a".to_owned(), 2)]);
    }

    #[test]
    fn puts_tables_between_their_marks() {
        let page = "a\n<!-- x -->\nold\n<!-- /x -->\nb\n";
        assert_eq!(put(page, "x", "new").unwrap(), "a\n<!-- x -->\nnew\n<!-- /x -->\nb\n");
        assert!(put(page, "y", "new").is_err());
    }
}
