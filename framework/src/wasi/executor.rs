//! Runs futures over `wasi:io/poll`: polls them until each waits for the host, then waits with them.

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::Cell;
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use wasip2::io::poll::{self, Pollable};

/// What the futures wait for.
struct Reactor {
    waiting: Cell<Vec<Rc<Pollable>>>,
    /// What the host said is ready, until its waiter has seen it.
    ready: Cell<Vec<Rc<Pollable>>>,
}

// SAFETY: a component of WASI 0.2 has one thread.
unsafe impl Sync for Reactor {}

static REACTOR: Reactor = Reactor { waiting: Cell::new(Vec::new()), ready: Cell::new(Vec::new()) };

/// Set where one future wakes another, so that nobody waits for the host meanwhile.
static WOKEN: AtomicBool = AtomicBool::new(false);

/// Waits until the host says that something is ready.
pub(super) async fn wait(pollable: Pollable) {
    let pollable = Rc::new(pollable);
    poll_fn(|_| poll_wait(&pollable)).await;
}

/// The same for code that is polled itself: registers, and tells whether it is ready.
pub(super) fn poll_wait(pollable: &Rc<Pollable>) -> Poll<()> {
    let mut ready = REACTOR.ready.take();
    let seen = ready.iter().position(|known| Rc::ptr_eq(known, pollable));
    if let Some(index) = seen {
        ready.swap_remove(index);
    }
    REACTOR.ready.set(ready);
    if seen.is_some() {
        return Poll::Ready(());
    }
    let mut waiting = REACTOR.waiting.take();
    waiting.push(pollable.clone());
    REACTOR.waiting.set(waiting);
    Poll::Pending
}

/// Runs a future to its end.
pub(super) fn block_on(mut future: Pin<Box<dyn Future<Output = ()>>>) {
    // SAFETY: the functions of the table use no data.
    let waker = unsafe { Waker::from_raw(RawWaker::new(core::ptr::null(), &VTABLE)) };
    let mut cx = Context::from_waker(&waker);
    loop {
        WOKEN.store(false, Ordering::Relaxed);
        if future.as_mut().poll(&mut cx).is_ready() {
            return;
        }
        let waiting = REACTOR.waiting.take();
        if WOKEN.load(Ordering::Relaxed) {
            continue;
        }
        if waiting.is_empty() {
            super::p2::fail("the handler waits for something that never comes");
        }
        REACTOR.ready.set(ready_of(waiting));
    }
}

/// Blocks until at least one is ready, and returns those that are.
fn ready_of(waiting: Vec<Rc<Pollable>>) -> Vec<Rc<Pollable>> {
    if let [one] = waiting.as_slice() {
        one.block();
        return waiting;
    }
    let borrowed: Vec<&Pollable> = waiting.iter().map(|pollable| &**pollable).collect();
    let ready = poll::poll(&borrowed);
    ready.iter().filter_map(|index| waiting.get(*index as usize)).cloned().collect()
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(|_| RawWaker::new(core::ptr::null(), &VTABLE), wake, wake, |_| {});

fn wake(_: *const ()) {
    WOKEN.store(true, Ordering::Relaxed);
}
