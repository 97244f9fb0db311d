//! Instances of 0.2 that wait for their next request, where the operator lets them live on.

use crate::store::State;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use wasmtime::Store;
use wasmtime_wasi_http::p2::bindings::Proxy;

/// An instance and how often it was used.
pub(crate) struct Instance {
    pub(super) store: Store<State>,
    pub(super) proxy: Proxy,
    pub(super) requests: u32,
    idle_since: Instant,
}

impl Instance {
    /// An instance that has served nobody yet.
    pub(super) fn new(store: Store<State>, proxy: Proxy) -> Self {
        Self { store, proxy, requests: 0, idle_since: Instant::now() }
    }
}

/// The waiting instances of one worker, the last used on top.
#[derive(Default)]
pub(crate) struct Warm(Mutex<Vec<Instance>>);

/// Instances that are kept for later; more only wait for their end.
const MOST: usize = 64;

impl Warm {
    /// Takes the one that was used last.
    pub(super) fn take(&self) -> Option<Instance> {
        self.lock().pop()
    }

    /// Keeps an instance for the next request, if it may serve one: no instance serves more than `most`.
    pub(super) fn keep(&self, mut instance: Instance, most: u32) {
        // What is left in the table belongs to the request that is over.
        if instance.requests >= most || !instance.store.data().is_clean() {
            return;
        }
        instance.idle_since = Instant::now();
        let mut instances = self.lock();
        if instances.len() < MOST {
            instances.push(instance);
        }
    }

    /// Drops those that waited for longer than `idle`.
    pub(super) fn expire(&self, idle: Duration) {
        self.lock().retain(|instance| instance.idle_since.elapsed() < idle);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Instance>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
