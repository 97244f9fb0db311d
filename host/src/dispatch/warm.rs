//! Instances of 0.2 that wait for their next request.

use super::instance::Instance;
use crate::Reuse;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

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
