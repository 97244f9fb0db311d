//! Tasks: each request is one, and goes on after its answer until the body is written. Many share an instance.

use super::abi;
use super::bell::Bell;
use super::wait::{SLOTS, Slot};
use crate::wasi::after::Work;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::Cell;
use core::mem::ManuallyDrop;
use core::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

struct Task {
    work: Work,
    link: Rc<Link>,
}

/// What wakers and what a task waits for know of it.
#[derive(Default)]
pub(super) struct Link {
    /// The runtime's set of what the task waits for; none yet where it is 0.
    pub(super) set: Cell<u32>,
    /// How much of it there is.
    pub(super) waits: Cell<usize>,
    /// Set where the task is to be polled again, whatever the runtime says.
    woken: Cell<bool>,
    /// How many wakers are kept by others: from other tasks they need a bell.
    wakers: Cell<usize>,
    bell: Bell,
    /// Set once the answer is with the runtime.
    answered: Cell<bool>,
    /// What is to be done before the task ends.
    left: Cell<Vec<Work>>,
}

/// The task that is being polled.
struct Current(Cell<Option<Rc<Link>>>);

// SAFETY: a component has one thread.
unsafe impl Sync for Current {}

static CURRENT: Current = Current(Cell::new(None));

/// Starts a task, and returns what an export returns: how it is to go on.
pub(super) fn start(work: Work) -> u32 {
    run(Box::new(Task { work, link: Rc::default() }))
}

/// Goes on with the task that the runtime has something to say to.
pub(super) fn resume(event: u32, handle: u32, code: u32) -> u32 {
    const NONE: u32 = 0;
    const CANCEL: u32 = 6;
    // SAFETY: `run` has put it there, and whoever takes it out puts it back or ends the task.
    let task = unsafe { Box::from_raw(abi::context_get().cast::<Task>()) };
    match event {
        CANCEL => {
            // The client is gone before there was an answer: the code is dropped where it waits.
            let answered = task.link.answered.get();
            task.end();
            if !answered {
                abi::task_cancel();
            }
            return EXIT;
        }
        NONE => {
            let set = task.link.set.get();
            let mut more = [0; 2];
            // SAFETY: an event has two numbers.
            if set != 0 && unsafe { abi::set_poll(set, &mut more) } != NONE {
                let [handle, code] = more;
                task.link.deliver(handle, code);
            }
        }
        _ => task.link.deliver(handle, code),
    }
    run(task)
}

const EXIT: u32 = 0;
const YIELD: u32 = 1;
const WAIT: u32 = 2;

fn run(mut task: Box<Task>) -> u32 {
    task.link.woken.set(false);
    let waker = ManuallyDrop::new(task.link.waker());
    let before = CURRENT.0.replace(Some(task.link.clone()));
    let done = task.work.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
    CURRENT.0.set(before);
    if done {
        task.end();
        return EXIT;
    }
    let link = task.link.clone();
    // SAFETY: `resume` takes it back.
    unsafe { abi::context_set(Box::into_raw(task).cast()) };
    if link.woken.get() {
        return YIELD;
    }
    if link.wakers.get() > 0 {
        link.bell.listen(link.set());
    }
    match link.set.get() {
        0 => super::super::fail("the handler waits for something that never comes"),
        set => WAIT | set << 4,
    }
}

impl Task {
    #[allow(clippy::boxed_local, reason = "it comes in a box, and is not to be moved out for this")]
    fn end(self: Box<Task>) {
        let Task { work, link } = *self;
        let before = CURRENT.0.replace(Some(link.clone()));
        drop(work);
        drop(link.left.take());
        CURRENT.0.set(before);
        link.bell.stop();
        let set = link.set.take();
        if link.waits.get() > 0 {
            // Somebody else has what the task waited for.
            SLOTS.leave(set);
        }
        if set != 0 {
            abi::set_drop(set);
        }
    }
}

/// Notes that the answer is with the runtime.
pub(super) fn answered() {
    current().answered.set(true);
}

/// Has something done before the task ends.
pub(in crate::wasi) fn later(work: Work) {
    let link = current();
    let mut left = link.left.take();
    left.push(work);
    link.left.set(left);
}

/// Does something at once, or, where it has to wait, before the task ends.
pub(super) fn at_once(mut work: Work) {
    if work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
        later(work);
    }
}

/// Goes on with what was left for later, all of it at the same time.
pub(super) fn poll_left(cx: &mut Context<'_>) -> Poll<()> {
    let link = current();
    loop {
        let mut left = link.left.take();
        left.retain_mut(|work| work.as_mut().poll(cx).is_pending());
        // It may have left more in turn.
        let more = link.left.take();
        let is_done = more.is_empty();
        left.extend(more);
        let is_empty = left.is_empty();
        link.left.set(left);
        if is_done {
            return if is_empty { Poll::Ready(()) } else { Poll::Pending };
        }
    }
}

/// Tells whether a task is being polled.
#[cfg(feature = "p2")]
pub(in crate::wasi) fn is_running() -> bool {
    let link = CURRENT.0.take();
    let running = link.is_some();
    CURRENT.0.set(link);
    running
}

pub(super) fn current() -> Rc<Link> {
    let link = CURRENT.0.take();
    CURRENT.0.set(link.clone());
    match link {
        Some(link) => link,
        None => super::super::fail("nobody is there to wait"),
    }
}

impl Link {
    /// Returns the set, which is made when first needed.
    pub(super) fn set(&self) -> u32 {
        if self.set.get() == 0 {
            self.set.set(abi::set_new());
        }
        self.set.get()
    }

    fn deliver(&self, handle: u32, code: u32) {
        abi::join(handle, 0);
        if self.bell.is(handle) {
            return;
        }
        self.waits.update(|count| count.saturating_sub(1));
        SLOTS.replace(handle, Slot { set: 0, code: Some(code) });
    }

    fn waker(self: &Rc<Link>) -> Waker {
        // SAFETY: the functions of the table treat the pointer as what it is. Nothing leaves the one thread.
        unsafe { Waker::from_raw(RawWaker::new(Rc::as_ptr(self).cast(), &VTABLE)) }
    }

    fn wake(&self) {
        if !self.woken.replace(true) {
            self.bell.ring();
        }
    }
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(
    |data| {
        let link = data.cast::<Link>();
        // SAFETY: whoever clones a waker has one, so that the link is alive.
        unsafe {
            Rc::increment_strong_count(link);
            (*link).wakers.update(|count| count + 1);
        }
        RawWaker::new(data, &VTABLE)
    },
    |data| {
        // SAFETY: as for `drop`, which comes after.
        unsafe { (*data.cast::<Link>()).wake() };
        release(data);
    },
    // SAFETY: whoever has a waker keeps the link alive.
    |data| unsafe { (*data.cast::<Link>()).wake() },
    release,
);

fn release(data: *const ()) {
    let link = data.cast::<Link>();
    // SAFETY: each clone is released once. The waker of `run` is no clone, and never dropped.
    unsafe {
        (*link).wakers.update(|count| count - 1);
        Rc::decrement_strong_count(link);
    }
}
