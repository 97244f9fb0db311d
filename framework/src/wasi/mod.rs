//! The one room that touches the runtime: all bindings, resources and `unsafe` are here.
//!
//! Nothing in it decides anything about HTTP; nothing outside of it names a binding.

pub(crate) mod after;
mod answer;
#[cfg(all(target_family = "wasm", feature = "p2", feature = "p3"))]
mod both;
pub(crate) mod clock;
#[cfg(all(target_family = "wasm", feature = "p2"))]
mod executor;
#[cfg(all(feature = "std", not(all(target_family = "wasm", feature = "p2"))))]
#[path = "files_native.rs"]
pub(crate) mod files;
#[cfg(all(target_family = "wasm", feature = "p2"))]
#[path = "files_p2.rs"]
pub(crate) mod files;
#[cfg(any(
    test,
    all(target_family = "wasm", any(feature = "p2", feature = "p3"), any(feature = "std", feature = "runtime"))
))]
mod heap;
#[cfg(all(target_family = "wasm", any(feature = "p2", feature = "p3"), feature = "std", not(feature = "environment")))]
mod libc;
#[cfg(all(target_family = "wasm", any(feature = "p2", feature = "p3"), feature = "std"))]
mod malloc;
#[cfg(all(target_family = "wasm", any(feature = "p2", feature = "p3"), any(feature = "std", feature = "runtime")))]
mod memory;
#[cfg(all(target_family = "wasm", any(feature = "p2", feature = "p3")))]
mod message;
#[cfg(not(all(target_family = "wasm", any(feature = "p2", feature = "p3"))))]
mod native;
pub(crate) mod outbound;
#[cfg(all(target_family = "wasm", feature = "p2"))]
pub mod p2;
#[cfg(all(target_family = "wasm", feature = "p3"))]
pub mod p3;
#[cfg(all(target_family = "wasm", feature = "p2"))]
mod raw;
#[cfg(all(target_family = "wasm", any(feature = "p2", feature = "p3"), feature = "runtime", not(feature = "std")))]
mod runtime;

pub(crate) use answer::Answer;
#[cfg(all(target_family = "wasm", feature = "p2", feature = "p3"))]
pub(crate) use both::Head;
#[cfg(all(target_family = "wasm", feature = "p2"))]
pub(crate) use executor::drive;
#[cfg(all(target_family = "wasm", any(feature = "p2", feature = "p3")))]
pub(crate) use message::{CHECKED, fail, log};
#[cfg(not(all(target_family = "wasm", any(feature = "p2", feature = "p3"))))]
pub(crate) use native::{CHECKED, Head, fail, log};
#[cfg(all(target_family = "wasm", feature = "p2", not(feature = "p3")))]
pub(crate) use p2::Head;
#[cfg(all(target_family = "wasm", feature = "p2"))]
use p2::print;
#[cfg(all(target_family = "wasm", feature = "p3", not(feature = "p2")))]
pub(crate) use p3::Head;
#[cfg(all(target_family = "wasm", feature = "p3", not(feature = "p2")))]
use p3::print;
#[cfg(all(target_family = "wasm", feature = "p3"))]
pub(crate) use p3::streams;

/// Notes that there are bodies that are streams, for runtimes that want to know.
#[cfg(not(all(target_family = "wasm", feature = "p3")))]
pub(crate) fn streams() {}

/// Polls until it is done. Only 0.2 waits like this for what a body is made of.
#[cfg(not(all(target_family = "wasm", feature = "p2")))]
pub(crate) fn drive(done: &mut dyn FnMut(&mut core::task::Context<'_>) -> bool) {
    while !done(&mut core::task::Context::from_waker(core::task::Waker::noop())) {}
}

/// Exports an app as a component, where there is a component to be: natively it does nothing.
///
/// Takes the path of a function that returns a [`Router`](crate::Router). The function runs once per instance; with the
/// feature `ahead`, where the host knows how and the function asks nothing of the host, once for all instances of 0.2.
///
/// ```
/// # use tabi::Router;
/// pub fn router() -> Router {
///     Router::new().get("/", async |_| "hello")
/// }
///
/// tabi::serve!(router);
/// ```
#[macro_export]
macro_rules! serve {
    ($router:path) => {
        $crate::__serve_p2!($router);
        $crate::__serve_p3!($router);
    };
}

/// Without the feature, or natively, there is nothing to export.
#[cfg(not(all(target_family = "wasm", feature = "p2")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __serve_p2 {
    ($router:path) => {};
}

/// Without the feature, or natively, there is nothing to export.
#[cfg(not(all(target_family = "wasm", feature = "p3")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __serve_p3 {
    ($router:path) => {};
}
