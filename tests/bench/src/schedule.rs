//! When each request of a paced run is due, and a timer that is finer than the milliseconds of a poll.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

use mio::unix::SourceFd;
use mio::{Interest, Poll, Token};

/// The token of the timer.
pub const TIMER: usize = usize::MAX - 1;

/// Requests at equal distances; connections have their turns one after the other.
pub struct Schedule {
    /// When the first one is due.
    pub begin: Instant,
    timer: OwnedFd,
    distance: Duration,
    connections: usize,
    /// How many had their time.
    passed: u64,
    /// How many each connection has sent.
    sent: Vec<u64>,
}

impl Schedule {
    /// So many requests in a second over so many connections.
    ///
    /// # Errors
    /// When the machine gives no timer.
    pub fn new(poll: &Poll, rate: f64, connections: usize) -> io::Result<Self> {
        // SAFETY: the call takes no pointers.
        let timer = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) };
        if timer < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was opened just now, and nobody else has it.
        let timer = unsafe { OwnedFd::from_raw_fd(timer) };
        poll.registry().register(&mut SourceFd(&timer.as_raw_fd()), Token(TIMER), Interest::READABLE)?;
        let distance = Duration::from_secs_f64(1.0 / rate.max(1.0));
        Ok(Self { begin: Instant::now(), timer, distance, connections, passed: 0, sent: vec![0; connections] })
    }

    /// The time between two requests of one connection.
    pub fn period(&self) -> Duration {
        self.distance.mul_f64(self.connections as f64)
    }

    fn due(&self, number: u64) -> Instant {
        self.begin + self.distance.mul_f64(number as f64)
    }

    /// Returns the connection of the next request whose time has come.
    pub fn pop(&mut self, now: Instant) -> Option<usize> {
        let index = (self.passed % self.connections as u64) as usize;
        (self.due(self.passed) <= now).then(|| {
            self.passed += 1;
            index
        })
    }

    /// Returns when the next request of a connection was due, if its time has come, and counts it as sent.
    pub fn take(&mut self, index: usize, now: Instant) -> Option<Instant> {
        let due = self.due(self.sent[index] * self.connections as u64 + index as u64);
        (due <= now).then(|| {
            self.sent[index] += 1;
            due
        })
    }

    /// Sets the timer to when the next one is due.
    ///
    /// # Errors
    /// When the system does not know the timer.
    pub fn arm(&self) -> io::Result<()> {
        let left = self.due(self.passed).saturating_duration_since(Instant::now()).max(Duration::from_nanos(1));
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let value = libc::timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let when = libc::itimerspec { it_interval: zero, it_value: value };
        // SAFETY: `when` is valid for the call, and the old value is not asked for.
        let done = unsafe { libc::timerfd_settime(self.timer.as_raw_fd(), 0, &when, std::ptr::null_mut()) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_have_turns_at_equal_distances() {
        let mut schedule = Schedule::new(&Poll::new().unwrap(), 1000.0, 2).unwrap();
        let at = |millis| schedule.begin + Duration::from_millis(millis);
        let (start, later) = (at(0), at(2));
        assert_eq!(schedule.period(), Duration::from_millis(2));
        assert_eq!(schedule.pop(start), Some(0));
        assert_eq!(schedule.pop(start), None);
        assert_eq!((schedule.pop(later), schedule.pop(later), schedule.pop(later)), (Some(1), Some(0), None));
        // Both of the first connection are overdue, each by its own time.
        assert_eq!((schedule.take(0, later), schedule.take(0, later)), (Some(start), Some(later)));
        assert_eq!(schedule.take(0, later), None);
        assert_eq!(schedule.take(1, later), Some(start + Duration::from_millis(1)));
    }
}
