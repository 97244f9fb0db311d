//! A request through a `wasi:http/handler@0.3` instance, which serves many at the same time.
//!
//! Requests of one turn of a thread go to an instance together: its keeper, a task of the same thread, drives it until the
//! guest waits, and the connections find their answers in their slots.

mod bell;
mod guest;
mod instance;
mod life;
mod slot;
mod stream;

use super::{Answer, AnswerBody, Failure};
use crate::lock::lock;
use crate::request::Incoming;
use crate::store::{Blueprint, State};
use crate::{Reuse, clock};
use hyper::body::Body;
use instance::Instance;
use slot::Outcome;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;
use wasmtime_wasi_http::p3::bindings::ServicePre;

pub(crate) use stream::Stream;

/// The instances of one worker thread.
pub(crate) struct Dispatcher {
    blueprint: Blueprint,
    pre: ServicePre<State>,
    reuse: Reuse,
    next: AtomicU64,
    /// Those that take requests. The first that can takes the next, so that there are few of them.
    instances: Mutex<Vec<Arc<Instance>>>,
}

/// How long a request waits before it asks again whether there is room for its instance.
const LOOK_FOR_ROOM: Duration = Duration::from_millis(5);

/// Instances that a request is given to, one after the other, until one begins with it.
const TRIES: u32 = 8;

/// The share of an instance's memory that a body of unknown length counts as.
const UNKNOWN: u64 = 16;

impl Dispatcher {
    pub(crate) fn new(blueprint: Blueprint, pre: ServicePre<State>, reuse: Reuse, first_id: u64) -> Self {
        Self { blueprint, pre, reuse, next: AtomicU64::new(first_id), instances: Mutex::default() }
    }

    /// What instances are made of.
    pub(crate) fn blueprint(&self) -> &Blueprint {
        &self.blueprint
    }

    /// Runs the guest until the head of its answer is there.
    pub(crate) async fn handle(&self, mut request: Incoming) -> Result<Answer, Failure> {
        let limits = &self.blueprint.limits;
        let head_only = request.inner.method() == hyper::Method::HEAD;
        // One of unknown length may be of any.
        let body = request.inner.body().size_hint().exact().unwrap_or(limits.memory as u64 / UNKNOWN);
        let mut tries = 0..TRIES;
        let (asked, response) = loop {
            // Guests that take no calls get no more of them.
            tries.next().ok_or(Failure::Busy)?;
            let instance = match self.pick(body) {
                Some(instance) => instance,
                None => self.make(body).await?,
            };
            let asked = instance.ask(request, body, &self.reuse);
            match std::future::poll_fn(|cx| asked.poll(cx)).await {
                Outcome::Answer(response) => break (asked, response),
                Outcome::Failed(failure) => return Err(failure),
                Outcome::Returned(again) => request = again,
            }
        };
        let (head, body) = response.into_parts();
        let mut stream = Stream::new(body, asked, limits);
        // A guest that has already said everything is answered in one write.
        std::future::poll_fn(|cx| {
            stream.gather(cx);
            Poll::Ready(())
        })
        .await;
        match stream.end.take() {
            Some(Ok(())) => Ok(Answer { head, body: AnswerBody::Whole(std::mem::take(&mut stream.frames)) }),
            // A length without the bytes is right when there must be no bytes, and not a failure.
            Some(Err(Failure::Invalid(_))) if head_only || head.status == 304 => {
                Ok(Answer { head, body: AnswerBody::Whole(VecDeque::new()) })
            }
            Some(Err(failure)) => Err(failure),
            None => Ok(Answer { head, body: AnswerBody::P3(Box::new(stream)) }),
        }
    }

    /// An instance that takes one more request, with a body of so many bytes.
    fn pick(&self, body: u64) -> Option<Arc<Instance>> {
        let mut instances = lock(&self.instances);
        let mut at = 0;
        loop {
            let instance = instances.get(at)?;
            if instance.life.is_worn(&self.reuse) {
                instances.remove(at).retire();
            } else if instance.life.has_room(&self.reuse, body) {
                return Some(instance.clone());
            } else {
                at += 1;
            }
        }
    }

    /// A new instance, or one that has got room while there was none for a new one.
    async fn make(&self, body: u64) -> Result<Arc<Instance>, Failure> {
        let limits = &self.blueprint.limits;
        let begun = std::time::Instant::now();
        loop {
            let id = self.next.fetch_add(1, Relaxed);
            let mut store = State::store(&self.blueprint, id);
            // What a component does when it starts is a part of the first request.
            let started = tokio::time::timeout(limits.request_timeout, self.pre.instantiate_async(&mut store)).await;
            match started {
                Err(_) => return Err(Failure::Timeout("request_timeout")),
                Ok(Ok(service)) => {
                    let instance = Instance::new(&self.blueprint, &self.reuse, id, store, service);
                    lock(&self.instances).push(instance.clone());
                    return Ok(instance);
                }
                Ok(Err(error)) => {
                    let failure = Failure::of(&error);
                    // Instances that have answered give their room back a little later than their place.
                    if !matches!(failure, Failure::Busy) || begun.elapsed() >= limits.queue_timeout {
                        return Err(failure);
                    }
                }
            }
            drop(store);
            tokio::time::sleep(LOOK_FOR_ROOM).await;
            if let Some(instance) = self.pick(body) {
                return Ok(instance);
            }
        }
    }

    /// Drops the instances that waited for longer than `idle`.
    pub(crate) fn expire(&self, idle: Duration) {
        let idle = u64::try_from(idle.as_millis()).unwrap_or(u64::MAX);
        let Some(before) = clock::now_ms().checked_sub(idle) else { return };
        lock(&self.instances).retain(|instance| {
            let gone = instance.is_idle_since(before);
            if gone {
                instance.retire();
            }
            !gone
        });
    }
}

impl Drop for Dispatcher {
    fn drop(&mut self) {
        // What they have begun they end.
        for instance in lock(&self.instances).drain(..) {
            instance.retire();
        }
    }
}
