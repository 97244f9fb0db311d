//! A client for tests: runs an app natively, without a port or a runtime, in microseconds.

mod client;
mod cookie_date;
mod cookies;
mod reply;
mod set_cookie;
mod upload;

pub use client::{Call, Client};
pub use cookies::Cookies;
pub use reply::Reply;
pub use upload::Upload;

use alloc::sync::Arc;
use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::task::Wake;
use std::thread::{self, Thread};

/// Runs a future to its end on this thread.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut cx) {
            return value;
        }
        // Nobody really waits: the clock jumps to the next moment that somebody waits for.
        if !crate::wasi::clock::advance() {
            thread::park();
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
