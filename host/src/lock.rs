//! Mutexes whose values are whole whenever somebody lets go of them, also by a panic.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, whatever became of those who held it before.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
