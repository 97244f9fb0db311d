//! The one room that touches the runtime: all bindings, resources and `unsafe` are here.
//!
//! Nothing in it decides anything about HTTP; nothing outside of it names a binding.

mod answer;
#[cfg(all(target_family = "wasm", feature = "p2"))]
mod executor;
#[cfg(all(feature = "std", not(all(target_family = "wasm", feature = "p2"))))]
#[path = "files_native.rs"]
pub(crate) mod files;
#[cfg(all(target_family = "wasm", feature = "p2"))]
#[path = "files_p2.rs"]
pub(crate) mod files;
#[cfg(any(test, all(target_family = "wasm", feature = "p2", any(feature = "std", feature = "runtime"))))]
mod heap;
#[cfg(all(target_family = "wasm", feature = "p2", feature = "std", not(feature = "environment")))]
mod libc;
#[cfg(all(target_family = "wasm", feature = "p2", feature = "std"))]
mod malloc;
#[cfg(all(target_family = "wasm", feature = "p2", any(feature = "std", feature = "runtime")))]
mod memory;
#[cfg(not(all(target_family = "wasm", feature = "p2")))]
mod native;
#[cfg(all(target_family = "wasm", feature = "p2"))]
pub mod p2;
#[cfg(all(target_family = "wasm", feature = "p2"))]
mod raw;
#[cfg(all(target_family = "wasm", feature = "p2", feature = "runtime", not(feature = "std")))]
mod runtime;

pub(crate) use answer::Answer;
#[cfg(not(all(target_family = "wasm", feature = "p2")))]
pub(crate) use native::{CHECKED, Head, fail, log};
#[cfg(all(target_family = "wasm", feature = "p2"))]
pub(crate) use p2::{CHECKED, Head, fail, log};

/// Exports an app as a component, where there is a component to be: natively it does nothing.
///
/// Takes the path of a function that returns a [`Router`](crate::Router). The function runs once per instance.
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
    };
}

/// Without the feature, or natively, there is nothing to export.
#[cfg(not(all(target_family = "wasm", feature = "p2")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __serve_p2 {
    ($router:path) => {};
}
