//! What each convenience costs in a component: the same app with and without it. A line of
//! `tests/costs/costs.toml` is a feature of that app, the bytes that it may add, and what it is.

use std::fs;
use std::path::PathBuf;

use crate::root;
use crate::run::{cargo, run, text};

/// A line of `costs.toml`.
#[derive(Debug, PartialEq, Eq)]
pub struct Cost {
    /// The feature; `hello` is the app without one.
    pub name: String,
    /// The bytes that it added when the line was written.
    pub bytes: u64,
    /// What it is.
    pub what: String,
}

/// Modules of the framework that an app which says hello has no use for.
const UNUSED: [&str; 24] = [
    "accept",
    "assets",
    "choice",
    "conditional",
    "cookie",
    "cors",
    "date",
    "directory",
    "disposition",
    "etag",
    "form",
    "jar",
    "json_read",
    "json_write",
    "mime",
    "multipart",
    "pairs",
    "problem",
    "quote",
    "range",
    "security",
    "sse",
    "typed",
    "vary",
];

/// Builds all of it and prints the table.
///
/// # Errors
/// When something cannot be built, costs 2 % more than its line says, or costs something without being used.
pub fn print() -> Result<(), String> {
    let (budgets, found) = measure()?;
    println!("{}", table(&found));
    let over = budgets.iter().zip(&found).filter(|(budget, found)| found.bytes > limit(budget.bytes));
    let over: Vec<_> =
        over.map(|(budget, found)| format!("{}: {} of {}", found.name, found.bytes, budget.bytes)).collect();
    if over.is_empty() { Ok(()) } else { Err(format!("over budget: {}", over.join(", "))) }
}

