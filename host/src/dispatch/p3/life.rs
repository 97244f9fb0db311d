//! What is known of an instance from outside of it.

use super::slot::Job;
use crate::lock::lock;
use crate::{Reuse, clock};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The state of an instance, shared by those who ask it, drive it and wait for it.
#[derive(Default)]
pub(super) struct Life {
    inbox: Mutex<VecDeque<Job>>,
    /// Set once the instance has trapped; its open bodies then end like finished ones, and must not.
    pub(super) broken: AtomicBool,
    /// Set when it was ended because its time was over.
    pub(super) late: AtomicBool,
    /// Set when a request had its time.
    pub(super) expired: AtomicBool,
    /// Set when it takes no more requests.
    pub(super) retired: AtomicBool,
    /// Set when it has nothing to do.
    pub(super) quiet: AtomicBool,
    /// Set when it was seen to wait, and not to compute.
    pub(super) stepped: AtomicBool,
    /// Set when it could not be driven to the point where it waits.
    pub(super) stuck: AtomicBool,
    /// Set when the guest wants no more calls for now.
    pub(super) full: AtomicBool,
    /// Set with the first request that it begins.
    pub(super) served: AtomicBool,
    /// The requests that it has begun since it was last driven.
    pub(super) batch: AtomicU32,
    /// The requests that it has taken.
    pub(super) taken: AtomicU32,
    /// The requests that it has begun with and not answered.
    pub(super) running: AtomicUsize,
    /// The requests that it owes an answer, begun or not.
    pub(super) waiting: AtomicUsize,
    /// The requests whose answers are not yet complete.
    pub(super) open: AtomicUsize,
    /// When the last request came, or the last answer, by the coarse clock.
    pub(super) since: AtomicU64,
    /// By the coarse clock.
    born: u64,
    /// The bytes of memory that it has.
    pub(super) memory: Arc<AtomicUsize>,
    /// The bytes of the bodies of its open requests.
    pub(super) bodies: AtomicU64,
    /// What its requests may use of the memory that they share.
    share: Share,
}

/// How far requests that share an instance may fill its memory before others go elsewhere: whoever asks for more than there
/// is ends the instance, with all requests in it.
#[derive(Clone, Copy, Default)]
struct Share {
    /// The most memory with which it begins another request.
    memory: usize,
    /// The most bytes of bodies that it takes on at the same time. Guests that keep a body often hold it twice while it grows.
    bodies: u64,
}

impl Life {
    /// A life that begins with `memory` bytes, of the `limit` that it may have.
    pub(super) fn new(memory: usize, limit: usize) -> Arc<Self> {
        let now = clock::now_ms();
        let left = limit.saturating_sub(memory);
        let share = Share { memory: memory.saturating_add(left / 2), bodies: (left / 4) as u64 };
        Arc::new(Self { born: now, since: AtomicU64::new(now), share, ..Self::default() })
    }

    /// Whether it has had its share, or more memory than the next request should begin with.
    pub(super) fn is_worn(&self, reuse: &Reuse) -> bool {
        let taken = self.taken.load(Relaxed);
        let age = || Duration::from_millis(clock::now_ms().saturating_sub(self.born));
        self.retired.load(Relaxed)
            || taken >= reuse.requests_p3
            // Whoever has waited for a new instance gets it, however large it is from the start.
            || (taken > 0 && (age() > reuse.max_age || self.memory.load(Relaxed) > reuse.max_memory))
    }

    /// Whether it may take another request right now, with a body of so many bytes.
    pub(super) fn has_room(&self, reuse: &Reuse, body: u64) -> bool {
        self.running.load(Relaxed) < reuse.concurrent_p3 as usize
            && !self.stuck.load(Relaxed)
            && !self.full.load(Relaxed)
            && (self.open.load(Relaxed) == 0 || !self.is_large())
            && self.takes(body)
    }

    /// Whether it takes on a body of so many bytes: any, where it has none.
    fn takes(&self, body: u64) -> bool {
        let bodies = self.bodies.load(Relaxed);
        bodies == 0 || bodies.saturating_add(body) <= self.share.bodies
    }

    /// Whether its memory is for those that it works for already.
    pub(super) fn is_crowded(&self) -> bool {
        // Whoever has an answer may still be at its body.
        self.is_large() && (self.running.load(Relaxed) > 0 || self.open.load(Relaxed) > lock(&self.inbox).len())
    }

    fn is_large(&self) -> bool {
        self.memory.load(Relaxed) > self.share.memory
    }

    /// Takes on a request.
    pub(super) fn push(&self, job: Job) {
        self.since.store(clock::now_ms(), Relaxed);
        self.waiting.fetch_add(1, Relaxed);
        lock(&self.inbox).push_back(job);
    }

    /// The next request to begin with.
    pub(super) fn pop(&self) -> Option<Job> {
        lock(&self.inbox).pop_front()
    }

    /// Whether there are requests that it has not begun with.
    pub(super) fn has_more(&self) -> bool {
        !lock(&self.inbox).is_empty()
    }

    /// Gives requests back that were not begun.
    pub(super) fn give_back(&self) {
        let jobs = std::mem::take(&mut *lock(&self.inbox));
        self.taken.fetch_sub(jobs.len() as u32, Relaxed);
        jobs.into_iter().for_each(Job::give_back);
    }

    /// Notes that a request has its answer, or will never have one.
    pub(super) fn settled(&self, begun: bool) {
        if begun {
            self.running.fetch_sub(1, Relaxed);
        }
        if self.waiting.fetch_sub(1, Relaxed) == 1 {
            self.since.store(clock::now_ms(), Relaxed);
        }
    }

    /// Notes that a request had its time.
    pub(super) fn expire(&self) {
        self.expired.store(true, Relaxed);
        self.retired.store(true, Relaxed);
    }
}
