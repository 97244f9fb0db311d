//! One instance: whoever wants something of it drives it, and its keeper does when nobody else is there.

use super::bell::{Attending, Bell};
use super::guest::live;
use super::life::Life;
use super::slot::{Job, Outcome, Slot};
use crate::dispatch::Failure;
use crate::lock::lock;
use crate::metrics::Busy;
use crate::request::Incoming;
use crate::store::{Blueprint, State};
use crate::{Reuse, clock};
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use wasmtime::Store;
use wasmtime_wasi_http::p3::bindings::Service;

type Run = Pin<Box<dyn Future<Output = wasmtime::Result<()>> + Send>>;

/// An instance with all that it works on.
pub(super) struct Instance {
    pub(super) life: Arc<Life>,
    pub(super) blueprint: Blueprint,
    pub(super) bell: Arc<Bell>,
    id: u64,
    /// The bell, as what is inside of the instance knows it.
    waker: Waker,
    /// The store and its event loop; `None` while it is driven and when it is over.
    run: Mutex<Option<Run>>,
    over: AtomicBool,
    /// There while it has work that a drain should wait for.
    busy: Mutex<Option<Busy>>,
    /// Whether the keeper watches the time.
    watched: AtomicBool,
    /// What it owes, the oldest first; some of it may be settled.
    owed: Mutex<VecDeque<Arc<Slot>>>,
    concurrent: usize,
}

/// How often an instance that has more to do at once is driven before others have their turn.
const TURNS: u32 = 32;

impl Instance {
    pub(super) fn new(
        blueprint: &Blueprint,
        reuse: &Reuse,
        id: u64,
        mut store: Store<State>,
        service: Service,
    ) -> Arc<Self> {
        let concurrent = reuse.concurrent_p3.max(1) as usize;
        let life = Life::new(store.data_mut().memory().bytes(), blueprint.limits.memory);
        store.data_mut().memory().tell(life.memory.clone());
        let bell = Arc::new(Bell::default());
        let run = live(store, service, life.clone(), bell.clone(), blueprint.clone(), concurrent);
        let instance = Arc::new(Self {
            blueprint: blueprint.clone(),
            id,
            waker: bell.clone().into(),
            bell,
            run: Mutex::new(Some(Box::pin(run))),
            over: AtomicBool::new(false),
            busy: Mutex::default(),
            watched: AtomicBool::new(false),
            owed: Mutex::default(),
            concurrent,
            life,
        });
        tokio::spawn(Keeper(instance.clone()).keep());
        instance
    }

    /// Hands a request over, with a body of so many bytes. Those that come in the same turn of the thread are worked on together, as that is faster
    /// than to change between connections and guests with each of them.
    pub(super) fn ask(self: &Arc<Self>, request: Incoming, body: u64, reuse: &Reuse) -> Asked {
        let life = &self.life;
        if life.taken.fetch_add(1, Relaxed).saturating_add(1) >= reuse.requests_p3 {
            life.retired.store(true, Relaxed);
        }
        life.open.fetch_add(1, Relaxed);
        life.bodies.fetch_add(body, Relaxed);
        let slot = Slot::new(clock::now_ms());
        life.push(Job { request, ticket: slot.ticket(life) });
        lock(&self.owed).push_back(slot.clone());
        self.bell.ring();
        Asked { instance: self.clone(), slot, body }
    }

    /// Lets the guest work until it waits, or has worked for a while.
    pub(super) fn drive(&self) {
        let _attending = self.bell.attend();
        let Some(mut run) = lock(&self.run).take() else {
            if self.over.load(Relaxed) {
                self.life.give_back();
            }
            return;
        };
        let unwound = Unwound(self);
        self.life.batch.store(0, Relaxed);
        let mut cx = Context::from_waker(&self.waker);
        let (mut turns, mut again) = (0, false);
        loop {
            self.bell.hush();
            self.life.stepped.store(false, Relaxed);
            if let Poll::Ready(result) = run.as_mut().poll(&mut cx) {
                drop(run);
                std::mem::forget(unwound);
                return self.ended(result);
            }
            turns += 1;
            let rung = self.bell.is_rung();
            // One more look tells a guest that waits from one that computes and was interrupted.
            let known = again || self.life.quiet.load(Relaxed) || !self.life.stepped.load(Relaxed);
            if turns >= TURNS || (!rung && known) {
                break;
            }
            again |= !rung;
        }
        std::mem::forget(unwound);
        *lock(&self.run) = Some(run);
        self.settle();
    }

