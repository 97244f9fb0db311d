//! Servers under load, side by side: builds them, starts them, and writes the tables of `docs/benchmarks.md`.

mod builds;
mod connection;
mod growth;
mod h2load;
mod histogram;
mod java;
mod latency;
mod load;
mod measure;
mod options;
mod page;
mod plot;
mod process;
mod readme;
mod reply;
mod requests;
mod schedule;
mod servers;
mod sweeps;
mod tables;
mod targets;
mod text;

use std::process::ExitCode;
use std::time::Instant;

use builds::Builds;
use options::{Options, USAGE};
use tables::Bench;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match options::parse(&arguments) {
        Ok(None) => {
            print!("{USAGE}");
            Ok(())
        }
        Ok(Some(options)) => run(&options),
        Err(error) => Err(error),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    let unknown = options.tables.iter().find(|name| !tables::NAMES.contains(&name.as_str()));
    if let Some(name) = unknown {
        return Err(format!("there is no table {name}, but {}", tables::NAMES.join(", ")));
    }
    allow_many_files();
    let builds = Builds::prepare(options)?;
    let mut bench = Bench { builds: &builds, options, columns: Vec::new(), skipped: Vec::new() };
    for name in tables::NAMES.into_iter().filter(|name| options.has_table(name)) {
        let (machine, begin) = (page::machine(), Instant::now());
        let table = bench.table(name)?;
        let mut skipped = bench.skipped.clone();
        // Who is missing is said where most are compared.
        if name == "hello" {
            skipped.extend(builds.skipped.iter().map(|line| format!("Skipped: {line}")));
        }
        skipped.sort();
        skipped.dedup();
        let skipped: String = skipped.iter().map(|line| format!("\n{line}\n")).collect();
        let text = format!("{machine}\n\n{table}{skipped}");
        println!("## {name}\n\n{text}");
        eprintln!("{name} took {:.0} s", begin.elapsed().as_secs_f64());
        // Targets are about all of a run.
        if options.writes && (name != "targets" || options.tables.is_empty()) {
            page::put(name, &text)?;
            if name == "hello"
                && let Err(why) = readme::refresh()
            {
                eprintln!("the README stays as it is: {why}");
            }
        }
    }
    Ok(())
}

/// Raises the limit of open files as far as it goes; the servers inherit it.
fn allow_many_files() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls get a valid `rlimit`, and touch nothing else.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}
