//! A request through a `wasi:http/incoming-handler@0.2` instance, a fresh one unless the operator
//! allows reuse.

use super::instance::{Instance, Template};
use super::warm::Warm;
use super::{Answer, AnswerBody, Failure, status_of_code};
use crate::Reuse;
use crate::lock::lock;
use crate::metrics::{Busy, micros};
use crate::request::Incoming;
use crate::store::Blueprint;
use hyper::body::{Body, Bytes, Frame};
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::time::Sleep;
use wasmtime_wasi_http::WasiHttpView;
use wasmtime_wasi_http::p2::bindings::http::types::{ErrorCode, Scheme};
use wasmtime_wasi_http::p2::body::HyperOutgoingBody;

/// What a worker thread needs to run requests.
pub(crate) struct Dispatcher {
    pub(crate) blueprint: Blueprint,
    pub(crate) template: Template,
    pub(crate) reuse: Reuse,
    pub(crate) warm: Warm,
}

type Response = hyper::Response<HyperOutgoingBody>;
type Outcome = (Option<Instance>, wasmtime::Result<()>);

/// Where the guest puts the head of its answer.
#[derive(Default)]
struct Slot(Mutex<Option<Result<Response, ErrorCode>>>);

impl Slot {
    fn take(&self) -> Option<Result<Response, ErrorCode>> {
        lock(&self.0).take()
    }
}

impl Dispatcher {
    /// Runs the guest until the head of its answer is there.
    pub(crate) async fn handle(self: &Arc<Self>, request: Incoming) -> Result<Answer, Failure> {
        let slot = Arc::new(Slot::default());
        let head_only = request.inner.method() == hyper::Method::HEAD;
        let mut guest = Guest {
            dispatcher: self.clone(),
            id: request.id,
            cpu: request.cpu.clone(),
            run: Some(Box::pin(run(self.clone(), request, slot.clone()))),
            done: None,
            busy: Duration::ZERO,
            sleep: None,
        };
        let response = std::future::poll_fn(|cx| guest.poll_head(cx, &slot)).await?;
        let (head, body) = response.into_parts();
        let mut stream = Stream { body, guest, frames: VecDeque::new(), end: None, since: None };
        // A guest that has already said everything is answered in one write.
        std::future::poll_fn(|cx| {
            stream.advance(cx);
            Poll::Ready(())
        })
        .await;
        match stream.end.take() {
            Some(Ok(())) => {
                stream.guest.linger();
                Ok(Answer { head, body: AnswerBody::Whole(stream.frames) })
            }
            // A length without the bytes is right when there must be no bytes, and not a failure.
            Some(Err(Failure::Unfinished)) if head_only || head.status == 304 => {
                Ok(Answer { head, body: AnswerBody::Whole(VecDeque::new()) })
            }
            Some(Err(failure)) => Err(failure),
            None => Ok(Answer { head, body: AnswerBody::P2(Box::new(stream)) }),
        }
    }

    /// Takes an instance that waits for a request, if there may be one.
    fn instance(&self, id: u64) -> Option<Instance> {
        if self.reuse.requests_p2 <= 1 && !self.template.restores() {
            return None;
        }
        let mut instance = self.warm.take(&self.reuse)?;
        instance.store.data_mut().set_id(id);
        let instances = &self.blueprint.metrics.instances;
        if self.template.restores() { &instances.restored } else { &instances.reused }.add(1);
        Some(instance)
    }

    /// Keeps an instance for the next request, if it may serve one.
    fn keep(&self, instance: Option<Instance>) {
        if let Some(instance) = instance {
            self.warm.keep(instance, &self.reuse);
        }
    }

    /// Drops the instances that waited for longer than `idle`.
    pub(crate) fn expire(&self, idle: Duration) {
        self.warm.expire(idle);
    }
}

async fn run(dispatcher: Arc<Dispatcher>, request: Incoming, slot: Arc<Slot>) -> Outcome {
    let Dispatcher { blueprint, template, .. } = &*dispatcher;
    let mut instance = match dispatcher.instance(request.id) {
        Some(mut instance) => {
            instance.store.set_hostcall_fuel(blueprint.limits.hostcall_bytes);
            instance.store.set_epoch_deadline(1);
            instance
        }
        None => match template.instantiate(blueprint, request.id).await {
            Ok(instance) => instance,
            Err(error) => return (None, Err(error)),
        },
    };
    instance.requests += 1;
    let result = call(&mut instance, request, slot).await;
    match &result {
        Ok(()) => instance.restore().await,
        Err(error) => blueprint.metrics.broke(error),
    }
    (Some(instance), result)
}