    /// Tells those who should know how it stands.
    fn settle(&self) {
        let life = &self.life;
        let quiet = life.quiet.load(Relaxed);
        let full = life.full.load(Relaxed);
        let stuck = !quiet && !life.stepped.load(Relaxed);
        life.stuck.store(stuck, Relaxed);
        if quiet && full {
            // A guest that wants no calls and has nothing to do will not change its mind.
            life.retired.store(true, Relaxed);
        }
        if life.has_more() {
            if stuck || full || life.is_crowded() || life.running.load(Relaxed) >= self.concurrent {
                life.give_back();
            } else {
                self.bell.ring();
            }
        }
        let mut owed = lock(&self.owed);
        let waiting = life.waiting.load(Relaxed);
        if waiting == 0 {
            owed.clear();
        } else if owed.len() > 2 * waiting + 64 {
            owed.retain(|slot| slot.is_owed());
        }
        drop(owed);
        let mut busy = lock(&self.busy);
        if quiet && waiting == 0 {
            *busy = None;
            if life.retired.load(Relaxed) && life.open.load(Relaxed) == 0 {
                self.bell.call();
            }
            return;
        }
        if busy.is_none() {
            *busy = Some(Busy::new(&self.blueprint.metrics));
        }
        if !self.watched.swap(true, Relaxed) {
            self.bell.call();
        }
    }

    fn ended(&self, result: wasmtime::Result<()>) {
        self.over();
        if let Err(error) = result {
            self.blueprint.metrics.broke(&error);
            self.note(&crate::error::one_line(&error));
        }
        self.bell.call();
    }

    fn over(&self) {
        self.over.store(true, Relaxed);
        self.life.retired.store(true, Relaxed);
        *lock(&self.busy) = None;
        self.life.give_back();
    }

    fn note(&self, reason: &str) {
        self.blueprint.log.line(format!("tabi: [{:016x}] instance dropped: {reason}", self.id));
    }

    /// Ends it, whatever it does.
    fn end(&self) {
        let run = lock(&self.run).take();
        drop(run);
        self.over();
    }

    /// Takes no more requests, and goes when it has ended those that it has.
    pub(super) fn retire(&self) {
        self.life.retired.store(true, Relaxed);
        self.bell.call();
    }

    /// Whether it has waited for its next request since `before`, by the coarse clock.
    pub(super) fn is_idle_since(&self, before: u64) -> bool {
        let life = &self.life;
        self.is_done() && life.since.load(Relaxed) <= before
    }

    /// How long it may go on after its answers, in milliseconds; `None` if that is nobody's business.
    fn left_time(&self) -> Option<u64> {
        let Blueprint { limits, .. } = &self.blueprint;
        let life = &self.life;
        let limit = if life.waiting.load(Relaxed) > 0 || life.quiet.load(Relaxed) {
            return None;
        } else if life.open.load(Relaxed) > 0 {
            // A streamed answer has limits of its own.
            limits.stream_timeout
        } else if life.expired.load(Relaxed) {
            Duration::ZERO
        } else {
            limits.post_return_timeout
        };
        Some(millis(limit).saturating_sub(clock::now_ms().saturating_sub(life.since.load(Relaxed))))
    }

    /// Gives up requests that had their time; how long the next has, in milliseconds.
    fn give_up(&self) -> Option<u64> {
        let limit = millis(self.blueprint.limits.request_timeout);
        let mut owed = lock(&self.owed);
        while let Some(slot) = owed.front() {
            let left = limit.saturating_sub(clock::now_ms().saturating_sub(slot.asked));
            if left > 0 && slot.is_owed() {
                return Some(left);
            }
            // An instance that has let a request wait for too long takes no more.
            if slot.settle(&self.life, Outcome::Failed(Failure::Timeout("request_timeout"))) {
                self.life.expire();
            }
            owed.pop_front();
        }
        None
    }

