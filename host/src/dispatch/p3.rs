//! A request through a `wasi:http/handler@0.3` instance, which serves many at the same time.
//!
//! Instances are run by wasmtime's own `ProxyHandler`, one set of them per worker thread.

mod failure;

use super::{Answer, AnswerBody, Failure};
use crate::lock::lock;
use crate::metrics::{Busy, Metrics};
use crate::request::Incoming;
use crate::store::{Blueprint, State};
use crate::{Limits, Log, Reuse, clock};
use failure::{failure, unstarted};
use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame};
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::time::Sleep;
use wasmtime::component::GuestTaskId;
use wasmtime::{Store, StoreContextMut};
use wasmtime_wasi_http::handler::{
    HandlerState, Instance, Proxy, ProxyHandler, ShouldAccept, WorkerExpiration, WorkerState, WorkerStatus,
};
use wasmtime_wasi_http::p3::bindings::ServicePre;
use wasmtime_wasi_http::{WasiBody, WasiHttpView};

/// The instances of one worker thread.
pub(crate) struct Dispatcher {
    instances: Mutex<Instances>,
    handler: Handler,
    limits: Arc<Limits>,
}

/// Instances that take requests, and how many sets of them there were before.
struct Instances {
    handler: ProxyHandler<Handler>,
    number: u64,
}

/// What new instances are made of.
#[derive(Clone)]
struct Handler {
    blueprint: Blueprint,
    pre: ServicePre<State>,
    reuse: Reuse,
    next: Arc<AtomicU64>,
}

/// What requests want to know of the instance that serves them, and the other way round.
#[derive(Default)]
struct Life {
    /// Set once the instance has trapped; its open bodies then end like finished ones, and must not.
    broken: AtomicBool,
    /// Set when it was ended because its time was over.
    late: AtomicBool,
    /// Set when a request had its time; such an instance takes no more of them.
    expired: AtomicBool,
    /// The answers that are still on their way.
    open: AtomicUsize,
    /// Set while it has work, before or after an answer.
    busy: AtomicBool,
    /// Set with its first request.
    served: AtomicBool,
    /// The bytes of memory that it has.
    memory: Arc<AtomicUsize>,
}

/// A request's tie to the instance that took it, and how often it was here before.
#[derive(Clone, Default)]
struct Taken(Arc<OnceLock<Arc<Life>>>, u32);

impl Taken {
    fn is(&self, what: impl Fn(&Life) -> bool) -> bool {
        self.0.get().is_some_and(|life| what(life))
    }
}

/// Counts an answer as long as it is on its way.
struct Open(Taken);

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(life) = self.0.0.get() {
            life.open.fetch_sub(1, Relaxed);
        }
    }
}

impl Dispatcher {
    pub(crate) fn new(blueprint: Blueprint, pre: ServicePre<State>, reuse: Reuse, first_id: u64) -> Self {
        let next = Arc::new(AtomicU64::new(first_id));
        let limits = blueprint.limits.clone();
        let handler = Handler { blueprint, pre, reuse, next };
        let instances = Mutex::new(Instances { handler: ProxyHandler::new(handler.clone()), number: 0 });
        Self { instances, handler, limits }
    }

    /// What instances are made of.
    pub(crate) fn blueprint(&self) -> &Blueprint {
        &self.handler.blueprint
    }

    /// Returns the instances that take requests now, and the number of their set.
    fn current(&self) -> (ProxyHandler<Handler>, u64) {
        let instances = lock(&self.instances);
        (instances.handler.clone(), instances.number)
    }

    /// Gives the requests that follow new instances. One that has let a request wait for too long takes no more, but
    /// may still be woken for the next one, which would then wait as long in vain. What the old ones have begun they end.
    fn retire(&self, number: u64) {
        let mut instances = lock(&self.instances);
        if instances.number == number {
            *instances = Instances { handler: ProxyHandler::new(self.handler.clone()), number: number + 1 };
        }
    }

