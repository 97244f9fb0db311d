//! Requests of the app itself over `wasi:http/outgoing-handler@0.2`.

use super::{Fault, Incoming, Outgoing};
use crate::body::{Body, Stream};
use crate::error::{Error, Result};
use crate::headers::Headers;
use crate::status::Status;
use crate::wasi::executor;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use wasip2::http::outgoing_handler;
use wasip2::http::types as http;
use wasip2::io::poll::Pollable;
use wasip2::io::streams::{InputStream, StreamError};

/// Sends a request, and returns once the head of the answer is there.
pub(super) async fn send(request: Outgoing) -> core::result::Result<Incoming, Fault> {
    let Outgoing { method, url, headers, body } = request;
    let message = http::OutgoingRequest::new(fields(&headers).ok_or(Fault::Request)?);
    let scheme = if url.is_https { http::Scheme::Https } else { http::Scheme::Http };
    let made = message.set_method(&http::Method::Other(String::from(method.as_str()))).is_ok()
        && message.set_scheme(Some(&scheme)).is_ok()
        && message.set_authority(Some(&url.authority)).is_ok()
        && message.set_path_with_query(Some(&url.target)).is_ok();
    let (true, Ok(out)) = (made, message.body()) else { return Err(Fault::Request) };
    let answer = outgoing_handler::handle(message, None).map_err(|code| fault(&code))?;
    let mut upload: Upload = Some(Box::pin(write(out, body)));
    let mut wait = None;
    let response = poll_fn(|cx| {
        go_on(&mut upload, cx);
        loop {
            if let Some(pollable) = &wait {
                ready!(executor::poll_wait(pollable));
            }
            match answer.get() {
                Some(Ok(result)) => return Poll::Ready(result.map_err(|code| fault(&code))),
                Some(Err(())) => return Poll::Ready(Err(Fault::Broken)),
                None => wait = Some(Rc::new(answer.subscribe())),
            }
        }
    });
    let response = response.await;
    // What waits for an answer goes before it.
    drop(wait);
    let response = response?;
    let status = Status::new(response.status()).ok_or(Fault::Broken)?;
    let headers = Headers::from_raw(response.headers().entries());
    let content = response.consume().map_err(|()| Fault::Broken)?;
    let stream = content.stream().map_err(|()| Fault::Broken)?;
    let state = State::Content { wait: None, stream, content };
    Ok(Incoming { status, headers, body: Body::from_stream(Download { state, upload }) })
}

/// The body of a request, as long as there is something to write.
type Upload = Option<Pin<Box<dyn Future<Output = ()>>>>;

fn go_on(upload: &mut Upload, cx: &mut Context<'_>) {
    if let Some(writing) = upload
        && writing.as_mut().poll(cx).is_ready()
    {
        *upload = None;
    }
}

/// Writes a body and ends it. Where it breaks off it is dropped, and the request never looks complete.
async fn write(out: http::OutgoingBody, mut body: Body) {
    if !body.is_empty() {
        let Ok(stream) = out.write() else { return };
        loop {
            let chunk = match body.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(error) => return error.log(),
            };
            let mut rest = chunk.as_slice();
            while !rest.is_empty() {
                let Ok(room) = stream.check_write() else { return };
                let room = usize::try_from(room).unwrap_or(usize::MAX);
                let (now, later) = rest.split_at_checked(room).unwrap_or((rest, &[]));
                if now.is_empty() {
                    executor::wait(stream.subscribe()).await;
                } else if stream.write(now).is_err() {
                    return;
                }
                rest = later;
            }
        }
        if stream.flush().is_err() {
            return;
        }
    }
    let trailers = body.trailers().await.ok().flatten();
    let _ = http::OutgoingBody::finish(out, trailers.and_then(|trailers| fields(&trailers)));
}

fn fields(headers: &Headers) -> Option<http::Fields> {
    let list: Vec<_> = headers.iter().map(|(name, value)| (String::from(name), value.to_vec())).collect();
    http::Fields::from_list(&list).ok()
}

