//! The rest of an answer that an instance is still writing.

use super::instance::Asked;
use crate::Limits;
use crate::dispatch::Failure;
use hyper::body::{Body, Bytes, Frame};
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;
use tokio::time::Sleep;
use wasmtime_wasi_http::WasiBody;

/// The body of an answer, and the instance that it comes from.
pub(crate) struct Stream {
    body: WasiBody,
    asked: Asked,
    limits: Arc<Limits>,
    pub(super) frames: VecDeque<Frame<Bytes>>,
    /// How the body ended; set once.
    pub(super) end: Option<Result<(), Failure>>,
    sleep: Option<Pin<Box<Sleep>>>,
    /// When the head was sent.
    since: Option<Instant>,
}

/// Frames that are taken from the guest ahead of the client.
const AHEAD: usize = 4;

impl Stream {
    pub(super) fn new(body: WasiBody, asked: Asked, limits: &Arc<Limits>) -> Self {
        let limits = limits.clone();
        Self { body, asked, limits, frames: VecDeque::new(), end: None, sleep: None, since: None }
    }

    /// Takes what the guest has to say right now, as far as there is room for it.
    pub(super) fn gather(&mut self, cx: &mut Context<'_>) {
        while self.end.is_none() && self.frames.len() < AHEAD {
            match self.poll_body(cx) {
                Poll::Pending => return,
                Poll::Ready(Some(Ok(frame))) => self.frames.push_back(frame),
                Poll::Ready(Some(Err(failure))) => self.end = Some(Err(failure)),
                Poll::Ready(None) => self.end = Some(Ok(())),
            }
        }
    }

    /// Gives the next frame; `None` is a proper end.
    pub(crate) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        let age = self.since.get_or_insert_with(Instant::now).elapsed();
        let whole = self.limits.stream_timeout;
        if age > whole {
            return Poll::Ready(Some(Err(Failure::Timeout("stream_timeout"))));
        }
        if let Some(frame) = self.frames.pop_front() {
            return Poll::Ready(Some(Ok(frame)));
        }
        if let Some(end) = &mut self.end {
            return Poll::Ready(std::mem::replace(end, Ok(())).err().map(Err));
        }
        match self.poll_body(cx) {
            Poll::Pending => {
                let limit = self.limits.stream_idle_timeout.min(whole - age);
                let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
                ready!(sleep.as_mut().poll(cx));
                Poll::Ready(Some(Err(Failure::Timeout("stream_idle_timeout"))))
            }
            Poll::Ready(frame) => {
                self.sleep = None;
                Poll::Ready(frame)
            }
        }
    }

    /// Asks the body, and lets the guest go on if that gives it something to do.
    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        let _attending = self.asked.attend();
        let mut driven = 0;
        loop {
            match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Pending if driven < 2 && self.asked.drive() => driven += 1,
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) if self.asked.is_broken() => {
                    let why = "the instance broke before the end".to_owned();
                    return Poll::Ready(Some(Err(Failure::Trap(why))));
                }
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(Err(error))) => {
                    return Poll::Ready(Some(Err(Failure::Invalid(error.to_string()))));
                }
                // An empty chunk would end a chunked body.
                Poll::Ready(Some(Ok(frame))) if frame.data_ref().is_none_or(|data| !data.is_empty()) => {
                    return Poll::Ready(Some(Ok(frame)));
                }
                Poll::Ready(Some(Ok(_))) => {}
            }
        }
    }
}
