//! The request as `wasi:http@0.3` has it, read as far as somebody asks.

use super::transfer::{self, Awaited, Promise, Reader};
use super::{abi, task};
use crate::body::{Body, Stream};
use crate::error::{Error, Result};
use crate::headers::Headers;
use crate::method::Method;
use crate::request::Request;
use crate::status::Status;
use crate::text::append;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::Cell;
use core::future::poll_fn;
use core::task::{Context, Poll, ready};
use wasip3::http::types as http;

/// Returns a request that the runtime hands over.
pub(super) fn request(handle: u32) -> Request {
    let mut method = [0; 3];
    let mut target = [0; 3];
    // SAFETY: a variant and an option with a text have three words each.
    unsafe {
        abi::request_method(handle, &mut method);
        abi::request_target(handle, &mut target);
    }
    // The cases in the order of the variant: GET, HEAD, POST, PUT, DELETE, CONNECT, OPTIONS, TRACE, PATCH.
    const CASES: [u8; 9] = [0, 1, 2, 3, 5, 6, 8, 7, 4];
    let method = match CASES.get(method[0] & 255) {
        Some(number) => Method::known(*number),
        None => Method::other(text(method)),
    };
    let mut target = if target[0] & 255 == 0 { String::new() } else { text(target) };
    if target.is_empty() {
        append(&mut target, "/");
    }
    // SAFETY: the handle is ours.
    let request = unsafe { http::Request::from_handle(handle) };
    #[allow(clippy::useless_conversion, reason = "with both versions of WASI a head is of either")]
    Request::new(method, target, Head { source: Source::Whole(request), trailers: None }.into())
}

/// Returns the text that comes with a case.
fn text([_, at, length]: [usize; 3]) -> String {
    // SAFETY: the runtime hands over UTF-8, in memory that it got from `cabi_realloc`.
    unsafe { String::from_raw_parts(core::ptr::with_exposed_provenance_mut(at), length, length) }
}

/// The head of a request, which stays with the runtime until somebody asks.
pub(crate) struct Head {
    source: Source,
    /// Where the body leaves its trailers.
    trailers: Option<Rc<Cell<Option<Headers>>>>,
}

enum Source {
    Whole(http::Request),
    /// What is left of it once the body is taken out.
    Rest {
        fields: http::Fields,
        scheme: Option<String>,
        authority: Option<String>,
    },
    Nothing,
}

impl Head {
    pub(crate) fn headers(&self) -> Headers {
        Headers::from_raw(match &self.source {
            Source::Whole(request) => request.get_headers().copy_all(),
            Source::Rest { fields, .. } => fields.copy_all(),
            Source::Nothing => Vec::new(),
        })
    }

    pub(crate) fn scheme(&self) -> Option<String> {
        match &self.source {
            Source::Whole(request) => scheme(request),
            Source::Rest { scheme, .. } => scheme.clone(),
            Source::Nothing => None,
        }
    }

    pub(crate) fn authority(&self) -> Option<String> {
        match &self.source {
            Source::Whole(request) => request.get_authority(),
            Source::Rest { authority, .. } => authority.clone(),
            Source::Nothing => None,
        }
    }

    /// Returns the body, at the first call.
    pub(crate) fn body(&mut self) -> Body {
        let request = match core::mem::replace(&mut self.source, Source::Nothing) {
            Source::Whole(request) => request,
            rest => {
                self.source = rest;
                return Body::empty();
            }
        };
        self.source = Source::Rest {
            fields: request.get_headers(),
            scheme: scheme(&request),
            authority: request.get_authority(),
        };
        let verdict = abi::result_new();
        let mut made = [0; 2];
        // SAFETY: both handles are ours and given away; the result has two handles.
        unsafe { abi::request_body(request.take_handle(), verdict as u32, &mut made) };
        be_content(verdict);
        let trailers = Rc::new(Cell::new(None));
        self.trailers = Some(trailers.clone());
        body(made, Some(trailers), |_| Error::new(Status::BAD_REQUEST, "the body broke off"))
    }

    /// Returns the trailer fields, once the body is at its end.
    pub(crate) async fn trailers(&mut self) -> Result<Option<Headers>> {
        Ok(self.trailers.as_ref().and_then(|left| left.take()))
    }
}

/// Tells the runtime, which waits for a verdict on a body, that there is nothing to say: what is wrong with it is for
/// the answer to tell.
pub(super) fn be_content(ends: u64) {
    let mut verdict = Box::new(Promise::new((ends >> 32) as u32, &transfer::PROMISED_RESULT));
    task::at_once(Box::pin(poll_fn(move |_| verdict.poll([0; 5]))));
}

/// Returns a body, given its stream and what comes after it, with where to leave its trailer fields, and what it means
/// that it breaks off.
pub(super) fn body(
    [stream, end]: [u32; 2],
    trailers: Option<Rc<Cell<Option<Headers>>>>,
    broken: fn(u32) -> Error,
) -> Body {
    let end = Some(Awaited::new(end, &transfer::TRAILERS));
    let trailers = trailers.unwrap_or_default();
    Body::from_stream(Incoming { stream: Some(Reader::new(stream)), end, trailers, broken })
}

fn scheme(request: &http::Request) -> Option<String> {
    Some(match request.get_scheme()? {
        http::Scheme::Http => String::from("http"),
        http::Scheme::Https => String::from("https"),
        http::Scheme::Other(name) => name,
    })
}

/// The body of a request.
struct Incoming {
    stream: Option<Reader>,
    end: Option<Awaited>,
    trailers: Rc<Cell<Option<Headers>>>,
    broken: fn(u32) -> Error,
}

impl Stream for Incoming {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>>>> {
        if let Some(stream) = &mut self.stream {
            if let Some(chunk) = ready!(stream.poll_read()) {
                return Poll::Ready(Some(Ok(chunk)));
            }
            self.stream = None;
        }
        // Whether that was the end, or the client broke off, is known from what comes after.
        let Some(end) = &mut self.end else { return Poll::Ready(None) };
        let outcome = *ready!(end.poll());
        self.end = None;
        if outcome[0] & 255 != 0 {
            return Poll::Ready(Some(Err((self.broken)(transfer::settle(&outcome)))));
        }
        if outcome[1] & 255 != 0 {
            // SAFETY: the handle is ours.
            let fields = unsafe { http::Fields::from_handle((outcome[1] >> 32) as u32) };
            self.trailers.set(Some(Headers::from_raw(fields.copy_all())));
        }
        Poll::Ready(None)
    }

    fn poll_trailers(&mut self, _: &mut Context<'_>) -> Poll<Result<Option<Headers>>> {
        Poll::Ready(Ok(self.trailers.take()))
    }
}
