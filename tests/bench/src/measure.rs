//! Servers in turns: each is loaded once in every round, so that what else the machine does hits them all alike.

use std::time::Duration;

use crate::h2load::{self, Protocol};
use crate::load::{self, Outcome, Pace};
use crate::process::Process;
use crate::requests::Ask;
use crate::servers::Server;

/// A server with what it is asked.
pub struct Subject {
    /// The server.
    pub server: Server,
    /// The request.
    pub ask: Ask,
    /// How many of what a table is about, where that is up to the server: routes, or apps.
    pub count: usize,
}

/// How to load.
#[derive(Clone, Copy)]
pub struct Plan {
    /// Length of one turn.
    pub time: Duration,
    /// Length of a turn before the first, which does not count: compilers, caches and pools get warm.
    pub warm: Duration,
    /// Turns of each server.
    pub rounds: usize,
    /// How requests get there.
    pub way: Way,
    /// Starts of each server that are timed.
    pub starts: usize,
}

/// How requests get to a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    /// Over so many connections that are never idle.
    Busy(usize),
    /// Over so many connections, so many in a second.
    Rate(usize, f64),
    /// In TLS.
    Secure(Protocol),
}

/// What was found out about a subject.
pub struct Row {
    /// The server.
    pub server: Server,
    /// Right answers per second, for each round, in order.
    pub rates: Vec<f64>,
    p50: Vec<Duration>,
    p99: Vec<Duration>,
    p999: Vec<Duration>,
    /// Processor time of the server for each right answer, for each round.
    cpu: Vec<Duration>,
    /// Wrong answers and broken connections in all rounds.
    pub errors: u64,
    /// What the first one was.
    pub first_error: Option<String>,
    /// The most memory that the server had in use, in bytes.
    pub peak: Option<u64>,
    cold: Vec<Duration>,
}

/// Measures all subjects; those that can't be started are named in `skipped`.
pub fn measure(subjects: Vec<Subject>, plan: Plan, skipped: &mut Vec<String>) -> Vec<Row> {
    let mut running = Vec::new();
    for subject in subjects {
        // Where starts count, and memory, components are compiled before.
        if plan.starts > 0 {
            drop(start(&subject));
        }
        match start(&subject) {
            Ok(process) => running.push((Row::new(subject.server.clone()), subject, process)),
            Err(why) => skipped.push(format!("Skipped: {}: {why}", subject.server.name())),
        }
    }
    for (row, subject, process) in running.iter_mut().filter(|_| !plan.warm.is_zero()) {
        row.turn(subject, process, plan.warm, plan.way, false);
    }
    for round in 1..=plan.rounds {
        for (row, subject, process) in &mut running {
            row.turn(subject, process, plan.time, plan.way, true);
            let rate = row.rates.last().copied().unwrap_or_default();
            eprintln!("round {round} of {}: {rate:8.0}/s  {}", plan.rounds, row.server.name());
        }
    }
    let mut rows = Vec::new();
    for (mut row, subject, process) in running {
        row.peak = process.peak_memory();
        rows.push((row, subject));
    }
    for _ in 0..plan.starts {
        for (row, subject) in &mut rows {
            row.cold.extend(start(subject).map(|process| process.cold));
        }
    }
    rows.into_iter().map(|(row, _)| row).collect()
}

fn start(subject: &Subject) -> Result<Process, String> {
    let Subject { server, ask, count } = subject;
    server.prepare(*count)?;
    Process::start(&|port, secure| server.command(port, secure, *count), &|address| ask.exchange(address))
}

fn load(subject: &Subject, process: &Process, way: Way, time: Duration) -> Result<Outcome, String> {
    let exchange = || subject.ask.exchange(process.address);
    let run = |connections, pace| {
        let outcome = load::run(process.address, &exchange(), (connections, pace), time);
        outcome.map_err(|error| error.to_string())
    };
    match way {
        Way::Busy(connections) => run(connections, Pace::Busy),
        Way::Rate(connections, rate) => run(connections, Pace::Rate(rate)),
        Way::Secure(protocol) => h2load::run(process.secure, &subject.ask, protocol, time),
    }
}

impl Row {
    fn new(server: Server) -> Self {
        let (rates, p50, p99, p999, cpu, cold) = Default::default();
        Self { server, rates, p50, p99, p999, cpu, errors: 0, first_error: None, peak: None, cold }
    }

    /// Errors count in every turn, also in the one that gets things warm.
    fn turn(&mut self, subject: &Subject, process: &Process, time: Duration, way: Way, counts: bool) {
        let before = process.cpu_time();
        let outcome = match load(subject, process, way, time) {
            Ok(outcome) => outcome,
            Err(error) => {
                eprintln!("{}: {error}", self.server.name());
                self.first_error.get_or_insert(error);
                self.errors += 1;
                return;
            }
        };
        self.errors += outcome.errors;
        if let Some(error) = outcome.first_error {
            eprintln!("{}: {} errors, the first: {error}", self.server.name(), outcome.errors);
            self.first_error.get_or_insert(error);
        }
        if !counts {
            return;
        }
        let answers = outcome.times.total();
        self.rates.push(answers as f64 / outcome.elapsed.as_secs_f64());
        self.p50.push(outcome.times.quantile(0.5));
        self.p99.push(outcome.times.quantile(0.99));
        self.p999.push(outcome.times.quantile(0.999));
        if let (Some(before), Some(after)) = (before, process.cpu_time()) {
            self.cpu.push((after - before).div_f64(answers.max(1) as f64));
        }
    }

    /// Right answers per second in the median round.
    pub fn rate(&self) -> f64 {
        median(&self.rates).unwrap_or_default()
    }

    /// How far the best and the worst round are apart, as a share of the median.
    pub fn spread(&self) -> f64 {
        let (least, most) =
            self.rates.iter().fold((f64::MAX, 0.0_f64), |(least, most), rate| (least.min(*rate), most.max(*rate)));
        if self.rates.is_empty() { 0.0 } else { (most - least) / self.rate().max(1.0) }
    }

    /// The time within which half of the answers came.
    pub fn p50(&self) -> Option<Duration> {
        median(&self.p50)
    }

    /// The time within which 99 of 100 answers came.
    pub fn p99(&self) -> Option<Duration> {
        median(&self.p99)
    }

    /// The time within which 999 of 1,000 answers came.
    pub fn p999(&self) -> Option<Duration> {
        median(&self.p999)
    }

    /// Processor time of the server for an answer.
    pub fn cpu(&self) -> Option<Duration> {
        median(&self.cpu)
    }

    /// From the start of the server to its first answer.
    pub fn cold(&self) -> Option<Duration> {
        median(&self.cold)
    }
}

/// The middle one, or the lower of the two in the middle.
fn median<T: Copy + PartialOrd>(values: &[T]) -> Option<T> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    sorted.get(sorted.len().checked_sub(1)? / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &[f64], expected: Option<f64>) {
        assert_eq!(median(values), expected);
    }

    #[test]
    fn medians() {
        check(&[], None);
        check(&[3.0], Some(3.0));
        check(&[9.0, 1.0], Some(1.0));
        check(&[9.0, 1.0, 5.0], Some(5.0));
    }
}
