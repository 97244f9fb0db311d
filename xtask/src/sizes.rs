//! The sizes of the components. A line of `sizes.toml` is an app, perhaps with flags of cargo, and
//! the bytes that it may have: `"hello --no-default-features" = 16384`.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::run::text;
use crate::{apps, root};

/// A line of `sizes.toml`: above the table `[program]` an app, below it a form of `tabi`.
#[derive(Debug, PartialEq, Eq)]
pub struct Budget {
    /// The app's folder in `apps/`.
    pub app: String,
    /// The flags that make this variant of it.
    pub flags: Vec<String>,
    /// The bytes that `tabi build` may give.
    pub bytes: u64,
}

/// How large a component turned out.
#[derive(Debug)]
pub struct Size {
    /// The file as cargo leaves it.
    pub plain: u64,
    /// Without names and such: what `tabi build` gives.
    pub stripped: u64,
    /// The latter, compressed; 0 where there is no gzip.
    pub gzip: u64,
}

/// Reads the lines of `sizes.toml`.
///
/// # Errors
/// When a line is neither empty, a comment, nor a budget.
pub fn parse(toml: &str) -> Result<Vec<Budget>, String> {
    let lines = toml.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    lines.filter(|line| !line.is_empty()).map(budget).collect()
}

/// Returns what `cargo xtask dist` with these flags may leave.
///
/// # Errors
/// When `sizes.toml` does not say.
pub fn program(flags: &[&str]) -> Result<u64, String> {
    let (_, programs) = read()?;
    let budget = parse(&programs)?.into_iter().find(|budget| budget.app == "tabi" && budget.flags == flags);
    budget.map(|budget| budget.bytes).ok_or_else(|| format!("sizes.toml has no \"tabi {}\"", flags.join(" ")))
}

/// The two parts of the file: apps and programs.
fn read() -> Result<(String, String), String> {
    let toml = fs::read_to_string(root().join("sizes.toml")).map_err(|error| format!("sizes.toml: {error}"))?;
    let (apps, programs) = toml.split_once("\n[program]\n").ok_or("sizes.toml has no table [program]")?;
    Ok((apps.to_owned(), programs.to_owned()))
}

/// Builds a variant, in a folder of its own so that the usual components stay, and measures it.
///
/// # Errors
/// When it cannot be built, or tells where it was built.
pub fn measure(budget: &Budget) -> Result<Size, String> {
    let apps = root().join("apps");
    let flags: Vec<&str> = budget.flags.iter().map(String::as_str).collect();
    let mut options = apps::options(&flags)?;
    options.release = true;
    options.target_dir = Some(apps.join("target").join("sizes").join(budget.flags.concat()));
    let stripped = apps::build(&apps.join(&budget.app), &options)?;
    // Cargo's own file is one folder above.
    let plain =
        stripped.parent().and_then(Path::parent).map(|folder| folder.join(stripped.file_name().unwrap_or_default()));
    let bytes = fs::read(&stripped).map_err(text)?;
    let here = root().display().to_string().into_bytes();
    if bytes.windows(here.len()).any(|part| part == here) {
        return Err(format!("{} names the folder that it was built in", stripped.display()));
    }
    let plain = fs::metadata(plain.unwrap_or_default()).map_err(text)?.len();
    Ok(Size { plain, stripped: bytes.len() as u64, gzip: gzip(bytes) })
}

/// Prints the table of all budgets.
///
/// # Errors
/// When something cannot be built, or is larger than its budget.
pub fn print() -> Result<(), String> {
    let (apps, _) = read()?;
    let mut rows = vec![
        "| component | budget | `cargo build` | `tabi build` | gzip |\n| --- | --: | --: | --: | --: |".to_owned(),
    ];
    let mut over = Vec::new();
    for budget in parse(&apps)? {
        let size = measure(&budget)?;
        let name = [std::slice::from_ref(&budget.app), &budget.flags].concat().join(" ");
        rows.push(format!("| {name} | {} | {} | {} | {} |", budget.bytes, size.plain, size.stripped, size.gzip));
        if size.stripped > budget.bytes {
            over.push(name);
        }
    }
    println!("{}", rows.join("\n"));
    if over.is_empty() { Ok(()) } else { Err(format!("over budget: {}", over.join(", "))) }
}

fn budget(line: &str) -> Result<Budget, String> {
    let wrong = || format!("sizes.toml: `{line}` is not `app = bytes`");
    let (key, bytes) = line.split_once('=').ok_or_else(wrong)?;
    let mut words = key.trim().trim_matches('"').split_whitespace().map(str::to_owned);
    let app = words.next().ok_or_else(wrong)?;
    let bytes = bytes.trim().replace('_', "").parse().map_err(|_| wrong())?;
    Ok(Budget { app, flags: words.collect(), bytes })
}

fn gzip(bytes: Vec<u8>) -> u64 {
    let command = Command::new("gzip").args(["-9", "-c"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = command else { return 0 };
    // Written on a thread of its own: gzip answers before it has read all.
    if let Some(mut input) = child.stdin.take() {
        std::thread::spawn(move || input.write_all(&bytes));
    }
    child.wait_with_output().map_or(0, |output| output.stdout.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<(&str, &[&str], u64)>) {
        let found = parse(line).map(|budgets| budgets.into_iter().next());
        let expected = expected.map(|(app, flags, bytes)| Budget {
            app: app.into(),
            flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            bytes,
        });
        assert_eq!(found.ok().flatten(), expected, "{line}");
    }

    #[test]
    fn reads_budgets() {
        check("hello = 32768 # with std", Some(("hello", &[], 32768)));
        check("\"api --features json\" = 1_024", Some(("api", &["--features", "json"], 1024)));
        check("# nothing", None);
        check("hello 5", None);
        check("hello = many", None);
        check("\"\" = 5", None);
    }
}
