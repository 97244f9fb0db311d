//! Tasks: each request is one, and goes on after its answer until the body is written. Many share an instance.

use super::abi::{self, BLOCKED};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::Cell;
use core::future::{Future, poll_fn};
use core::mem::ManuallyDrop;
use core::pin::Pin;
use core::ptr;
use core::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

/// A future on the heap, of which a task has several.
pub(super) type Work = Pin<Box<dyn Future<Output = ()>>>;

struct Task {
    work: Work,
    link: Rc<Link>,
}

/// What wakers and what a task waits for know of it.
#[derive(Default)]
struct Link {
    /// The runtime's set of what the task waits for; none yet where it is 0.
    set: Cell<u32>,
    waiting: Cell<Vec<Rc<Event>>>,
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

/// What the runtime reports about a stream, a future or a call.
struct Event {
    handle: u32,
    code: Cell<Option<u32>>,
    /// The task that waits for it.
    link: Cell<Option<Rc<Link>>>,
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
        0 => super::fail("the handler waits for something that never comes"),
        set => WAIT | set << 4,
    }
}

impl Task {
    fn end(self: Box<Task>) {
        let Task { work, link } = *self;
        let before = CURRENT.0.replace(Some(link.clone()));
        drop(work);
        drop(link.left.take());
        CURRENT.0.set(before);
        link.bell.stop();
        for event in link.waiting.take() {
            event.link.set(None);
            abi::join(event.handle, 0);
        }
        if link.set.get() != 0 {
            abi::set_drop(link.set.take());
        }
    }
}

/// Notes that the answer is with the runtime.
pub(super) fn answered() {
    current().answered.set(true);
}

