//! `time`: what an app needs of clocks: to wait, to wait no longer than so long, and what time it is.
//!
//! In tests nobody really waits: the clock of `tabi::testing` jumps to the next moment that somebody waits for.

use crate::date::Date;
use crate::wasi::clock::{self, Timer};
use core::future::{Future, poll_fn};
use core::pin::pin;
use core::task::Poll;
use core::time::Duration;

/// Waits so long. Other requests of the instance go on meanwhile, as does whatever is awaited at the same time.
///
/// ```
/// use std::time::Duration;
/// use tabi::{Body, Request, Response, time};
///
/// async fn countdown(_: Request) -> Response {
///     Response::new(Body::stream(async |mut out| {
///         for number in (1..=3).rev() {
///             out.send(tabi::decimal(number)).await;
///             time::sleep(Duration::from_secs(1)).await;
///         }
///         Ok(())
///     }))
/// }
/// # let router = tabi::Router::new().get("/", countdown);
/// # assert_eq!(tabi::testing::Client::new(router).get("/").send().text(), "321");
/// ```
pub async fn sleep(duration: Duration) {
    let mut timer = Timer::new(nanoseconds(duration));
    poll_fn(|_| timer.poll()).await;
}

/// Waits for a future, but no longer than so long: then it is dropped where it waits, and there is `None`.
///
/// ```
/// use std::time::Duration;
/// use tabi::{OrStatus, Result, Status, time};
///
/// async fn patient(answer: impl Future<Output = String>) -> Result<String> {
///     time::timeout(Duration::from_secs(5), answer).await.or_status(Status::GATEWAY_TIMEOUT, "no answer in time")
/// }
/// # let slow = patient(async { time::sleep(Duration::from_secs(6)).await; String::new() });
/// # assert_eq!(tabi::testing::block_on(slow).map_err(|error| error.status()), Err(Status::GATEWAY_TIMEOUT));
/// # assert_eq!(tabi::testing::block_on(patient(async { "here".into() })).ok().as_deref(), Some("here"));
/// ```
pub async fn timeout<T>(duration: Duration, future: impl Future<Output = T>) -> Option<T> {
    let mut timer = Timer::new(nanoseconds(duration));
    let mut future = pin!(future);
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => timer.poll().map(|()| None),
    })
    .await
}

/// Returns what ticks at equal distances, for the first time after one.
///
/// A tick that nobody waited for is not made up for: those that follow keep their times.
#[must_use]
pub fn interval(period: Duration) -> Interval {
    // Without a distance there would be no end of ticks between two moments.
    let period = nanoseconds(period).max(1);
    Interval { next: clock::monotonic().saturating_add(period), period }
}

/// Ticks at equal distances; see [`interval`].
pub struct Interval {
    next: u64,
    period: u64,
}

impl Interval {
    /// Waits for the next tick.
    pub async fn tick(&mut self) {
        let now = clock::monotonic();
        if now < self.next {
            let mut timer = Timer::new(self.next - now);
            poll_fn(|_| timer.poll()).await;
        }
        let late = clock::monotonic().saturating_sub(self.next) / self.period;
        self.next = self.next.saturating_add(self.period.saturating_mul(late + 1));
    }
}

/// Returns the moment it is, on a clock that nobody sets: for what a request takes. For the date, [`Date::now`].
#[must_use]
pub fn now() -> Instant {
    Instant(clock::monotonic())
}

/// A moment; see [`now`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(u64);

impl Instant {
    /// Returns how long ago it was.
    #[must_use]
    pub fn elapsed(self) -> Duration {
        now().since(self)
    }

    /// Returns how long after an earlier moment it is, or nothing where that was later.
    #[must_use]
    pub fn since(self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Date {
    /// Returns what the clock of the runtime says it is; in tests, that of the machine.
    #[must_use]
    pub fn now() -> Date {
        Date::from_unix(clock::wall())
    }
}

/// Something that is over at some time, for code that is polled.
pub(crate) struct Deadline(Timer);

impl Deadline {
    pub(crate) fn after(duration: Duration) -> Deadline {
        Deadline(Timer::new(nanoseconds(duration)))
    }

    /// Is ready where the time is over.
    pub(crate) fn poll(&mut self) -> Poll<()> {
        self.0.poll()
    }
}

/// Returns a duration as the clocks have it. 584 years are the most.
fn nanoseconds(duration: Duration) -> u64 {
    duration.as_secs().saturating_mul(1_000_000_000).saturating_add(duration.subsec_nanos().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::block_on;

    #[track_caller]
    fn check(code: impl Future<Output = ()>, milliseconds: u64) {
        let start = now();
        block_on(code);
        assert_eq!(start.elapsed(), Duration::from_millis(milliseconds));
    }

    fn millis(number: u64) -> Duration {
        Duration::from_millis(number)
    }

    #[test]
    fn nobody_waits_longer_than_asked() {
        check(sleep(millis(0)), 0);
        check(sleep(millis(20)), 20);
        check(async { assert_eq!(timeout(millis(5), sleep(millis(20))).await, None) }, 5);
        check(async { assert_eq!(timeout(millis(20), sleep(millis(5))).await, Some(())) }, 5);
        // What was given up is not waited for.
        check(
            async {
                timeout(millis(5), sleep(millis(20))).await;
                sleep(millis(30)).await;
            },
            35,
        );
        check(
            async {
                let both = crate::join(sleep(millis(10)), sleep(millis(30))).await;
                assert_eq!(both, ((), ()));
            },
            30,
        );
    }

    #[test]
    fn ticks_keep_their_times() {
        check(
            async {
                let mut interval = interval(millis(10));
                interval.tick().await;
                interval.tick().await;
            },
            20,
        );
        check(
            async {
                let mut interval = interval(millis(10));
                // Two are missed, and the third is waited for.
                sleep(millis(35)).await;
                interval.tick().await;
                interval.tick().await;
            },
            40,
        );
    }

    #[test]
    fn a_long_time_is_no_overflow() {
        assert_eq!(nanoseconds(Duration::MAX), u64::MAX);
        assert_eq!(nanoseconds(Duration::from_micros(1)), 1000);
        let _ = interval(Duration::ZERO);
        assert!(Date::now() > Date::from_unix(1_700_000_000));
    }
}
