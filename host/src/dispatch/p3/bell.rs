//! How an instance asks to be driven: one waker for all who drive it.

use crate::lock::lock;
use std::sync::atomic::{AtomicU8, Ordering::AcqRel, Ordering::Acquire};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};

/// Remembers that an instance has something to do, and calls its keeper unless somebody is there who will look.
#[derive(Default)]
pub(super) struct Bell {
    state: AtomicU8,
    keeper: Mutex<Option<Waker>>,
}

/// Somebody looks at the bell before it goes.
const ATTENDED: u8 = 1;
/// There is something to do.
const RUNG: u8 = 2;

impl Bell {
    /// Takes note of who is called.
    pub(super) fn is_for(&self, waker: &Waker) {
        let mut keeper = lock(&self.keeper);
        if !keeper.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *keeper = Some(waker.clone());
        }
    }

    /// Notes that there is something to do.
    pub(super) fn ring(&self) {
        if self.state.fetch_or(RUNG, AcqRel) == 0 {
            self.call();
        }
    }

    /// Has the keeper look, whoever else does.
    pub(super) fn call(&self) {
        if let Some(waker) = &*lock(&self.keeper) {
            waker.wake_by_ref();
        }
    }

    /// Whether there is something to do.
    pub(super) fn is_rung(&self) -> bool {
        self.state.load(Acquire) & RUNG != 0
    }

    /// Takes over what there is to do.
    pub(super) fn hush(&self) {
        self.state.fetch_and(!RUNG, AcqRel);
    }

    /// Nobody else is called as long as the guard exists.
    pub(super) fn attend(&self) -> Attending<'_> {
        let first = self.state.fetch_or(ATTENDED, AcqRel) & ATTENDED == 0;
        Attending(first.then_some(self))
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}

/// Somebody who looks at the bell; the first of several is the last to go.
pub(super) struct Attending<'a>(Option<&'a Bell>);

impl Drop for Attending<'_> {
    fn drop(&mut self) {
        if let Some(bell) = self.0
            && bell.state.fetch_and(!ATTENDED, AcqRel) & RUNG != 0
        {
            bell.call();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    #[derive(Default)]
    struct Calls(AtomicU32);

    impl Wake for Calls {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    /// Runs `steps`, and counts how often the keeper is called.
    #[track_caller]
    fn check(steps: impl Fn(&Bell), calls: u32, rung: bool) {
        let (bell, counted) = (Bell::default(), Arc::new(Calls::default()));
        bell.is_for(&counted.clone().into());
        steps(&bell);
        assert_eq!((counted.0.load(Relaxed), bell.is_rung()), (calls, rung));
    }

    #[test]
    fn keepers_are_called_once_and_only_when_nobody_looks() {
        check(|bell| bell.ring(), 1, true);
        check(|bell| (0..3).for_each(|_| bell.ring()), 1, true);
        check(
            |bell| {
                bell.ring();
                bell.hush();
                bell.ring();
            },
            2,
            true,
        );
        check(
            |bell| {
                let _attending = bell.attend();
                bell.ring();
                bell.hush();
            },
            0,
            false,
        );
        check(
            |bell| {
                let _attending = bell.attend();
                bell.hush();
                bell.ring();
            },
            1,
            true,
        );
        check(
            |bell| {
                let _outer = bell.attend();
                drop(bell.attend());
                bell.ring();
                bell.hush();
            },
            0,
            false,
        );
    }
}