    /// Whether it has ended all that it has begun.
    fn is_done(&self) -> bool {
        let life = &self.life;
        life.quiet.load(Relaxed) && life.waiting.load(Relaxed) == 0 && life.open.load(Relaxed) == 0
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Notes that the host itself has broken while it drove an instance, which is over with it.
struct Unwound<'a>(&'a Instance);

impl Drop for Unwound<'_> {
    fn drop(&mut self) {
        self.0.life.broken.store(true, Relaxed);
        self.0.over();
        self.0.note("the host panicked in it");
    }
}

/// A request that an instance has taken, until its answer is complete.
pub(super) struct Asked {
    pub(super) instance: Arc<Instance>,
    slot: Arc<Slot>,
    body: u64,
}

impl Asked {
    /// Gives what becomes of it.
    pub(super) fn poll(&self, cx: &mut Context<'_>) -> Poll<Outcome> {
        self.slot.poll(cx)
    }

    /// Lets others look at the bell of the instance no earlier than the guard is gone.
    pub(super) fn attend(&self) -> Attending<'_> {
        self.instance.bell.attend()
    }

    /// Drives the instance if it has something to do; `false` if not.
    pub(super) fn drive(&self) -> bool {
        let rung = self.instance.bell.is_rung();
        if rung {
            self.instance.drive();
        }
        rung
    }

    /// Whether the instance is gone before its time.
    pub(super) fn is_broken(&self) -> bool {
        self.instance.life.broken.load(Relaxed)
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let (instance, life) = (&self.instance, &self.instance.life);
        self.slot.leave();
        life.bodies.fetch_sub(self.body, Relaxed);
        if life.open.fetch_sub(1, Relaxed) == 1 {
            let retired = life.retired.load(Relaxed);
            if !life.quiet.load(Relaxed) || retired {
                life.since.store(clock::now_ms(), Relaxed);
                instance.bell.call();
            }
        }
    }
}

/// Looks after an instance as long as it lives.
struct Keeper(Arc<Instance>);

impl Keeper {
    async fn keep(self) {
        let instance = &self.0;
        let mut sleep = Box::pin(tokio::time::sleep(Duration::MAX));
        // When the sleep ends, by the coarse clock.
        let mut armed = u64::MAX;
        std::future::poll_fn(|cx| {
            instance.bell.is_for(cx.waker());
            if instance.bell.is_rung() {
                instance.drive();
            }
            loop {
                let life = &instance.life;
                if instance.over.load(Relaxed) {
                    return Poll::Ready(());
                }
                let (owed, own) = (instance.give_up(), instance.left_time());
                if own == Some(0) {
                    life.late.store(true, Relaxed);
                    life.broken.store(true, Relaxed);
                    instance.end();
                    instance.note("guest timed out");
                    return Poll::Ready(());
                }
                if life.retired.load(Relaxed) && instance.is_done() {
                    instance.end();
                    return Poll::Ready(());
                }
                let Some(time) = own.into_iter().chain(owed).min() else {
                    instance.watched.store(false, Relaxed);
                    return Poll::Pending;
                };
                instance.watched.store(true, Relaxed);
                let end = clock::now_ms().saturating_add(time);
                // Most of what is waited for comes long before its time, so one sleep is enough for many.
                if end < armed {
                    armed = end;
                    sleep.as_mut().reset(tokio::time::Instant::now() + Duration::from_millis(time));
                }
                if sleep.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
                armed = u64::MAX;
            }
        })
        .await;
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let instance = &self.0;
        if instance.over.load(Relaxed) {
            return;
        }
        // The keeper ends with its thread.
        let busy = lock(&instance.busy).is_some();
        instance.life.broken.store(true, Relaxed);
        instance.end();
        if busy {
            instance.note("the host has stopped before the guest had finished");
        }
    }
}