    /// Runs the guest until the head of its answer is there.
    pub(crate) async fn handle(&self, request: Incoming) -> Result<Answer, Failure> {
        let taken = Taken(Arc::default(), request.hops);
        let open = Open(taken.clone());
        let mut request = request.inner.map(BodyExt::boxed_unsync);
        let begun = Instant::now();
        // The handler watches the guest's time as well, but not while the guest is busy.
        let limit = self.limits.request_timeout + Duration::from_millis(500);
        let response = loop {
            let (handler, number) = self.current();
            let handled = handler.handle(taken.clone(), request);
            match tokio::time::timeout(limit, handled).await {
                Err(_) => {
                    self.retire(number);
                    return Err(Failure::Timeout("request_timeout"));
                }
                Ok(Err(error)) => match unstarted(error) {
                    // Instances that have answered give their room back a little later than their place.
                    Ok(again) if begun.elapsed() < self.limits.queue_timeout => {
                        request = again;
                        tokio::time::sleep(LOOK_FOR_ROOM).await;
                    }
                    Ok(_) => return Err(Failure::Busy),
                    Err(error) => {
                        let failure = failure(&error, &taken);
                        if matches!(failure, Failure::Timeout(_)) {
                            self.retire(number);
                        }
                        return Err(failure);
                    }
                },
                Ok(Ok(response)) => break response,
            }
        };
        let (head, body) = response.into_parts();
        let stream = Stream { body, open, limits: self.limits.clone(), sleep: None, since: Instant::now() };
        if stream.body.is_end_stream() {
            return Ok(Answer { head, body: AnswerBody::Whole(VecDeque::new()) });
        }
        Ok(Answer { head, body: AnswerBody::P3(Box::new(stream)) })
    }
}

/// How long a request waits before it asks again whether there is room for its instance.
const LOOK_FOR_ROOM: Duration = Duration::from_millis(5);

impl HandlerState for Handler {
    type StoreData = State;
    type WorkerExpiration = Expiration;
    type WorkerState = Worker;

    async fn instantiate(&self) -> wasmtime::Result<Instance<State, Expiration, Worker>> {
        let id = self.next.fetch_add(1, Relaxed);
        let Blueprint { limits, log, metrics, .. } = &self.blueprint;
        let mut store = State::store(&self.blueprint, id);
        let life = Arc::new(Life::default());
        store.data_mut().memory().tell(life.memory.clone());
        let born = clock::now_ms();
        // What a component does when it starts is a part of the first request.
        let started = tokio::time::timeout(limits.request_timeout, self.pre.instantiate_async(&mut store));
        let proxy = started.await??;
        Ok(Instance {
            store,
            proxy: Proxy::P3(proxy),
            view: State::http,
            expiration: Expiration {
                limits: limits.clone(),
                idle: self.reuse.idle,
                life: life.clone(),
                metrics: metrics.clone(),
                busy: None,
                sleep: Box::pin(tokio::time::sleep(Duration::MAX)),
            },
            state: Worker {
                id,
                log: log.clone(),
                limits: limits.clone(),
                reuse: self.reuse,
                metrics: metrics.clone(),
                life,
                born,
            },
        })
    }
}

/// Ends instances that have had their time.
struct Expiration {
    limits: Arc<Limits>,
    idle: Duration,
    life: Arc<Life>,
    metrics: Arc<Metrics>,
    busy: Option<Busy>,
    sleep: Pin<Box<Sleep>>,
}

impl WorkerExpiration for Expiration {
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>, status: WorkerStatus, start: Instant) -> Poll<()> {
        if (status != WorkerStatus::Idle) != self.busy.is_some() {
            self.busy = (status != WorkerStatus::Idle).then(|| Busy::new(&self.metrics));
            self.life.busy.store(self.busy.is_some(), Relaxed);
        }
        let limit = match status {
            WorkerStatus::Idle => self.idle,
            WorkerStatus::Requests => self.limits.request_timeout,
            // A streamed answer counts as returned, and has limits of its own.
            WorkerStatus::PostReturn if self.life.open.load(Relaxed) > 0 => self.limits.stream_timeout,
            WorkerStatus::PostReturn => self.limits.post_return_timeout,
        };
        let end = tokio::time::Instant::from_std(start + limit);
        // The handler may wake an instance that takes no more requests for the next request, which
        // then waits until that instance is gone; so one that has expired must go soon.
        let expired = self.life.expired.load(Relaxed);
        let (every, rest) =
            if expired { (LOOK_EXPIRED, Duration::ZERO) } else { (LOOK, self.limits.post_return_timeout) };
        loop {
            // Nobody tells when the last answer is gone, so it is looked at now and then.
            let look = match status {
                WorkerStatus::PostReturn => end.min(tokio::time::Instant::now() + every),
                _ => end,
            };
            if self.sleep.is_elapsed() || self.sleep.deadline() > look {
                self.sleep.as_mut().reset(look);
            }
            ready!(self.sleep.as_mut().poll(cx));
            if tokio::time::Instant::now() >= end {
                self.life.late.store(status != WorkerStatus::Idle, Relaxed);
                return Poll::Ready(());
            }
            if status == WorkerStatus::PostReturn && self.life.open.load(Relaxed) == 0 {
                let end = tokio::time::Instant::from_std(start + rest);
                if tokio::time::Instant::now() >= end {
                    self.life.late.store(true, Relaxed);
                    return Poll::Ready(());
                }
            }
        }
    }
}

