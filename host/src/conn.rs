//! One connection's timers and its stop signal.
//!
//! The timers are lazy: a deadline moves by storing a number, and the one armed sleep looks,
//! when it wakes, whether the deadline has moved. A busy connection pays no timer per request.

use crate::lock::lock;
use crate::metrics::{Metrics, Silence};
use crate::networks::Networks;
use crate::peer::Peer;
use crate::{Limits, clock};
use base64::Engine;
use hyper::header::HeaderValue;
use hyper::rt::{Read, ReadBufCursor, Write};
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep};

/// What others may know of a connection and ask of it.
pub(crate) struct Conn {
    peer: Peer,
    /// Who connected to a balancer that passes the bytes on.
    behind: OnceLock<Peer>,
    client_cert: OnceLock<HeaderValue>,
    pub(crate) https: bool,
    metrics: Arc<Metrics>,
    h2: AtomicBool,
    open: AtomicU32,
    requests: AtomicU64,
    stop: AtomicU8,
    waker: Mutex<Option<Waker>>,
}

/// How far a connection was asked to stop.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stop {
    Run,
    /// Answer what has been asked, then close.
    Drain,
    /// Close now.
    Abort,
}

impl Conn {
    pub(crate) fn new(peer: Peer, https: bool, metrics: &Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self {
            peer,
            behind: OnceLock::new(),
            client_cert: OnceLock::new(),
            https,
            metrics: metrics.clone(),
            h2: AtomicBool::new(false),
            open: AtomicU32::new(0),
            requests: AtomicU64::new(0),
            stop: AtomicU8::new(Stop::Run as u8),
            waker: Mutex::new(None),
        })
    }

    /// Who is at the other end, balancers not counted.
    pub(crate) fn peer(&self) -> Peer {
        *self.behind.get().unwrap_or(&self.peer)
    }

    /// Whether the other end itself, balancers counted, is in `networks`.
    pub(crate) fn is_from(&self, networks: &Networks) -> bool {
        networks.contain(self.peer)
    }

    /// Notes who is behind the balancer at the other end.
    pub(crate) fn set_peer(&self, peer: Peer) {
        let _ = self.behind.set(peer);
    }

    /// Notes the certificate that the client has proved to have, as DER.
    pub(crate) fn set_client_cert(&self, der: &[u8]) {
        // RFC 9440 2.2: a byte sequence of structured fields.
        let text = format!(":{}:", base64::engine::general_purpose::STANDARD.encode(der));
        if let Ok(value) = HeaderValue::try_from(text) {
            let _ = self.client_cert.set(value);
        }
    }

    /// The certificate of the client, as the value of the field `client-cert`.
    pub(crate) fn client_cert(&self) -> Option<&HeaderValue> {
        self.client_cert.get()
    }

    pub(crate) fn enter(&self) {
        self.open.fetch_add(1, Relaxed);
        self.requests.fetch_add(1, Relaxed);
    }

    /// Notes that this connection speaks HTTP/2, where silence has another meaning.
    pub(crate) fn set_h2(&self) {
        self.h2.store(true, Relaxed);
    }

    pub(crate) fn leave(&self) {
        self.open.fetch_sub(1, Relaxed);
    }

    /// How many requests this connection has carried.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Relaxed)
    }

    fn is_open(&self) -> bool {
        self.open.load(Relaxed) > 0
    }

    /// Asks the connection to stop.
    pub(crate) fn stop(&self, how: Stop) {
        self.stop.fetch_max(how as u8, Relaxed);
        let waker = lock(&self.waker).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// How far it was asked to stop; wakes the task of `cx` when that changes.
    pub(crate) fn stopping(&self, cx: &Context<'_>, registered: &mut bool) -> Stop {
        // A task keeps its waker for life, so one registration lasts until it is used.
        if !*registered {
            *lock(&self.waker) = Some(cx.waker().clone());
            *registered = true;
        }
        match self.stop.load(Relaxed) {
            0 => Stop::Run,
            1 => {
                *registered = false;
                Stop::Drain
            }
            _ => Stop::Abort,
        }
    }
}

