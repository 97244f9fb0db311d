//! Fuzzing led by coverage, with the toolchain that is there: the flags that instrument code are stable ones.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::run::{cargo, run, text};
use crate::{root, say};

/// What `cargo fuzz` passes, but for the sanitizers, which need a nightly compiler.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";

/// What came of one target.
#[derive(Debug, Default, PartialEq, Eq)]
struct Figures {
    executions: u64,
    /// Edges between blocks of code that were run.
    edges: u64,
    /// Inputs that are kept, since each runs code that no other does.
    corpus: u64,
}

/// Only has the targets compile.
///
/// # Errors
/// When they don't.
pub fn check() -> Result<(), String> {
    run(cargo().args(["check", "--bins"]).current_dir(targets()).env("CARGO_TARGET_DIR", home()))
}

/// Runs a target, or all, for so many seconds each, and prints a table.
///
/// # Errors
/// When something was found: the input is in `target/fuzz/artifacts`. When there is no such target.
pub fn all(name: &str, seconds: &str) -> Result<(), String> {
    let seconds: u64 = seconds.parse().map_err(|_| format!("`{seconds}` is no number of seconds"))?;
    let seeds = home().join("seeds");
    let seeds_folder = seeds.display().to_string();
    run(cargo().args(["run", "--release", "--package", "tabi-fuzz", "--", "seeds", &seeds_folder]))?;
    let mut names = names(&seeds)?;
    names.retain(|known| name == "all" || name == known);
    let first = names.first().ok_or_else(|| format!("there is no target {name}"))?;
    let program = build(first)?;
    let mut rows = vec![
        format!("| target | executions in {seconds} s | edges | corpus | found |"),
        "| --- | --: | --: | --: | --- |".to_owned(),
    ];
    let mut found = Vec::new();
    for name in &names {
        let (figures, good) = fuzz(&program, name, seconds)?;
        let end = if good { "nothing" } else { "**something**" };
        rows.push(format!("| {name} | {} | {} | {} | {end} |", figures.executions, figures.edges, figures.corpus));
        found.extend((!good).then_some(name.as_str()));
    }
    println!("{}", rows.join("\n"));
    if found.is_empty() { Ok(()) } else { Err(format!("found something: {}", found.join(", "))) }
}

/// Builds one program; it does for all targets.
fn build(name: &str) -> Result<PathBuf, String> {
    let version = Command::new("rustc").arg("-vV").output().map_err(text)?;
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("rustc names no host")?;
    // With a target the flags are not for build scripts, which could not be linked with them.
    let arguments = ["build", "--release", "--bin", name, "--target", host];
    run(cargo().args(arguments).current_dir(targets()).env("CARGO_TARGET_DIR", home()).env("RUSTFLAGS", FLAGS))?;
    Ok(home().join(host).join("release").join(name))
}

fn fuzz(program: &PathBuf, name: &str, seconds: u64) -> Result<(Figures, bool), String> {
    let (corpus, artifacts) = (home().join("corpus").join(name), home().join("artifacts").join(name));
    fs::create_dir_all(&corpus).map_err(text)?;
    fs::create_dir_all(&artifacts).map_err(text)?;
    let seeds = home().join("seeds");
    say(&format!("fuzzing {name}"));
    let output = Command::new(program)
        .env("TABI_FUZZ_TARGET", name)
        .args([&corpus, &seeds.join(name)])
        .arg(format!("-dict={}", seeds.join(name).with_extension("dict").display()))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .arg(format!("-max_total_time={seconds}"))
        .args(["-timeout=10", "-rss_limit_mb=1024", "-max_len=4096", "-print_final_stats=1"])
        .stdout(Stdio::null())
        .output()
        .map_err(text)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() {
        say(&said);
    }
    Ok((figures(&said), output.status.success()))
}

/// Reads what libFuzzer says of a run.
fn figures(said: &str) -> Figures {
    let number = |word: &str| word.split('/').next().and_then(|word| word.parse().ok());
    let mut figures = Figures::default();
    for line in said.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        for pair in words.windows(2) {
            if let [key, value] = pair
                && let Some(value) = number(value)
            {
                match *key {
                    "cov:" => figures.edges = value,
                    "corp:" => figures.corpus = value,
                    "stat::number_of_executed_units:" => figures.executions = value,
                    _ => {}
                }
            }
        }
    }
    figures
}

fn names(seeds: &PathBuf) -> Result<Vec<String>, String> {
    let folders = fs::read_dir(seeds).map_err(text)?.flatten().filter(|entry| entry.path().is_dir());
    let mut names: Vec<_> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

fn targets() -> PathBuf {
    root().join("framework/fuzz")
}

fn home() -> PathBuf {
    root().join("target/fuzz")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_a_run() {
        let said = "#2\tINITED cov: 5 ft: 6 corp: 1/1b\n#9\tDONE   cov: 1130 ft: 4051 corp: 504/36Kb lim: 1084\n\
            Done 9 runs in 2 second(s)\nstat::number_of_executed_units: 117445\n";
        assert_eq!(figures(said), Figures { executions: 117_445, edges: 1130, corpus: 504 });
        assert_eq!(figures("no: x\n"), Figures::default());
    }
}