/// How often an instance that works after its answers is looked at.
const LOOK: Duration = Duration::from_secs(1);
const LOOK_EXPIRED: Duration = Duration::from_millis(50);

/// What an instance may still take on.
struct Worker {
    id: u64,
    log: Log,
    limits: Arc<Limits>,
    reuse: Reuse,
    metrics: Arc<Metrics>,
    life: Arc<Life>,
    /// By the coarse clock.
    born: u64,
}

impl Worker {
    /// Whether it has had its time, or more memory than the next request should begin with.
    fn is_worn(&self) -> bool {
        let age = Duration::from_millis(clock::now_ms().saturating_sub(self.born));
        age > self.reuse.max_age || self.life.memory.load(Relaxed) > self.reuse.max_memory
    }
}

impl WorkerState for Worker {
    type StoreData = State;
    type RequestData = Taken;

    fn should_accept_request(&self, concurrent: usize, total: usize) -> ShouldAccept {
        // Whoever has waited for a new instance gets it, however large it is from the start.
        if total >= self.reuse.requests_p3 as usize || (total > 0 && self.is_worn()) {
            ShouldAccept::Never
        } else if concurrent >= self.reuse.concurrent_p3 as usize {
            ShouldAccept::No
        } else {
            ShouldAccept::Yes
        }
    }

    fn on_request_start(
        &self,
        mut store: StoreContextMut<'_, State>,
        taken: Taken,
        _: GuestTaskId,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + Sync>> {
        let alone = self.life.open.load(Relaxed) == 0;
        store.data_mut().set_hops(taken.1, alone);
        if taken.0.set(self.life.clone()).is_ok() {
            self.life.open.fetch_add(1, Relaxed);
        }
        if self.life.served.swap(true, Relaxed) {
            self.metrics.instances.reused.add(1);
        }
        // Each request brings the fuel for its own host calls.
        store.set_hostcall_fuel(self.limits.hostcall_bytes);
        store.data().renew();
        let (life, limit) = (self.life.clone(), self.limits.request_timeout);
        Box::pin(async move {
            tokio::time::sleep(limit).await;
            life.expired.store(true, Relaxed);
        })
    }

    fn drop(&self, store: Store<State>, result: wasmtime::Result<()>) {
        if let Err(error) = result {
            // First the flag, then the store, with which all open bodies end.
            self.life.broken.store(true, Relaxed);
            let reason = crate::error::one_line(&error);
            // The handler takes an instance that ends with its thread for one whose thread has panicked.
            let stopped = reason == "worker panicked" && !std::thread::panicking();
            if !stopped && !self.life.late.load(Relaxed) {
                self.metrics.broke(&error);
            }
            let reason = if stopped { "the host has stopped before the guest had finished" } else { &reason };
            if !stopped || self.life.busy.load(Relaxed) {
                self.log.line(format!("tabi: [{:016x}] instance dropped: {reason}", self.id));
            }
        }
        drop(store);
    }
}

/// The rest of an answer that an instance is still writing.
pub(crate) struct Stream {
    body: WasiBody,
    open: Open,
    limits: Arc<Limits>,
    sleep: Option<Pin<Box<Sleep>>>,
    since: Instant,
}

impl Stream {
    /// Gives the next frame; `None` is a proper end.
    pub(crate) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Failure>>> {
        let age = self.since.elapsed();
        let whole = self.limits.stream_timeout;
        if age > whole {
            return Poll::Ready(Some(Err(Failure::Timeout("stream_timeout"))));
        }
        loop {
            match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Pending => {
                    let limit = self.limits.stream_idle_timeout.min(whole - age);
                    let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
                    ready!(sleep.as_mut().poll(cx));
                    return Poll::Ready(Some(Err(Failure::Timeout("stream_idle_timeout"))));
                }
                Poll::Ready(None) => return Poll::Ready(self.end()),
                Poll::Ready(Some(Err(error))) => {
                    return Poll::Ready(Some(Err(Failure::Invalid(error.to_string()))));
                }
                Poll::Ready(Some(Ok(frame))) => {
                    self.sleep = None;
                    // An empty chunk would end a chunked body.
                    if frame.data_ref().is_none_or(|data| !data.is_empty()) {
                        return Poll::Ready(Some(Ok(frame)));
                    }
                }
            }
        }
    }

    fn end(&self) -> Option<Result<Frame<Bytes>, Failure>> {
        let broken = self.open.0.is(|life| life.broken.load(Relaxed));
        broken.then(|| Err(Failure::Trap("the instance broke before the end".to_owned())))
    }
}
