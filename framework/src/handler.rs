//! `Handler`: what answers a request.

use crate::request::Request;
use crate::response::{IntoResponse, Response};
use crate::wasi::Answer;
use alloc::boxed::Box;
use core::future::Future;
use core::pin::Pin;

/// A future on the heap. Nothing here is `Send`: a component has one thread.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T>>>;

/// Answers requests. Every `async fn(Request) -> impl IntoResponse` is one; types of yours can be, too.
///
/// Handlers are called for as long as the instance lives, hence `&'static self`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't answer requests",
    label = "expected an `async fn(Request) -> impl IntoResponse`",
    note = "it takes one `Request`, is `async`, and returns text, bytes, a `Status`, a `Response`, or a `Result` of these"
)]
pub trait Handler: 'static {
    /// Answers one request.
    fn call(&'static self, request: Request) -> BoxFuture<Response>;
}

impl<F, Fut> Handler for F
where
    F: Fn(Request) -> Fut + 'static,
    Fut: Future<Output: IntoResponse> + 'static,
{
    fn call(&'static self, request: Request) -> BoxFuture<Response> {
        Box::pin(Answer(self(request)))
    }
}
