//! What is counted: each thread counts for itself, and whoever reads adds up.
//!
//! A counter that all threads share would be fetched from another core for each request.

use crate::World;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// An enumeration with the word that the page has for each variant.
macro_rules! labels {
    ($(#[$doc:meta])* $name:ident { $($variant:ident $label:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $(#[doc = $label] $variant,)* }

        impl $name {
            /// The words, in the order of the variants.
            pub(crate) const LABELS: &[&str] = &[$($label,)*];
        }
    };
}

labels! {
    /// Why a client was turned away before any guest saw its request, or its connection.
    Refused {
        Connections "connections",
        ConnectionsPerIp "connections_per_ip",
        Malformed "malformed",
        HeaderCount "header_count",
        UriBytes "uri_bytes",
        Expectation "expectation",
        Connect "connect",
        Coding "transfer_coding",
        BodyBytes "body_bytes",
        BodyTimeout "body_timeout",
        BodyMalformed "body_malformed",
        Queue "queue",
        QueueTimeout "queue_timeout",
        OutboundHops "outbound_hops",
    }
}

labels! {
    /// The limit that ended a connection.
    Silence {
        Header "header_timeout",
        Idle "idle_timeout",
        Write "write_timeout",
        Tls "tls_timeout",
    }
}

labels! {
    /// What a guest did wrong.
    Failed {
        Trap "trap",
        NoAnswer "no_answer",
        Unfinished "unfinished",
        ErrorCode "error_code",
        Invalid "invalid",
        Timeout "timeout",
        NoRoom "no_room",
    }
}

labels! {
    /// Why an instance broke.
    Cause {
        Unreachable "unreachable",
        Memory "memory",
        Table "table",
        Stack "stack",
        Arithmetic "arithmetic",
        Host "host_call",
        Other "other",
    }
}

labels! {
    /// How the answer of an exchange ended.
    End {
        Complete "complete",
        Cut "cut",
        Gone "client_gone",
    }
}

labels! {
    /// What became of a new component.
    Reload {
        Done "done",
        Refused "refused",
    }
}

/// Who answers: the host itself, or an app in one of its worlds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct By(usize);

impl By {
    /// The host itself.
    pub(crate) const HOST: By = By(0);

    /// The app with this number.
    pub(crate) fn app(number: usize, world: World) -> Self {
        By(1 + number * 2 + usize::from(world == World::P3))
    }

    /// Everybody, for `apps` apps.
    pub(crate) fn all(apps: usize) -> impl Iterator<Item = By> {
        (0..=apps * 2).map(By)
    }

    /// The number of the app, and the version of its world.
    pub(crate) fn label(self) -> Option<(usize, &'static str)> {
        let rest = self.0.checked_sub(1)?;
        Some((rest / 2, if rest % 2 == 0 { "0.2" } else { "0.3" }))
    }
}

/// The first digits of statuses.
pub(crate) const CLASSES: usize = 5;

/// The upper bounds of the histogram's buckets, in microseconds.
pub(crate) const BOUNDS: [u64; 14] =
    [100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000, 30_000_000];

/// How long things took.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    /// One more than there are bounds.
    pub(crate) buckets: [Counter; BOUNDS.len() + 1],
    pub(crate) micros: Counter,
}

impl Histogram {
    pub(crate) fn add(&self, time: Duration) {
        let micros = micros(time);
        let place = BOUNDS.iter().position(|bound| micros <= *bound).unwrap_or(BOUNDS.len());
        if let Some(bucket) = self.buckets.get(place) {
            bucket.add(1);
        }
        self.micros.add(micros);
    }
}

/// The counters of one thread.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// Requests whose head was read.
    pub(crate) begun: Counter,
    ends: [Counter; End::LABELS.len()],
    statuses: Box<[[Counter; CLASSES]]>,
    refused: [Counter; Refused::LABELS.len()],
    silences: [Counter; Silence::LABELS.len()],
    failed: [Counter; Failed::LABELS.len()],
    causes: [Counter; Cause::LABELS.len()],
    reloads: [Counter; Reload::LABELS.len()],
    /// Bytes of request bodies that guests have read.
    pub(crate) received: Counter,
    /// Bytes of response bodies.
    pub(crate) sent: Counter,
    /// From the head of a request to the end of its answer.
    pub(crate) durations: Histogram,
    /// From when the guest got a request to the head of its answer, in microseconds.
    guest_micros: Box<[Counter]>,
    /// What guests of 0.2 had of the processor, in microseconds.
    pub(crate) cpu_micros: Counter,
    pub(crate) connections: Counter,
    pub(crate) instances: Instances,
    /// See [`Busy`].
    busy: AtomicU64,
}

/// Work that may outlive its connection, for as long as this exists: a drain waits for it.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Metrics>);

impl Busy {
    pub(crate) fn new(metrics: &Arc<Metrics>) -> Self {
        metrics.busy.fetch_add(1, Relaxed);
        Self(metrics.clone())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Relaxed);
    }
}

/// How many instances there were.
#[derive(Debug, Default)]
pub(crate) struct Instances {
    pub(crate) created: Counter,
    pub(crate) dropped: Counter,
    /// Requests that got an instance which had served another before, and may remember it.
    pub(crate) reused: Counter,
    /// Requests that got an instance which was set back to its first state after another.
    pub(crate) restored: Counter,
}

impl Metrics {
    /// Counters for a host with this many apps.
    pub(crate) fn new(apps: usize) -> Self {
        Self {
            statuses: By::all(apps).map(|_| Default::default()).collect(),
            guest_micros: By::all(apps).map(|_| Counter::default()).collect(),
            ..Self::default()
        }
    }