/// A stream whose reads between requests and whose writes have deadlines.
pub(crate) struct Timed<S> {
    inner: S,
    conn: Arc<Conn>,
    limits: Arc<Limits>,
    read: Deadline,
    /// When the wait for the current request head began, in milliseconds of the coarse clock.
    waiting: Option<Wait>,
    write: Option<Pin<Box<Sleep>>>,
}

#[derive(Clone, Copy)]
struct Wait {
    since: u64,
    requests: u64,
    /// Whether a part of the head is already here.
    begun: bool,
}

#[derive(Default)]
struct Deadline(Option<Pin<Box<Sleep>>>);

impl Deadline {
    /// Ready once the coarse clock has reached `end`.
    fn poll(&mut self, cx: &mut Context<'_>, end: u64) -> Poll<()> {
        loop {
            let left = Duration::from_millis(end.saturating_sub(clock::now_ms()));
            let sleep = self.0.get_or_insert_with(|| Box::pin(tokio::time::sleep(left)));
            // A deadline that moved forward is noticed when the old one fires; one that moved
            // backward has to be armed anew.
            if sleep.deadline() > Instant::now() + left + clock::TICK {
                sleep.as_mut().reset(Instant::now() + left);
            }
            ready!(sleep.as_mut().poll(cx));
            if clock::now_ms() >= end {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(Instant::now() + left.max(clock::TICK));
        }
    }
}

impl<S> Timed<S> {
    pub(crate) fn new(inner: S, conn: Arc<Conn>, limits: Arc<Limits>) -> Self {
        // A client that connects and says nothing has as long as one that starts a head.
        let waiting = Some(Wait { since: clock::now_ms(), requests: 0, begun: true });
        Self { inner, conn, limits, read: Deadline::default(), waiting, write: None }
    }

    /// Decides whether a client that sends nothing has had its time.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let requests = self.conn.requests();
        let wait = match &mut self.waiting {
            Some(wait) if wait.requests == requests => *wait,
            waiting => *waiting.insert(Wait { since: clock::now_ms(), requests, begun: false }),
        };
        let (limit, why) = match wait.begun {
            true => (self.limits.header_timeout, Silence::Header),
            false => (self.limits.idle_timeout, Silence::Idle),
        };
        let end = wait.since + u64::try_from(limit.as_millis()).unwrap_or(u64::MAX / 2);
        ready!(self.read.poll(cx, end));
        self.conn.metrics.silence(why);
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Notes that the client said something while no request was open.
    fn note_read(&mut self) {
        let requests = self.conn.requests();
        // A frame between requests is a sign of life on HTTP/2, and not the start of a head.
        if self.conn.h2.load(Relaxed) {
            self.waiting = Some(Wait { since: clock::now_ms(), requests, begun: false });
            return;
        }
        match &mut self.waiting {
            Some(wait) if wait.requests == requests && wait.begun => {}
            waiting => {
                *waiting = Some(Wait { since: clock::now_ms(), requests, begun: true });
            }
        }
    }

    fn poll_stuck<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        let limit = self.limits.write_timeout;
        let sleep = self.write.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        ready!(sleep.as_mut().poll(cx));
        self.conn.metrics.silence(Silence::Write);
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: Read + Unpin> Read for Timed<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        match Pin::new(&mut this.inner).poll_read(cx, buf) {
            Poll::Ready(result) => {
                if !this.conn.is_open() {
                    this.note_read();
                }
                Poll::Ready(result)
            }
            Poll::Pending if this.conn.is_open() => Poll::Pending,
            Poll::Pending => this.poll_silence(cx),
        }
    }
}

impl<S: Write + Unpin> Write for Timed<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        match Pin::new(&mut this.inner).poll_write(cx, buf) {
            Poll::Pending => this.poll_stuck(cx),
            done => {
                this.write = None;
                done
            }
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        match Pin::new(&mut this.inner).poll_write_vectored(cx, bufs) {
            Poll::Pending => this.poll_stuck(cx),
            done => {
                this.write = None;
                done
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.inner).poll_flush(cx) {
            Poll::Pending => self.poll_stuck(cx),
            done => done,
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.inner).poll_shutdown(cx) {
            Poll::Pending => self.poll_stuck(cx),
            done => done,
        }
    }
}
