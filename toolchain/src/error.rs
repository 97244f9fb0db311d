//! The one error of this crate: a text for the person at the terminal.

use std::fmt;

/// Why the target or a component could not be made, in words that say what to do next.
///
/// The text may have several lines; the first one stands on its own.
#[derive(Debug)]
pub struct Error(String);

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
