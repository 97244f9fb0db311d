//! Where work waits that is done after an answer.

use alloc::boxed::Box;
use core::future::Future;
use core::pin::Pin;

pub(crate) type Work = Pin<Box<dyn Future<Output = ()>>>;

/// Keeps work for after the answer.
pub(crate) fn later(work: Work) {
    #[cfg(all(target_family = "wasm", feature = "p3"))]
    if super::p3::is_running() {
        return super::p3::later(work);
    }
    #[cfg(any(all(target_family = "wasm", feature = "p2"), all(not(target_family = "wasm"), feature = "std")))]
    return waiting::later(work);
    // Without a runtime or tests there is no answer.
    #[allow(unreachable_code, reason = "not in every version")]
    drop(work);
}

#[cfg(any(all(target_family = "wasm", feature = "p2"), all(not(target_family = "wasm"), feature = "std")))]
pub(crate) use waiting::finish;

/// Where nobody else goes on with it.
#[cfg(any(all(target_family = "wasm", feature = "p2"), all(not(target_family = "wasm"), feature = "std")))]
mod waiting {
    use super::Work;
    #[cfg(not(target_family = "wasm"))]
    use crate::testing::block_on;
    #[cfg(target_family = "wasm")]
    use crate::wasi::executor::block_on;
    use alloc::boxed::Box;
    use alloc::vec::Vec;
    use core::cell::Cell;
    use core::future::poll_fn;
    use core::task::Poll;

    /// The work, and how it is done: set by the first that there is, so that an app without is spared the code.
    struct Left {
        work: Cell<Vec<Work>>,
        run: Cell<fn()>,
    }

    impl Left {
        const fn nothing() -> Left {
            Left { work: Cell::new(Vec::new()), run: Cell::new(|| {}) }
        }
    }

    #[cfg(not(target_family = "wasm"))]
    std::thread_local! {
        static LEFT: Left = const { Left::nothing() };
    }

    #[cfg(target_family = "wasm")]
    struct Global(Left);

    // SAFETY: a component of WASI 0.2 has one thread.
    #[cfg(target_family = "wasm")]
    unsafe impl Sync for Global {}

    #[cfg(target_family = "wasm")]
    static LEFT: Global = Global(Left::nothing());

    #[cfg(target_family = "wasm")]
    impl Global {
        fn with<T>(&self, code: impl FnOnce(&Left) -> T) -> T {
            code(&self.0)
        }
    }

    pub(super) fn later(work: Work) {
        LEFT.with(|left| {
            let mut all = left.work.take();
            all.push(work);
            left.work.set(all);
            left.run.set(run);
        });
    }

    /// Does the work that there is, to its end.
    pub(crate) fn finish() {
        LEFT.with(|left| left.run.get())();
    }

    fn run() {
        let mut running = Vec::new();
        block_on(Box::pin(poll_fn(move |cx| {
            loop {
                running.extend(LEFT.with(|left| left.work.take()));
                running.retain_mut(|work: &mut Work| work.as_mut().poll(cx).is_pending());
                // It may have left more in turn.
                let more = LEFT.with(|left| left.work.take());
                if more.is_empty() {
                    return if running.is_empty() { Poll::Ready(()) } else { Poll::Pending };
                }
                running.extend(more);
            }
        })));
    }
}