/// Has something done before the task ends.
pub(super) fn later(work: Work) {
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

/// Does what was left for later.
pub(super) async fn finish() {
    let link = current();
    loop {
        let mut left = link.left.take();
        if left.is_empty() {
            return;
        }
        // All of it at the same time, and what it leaves for later in turn.
        poll_fn(|cx| {
            left.retain_mut(|work| work.as_mut().poll(cx).is_pending());
            if left.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

/// Tells whether a task is being polled.
pub(super) fn running() -> bool {
    let link = CURRENT.0.take();
    let running = link.is_some();
    CURRENT.0.set(link);
    running
}

fn current() -> Rc<Link> {
    let link = CURRENT.0.take();
    CURRENT.0.set(link.clone());
    match link {
        Some(link) => link,
        None => super::fail("nobody is there to wait"),
    }
}

impl Link {
    /// Returns the set, which is made when first needed.
    fn set(&self) -> u32 {
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
        let mut waiting = self.waiting.take();
        if let Some(index) = waiting.iter().position(|event| event.handle == handle) {
            let event = waiting.swap_remove(index);
            event.code.set(Some(code));
            event.link.set(None);
        }
        self.waiting.set(waiting);
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

/// How one task wakes another, which sleeps in the runtime: a stream with a reader in one and a writer in the other.
#[derive(Default)]
struct Bell {
    /// The reader in the lower half, as the runtime returns both; none yet where it is 0.
    ends: Cell<u64>,
    listening: Cell<bool>,
}

impl Bell {
    fn listen(&self, set: u32) {
        if self.listening.replace(true) {
            return;
        }
        if self.ends.get() == 0 {
            self.ends.set(abi::stream_new());
        }
        let reader = self.ends.get() as u32;
        let room: *mut u8 = ROOM.0.as_ptr();
        // SAFETY: there is room for a byte for as long as the component lives.
        unsafe { abi::stream_read(reader, room, 1) };
        abi::join(reader, set);
    }

    fn ring(&self) {
        if self.listening.get() {
            // SAFETY: the byte is read at once, as somebody is listening.
            unsafe { abi::stream_write((self.ends.get() >> 32) as u32, ROOM.0.as_ptr(), 1) };
        }
    }

    /// Tells whether this is the bell that has rung.
    fn is(&self, handle: u32) -> bool {
        let rung = self.listening.get() && self.ends.get() as u32 == handle;
        if rung {
            self.listening.set(false);
        }
        rung
    }

    fn stop(&self) {
        let ends = self.ends.take();
        if ends == 0 {
            return;
        }
        let reader = ends as u32;
        if self.listening.replace(false) {
            abi::join(reader, 0);
            abi::stream_cancel_read(reader);
        }
        abi::stream_drop_readable(reader);
        abi::stream_drop_writable((ends >> 32) as u32);
    }
}

struct Byte(Cell<u8>);

// SAFETY: a component has one thread.
unsafe impl Sync for Byte {}

static ROOM: Byte = Byte(Cell::new(0));

/// Something that the runtime was asked for, and that may take a while. Taken back where it is dropped before.
pub(super) struct Pending {
    handle: u32,
    event: Option<Rc<Event>>,
    cancel: extern "C" fn(u32) -> u32,
}

impl Pending {
    pub(super) fn new(handle: u32, cancel: extern "C" fn(u32) -> u32) -> Pending {
        Pending { handle, event: None, cancel }
    }

    /// Waits for something that has been started.
    pub(super) fn started(handle: u32, cancel: extern "C" fn(u32) -> u32) -> Pending {
        Pending { handle, event: Some(Event::new(handle)), cancel }
    }

    pub(super) fn handle(&self) -> u32 {
        self.handle
    }

    pub(super) fn is_started(&self) -> bool {
        self.event.is_some()
    }

    /// Starts it where it is not under way, and returns what comes of it.
    pub(super) fn poll(&mut self, start: &mut dyn FnMut(u32) -> u32) -> Poll<u32> {
        match &self.event {
            None => {
                let code = start(self.handle);
                if code != BLOCKED {
                    return Poll::Ready(code);
                }
                self.event = Some(Event::new(self.handle));
            }
            Some(event) => {
                if let Some(code) = event.code.get() {
                    self.event = None;
                    return Poll::Ready(code);
                }
                event.watch();
            }
        }
        Poll::Pending
    }

    /// Takes it back where it is under way.
    pub(super) fn stop(&mut self) {
        if let Some(event) = self.event.take()
            && event.code.get().is_none()
        {
            event.forget();
            abi::join(self.handle, 0);
            (self.cancel)(self.handle);
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Event {
    fn new(handle: u32) -> Rc<Event> {
        let event = Rc::new(Event { handle, code: Cell::new(None), link: Cell::new(None) });
        event.watch();
        event
    }

    /// Sees to it that it is reported to the task that asks.
    fn watch(self: &Rc<Event>) {
        let link = current();
        let known = self.link.take();
        if known.as_ref().is_some_and(|known| Rc::ptr_eq(known, &link)) {
            self.link.set(known);
            return;
        }
        self.link.set(known);
        self.forget();
        abi::join(self.handle, link.set());
        let mut waiting = link.waiting.take();
        waiting.push(self.clone());
        link.waiting.set(waiting);
        self.link.set(Some(link));
    }

    fn forget(self: &Rc<Event>) {
        if let Some(link) = self.link.take() {
            let mut waiting = link.waiting.take();
            waiting.retain(|event| !Rc::ptr_eq(event, self));
            link.waiting.set(waiting);
        }
    }
}

/// Waits for something without letting others go on: for messages, where nothing can be awaited.
pub(super) fn block(handle: u32, code: u32) -> u32 {
    if code != BLOCKED {
        return code;
    }
    let set = abi::set_new();
    abi::join(handle, set);
    let mut event = [0; 2];
    // SAFETY: an event has two numbers.
    unsafe { abi::set_wait(set, ptr::from_mut(&mut event)) };
    abi::join(handle, 0);
    abi::set_drop(set);
    let [_, code] = event;
    code
}
