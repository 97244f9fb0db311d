//! `Answer`: what a handler will return, made a response.

use crate::response::{IntoResponse, Response};
use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

/// A future of a response. By hand, since an `async` block around each handler costs a component 90 bytes a route; and
/// here, since to pin a field takes `unsafe`.
pub(crate) struct Answer<F>(pub(crate) F);

impl<F: Future<Output: IntoResponse>> Future for Answer<F> {
    type Output = Response;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Response> {
        // SAFETY: the future is pinned as long as what it is in: nothing moves it out, and there is no `Drop`.
        let answer = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
        answer.poll(cx).map(IntoResponse::into_response)
    }
}
