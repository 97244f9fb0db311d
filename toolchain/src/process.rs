//! Runs a program that may take long: never in silence, never for ever.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// How often a step that lasts shows a sign of life.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// How long the last output of an ended program is waited for: a program that it started may hold
/// the pipe open.
const DRAIN: Duration = Duration::from_millis(500);

/// One program to run: what to call it, and how long it may go on.
pub(crate) struct Step<'a> {
    /// What is done, as the progress line says it.
    pub(crate) what: &'a str,
    /// The time after which it is stopped without a sign of activity.
    pub(crate) patience: Duration,
    /// A number that changes while the program gets on, besides its output.
    pub(crate) activity: &'a dyn Fn() -> u64,
}

/// Why a program gave no result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It is not installed.
    Missing,
    /// It ended with an error; the last lines that it wrote.
    Failed(String),
    /// It was stopped after so many seconds without a sign of activity.
    Stalled(u64),
}

impl Failure {
    /// The failure of `program` as half a sentence.
    pub(crate) fn explain(&self, program: &str) -> String {
        match self {
            Self::Missing => format!("`{program}` is not installed"),
            Self::Failed(tail) if tail.is_empty() => format!("`{program}` failed without a word"),
            Self::Failed(tail) => format!("`{program}` failed: {tail}"),
            Self::Stalled(seconds) => {
                format!("`{program}` was stopped: no progress for {seconds} s (can its server be reached?)")
            }
        }
    }
}

impl<'a> Step<'a> {
    /// A step that has to write something at least every `seconds`.
    pub(crate) fn new(what: &'a str, seconds: u64) -> Self {
        Self { what, patience: Duration::from_secs(seconds), activity: &|| 0 }
    }

    /// Runs `command` and returns what it wrote to its standard output.
    pub(crate) fn run(&self, command: &mut Command, progress: &mut dyn FnMut(&str)) -> Result<String, Failure> {
        progress(self.what);
        let mut child = match command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() {
            Ok(child) => child,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(Failure::Missing);
            }
            Err(error) => return Err(Failure::Failed(error.to_string())),
        };
        let (sender, lines) = mpsc::channel();
        forward(child.stdout.take(), true, &sender);
        forward(child.stderr.take(), false, &sender);
        drop(sender);

        let mut watch = Watch::start(self);
        let mut output = Output::default();
        let status = loop {
            match lines.recv_timeout(Duration::from_millis(100)) {
                Ok(line) => {
                    watch.active();
                    output.take(line);
                }
                // The pipes are closed: all that is left is to wait for the end.
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(Duration::from_millis(10)),
                Err(RecvTimeoutError::Timeout) => {}
            }
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) => {}
                Err(error) => return Err(Failure::Failed(error.to_string())),
            }
            if watch.stalled(self) {
                // It may have ended by itself in between; either way it is gone after this.
                let _ = child.kill();
                let _ = child.wait();
                return Err(Failure::Stalled(self.patience.as_secs()));
            }
            watch.beat(self, &output, progress);
        };
        while let Ok(line) = lines.recv_timeout(DRAIN) {
            output.take(line);
        }
        if status.success() { Ok(output.stdout) } else { Err(Failure::Failed(output.tail())) }
    }
}

/// The clock of one step.
struct Watch {
    started: Instant,
    last_active: Instant,
    last_beat: Instant,
    activity: u64,
}

impl Watch {
    fn start(step: &Step<'_>) -> Self {
        let now = Instant::now();
        Self { started: now, last_active: now, last_beat: now, activity: (step.activity)() }
    }

    fn active(&mut self) {
        self.last_active = Instant::now();
    }

    fn stalled(&mut self, step: &Step<'_>) -> bool {
        let activity = (step.activity)();
        if activity != self.activity {
            self.activity = activity;
            self.active();
        }
        self.last_active.elapsed() > step.patience
    }

