//! The server under faults and attacks, while ordinary clients go on asking: what became of their requests, and what it
//! cost. Prints the table of `docs/hardening.md`, and with `--bless` writes it there.

#[expect(dead_code, reason = "the tests of the host need more of it")]
#[path = "../../../host/tests/host/frames.rs"]
mod frames;

mod crash;
mod faults;
mod load;

use std::time::Instant;

/// What a fault did to the server and to others.
pub struct Outcome {
    /// Requests of ordinary clients.
    pub requests: u64,
    /// How many of them had no right answer.
    pub failures: u64,
    /// The most memory that the server had, in bytes.
    pub memory: u64,
    /// What else there is to say.
    pub note: String,
}

type Fault = (&'static str, fn() -> Outcome);

const FAULTS: [Fault; 16] = [
    ("nothing, for comparison", faults::nothing),
    ("9,900 idle connections", faults::idle),
    ("9,900 clients at once, a component for 0.3", faults::crowd),
    ("slowloris: 1,000 heads, a byte at a time", faults::slow_heads),
    ("50 clients that ask for an endless answer and read nothing", faults::slow_readers),
    ("64 file descriptors for 300 connections", faults::few_files),
    ("no space for the log", faults::full_log),
    ("no space for compiled components", faults::full_cache),
    ("a guest that traps on every second request", faults::traps),
    ("a new component every 500 ms (SIGHUP)", faults::reloads),
    ("kill -9 while eight clients store values", crash::kill),
    ("random bytes", faults::noise),
    ("HTTP/2: rapid reset", faults::rapid_reset),
    ("HTTP/2: resets that the host is made to send", faults::made_reset),
    ("HTTP/2: CONTINUATION without end", faults::continuation),
    ("HTTP/2: 2,000 streams whose window stays shut", faults::shut_windows),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let bless = arguments.iter().any(|word| word == "--bless");
    let only: Vec<&String> = arguments.iter().filter(|word| !word.starts_with("--")).collect();
    let mut table = String::from("| fault | requests | failed | memory | seconds | |\n|---|--:|--:|--:|--:|---|\n");
    for (name, fault) in FAULTS {
        if !only.is_empty() && !only.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        eprintln!("{name}");
        let begin = Instant::now();
        let Outcome { requests, failures, memory, note } = fault();
        let (memory, seconds) = (memory >> 20, begin.elapsed().as_secs_f64());
        table += &format!("| {name} | {requests} | {failures} | {memory} MiB | {seconds:.1} | {note} |\n");
    }
    print!("{table}");
    if bless {
        write(&table);
    }
}

/// Puts the table where the page has it.
fn write(table: &str) {
    let path = xtask::root().join("docs/hardening.md");
    let text = std::fs::read_to_string(&path).expect("docs/hardening.md");
    let (begin, end) = ("<!-- faults -->\n", "<!-- /faults -->");
    let (before, rest) = text.split_once(begin).expect("the mark before the table");
    let (_, after) = rest.split_once(end).expect("the mark after the table");
    std::fs::write(&path, format!("{before}{begin}{table}{end}{after}")).expect("written");
}