    pub(crate) fn refused(&self, why: Refused) {
        count(&self.refused, why as usize);
    }

    pub(crate) fn silence(&self, why: Silence) {
        count(&self.silences, why as usize);
    }

    /// Counts what went wrong, if it is a guest's.
    pub(crate) fn failed(&self, why: Option<Failed>) {
        if let Some(why) = why {
            count(&self.failed, why as usize);
        }
    }

    /// Counts an instance that broke.
    pub(crate) fn broke(&self, error: &wasmtime::Error) {
        count(&self.causes, cause(error) as usize);
    }

    pub(crate) fn reloaded(&self, how: Reload) {
        count(&self.reloads, how as usize);
    }

    /// How many guests work that may outlive their connections.
    pub(crate) fn busy(&self) -> u64 {
        self.busy.load(Relaxed)
    }

    /// Counts an answer that is over.
    pub(crate) fn answered(&self, by: By, status: u16, end: End) {
        count(&self.ends, end as usize);
        let classes = self.statuses.get(by.0);
        if let Some(class) = classes.and_then(|classes| classes.get(usize::from(status / 100).wrapping_sub(1))) {
            class.add(1);
        }
    }

    /// Counts the time that a guest took for the head of its answer.
    pub(crate) fn guest(&self, by: By, time: Duration) {
        if let Some(counter) = self.guest_micros.get(by.0) {
            counter.add(micros(time));
        }
    }

    /// Answers by who gave them and by class, `1` to `5`.
    pub(crate) fn statuses(&self, by: By, class: usize) -> u64 {
        let classes = self.statuses.get(by.0);
        classes.and_then(|classes| classes.get(class.wrapping_sub(1))).map_or(0, Counter::get)
    }

    /// See [`guest`](Self::guest).
    pub(crate) fn guest_micros(&self, by: By) -> u64 {
        self.guest_micros.get(by.0).map_or(0, Counter::get)
    }

    pub(crate) fn ends(&self) -> &[Counter] {
        &self.ends
    }

    pub(crate) fn refusals(&self) -> &[Counter] {
        &self.refused
    }

    pub(crate) fn silences(&self) -> &[Counter] {
        &self.silences
    }

    pub(crate) fn failures(&self) -> &[Counter] {
        &self.failed
    }

    pub(crate) fn causes(&self) -> &[Counter] {
        &self.causes
    }

    pub(crate) fn reloads(&self) -> &[Counter] {
        &self.reloads
    }
}

fn count(counters: &[Counter], place: usize) {
    if let Some(counter) = counters.get(place) {
        counter.add(1);
    }
}

pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Sorts the error that ended an instance.
fn cause(error: &wasmtime::Error) -> Cause {
    use wasmtime::Trap;
    let Some(trap) = error.downcast_ref::<Trap>() else {
        // A host call has refused to go on: a limit, or something that the guest must not do.
        return Cause::Host;
    };
    match trap {
        Trap::UnreachableCodeReached => Cause::Unreachable,
        Trap::MemoryOutOfBounds | Trap::HeapMisaligned | Trap::ArrayOutOfBounds => Cause::Memory,
        Trap::TableOutOfBounds | Trap::IndirectCallToNull | Trap::BadSignature => Cause::Table,
        Trap::StackOverflow => Cause::Stack,
        Trap::IntegerOverflow | Trap::IntegerDivisionByZero | Trap::BadConversionToInteger => Cause::Arithmetic,
        _ => Cause::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_answers_is_a_place_of_its_own() {
        let places: Vec<_> = By::all(2).map(By::label).collect();
        let wanted = [None, Some((0, "0.2")), Some((0, "0.3")), Some((1, "0.2")), Some((1, "0.3"))];
        assert_eq!(places, wanted);
        assert_eq!(By::app(1, World::P2).label(), Some((1, "0.2")));
    }

    #[test]
    fn times_go_into_the_first_bucket_that_holds_them() {
        let histogram = Histogram::default();
        for micros in [0, 100, 101, 30_000_001] {
            histogram.add(Duration::from_micros(micros));
        }
        let counts: Vec<_> = histogram.buckets.iter().map(Counter::get).collect();
        assert_eq!((counts[0], counts[1], counts[BOUNDS.len()]), (2, 1, 1));
        assert_eq!(histogram.micros.get(), 30_000_202);
    }

    #[test]
    fn statuses_that_are_none_are_not_counted() {
        let metrics = Metrics::new(1);
        for status in [0, 99, 100, 204, 599, 600, 65535] {
            metrics.answered(By::HOST, status, End::Complete);
        }
        let classes: Vec<_> = (0..=6).map(|class| metrics.statuses(By::HOST, class)).collect();
        assert_eq!(classes, [0, 1, 1, 0, 0, 1, 0]);
        assert_eq!(metrics.ends()[End::Complete as usize].get(), 7);
    }

    #[test]
    fn traps_have_causes() {
        let of = |trap: wasmtime::Trap| cause(&trap.into());
        assert_eq!(of(wasmtime::Trap::UnreachableCodeReached), Cause::Unreachable);
        assert_eq!(of(wasmtime::Trap::StackOverflow), Cause::Stack);
        assert_eq!(of(wasmtime::Trap::Interrupt), Cause::Other);
        assert_eq!(cause(&wasmtime::format_err!("table is full")), Cause::Host);
    }
}
