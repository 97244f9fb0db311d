//! The clocks of 0.2.

use crate::wasi::executor;
use alloc::rc::Rc;
use core::task::Poll;
use wasip2::clocks::{monotonic_clock, wall_clock};
use wasip2::io::poll::Pollable;

/// What rings once.
pub(crate) struct Timer(Option<Rc<Pollable>>);

impl Timer {
    /// Returns one that rings after so many nanoseconds.
    pub(crate) fn new(nanoseconds: u64) -> Timer {
        Timer(Some(Rc::new(monotonic_clock::subscribe_duration(nanoseconds))))
    }

    /// Tells whether it has rung.
    pub(crate) fn poll(&mut self) -> Poll<()> {
        if let Some(pollable) = &self.0 {
            core::task::ready!(executor::poll_wait(pollable));
            self.0 = None;
        }
        Poll::Ready(())
    }
}

/// Returns the time of a clock that nobody sets, in nanoseconds.
pub(crate) fn monotonic() -> u64 {
    monotonic_clock::now()
}

/// Returns the seconds since 1970.
pub(crate) fn wall() -> i64 {
    wall_clock::now().seconds as i64
}
