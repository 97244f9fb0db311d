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

/// Has a router stand for another server: it answers what apps on this thread send there with
/// [`client`](crate::client). The origin is scheme, host and port, such as `https://api.example`.
///
/// # Panics
/// Where it is no origin.
#[track_caller]
pub fn upstream(origin: &str, router: crate::Router) {
    match crate::client::Url::parse(origin) {
        Ok(url) if url.target == "/" => {
            let origin = crate::text::concat([url.scheme(), "://", &url.authority]);
            crate::wasi::outbound::native::stand_for(&origin, router.into_app().leak());
        }
        _ => crate::wasi::fail("`testing::upstream` wants an origin such as `https://api.example`"),
    }
}

/// Runs a future to its end on this thread. Nobody really waits: the clock jumps.
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