    fn beat(&mut self, step: &Step<'_>, output: &Output, progress: &mut dyn FnMut(&str)) {
        if self.last_beat.elapsed() < HEARTBEAT {
            return;
        }
        self.last_beat = Instant::now();
        // Cargo adds the folder of each crate in brackets: nobody waits for that.
        let last = output.errors.last().map_or(step.what, |line| line.split(" (/").next().unwrap_or(line).trim());
        progress(&format!("  {} s: {last}", self.started.elapsed().as_secs()));
    }
}

/// What a program has written so far.
#[derive(Default)]
struct Output {
    stdout: String,
    errors: Vec<String>,
}

impl Output {
    fn take(&mut self, (is_stdout, line): (bool, String)) {
        if is_stdout {
            self.stdout.push_str(&line);
            self.stdout.push('\n');
        } else if !line.trim().is_empty() {
            self.errors.push(line);
        }
    }

    /// The lines that tell why it failed: those that call themselves errors, or else the last ones.
    fn tail(&self) -> String {
        let is_error = |line: &&String| line.starts_with("error") || line.starts_with("E: ");
        let mut lines: Vec<&str> = self.errors.iter().filter(is_error).map(|line| line.trim()).take(4).collect();
        if lines.is_empty() {
            let skip = self.errors.len().saturating_sub(4);
            lines = self.errors.iter().skip(skip).map(|line| line.trim()).collect();
        }
        lines.join("\n      ")
    }
}

/// Reads `pipe` line by line on a thread of its own, which ends with the pipe.
fn forward(pipe: Option<impl Read + Send + 'static>, is_stdout: bool, sender: &Sender<(bool, String)>) {
    let Some(pipe) = pipe else { return };
    let sender = sender.clone();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        let mut line = Vec::new();
        while matches!(reader.read_until(b'\n', &mut line), Ok(read) if read > 0) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            if sender.send((is_stdout, text)).is_err() {
                return;
            }
            line.clear();
        }
    });
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[track_caller]
    fn check(script: &str, expected: Result<&str, Failure>) {
        let mut lines = Vec::new();
        let step = Step { what: "doing it", patience: Duration::from_millis(300), activity: &|| 0 };
        let result = step.run(Command::new("sh").args(["-c", script]), &mut |line| lines.push(line.to_owned()));
        assert_eq!(result, expected.map(str::to_owned), "{script}");
        assert_eq!(lines, ["doing it"]);
    }

    #[test]
    fn gives_output_or_the_reason() {
        check("echo one; echo two >&2; echo three", Ok("one\nthree\n"));
        check("echo hm >&2; exit 3", Err(Failure::Failed("hm".into())));
        check("echo 'info: x' >&2; echo 'error: y' >&2; echo z >&2; exit 1", Err(Failure::Failed("error: y".into())));
        check("echo 'E: y' >&2; exit 1", Err(Failure::Failed("E: y".into())));
        check("exit 1", Err(Failure::Failed(String::new())));
    }

    #[test]
    fn stops_what_stalls_even_when_its_child_holds_the_pipe() {
        // `exec` would leave no child: this way `sleep` outlives the killed shell and its pipe stays open.
        check("sleep 5; true", Err(Failure::Stalled(0)));
    }

    #[test]
    fn takes_the_activity_number_for_a_sign_of_life() {
        let count = std::cell::Cell::new(0);
        let activity = || {
            count.set(count.get() + 1);
            count.get()
        };
        let step = Step { what: "x", patience: Duration::from_millis(200), activity: &activity };
        let result = step.run(Command::new("sh").args(["-c", "sleep 1; echo done"]), &mut |_| {});
        assert_eq!(result, Ok("done\n".into()));
    }

    #[test]
    fn says_that_a_program_is_missing() {
        let result = Step::new("x", 1).run(&mut Command::new("/nowhere/at-all"), &mut |_| {});
        assert_eq!(result, Err(Failure::Missing));
        assert_eq!(Failure::Missing.explain("rustup"), "`rustup` is not installed");
    }
}
