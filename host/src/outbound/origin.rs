//! The instance that requests come from, and the places that its requests take up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// What the requests of one instance have in common.
#[derive(Default)]
pub(crate) struct Origin {
    gone: AtomicBool,
    open: AtomicUsize,
}

impl Origin {
    /// Whether the instance has ended.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Relaxed)
    }

    /// Notes that the instance has ended.
    pub(crate) fn leave(&self) {
        self.gone.store(true, Relaxed);
    }
}

/// A place among the requests of an app and of an instance; dropping it gives it back.
pub(crate) struct Place {
    origin: Arc<Origin>,
    all: Arc<AtomicUsize>,
}

impl Place {
    /// Takes a place, if there are fewer requests than `most_of_app` and `most_of_instance`.
    pub(crate) fn take(
        origin: &Arc<Origin>,
        all: &Arc<AtomicUsize>,
        most_of_app: usize,
        most_of_instance: usize,
    ) -> Option<Self> {
        let below = |most: usize| move |open: usize| (open < most).then_some(open + 1);
        origin.open.fetch_update(Relaxed, Relaxed, below(most_of_instance)).ok()?;
        if all.fetch_update(Relaxed, Relaxed, below(most_of_app)).is_err() {
            origin.open.fetch_sub(1, Relaxed);
            return None;
        }
        Some(Self { origin: origin.clone(), all: all.clone() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.origin.open.fetch_sub(1, Relaxed);
        self.all.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_given_back() {
        let all = Arc::new(AtomicUsize::new(0));
        let (one, two) = (Arc::new(Origin::default()), Arc::new(Origin::default()));
        let take = |origin| Place::take(origin, &all, 3, 2);
        let first = take(&one);
        let _second = take(&one);
        assert!(first.is_some() && take(&one).is_none(), "two of an instance");
        let _third = take(&two);
        assert!(take(&two).is_none(), "three in all");
        drop(first);
        assert!(take(&two).is_some());
    }
}
