//! Runs programs, and keeps the time of each step.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::say;

/// Turns any error into a message for the terminal.
pub fn text(error: impl ToString) -> String {
    error.to_string()
}

/// Returns the cargo that runs this program.
#[must_use]
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(crate::root());
    command
}

/// Shows a command as one would type it, runs it, and fails with it.
///
/// # Errors
/// When it cannot be started, or ends with an error.
pub fn run(command: &mut Command) -> Result<(), String> {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let shown = words.join(" ");
    let folder = command.get_current_dir().and_then(|dir| dir.strip_prefix(crate::root()).ok());
    let folder = folder.map(|dir| dir.display().to_string()).unwrap_or_default();
    say(&format!("{folder}$ {shown}"));
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{shown}` ended with {status}")),
        Err(error) => Err(format!("`{shown}` cannot be run: {error}")),
    }
}

/// Runs a command and returns what it prints.
///
/// # Errors
/// When it can't be started, ends with a failure, or prints what is no text.
pub fn output(command: &mut Command) -> Result<String, String> {
    let output = command.stderr(std::process::Stdio::inherit()).output().map_err(text)?;
    if !output.status.success() {
        return Err(format!("{} ended with {}", command.get_program().display(), output.status));
    }
    String::from_utf8(output.stdout).map_err(text)
}

/// The steps of one run, with what became of them.
#[derive(Default)]
pub struct Steps(Vec<(&'static str, Duration, Result<(), String>)>);

impl Steps {
    /// Runs a step, whatever became of those before.
    pub fn step(&mut self, name: &'static str, work: impl FnOnce() -> Result<(), String>) {
        say(&format!("\n== {name}"));
        let started = Instant::now();
        let result = work();
        if let Err(message) = &result {
            say(&format!("failed: {message}"));
        }
        self.0.push((name, started.elapsed(), result));
    }

    /// Prints the table of the steps.
    ///
    /// # Errors
    /// When one of them failed.
    pub fn finish(self) -> Result<(), String> {
        say("\nseconds  step");
        for (name, time, result) in &self.0 {
            let end = if result.is_ok() { "" } else { "   FAILED" };
            say(&format!("{:7.1}  {name}{end}", time.as_secs_f64()));
        }
        let total: Duration = self.0.iter().map(|(_, time, _)| *time).sum();
        say(&format!("{:7.1}  all", total.as_secs_f64()));
        let failed = self.0.iter().filter(|(_, _, result)| result.is_err()).count();
        if failed == 0 { Ok(()) } else { Err(format!("{failed} of {} steps failed", self.0.len())) }
    }
}
