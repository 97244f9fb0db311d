//! The clocks of the runtime that is there.

#[cfg(all(target_family = "wasm", feature = "p2", feature = "p3"))]
mod both;
#[cfg(not(all(target_family = "wasm", any(feature = "p2", feature = "p3"))))]
mod native;
#[cfg(all(target_family = "wasm", feature = "p2"))]
mod p2;

#[cfg(all(target_family = "wasm", feature = "p3"))]
use super::p3::clock as p3;
#[cfg(all(target_family = "wasm", feature = "p2", feature = "p3"))]
pub(crate) use both::{Timer, monotonic, wall};
#[cfg(all(not(target_family = "wasm"), feature = "std"))]
pub(crate) use native::advance;
#[cfg(not(all(target_family = "wasm", any(feature = "p2", feature = "p3"))))]
pub(crate) use native::{Timer, monotonic, wall};
#[cfg(all(target_family = "wasm", feature = "p2", not(feature = "p3")))]
pub(crate) use p2::{Timer, monotonic, wall};
#[cfg(all(target_family = "wasm", feature = "p3", not(feature = "p2")))]
pub(crate) use p3::{Timer, monotonic, wall};
