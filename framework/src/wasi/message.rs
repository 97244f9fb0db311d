//! What a component has to say to the log of the host, and how it ends when it can't go on.

use crate::text::{append, push_decimal};
use alloc::string::String;

use super::print;

/// Whether mistakes in building an app are looked for: in a release build each instance would do so again.
pub(crate) const CHECKED: bool = cfg!(debug_assertions);

/// Ends the instance with a message in the log.
#[cold]
#[track_caller]
pub(crate) fn fail(message: &str) -> ! {
    end(message, Some(core::panic::Location::caller()))
}

/// Ends the instance with a message in the log, and the place in the program that it is about.
#[cold]
#[inline(never)]
pub(super) fn end(message: &str, at: Option<&core::panic::Location<'_>>) -> ! {
    let mut line = String::new();
    append(&mut line, message);
    if let Some(at) = at {
        append(&mut line, " at ");
        append(&mut line, at.file());
        append(&mut line, ":");
        push_decimal(&mut line, at.line().into());
    }
    log(&line);
    core::arch::wasm32::unreachable()
}

/// Writes a line to the log of the host.
#[cold]
#[inline(never)]
pub(crate) fn log(line: &str) {
    print(line.as_bytes());
    print(b"\n");
}