async fn call(instance: &mut Instance, request: Incoming, slot: Arc<Slot>) -> wasmtime::Result<()> {
    let scheme = if request.https { Scheme::Https } else { Scheme::Http };
    instance.store.data_mut().set_hops(request.hops, true);
    let mut view = instance.store.data_mut().http();
    let request = view.new_incoming_request(scheme, request.inner)?;
    let out = view.new_response_outparam_from_callback(move |answer| *lock(&slot.0) = Some(answer))?;
    instance.proxy.wasi_http_incoming_handler().call_handle(&mut instance.store, request, out).await
}

/// A running guest with its limits.
struct Guest {
    dispatcher: Arc<Dispatcher>,
    id: u64,
    /// `None` once the guest has returned or was given up.
    run: Option<Pin<Box<dyn Future<Output = Outcome> + Send>>>,
    /// How the guest ended, until somebody looks at it.
    done: Option<Outcome>,
    /// The time that was spent inside of the guest; its last turn counts only where `cpu` wants it.
    busy: Duration,
    /// Where the microseconds of it are read.
    cpu: Option<Arc<AtomicU64>>,
    /// Armed when the guest first waits; most guests never do.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Guest {
    fn poll_head(&mut self, cx: &mut Context<'_>, slot: &Slot) -> Poll<Result<Response, Failure>> {
        let polled = self.poll(cx);
        match slot.take() {
            Some(Ok(response)) => {
                self.sleep = None;
                if let Poll::Ready(outcome) = polled {
                    self.done = Some(outcome?);
                }
                return Poll::Ready(Ok(response));
            }
            Some(Err(code)) => {
                let code = format!("{code:?}");
                return Poll::Ready(Err(Failure::Code(status_of_code(&code), code)));
            }
            None => {}
        }
        match polled {
            Poll::Ready(Ok((_, Ok(())))) => Poll::Ready(Err(Failure::NoAnswer)),
            Poll::Ready(Ok((_, Err(error)))) => Poll::Ready(Err(Failure::of(&error))),
            Poll::Ready(Err(failure)) => Poll::Ready(Err(failure)),
            Poll::Pending => {
                if self.late(cx, self.dispatcher.blueprint.limits.request_timeout) {
                    self.run = None;
                    return Poll::Ready(Err(Failure::Timeout("request_timeout")));
                }
                Poll::Pending
            }
        }
    }

    /// Lets the guest run until it waits; an error means that it had its time.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Outcome, Failure>> {
        if let Some(outcome) = self.done.take() {
            return Poll::Ready(Ok(outcome));
        }
        let Some(run) = &mut self.run else { return Poll::Pending };
        let begin = Instant::now();
        if let Poll::Ready(outcome) = run.as_mut().poll(cx) {
            self.run = None;
            if self.cpu.is_some() {
                self.spent(begin);
            }
            return Poll::Ready(Ok(outcome));
        }
        self.spent(begin);
        if self.busy > self.dispatcher.blueprint.limits.cpu_time {
            self.run = None;
            return Poll::Ready(Err(Failure::Timeout("cpu_time")));
        }
        Poll::Pending
    }

    fn spent(&mut self, begin: Instant) {
        self.busy += begin.elapsed();
        if let Some(cpu) = &self.cpu {
            cpu.store(micros(self.busy), Relaxed);
        }
    }

    /// Whether `limit` has passed since the sleep was armed.
    fn late(&mut self, cx: &mut Context<'_>, limit: Duration) -> bool {
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        sleep.as_mut().poll(cx).is_ready()
    }

    /// Looks whether a guest whose body is complete has returned as well.
    fn settle(&mut self, cx: &mut Context<'_>) {
        if let Poll::Ready(outcome) = self.poll(cx) {
            self.after_body(outcome);
        }
    }

    /// What a guest does after a complete body harms nobody but itself.
    fn after_body(&self, outcome: Result<Outcome, Failure>) {
        let failure = match outcome {
            Ok((instance, Ok(()))) => return self.dispatcher.keep(instance),
            Ok((_, Err(error))) => Failure::of(&error),
            Err(failure) => failure,
        };
        self.dispatcher.blueprint.metrics.failed(failure.kind());
        let (id, reason) = (self.id, failure.reason());
        self.dispatcher.blueprint.log.line(format!("tabi: [{id:016x}] after the answer: {reason}"));
    }

    /// Lets the guest finish what it does after its answer, within its time.
    fn linger(mut self) {
        if self.run.is_none() {
            return;
        }
        let limit = self.dispatcher.blueprint.limits.post_return_timeout;
        let busy = Busy::new(&self.dispatcher.blueprint.metrics);
        tokio::spawn(async move {
            let _busy = busy;
            let rest = std::future::poll_fn(|cx| self.poll(cx));
            let late = Err(Failure::Timeout("post_return_timeout"));
            let outcome = tokio::time::timeout(limit, rest).await.unwrap_or(late);
            self.after_body(outcome);
        });
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if self.cpu.is_some() {
            self.dispatcher.blueprint.metrics.cpu_micros.add(micros(self.busy));
        }
    }
}