/// The body of an answer. Goes on with that of the request, whenever it is read.
struct Download {
    state: State,
    upload: Upload,
}

/// How far it is. The order in each matters: what waits for something is dropped before that, and a stream before the
/// body that it belongs to.
enum State {
    Content { wait: Option<Rc<Pollable>>, stream: InputStream, content: http::IncomingBody },
    Trailers { wait: Option<Rc<Pollable>>, trailers: http::FutureTrailers },
    End,
}

impl Stream for Download {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>>>> {
        go_on(&mut self.upload, cx);
        let State::Content { wait, stream, .. } = &mut self.state else { return Poll::Ready(None) };
        loop {
            if let Some(pollable) = wait {
                ready!(executor::poll_wait(pollable));
            }
            match stream.read(crate::limits::CHUNK as u64) {
                Ok(chunk) if chunk.is_empty() => {
                    wait.get_or_insert_with(|| Rc::new(stream.subscribe()));
                }
                Ok(chunk) => {
                    *wait = None;
                    return Poll::Ready(Some(Ok(chunk)));
                }
                Err(end) => {
                    let before = core::mem::replace(&mut self.state, State::End);
                    if let StreamError::LastOperationFailed(_) = end {
                        return Poll::Ready(Some(Err(broken())));
                    }
                    if let State::Content { wait, stream, content } = before {
                        drop(wait);
                        drop(stream);
                        let trailers = http::IncomingBody::finish(content);
                        self.state = State::Trailers { wait: None, trailers };
                    }
                    return Poll::Ready(None);
                }
            }
        }
    }

    fn poll_trailers(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Headers>>> {
        go_on(&mut self.upload, cx);
        let State::Trailers { wait, trailers } = &mut self.state else { return Poll::Ready(Ok(None)) };
        loop {
            if let Some(pollable) = wait {
                ready!(executor::poll_wait(pollable));
            }
            let Some(result) = trailers.get() else {
                *wait = Some(Rc::new(trailers.subscribe()));
                continue;
            };
            let result = match result {
                Ok(Ok(Some(trailers))) => Ok(Some(Headers::from_raw(trailers.entries()))),
                Ok(Ok(None)) | Err(()) => Ok(None),
                Ok(Err(_)) => Err(broken()),
            };
            self.state = State::End;
            return Poll::Ready(result);
        }
    }
}

#[cold]
fn broken() -> Error {
    Error::new(Status::BAD_GATEWAY, "upstream broke off")
}

/// Returns what an error means.
fn fault(code: &http::ErrorCode) -> Fault {
    use http::ErrorCode as Code;
    // By its number in the interface, as the other version has it.
    Fault::of(match code {
        Code::DnsTimeout => 0,
        Code::DnsError(_) => 1,
        Code::DestinationNotFound => 2,
        Code::DestinationUnavailable => 3,
        Code::DestinationIpProhibited => 4,
        Code::DestinationIpUnroutable => 5,
        Code::ConnectionRefused => 6,
        Code::ConnectionTerminated => 7,
        Code::ConnectionTimeout => 8,
        Code::ConnectionReadTimeout => 9,
        Code::ConnectionWriteTimeout => 10,
        Code::ConnectionLimitReached => 11,
        Code::TlsProtocolError => 12,
        Code::TlsCertificateError => 13,
        Code::TlsAlertReceived(_) => 14,
        Code::HttpRequestDenied => 15,
        Code::HttpRequestLengthRequired => 16,
        Code::HttpRequestBodySize(_) => 17,
        Code::HttpRequestMethodInvalid => 18,
        Code::HttpRequestUriInvalid => 19,
        Code::HttpRequestUriTooLong => 20,
        Code::HttpRequestHeaderSectionSize(_) => 21,
        Code::HttpRequestHeaderSize(_) => 22,
        Code::HttpRequestTrailerSectionSize(_) => 23,
        Code::HttpRequestTrailerSize(_) => 24,
        Code::HttpResponseTimeout => 33,
        _ => 38,
    })
}
