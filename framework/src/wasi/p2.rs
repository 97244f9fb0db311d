//! Translates between `wasi:http@0.2` and requests and responses.

use super::executor;
use crate::app::App;
use crate::body::{Body, Stream};
use crate::error::{Error, Result};
use crate::headers::Headers;
use crate::limits;
use crate::method::Method;
use crate::request::Request;
use crate::response::Response;
use crate::router::Router;
use crate::status::Status;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::Cell;
use core::task::{Context, Poll, ready};
use wasip2::http::types as http;
use wasip2::io::poll::Pollable;
use wasip2::io::streams::{InputStream, OutputStream, StreamError};

pub use wasip2;

/// The app of an instance: built at its first request, kept for those that follow.
pub struct Instance(Cell<Option<&'static App>>);

// SAFETY: a component of WASI 0.2 has one thread.
unsafe impl Sync for Instance {}

impl Instance {
    /// Returns an instance without an app.
    #[allow(clippy::new_without_default, reason = "a static needs a const fn")]
    pub const fn new() -> Instance {
        Instance(Cell::new(None))
    }

    /// Answers a request.
    pub fn handle(&self, router: fn() -> Router, request: http::IncomingRequest, out: http::ResponseOutparam) {
        let app = match self.0.get() {
            Some(app) => app,
            None => router().into_app().leak(),
        };
        self.0.set(Some(app));
        executor::block_on(Box::pin(exchange(app, request, out)));
    }
}

/// Exports the app for 0.2.
#[doc(hidden)]
#[macro_export]
macro_rules! __serve_p2 {
    ($router:path) => {
        const _: () = {
            struct Component;
            static INSTANCE: $crate::__private::p2::Instance = $crate::__private::p2::Instance::new();
            impl $crate::__private::p2::wasip2::exports::http::incoming_handler::Guest for Component {
                fn handle(
                    request: $crate::__private::p2::wasip2::http::types::IncomingRequest,
                    out: $crate::__private::p2::wasip2::http::types::ResponseOutparam,
                ) {
                    INSTANCE.handle($router, request, out);
                }
            }
    $crate::__private::p2::wasip2::http::proxy::export!(Component with_types_in $crate::__private::p2::wasip2);
        };
    };
}

async fn exchange(app: &'static App, request: http::IncomingRequest, out: http::ResponseOutparam) {
    let response = match incoming(request) {
        Some(request) => app.respond(request).await,
        None => Response::default().with_status(Status::BAD_REQUEST),
    };
    let (status, headers, body) = response.into_parts();
    let message = http::OutgoingResponse::new(fields(&headers));
    if status != Status::OK && message.set_status_code(status.code()).is_err() {
        log("the runtime refuses the status");
    }
    let Ok(outgoing) = message.body() else { return };
    http::ResponseOutparam::set(out, Ok(message));
    match send(&outgoing, body).await {
        // The client is gone or the handler broke off: a body that is dropped never looks complete.
        Err(error) => {
            if let Some(cause) = error.and_then(|error| error.source_text()) {
                log(&cause);
            }
        }
        Ok(trailers) => {
            let _ = http::OutgoingBody::finish(outgoing, trailers.map(|trailers| fields(&trailers)));
        }
    }
}

fn incoming(request: http::IncomingRequest) -> Option<Request> {
    let method = match request.method() {
        http::Method::Get => Method::GET,
        http::Method::Head => Method::HEAD,
        http::Method::Post => Method::POST,
        http::Method::Put => Method::PUT,
        http::Method::Delete => Method::DELETE,
        http::Method::Connect => Method::CONNECT,
        http::Method::Options => Method::OPTIONS,
        http::Method::Trace => Method::TRACE,
        http::Method::Patch => Method::PATCH,
        http::Method::Other(name) => Method::new(&name)?,
    };
    let target = request.path_with_query().filter(|target| !target.is_empty()).unwrap_or_else(|| String::from("/"));
    let head = Rc::new(request);
    let body = Body::from_stream(Incoming::Unread(head.clone()));
    Some(Request::new(method, target, Head(head), body))
}

/// The head of a request, which stays with the runtime until somebody asks.
pub(crate) struct Head(Rc<http::IncomingRequest>);

impl Head {
    pub(crate) fn headers(&self) -> Headers {
        Headers::from_raw(self.0.headers().entries())
    }

    pub(crate) fn scheme(&self) -> Option<String> {
        Some(match self.0.scheme()? {
            http::Scheme::Http => String::from("http"),
            http::Scheme::Https => String::from("https"),
            http::Scheme::Other(name) => name,
        })
    }

    pub(crate) fn authority(&self) -> Option<String> {
        self.0.authority()
    }
}

/// The body of a request.
enum Incoming {
    Unread(Rc<http::IncomingRequest>),
    // The order matters: a stream has to be dropped before the body that it belongs to.
    Reading { wait: Option<Rc<Pollable>>, stream: InputStream, body: http::IncomingBody },
    Trailers { wait: Option<Rc<Pollable>>, future: http::FutureTrailers },
    Ended,
}

impl Stream for Incoming {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>>>> {
        if let Incoming::Unread(request) = self {
            let Ok(body) = request.consume() else { return self.end() };
            let Ok(stream) = body.stream() else { return self.end() };
            *self = Incoming::Reading { wait: None, stream, body };
        }
        let Incoming::Reading { wait, stream, .. } = self else { return Poll::Ready(None) };
        loop {
            if let Some(pollable) = wait {
                ready!(executor::poll_wait(pollable));
            }
            match stream.read(limits::CHUNK as u64) {
                Ok(chunk) if chunk.is_empty() => {
                    wait.get_or_insert_with(|| Rc::new(stream.subscribe()));
                }
                Ok(chunk) => {
                    return Poll::Ready(Some(Ok(chunk)));
                }
                Err(StreamError::Closed) => return self.end(),
                Err(StreamError::LastOperationFailed(_)) => {
                    *self = Incoming::Ended;
                    return Poll::Ready(Some(Err(Error::new(Status::BAD_REQUEST, "the body broke off"))));
                }
            }
        }
    }

    fn poll_trailers(&mut self, _: &mut Context<'_>) -> Poll<Result<Option<Headers>>> {
        let Incoming::Trailers { wait, future } = self else { return Poll::Ready(Ok(None)) };
        let answer = loop {
            match future.get() {
                Some(answer) => break answer,
                None => {
                    let pollable = wait.get_or_insert_with(|| Rc::new(future.subscribe()));
                    ready!(executor::poll_wait(pollable));
                }
            }
        };
        *self = Incoming::Ended;
        Poll::Ready(match answer {
            Ok(Ok(Some(trailers))) => Ok(Some(Headers::from_raw(trailers.entries()))),
            Ok(Ok(None)) | Err(()) => Ok(None),
            Ok(Err(_)) => Err(Error::new(Status::BAD_REQUEST, "the body broke off")),
        })
    }
}

impl Incoming {
    fn end(&mut self) -> Poll<Option<Result<Vec<u8>>>> {
        if let Incoming::Reading { wait, stream, body } = core::mem::replace(self, Incoming::Ended) {
            drop(wait);
            drop(stream);
            *self = Incoming::Trailers { wait: None, future: http::IncomingBody::finish(body) };
        }
        Poll::Ready(None)
    }
}

/// Writes a body, as fast as the runtime takes it. Without an error that is worth a line, the client is gone.
async fn send(outgoing: &http::OutgoingBody, mut body: Body) -> Result<Option<Headers>, Option<Error>> {
    if body.is_empty() {
        return Ok(None);
    }
    let out = outgoing.write().map_err(|()| None)?;
    if let Some(bytes) = body.as_bytes() {
        write(&out, bytes).await?;
        return Ok(None);
    }
    while let Some(chunk) = body.chunk().await.map_err(Some)? {
        write(&out, &chunk).await?;
    }
    body.trailers().await.map_err(Some)
}

async fn write(out: &OutputStream, mut bytes: &[u8]) -> Result<(), Option<Error>> {
    while !bytes.is_empty() {
        let room = out.check_write().map_err(|_| None)?;
        let (now, later) = bytes.split_at_checked(usize::try_from(room).unwrap_or(usize::MAX)).unwrap_or((bytes, &[]));
        if now.is_empty() {
            executor::wait(out.subscribe()).await;
        } else {
            out.write(now).map_err(|_| None)?;
        }
        bytes = later;
    }
    Ok(())
}

/// Hands header fields over. What the runtime refuses is left out, with a line in the log.
fn fields(headers: &Headers) -> http::Fields {
    http::Fields::from_list(headers.as_raw()).unwrap_or_else(|_| {
        let fields = http::Fields::new();
        for (name, value) in headers.as_raw() {
            if fields.append(name, value).is_err() {
                log(&crate::text::concat(["the runtime refuses the header field ", name]));
            }
        }
        fields
    })
}

/// Ends the instance with a message in the log.
#[cold]
#[track_caller]
pub(crate) fn fail(message: &str) -> ! {
    let at = core::panic::Location::caller();
    log(&crate::text::concat([message, " (", at.file(), ":", &crate::text::decimal(at.line().into()), ")"]));
    core::arch::wasm32::unreachable()
}

/// Writes a line to the log of the host.
#[cold]
#[inline(never)]
pub(crate) fn log(line: &str) {
    print(line.as_bytes());
    print(b"\n");
}

/// Writes to `wasi:cli/stderr`, which every HTTP world grants.
pub(super) fn print(bytes: &[u8]) {
    let stderr = wasip2::cli::stderr::get_stderr();
    // More than 4,096 bytes at a time would be refused (`wasi:io/streams`).
    for piece in bytes.chunks(4096) {
        let _ = stderr.blocking_write_and_flush(piece);
    }
}
