//! The short table of the README: some rows of the first table of the page, and some of its columns.

use std::fs;

use crate::builds::root;
use crate::page::{PAGE, find};

/// The columns of the table of the page that the README has, from the name of the server on.
const COLUMNS: [usize; 7] = [0, 1, 3, 4, 6, 9, 10];

/// Gives the README the numbers that the page has.
///
/// # Errors
/// When one of them can't be read or written, or the page lacks a server of the README.
pub fn refresh() -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let (page, file) = (fs::read_to_string(root().join(PAGE)).map_err(text)?, root().join("README.md"));
    let readme = renewed(&fs::read_to_string(&file).map_err(text)?, &page)?;
    fs::write(file, readme).map_err(text)
}

fn renewed(readme: &str, page: &str) -> Result<String, String> {
    let hello = find(page, "hello").ok_or("the page has no table hello")?;
    let (before, rest) = readme.split_once("<!-- speed -->").ok_or("the README has no place for the table")?;
    let (speed, after) = rest.split_once("<!-- /speed -->").ok_or("the table of the README has no end")?;
    let mut lines = Vec::new();
    for line in speed.lines() {
        let name = line.strip_prefix("| ").and_then(|line| line.split(" | ").next());
        lines.push(match name {
            Some(name) if !name.starts_with("server") => row(hello, name)?,
            _ => line.to_owned(),
        });
    }
    Ok([before, "<!-- speed -->", &lines.join("\n"), "\n<!-- /speed -->", after].concat())
}

/// The row of a server, as the README has it.
fn row(table: &str, name: &str) -> Result<String, String> {
    let line = table.lines().find(|line| line.starts_with(&format!("| {name} | ")));
    let cells: Vec<_> = line.ok_or(format!("the page has no row for {name}"))?.split('|').skip(1).collect();
    let cells: Option<Vec<_>> = COLUMNS.iter().map(|column| cells.get(*column).map(|cell| cell.trim())).collect();
    Ok(format!("| {} |", cells.ok_or("the table of the page has other columns")?.join(" | ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_has_the_numbers_of_the_page() {
        let read = |file: &str| fs::read_to_string(root().join(file)).unwrap();
        let readme = read("README.md");
        assert_eq!(renewed(&readme, &read(PAGE)).unwrap(), readme);
    }

    #[test]
    fn rows_that_nobody_measured_are_told() {
        let page = "<!-- table: hello -->\n| a | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 |\n<!-- end of table -->";
        let readme = |row: &str| format!("<!-- speed -->\n\n| server and app |\n|---|\n{row}\n<!-- /speed -->\nx\n");
        assert_eq!(renewed(&readme("| a | old |"), page), Ok(readme("| a | 1 | 3 | 4 | 6 | 9 | 10 |")));
        assert!(renewed(&readme("| b | old |"), page).is_err());
        assert!(renewed("", page).is_err());
        assert!(renewed(&readme("| a | old |"), "").is_err());
    }
}
