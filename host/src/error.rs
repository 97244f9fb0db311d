//! Why a host does not start: one line that says what is missing and what helps.

use std::fmt;

/// A reason not to start, complete in one line.
#[derive(Debug)]
pub struct StartError(String);

impl StartError {
    /// Makes an error of a finished sentence without full stop.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StartError {}

/// Keeps the causes of an error in one line, the outermost first.
pub(crate) fn one_line(error: &wasmtime::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        // A wasm backtrace is part of the cause's text; its first line is the reason.
        let first = cause.lines().next().unwrap_or_default().trim();
        if text.contains(first) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(first.trim_end_matches(':'));
    }
    text
}
