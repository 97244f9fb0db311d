//! Instances of 0.2 that wait for their next request, where the operator lets them live on.

use crate::store::State;
use crate::{Reuse, clock};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};
use wasmtime::Store;
use wasmtime_wasi_http::p2::bindings::Proxy;

/// An instance and how often it was used.
pub(crate) struct Instance {
    pub(super) store: Store<State>,
    pub(super) proxy: Proxy,
    pub(super) requests: u32,
    /// By the coarse clock.
    born: u64,
    idle_since: Instant,
}

impl Instance {
    /// An instance that has served nobody yet.
    pub(super) fn new(store: Store<State>, proxy: Proxy) -> Self {
        Self { store, proxy, requests: 0, born: clock::now_ms(), idle_since: Instant::now() }
    }

    fn is_old(&self, reuse: &Reuse) -> bool {
        Duration::from_millis(clock::now_ms().saturating_sub(self.born)) > reuse.max_age
    }

    /// Whether it may serve another request.
    fn is_fit(&mut self, reuse: &Reuse) -> bool {
        // What is left in the table belongs to the request that is over.
        self.requests < reuse.requests_p2
            && self.store.data().is_clean()
            && self.store.data_mut().memory().bytes() <= reuse.max_memory
            && !self.is_old(reuse)
    }
}

/// The waiting instances of one app on one worker, the last used on top.
pub(crate) struct Warm {
    instances: Mutex<Vec<Instance>>,
    /// Instances that are kept for later; more only wait for their end.
    room: usize,
}

impl Warm {
    /// Keeps as many as there is `room` for.
    pub(crate) fn new(room: usize) -> Self {
        Self { instances: Mutex::default(), room }
    }

    /// Takes the one that was used last.
    pub(super) fn take(&self, reuse: &Reuse) -> Option<Instance> {
        let mut instances = self.lock();
        loop {
            let instance = instances.pop()?;
            if !instance.is_old(reuse) {
                return Some(instance);
            }
        }
    }

    /// Keeps an instance for the next request, if it may serve one.
    pub(super) fn keep(&self, mut instance: Instance, reuse: &Reuse) {
        if !instance.is_fit(reuse) {
            return;
        }
        instance.idle_since = Instant::now();
        let mut instances = self.lock();
        if instances.len() < self.room {
            instances.push(instance);
        }
    }

    /// Drops those that waited for longer than `idle`.
    pub(super) fn expire(&self, idle: Duration) {
        self.lock().retain(|instance| instance.idle_since.elapsed() < idle);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Instance>> {
        crate::lock::lock(&self.instances)
    }
}
