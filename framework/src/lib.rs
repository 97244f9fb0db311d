//! Tabi is a tiny web framework for WebAssembly: apps written against it compile to `wasi:http` components.
//!
//! ```
//! use tabi::{Request, Result, Router};
//!
//! pub fn router() -> Router {
//!     Router::new().get("/health", async |_| "healthy").get("/hello/{name}", hello)
//! }
//!
//! async fn hello(req: Request) -> Result<String> {
//!     Ok(tabi::concat(["Hello, ", &req.raw_param("name")?, "!"]))
//! }
//!
//! tabi::serve!(router);
//!
//! # fn main() {
//! let page = tabi::testing::Client::new(router()).get("/hello/Ada").send();
//! assert_eq!((page.status().code(), page.text().as_str()), (200, "Hello, Ada!"));
//! # }
//! ```
#![no_std]
#![deny(unsafe_code)]
// Without a runtime or a test client there is nobody to send requests.
#![cfg_attr(
    any(
        all(target_family = "wasm", not(any(feature = "p2", feature = "p3"))),
        all(not(target_family = "wasm"), not(feature = "std"))
    ),
    allow(dead_code, reason = "nobody calls what answers requests")
)]

extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

mod accept;
mod after;
mod app;
mod assets;
mod body;
mod choice;
pub mod client;
mod conditional;
mod cookie;
mod cors;
mod date;
#[cfg(any(feature = "std", all(target_family = "wasm", feature = "p2")))]
mod directory;
mod disposition;
mod encoding;
mod error;
mod etag;
mod extensions;
#[cfg(feature = "serde")]
mod fault;
mod form;
mod handler;
mod headers;
#[cfg(feature = "ahead")]
mod index;
mod jar;
mod join;
#[cfg(feature = "json")]
mod json;
#[cfg(feature = "json")]
mod json_read;
#[cfg(feature = "json")]
mod json_typed;
#[cfg(feature = "json")]
mod json_write;
pub mod limits;
mod method;
mod middleware;
mod mime;
mod multipart;
mod pairs;
mod parameter;
mod pattern;
mod percent;
mod problem;
mod quote;
mod range;
mod request;
mod response;
mod router;
mod security;
pub mod sse;
mod status;
mod stream;
#[cfg(all(feature = "std", not(target_family = "wasm")))]
pub mod testing;
mod text;
pub mod time;
#[cfg(feature = "serde")]
mod typed;
mod vary;
#[allow(unsafe_code, reason = "the one room for it")]
mod wasi;

pub use accept::Accept;
pub use after::wait_until;
pub use assets::{AssetFile, Assets, File};
pub use body::{Body, Stream};
pub use choice::Choice;
pub use conditional::Validators;
pub use cookie::{Cookie, SameSite};
pub use cors::Cors;
pub use date::Date;
#[cfg(any(feature = "std", all(target_family = "wasm", feature = "p2")))]
pub use directory::Directory;
pub use disposition::Disposition;
pub use error::{Error, OrStatus, Result};
pub use etag::ETag;
pub use extensions::Extensions;
pub use form::Form;
pub use handler::{BoxFuture, Handler};
pub use headers::Headers;
pub use jar::Jar;
pub use join::{join, join_all};
#[cfg(feature = "json")]
pub use json::{Json, Lines};
pub use method::Method;
pub use middleware::{BodyLimit, Middleware, Next};
pub use mime::content_type;
pub use multipart::{Field, Fields, Multipart};
pub use pairs::Pairs;
pub use problem::Problems;
pub use quote::json_string;
pub use range::{RangeFault, Ranges};
pub use request::Request;
pub use response::{IntoResponse, Response};
pub use router::Router;
pub use security::Security;
pub use status::Status;
pub use stream::Sender;
pub use text::{concat, decimal};

/// The examples of the README are tests too.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;

#[doc(hidden)]
#[path = "fuzz.rs"]
pub mod __fuzz;

/// What the macros need.
#[doc(hidden)]
pub mod __private {
    #[cfg(all(target_family = "wasm", feature = "p2"))]
    pub use crate::wasi::p2;
    #[cfg(all(target_family = "wasm", feature = "p3"))]
    pub use crate::wasi::p3;

    /// What the source that `tabi-assets` writes names.
    pub mod assets {
        pub use crate::assets::{Assets, File, Variant};
        pub use crate::mime::content_type;
    }
}
