//! The clocks in a component with both exports: those of the version whose export was called.

use super::{p2, p3};
use crate::wasi::p3::is_running;
use core::task::Poll;

/// What rings once.
pub(crate) enum Timer {
    P2(p2::Timer),
    P3(p3::Timer),
}

impl Timer {
    /// Returns one that rings after so many nanoseconds.
    pub(crate) fn new(nanoseconds: u64) -> Timer {
        if is_running() { Timer::P3(p3::Timer::new(nanoseconds)) } else { Timer::P2(p2::Timer::new(nanoseconds)) }
    }

    /// Tells whether it has rung.
    pub(crate) fn poll(&mut self) -> Poll<()> {
        match self {
            Timer::P2(timer) => timer.poll(),
            Timer::P3(timer) => timer.poll(),
        }
    }
}

/// Returns the time of a clock that nobody sets, in nanoseconds.
pub(crate) fn monotonic() -> u64 {
    if is_running() { p3::monotonic() } else { p2::monotonic() }
}

/// Returns the seconds since 1970.
pub(crate) fn wall() -> i64 {
    if is_running() { p3::wall() } else { p2::wall() }
}
