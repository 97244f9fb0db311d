//! Requests of the app itself over `wasi:http/client@0.3`.

use super::exchange::{BROKEN, Writer, fields, send as send_body};
use super::incoming;
use super::transfer::{self, Awaited, Promise};
use super::wait::Call;
use super::{abi, task};
use crate::body::{Body, Stream};
use crate::error::{Error, Result};
use crate::headers::Headers;
use crate::status::Status;
use crate::wasi::outbound::{Fault, Incoming, Outgoing};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll};
use wasip3::http::types as http;

/// Sends a request, and returns once the head of the answer is there.
pub(in crate::wasi) async fn send(request: Outgoing) -> core::result::Result<Incoming, Fault> {
    let Outgoing { method, url, headers, body } = request;
    let ends = if body.is_empty() { 0 } else { abi::stream_new() };
    let trailers = abi::trailers_new();
    let mut made = [0; 2];
    // SAFETY: the handles are ours and given away; the result has two handles.
    let message = unsafe {
        abi::request_new(fields(&headers), (ends != 0).into(), ends as u32, trailers as u32, 0, 0, &mut made);
        http::Request::from_handle(made[0])
    };
    let mut upload = Upload::new(body, ends, made[1], (trailers >> 32) as u32);
    let scheme = if url.is_https { http::Scheme::Https } else { http::Scheme::Http };
    let is_taken = message.set_method(&http::Method::Other(String::from(method.as_str()))).is_ok()
        && message.set_scheme(Some(&scheme)).is_ok()
        && message.set_authority(Some(&url.authority)).is_ok()
        && message.set_path_with_query(Some(&url.target)).is_ok();
    if !is_taken {
        return Err(Fault::Request);
    }
    let mut outcome: Box<abi::Outcome> = Box::default();
    // SAFETY: the handle is ours and given away; the outcome stays until it is there or the call is cancelled, since
    // the call is dropped before it.
    let mut call = Call::new(unsafe { abi::client_send(message.take_handle(), &mut *outcome) });
    let returned = poll_fn(|cx| {
        upload.poll(cx);
        call.poll()
    })
    .await;
    drop(call);
    match *outcome {
        _ if !returned => Err(Fault::Broken),
        [result, handle, ..] if result & 255 == 0 => answer(handle as u32, upload),
        outcome => Err(Fault::of(transfer::settle(&outcome))),
    }
}

fn answer(handle: u32, upload: Upload) -> core::result::Result<Incoming, Fault> {
    // SAFETY: the handle is ours.
    let response = unsafe { http::Response::from_handle(handle) };
    let status = Status::new(response.get_status_code()).ok_or(Fault::Broken)?;
    let headers = Headers::from_raw(response.get_headers().copy_all());
    let verdict = abi::result_new();
    let mut made = [0; 2];
    // SAFETY: both handles are ours and given away; the result has two handles.
    unsafe { abi::response_body(response.take_handle(), verdict as u32, &mut made) };
    incoming::be_content(verdict);
    let body = incoming::body(made, None, |_| Error::new(Status::BAD_GATEWAY, "upstream broke off"));
    Ok(Incoming { status, headers, body: Body::from_stream(Download { body, upload }) })
}

/// The body of an answer. Goes on with that of the request, whenever it is read.
struct Download {
    body: Body,
    upload: Upload,
}

impl Stream for Download {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>>>> {
        self.upload.poll(cx);
        self.body.poll_chunk(cx)
    }

    fn poll_trailers(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Headers>>> {
        self.upload.poll(cx);
        self.body.poll_trailers(cx)
    }
}

/// The body of a request, as long as there is something to write.
struct Upload {
    body: Option<Pin<Box<dyn Future<Output = abi::Outcome>>>>,
    end: Option<Box<Promise>>,
}

impl Upload {
    fn new(body: Body, ends: u64, sent: u32, trailers: u32) -> Upload {
        let end = Some(Box::new(Promise::new(trailers, &transfer::PROMISED_TRAILERS)));
        let sent = Awaited::new(sent, &transfer::RESULT);
        if ends == 0 {
            return Upload { body: None, end };
        }
        let out = Writer::new((ends >> 32) as u32);
        Upload { body: Some(Box::pin(send_body(body, out, sent))), end }
    }

    fn poll(&mut self, cx: &mut Context<'_>) {
        let mut outcome = [0; 5];
        if let Some(body) = &mut self.body {
            match body.as_mut().poll(cx) {
                Poll::Ready(end) => outcome = end,
                Poll::Pending => return,
            }
            self.body = None;
        }
        if let Some(end) = &mut self.end
            && end.poll(outcome).is_ready()
        {
            self.end = None;
        }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.body = None;
        if let Some(mut end) = self.end.take() {
            // The runtime is told, or the request would look complete.
            task::at_once(Box::pin(poll_fn(move |_| end.poll(BROKEN))));
        }
    }
}
