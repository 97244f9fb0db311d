//! Runs futures over `wasi:io/poll`: polls them until each waits for the host, then waits with them.

use crate::handler::BoxFuture;
use alloc::rc::{Rc, Weak};
use alloc::vec::Vec;
use core::cell::Cell;
use core::future::poll_fn;
use core::mem::ManuallyDrop;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use wasip2::io::poll::{self, Pollable};

/// What the futures wait for. Those who wait own it: a stream can't be dropped before what waits for it.
struct Reactor {
    waiting: Cell<Vec<Weak<Pollable>>>,
    /// What the host said is ready, until its waiter has seen it.
    ready: Cell<Vec<Weak<Pollable>>>,
}

// SAFETY: a component of WASI 0.2 has one thread.
unsafe impl Sync for Reactor {}

static REACTOR: Reactor = Reactor { waiting: Cell::new(Vec::new()), ready: Cell::new(Vec::new()) };

/// Set where one future wakes another, so that nobody waits for the host meanwhile.
static WOKEN: AtomicBool = AtomicBool::new(false);

/// How to wait. Set by the first that has something to wait for, so that an app in which nobody waits is spared it.
struct Park(Cell<fn()>);

// SAFETY: as above.
unsafe impl Sync for Park {}

static PARK: Park = Park(Cell::new(|| forever()));

/// Ends an instance that nothing can wake. Where in here that was noticed is of no use to anybody.
fn forever() -> ! {
    super::message::end("the handler waits for something that never comes", None)
}

/// Waits until the host says that something is ready.
pub(super) async fn wait(pollable: Pollable) {
    let pollable = Rc::new(pollable);
    poll_fn(|_| poll_wait(&pollable)).await;
}

/// The same for code that is polled itself: registers, and tells whether it is ready.
pub(super) fn poll_wait(pollable: &Rc<Pollable>) -> Poll<()> {
    let mut ready = REACTOR.ready.take();
    let seen = ready.iter().position(|known| known.as_ptr() == Rc::as_ptr(pollable));
    if let Some(index) = seen {
        ready.swap_remove(index);
    }
    REACTOR.ready.set(ready);
    if seen.is_some() {
        return Poll::Ready(());
    }
    let mut waiting = REACTOR.waiting.take();
    waiting.push(Rc::downgrade(pollable));
    REACTOR.waiting.set(waiting);
    PARK.0.set(park);
    Poll::Pending
}

/// Runs a future to its end.
pub(super) fn block_on<T>(mut future: BoxFuture<T>) -> T {
    let waker = waker();
    let mut cx = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut cx) {
            return value;
        }
        idle();
    }
}

/// Polls until it is done, and waits for the host in between.
pub(crate) fn drive(done: &mut dyn FnMut(&mut Context<'_>) -> bool) {
    let waker = waker();
    let mut cx = Context::from_waker(&waker);
    while !done(&mut cx) {
        idle();
    }
}

/// Waits for the host, unless one future has woken another.
fn idle() {
    if !WOKEN.swap(false, Ordering::Relaxed) {
        (PARK.0.get())();
    }
}

fn waker() -> ManuallyDrop<Waker> {
    // SAFETY: the functions of the table use no data.
    ManuallyDrop::new(unsafe { Waker::from_raw(RawWaker::new(core::ptr::null(), &VTABLE)) })
}

/// Blocks until at least one of what is waited for is ready.
fn park() {
    let waiting = REACTOR.waiting.take();
    let alive: Vec<Rc<Pollable>> = waiting.iter().filter_map(Weak::upgrade).collect();
    let is_ready = match alive.as_slice() {
        [] => forever(),
        [one] => {
            one.block();
            Vec::from([0])
        }
        many => poll::poll(&many.iter().map(|pollable| &**pollable).collect::<Vec<_>>()),
    };
    let ready = is_ready.iter().filter_map(|index| alive.get(*index as usize));
    REACTOR.ready.set(ready.map(Rc::downgrade).collect());
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(|_| RawWaker::new(core::ptr::null(), &VTABLE), wake, wake, |_| {});

fn wake(_: *const ()) {
    WOKEN.store(true, Ordering::Relaxed);
}
