//! The load in TLS, by `h2load`, which speaks HTTP/1.1 and HTTP/2; every response is checked as far as it counts them.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::builds::target;
use crate::histogram::Histogram;
use crate::java::found_in_path;
use crate::load::Outcome;
use crate::requests::Ask;

/// What is spoken within TLS.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Protocol {
    /// One request at a time on each of so many connections.
    Http1(usize),
    /// So many connections, and so many requests at a time on each of them.
    Http2(usize, usize),
}

/// Tells whether the program is there.
///
/// # Errors
/// When it is not, with what helps.
pub fn find() -> Result<(), String> {
    let missing = "there is no h2load (as root: apt-get install nghttp2-client)";
    if found_in_path("h2load") { Ok(()) } else { Err(missing.to_owned()) }
}

/// Loads a server for `time`.
///
/// # Errors
/// When the program does not run to its end.
pub fn run(server: SocketAddr, ask: &Ask, protocol: Protocol, time: Duration) -> Result<Outcome, String> {
    let text = |error: std::io::Error| error.to_string();
    let (log, body) = (target().join("h2load.log"), target().join("h2load.body"));
    let _ = fs::remove_file(&log);
    let mut command = Command::new("h2load");
    command.args(["--threads=1", "--warm-up-time=200ms"]).arg(format!("--duration={}ms", time.as_millis()));
    command.arg(format!("--log-file={}", log.display()));
    match protocol {
        Protocol::Http1(connections) => command.arg("--h1").arg(format!("--clients={connections}")),
        Protocol::Http2(connections, streams) => {
            command.arg(format!("--clients={connections}")).arg(format!("--max-concurrent-streams={streams}"))
        }
    };
    // HTTP/2 has no connections that are kept alive by a field.
    for field in ask.fields().filter(|field| !field.starts_with("Connection:")) {
        command.arg(format!("--header={field}"));
    }
    if let Some(bytes) = ask.body() {
        fs::write(&body, bytes).map_err(text)?;
        command.arg(format!("--data={}", body.display()));
    }
    let output = command.arg(format!("https://{server}{}", ask.target())).output().map_err(text)?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        return Err(format!("h2load ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    let summary = Summary::read(&said).ok_or_else(|| format!("h2load said something unknown: {said}"))?;
    summary.outcome(times(&log).map_err(text)?, ask.length(), protocol, time)
}

/// How long each request took.
fn times(log: &Path) -> std::io::Result<Histogram> {
    let mut times = Histogram::default();
    for line in fs::read_to_string(log)?.lines() {
        let mut fields = line.split('\t').skip(1);
        if let (Some("200"), Some(Ok(micros))) = (fields.next(), fields.next().map(str::parse)) {
            times.add(Duration::from_micros(micros));
        }
    }
    Ok(times)
}

/// What h2load says at the end.
#[derive(Debug, PartialEq)]
struct Summary {
    done: u64,
    /// Those without an answer and those with a wrong status.
    failed: u64,
    /// Answers with a status of 200 to 299.
    right: u64,
    /// Bytes of bodies.
    data: u64,
    /// What was spoken.
    protocol: String,
}

impl Summary {
    fn read(said: &str) -> Option<Self> {
        let line = |start: &str| said.lines().find_map(|line| line.strip_prefix(start));
        // "36660 total, 36760 started, …"
        let count = |line: &str, what: &str| {
            let part = line.split(',').find_map(|part| part.trim().strip_suffix(what))?;
            part.trim().parse::<u64>().ok()
        };
        let requests = line("requests:")?;
        // "… total, … headers (space savings 93.51%), 250.61KB (256620) data"
        let data = line("traffic:")?.strip_suffix(") data")?.rsplit_once('(')?.1;
        Some(Self {
            done: count(requests, "done")?,
            failed: count(requests, "failed")?,
            right: count(line("status codes:")?, "2xx")?,
            data: data.parse().ok()?,
            protocol: line("Application protocol: ").unwrap_or("none").to_owned(),
        })
    }

    fn outcome(&self, times: Histogram, length: u64, protocol: Protocol, time: Duration) -> Result<Outcome, String> {
        let wanted = if let Protocol::Http1(_) = protocol { "http/1.1" } else { "h2" };
        if self.protocol != wanted {
            return Err(format!("the server speaks {}, not {wanted}", self.protocol));
        }
        let mut outcome = Outcome { times, elapsed: time, ..Outcome::default() };
        outcome.errors = self.failed.max(self.done.saturating_sub(self.right));
        if outcome.errors > 0 {
            outcome.first_error = Some(format!("{self:?}"));
        }
        // Bytes count from the beginning, answers when all connections are there.
        let least = self.right * length;
        if self.data < least || !self.data.is_multiple_of(length.max(1)) {
            outcome.fail(format!("{} answers have {} bytes, not {length} each", self.right, self.data));
        }
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "Application protocol: h2\n\
        finished in 1.01s, 36660.00 req/s, 1.16MB/s\n\
        requests: 36660 total, 36760 started, 36660 done, 36659 succeeded, 1 failed, 0 errored, 0 timeout\n\
        status codes: 36659 2xx, 0 3xx, 0 4xx, 1 5xx\n\
        traffic: 1.16MB (1212640) total, 288.13KB (295040) headers (space savings 93.51%), 250.61KB (256620) data\n";

    #[track_caller]
    fn check(length: u64, protocol: Protocol, expected: Result<u64, &str>) {
        let summary = Summary::read(SAID).unwrap();
        let outcome = summary.outcome(Histogram::default(), length, protocol, Duration::from_secs(1));
        assert_eq!(outcome.map(|outcome| outcome.errors), expected.map_err(str::to_owned));
    }

    #[test]
    fn reads_what_h2load_says() {
        let protocol = "h2".to_owned();
        let summary = Summary { done: 36660, failed: 1, right: 36659, data: 256_620, protocol };
        assert_eq!(Summary::read(SAID), Some(summary));
        assert_eq!(Summary::read("h2load: command not found"), None);
    }

    #[test]
    fn counts_wrong_answers() {
        let h2 = Protocol::Http2(20, 5);
        check(7, h2, Ok(1));
        check(14, h2, Ok(2));
        check(8, h2, Ok(2));
        check(7, Protocol::Http1(100), Err("the server speaks h2, not http/1.1"));
    }
}