/// Builds all of it, and writes what it finds into `costs.toml` and `docs/costs.md`.
///
/// # Errors
/// When something cannot be built or written, or costs something without being used.
pub fn bless() -> Result<(), String> {
    let (_, found) = measure()?;
    let toml = fs::read_to_string(budgets()).map_err(text)?;
    let comments: String =
        toml.lines().take_while(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    let lines = found.iter().map(|cost| format!("{} = {} # {}\n", cost.name, cost.bytes, cost.what));
    fs::write(budgets(), comments + &lines.collect::<String>()).map_err(text)?;
    for page in pages() {
        let text_before = fs::read_to_string(&page).map_err(text)?;
        let (before, rest) = text_before.split_once("| what |").ok_or("no table")?;
        let after = rest.split_once("|\n\n").map_or("", |(_, after)| after);
        fs::write(page, format!("{before}{}\n\n{after}", table(&found))).map_err(text)?;
    }
    Ok(())
}

/// Returns what the lines say, and what is so.
fn measure() -> Result<(Vec<Cost>, Vec<Cost>), String> {
    unused()?;
    let toml = fs::read_to_string(budgets()).map_err(|error| format!("costs.toml: {error}"))?;
    let budgets = parse(&toml)?;
    let hello = size("")?;
    let found = budgets.iter().map(|cost| {
        let bytes = if cost.name == "hello" { hello } else { size(&cost.name)?.saturating_sub(hello) };
        Ok(Cost { name: cost.name.clone(), bytes, what: cost.what.clone() })
    });
    let found = found.collect::<Result<_, String>>()?;
    Ok((budgets, found))
}

fn table(costs: &[Cost]) -> String {
    let mut rows = vec!["| what | bytes |".to_owned(), "| --- | --: |".to_owned()];
    for cost in costs {
        let plus = if cost.name == "hello" { "" } else { "+" };
        rows.push(format!("| {} | {plus}{} |", cost.what, cost.bytes));
    }
    rows.join("\n")
}

/// Reads the lines of `costs.toml`.
///
/// # Errors
/// When a line is neither empty, a comment, nor a cost with its description.
pub fn parse(toml: &str) -> Result<Vec<Cost>, String> {
    let lines = toml.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let cost = |line: &str| {
        let (name, rest) = line.split_once('=')?;
        let (bytes, what) = rest.split_once('#')?;
        let bytes = bytes.trim().replace('_', "").parse().ok()?;
        Some(Cost { name: name.trim().to_owned(), bytes, what: what.trim().to_owned() })
    };
    lines.map(|line| cost(line).ok_or(format!("costs.toml: `{line}` is not `feature = bytes # what`"))).collect()
}

/// Two percent more, and at least a few bytes: the same code is laid out in more than one way.
fn limit(bytes: u64) -> u64 {
    bytes + (bytes / 50).max(64)
}

/// Shows that what is not used costs nothing: neither source of the app, nor modules of the framework.
fn unused() -> Result<(), String> {
    let (with, without) = (size("")?, size("bare")?);
    if with != without {
        return Err(format!("source that is not used makes {with} of {without} bytes"));
    }
    // With the names of its functions in it, a component tells what it is made of.
    let named = |feature: &str| build(feature, &[("CARGO_PROFILE_RELEASE_STRIP", "false")]);
    let (hello, uses) = (named("")?, named("multipart")?);
    let has = |component: &[u8], module: &str| {
        let mangled = format!("4tabi{}{module}", module.len());
        component.windows(mangled.len()).any(|window| window == mangled.as_bytes())
    };
    if !has(&uses, "multipart") || !has(&hello, "app") {
        return Err("a component has other names than expected, so that what is in it can't be told".to_owned());
    }
    let found: Vec<_> = UNUSED.iter().copied().filter(|module| has(&hello, module)).collect();
    if found.is_empty() { Ok(()) } else { Err(format!("hello has something of {}", found.join(", "))) }
}

/// Returns how large the component with a feature is.
///
/// # Errors
/// When it cannot be built.
pub fn size(feature: &str) -> Result<u64, String> {
    Ok(build(feature, &[])?.len() as u64)
}

fn build(feature: &str, variables: &[(&str, &str)]) -> Result<Vec<u8>, String> {
    let target = tabi_toolchain::TARGET;
    let home = root().join("target/costs");
    // The linker's flags are those of the apps.
    let config = root().join("apps/.cargo/config.toml").display().to_string();
    let arguments = ["build", "--quiet", "--release", "--config", &config, "--target", target, "--features", feature];
    let variables = variables.iter().copied();
    run(cargo().args(arguments).current_dir(folder()).env("CARGO_TARGET_DIR", &home).envs(variables))?;
    fs::read(home.join(target).join("release/costs.wasm")).map_err(text)
}

fn folder() -> PathBuf {
    root().join("tests/costs")
}

fn budgets() -> PathBuf {
    folder().join("costs.toml")
}

/// Returns the documents that have the table.
fn pages() -> [PathBuf; 2] {
    [root().join("docs/costs.md"), root().join("README.md")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_the_table_of_the_budgets() {
        let costs = parse(&fs::read_to_string(budgets()).unwrap()).unwrap();
        for page in pages() {
            let text = fs::read_to_string(&page).unwrap();
            assert!(text.contains(&table(&costs)), "`cargo xtask costs --bless` writes {}", page.display());
        }
        let manifest = fs::read_to_string(folder().join("Cargo.toml")).unwrap();
        for cost in costs.iter().filter(|cost| cost.name != "hello") {
            assert!(manifest.contains(&format!("\n{} = []\n", cost.name)), "there is no feature {}", cost.name);
        }
        assert_eq!(manifest.matches(" = []\n").count(), costs.len(), "a feature without a line, but for `bare`");
    }

    #[test]
    fn lines() {
        let cost = |name: &str, bytes, what: &str| Cost { name: name.into(), bytes, what: what.into() };
        let toml = "# A comment\n\nhello = 13_000 # hello\njson-in=7# `Request::json`\n";
        assert_eq!(parse(toml), Ok(vec![cost("hello", 13_000, "hello"), cost("json-in", 7, "`Request::json`")]));
        for line in ["hello = 7", "hello # 7", "hello = x # y"] {
            assert!(parse(line).is_err(), "{line}");
        }
        assert_eq!((limit(100), limit(10_000)), (164, 10_200));
    }
}