/// The rest of an answer, and the guest that is still writing it.
pub(crate) struct Stream {
    body: HyperOutgoingBody,
    guest: Guest,
    frames: VecDeque<Frame<Bytes>>,
    /// How the body ended; set once.
    end: Option<Result<(), Failure>>,
    /// When the head was sent.
    since: Option<Instant>,
}

/// Frames that are taken from the guest ahead of the client.
const AHEAD: usize = 4;

impl Stream {
    /// Gives the next frame; `None` is a proper end.
    pub(crate) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        self.advance(cx);
        let limits = self.guest.dispatcher.blueprint.limits.clone();
        let age = self.since.get_or_insert_with(Instant::now).elapsed();
        if age > limits.stream_timeout {
            return self.give_up("stream_timeout");
        }
        if let Some(frame) = self.frames.pop_front() {
            self.guest.sleep = None;
            return Poll::Ready(Some(Ok(frame)));
        }
        match &mut self.end {
            Some(Ok(())) => return Poll::Ready(None),
            Some(end @ Err(_)) => {
                let failure = std::mem::replace(end, Ok(())).err();
                return Poll::Ready(failure.map(Err));
            }
            None => {}
        }
        let left = limits.stream_timeout.saturating_sub(age);
        if self.guest.late(cx, limits.stream_idle_timeout.min(left)) {
            return self.give_up("stream_idle_timeout");
        }
        Poll::Pending
    }

    fn give_up(&mut self, limit: &'static str) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        self.guest.run = None;
        self.end = Some(Ok(()));
        self.frames.clear();
        Poll::Ready(Some(Err(Failure::Timeout(limit))))
    }

    /// Moves what the guest has written into `frames` and lets the guest write more.
    ///
    /// While the store exists, the body ends only when the guest finished it; a body that ends
    /// because its store is gone looks the same from here, so the store is kept until the
    /// difference has been seen.
    fn advance(&mut self, cx: &mut Context<'_>) {
        self.take_frames(cx, AHEAD);
        while self.end.is_none() && self.frames.len() < AHEAD {
            match self.guest.poll(cx) {
                Poll::Pending => {
                    let before = self.frames.len();
                    self.take_frames(cx, AHEAD);
                    if self.frames.len() == before {
                        break;
                    }
                }
                Poll::Ready(Err(failure)) => self.end = Some(Err(failure)),
                Poll::Ready(Ok(outcome)) => {
                    self.take_frames(cx, usize::MAX);
                    match (&self.end, outcome) {
                        (Some(Ok(())), outcome) => self.guest.after_body(Ok(outcome)),
                        (_, (_, Err(error))) => self.end = Some(Err(Failure::of(&error))),
                        (Some(Err(_)), _) => {}
                        (None, (_, Ok(()))) => self.end = Some(Err(Failure::Unfinished)),
                    }
                    return;
                }
            }
        }
        if matches!(self.end, Some(Ok(()))) {
            self.guest.settle(cx);
        }
    }

    fn take_frames(&mut self, cx: &mut Context<'_>, most: usize) {
        while self.end.is_none() && self.frames.len() < most {
            // A task that has done much has to wait for its next turn, and the channel behind the body looks empty until
            // then. When the guest has returned that would look like a body without an end.
            let next = std::future::poll_fn(|cx| Pin::new(&mut self.body).poll_frame(cx));
            match std::pin::pin!(tokio::task::unconstrained(next)).poll(cx) {
                Poll::Pending => return,
                Poll::Ready(Some(Ok(frame))) => {
                    // An empty chunk would end a chunked body.
                    if frame.data_ref().is_none_or(|data| !data.is_empty()) {
                        self.frames.push_back(frame);
                    }
                }
                Poll::Ready(Some(Err(_))) => self.end = Some(Err(Failure::Unfinished)),
                Poll::Ready(None) => self.end = Some(Ok(())),
            }
        }
    }

    /// Reads the rest of the body without a client, for answers that have none to show.
    pub(crate) fn drain(mut self) {
        let busy = Busy::new(&self.guest.dispatcher.blueprint.metrics);
        tokio::spawn(async move {
            let _busy = busy;
            let limit = self.guest.dispatcher.blueprint.limits.stream_timeout;
            let whole = std::future::poll_fn(|cx| {
                loop {
                    match self.poll_frame(cx) {
                        Poll::Ready(Some(Ok(_))) => {}
                        Poll::Ready(_) => return Poll::Ready(()),
                        Poll::Pending => return Poll::Pending,
                    }
                }
            });
            let _ = tokio::time::timeout(limit, whole).await;
            self.guest.linger();
        });
    }

    /// Lets a guest whose body is complete go on for a while.
    pub(crate) fn linger(self) {
        if self.frames.is_empty() && matches!(self.end, Some(Ok(()))) {
            self.guest.linger();
        }
    }
}
