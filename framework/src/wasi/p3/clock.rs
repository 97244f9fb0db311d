//! The clocks of 0.3.

use super::abi;
use super::wait::Call;
use core::task::Poll;

/// What rings once.
pub(crate) struct Timer(Call);

impl Timer {
    /// Returns one that rings after so many nanoseconds.
    pub(crate) fn new(nanoseconds: u64) -> Timer {
        Timer(Call::new(abi::wait_for(nanoseconds)))
    }

    /// Tells whether it has rung.
    pub(crate) fn poll(&mut self) -> Poll<()> {
        self.0.poll().map(|_| ())
    }
}

/// Returns the time of a clock that nobody sets, in nanoseconds.
pub(crate) fn monotonic() -> u64 {
    abi::monotonic_now()
}

/// Returns the seconds since 1970.
pub(crate) fn wall() -> i64 {
    let mut instant = [0; 2];
    // SAFETY: an instant has 16 bytes, the seconds in the first eight.
    unsafe { abi::system_now(&mut instant) };
    instant[0]
}
