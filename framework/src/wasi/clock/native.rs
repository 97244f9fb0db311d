//! The clocks of tests: nobody waits, the clock jumps.

use core::task::Poll;

/// What rings once.
pub(crate) struct Timer(u64);

impl Timer {
    /// Returns one that rings after so many nanoseconds.
    pub(crate) fn new(nanoseconds: u64) -> Timer {
        Timer(monotonic().saturating_add(nanoseconds))
    }

    /// Tells whether it has rung.
    pub(crate) fn poll(&mut self) -> Poll<()> {
        if monotonic() >= self.0 {
            return Poll::Ready(());
        }
        #[cfg(feature = "std")]
        clock::NEXT.with(|next| next.set(Some(next.get().map_or(self.0, |next| next.min(self.0)))));
        Poll::Pending
    }
}

#[cfg(feature = "std")]
mod clock {
    use core::cell::Cell;

    std::thread_local! {
        /// What time it is.
        pub(super) static NOW: Cell<u64> = const { Cell::new(0) };
        /// The next moment that somebody waits for.
        pub(super) static NEXT: Cell<Option<u64>> = const { Cell::new(None) };
    }
}

/// Puts the clock of this thread forward to the next moment that somebody waits for, and tells whether there is one.
#[cfg(feature = "std")]
pub(crate) fn advance() -> bool {
    let next = clock::NEXT.take();
    if let Some(next) = next {
        clock::NOW.set(next.max(clock::NOW.get()));
    }
    next.is_some()
}

/// Returns the time of a clock that nobody sets, in nanoseconds.
pub(crate) fn monotonic() -> u64 {
    #[cfg(feature = "std")]
    return clock::NOW.get();
    #[cfg(not(feature = "std"))]
    0
}

/// Returns the seconds since 1970.
pub(crate) fn wall() -> i64 {
    #[cfg(feature = "std")]
    return crate::date::Date::from(std::time::SystemTime::now()).unix();
    #[cfg(not(feature = "std"))]
    0
}
