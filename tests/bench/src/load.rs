//! The load: as many connections as asked for, busy at all times or with requests at their times, every response
//! checked.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mio::{Events, Poll};

use crate::connection::{Connection, Step};
use crate::histogram::Histogram;
use crate::schedule::{Schedule, TIMER};

/// Requests as their bytes, and what has to come back.
#[derive(Clone)]
pub struct Exchange {
    /// Whole requests, which a connection sends one after the other, and then from the first on again.
    pub requests: Vec<Vec<u8>>,
    /// The bytes of the body of each answer, whose status is 200.
    pub length: u64,
}

impl Exchange {
    /// The request that is sent as the `turn`th.
    pub fn request(&self, turn: usize) -> &[u8] {
        &self.requests[turn % self.requests.len()]
    }
}

/// When requests go out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// The next one when the answer before is complete.
    Busy,
    /// So many in a second over all connections, each at its time, however long answers take. One whose connection is
    /// not free by then goes out later, and the time that it waits counts.
    Rate(f64),
}

/// What a run has seen.
#[derive(Clone, Default)]
pub struct Outcome {
    /// Right answers, and how long each took.
    pub times: Histogram,
    /// Wrong answers, broken connections, and answers that did not come.
    pub errors: u64,
    /// How long it lasted.
    pub elapsed: Duration,
    /// What the first error was.
    pub first_error: Option<String>,
}

/// An answer that takes longer than this when the run ends did not come.
const LOST: Duration = Duration::from_secs(5);

/// Loads a server for `time` over `connections`.
///
/// # Errors
/// When the machine does not give the sockets.
pub fn run(
    server: SocketAddr,
    exchange: &Exchange,
    (connections, pace): (usize, Pace),
    time: Duration,
) -> io::Result<Outcome> {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    // Half of the cores are for the server.
    let threads = (cores / 2).clamp(1, connections);
    let share = |thread: usize| connections / threads + usize::from(thread < connections % threads);
    // All connections are there before the clock starts.
    let drivers = (0..threads).map(|thread| {
        let part = share(thread) as f64 / connections as f64;
        let pace = match pace {
            Pace::Busy => Pace::Busy,
            Pace::Rate(rate) => Pace::Rate(rate * part),
        };
        Driver::new(server, exchange, share(thread), pace)
    });
    let drivers: Vec<_> = drivers.collect::<io::Result<_>>()?;
    let begin = Instant::now();
    let mut all = Outcome::default();
    let results: Vec<_> = std::thread::scope(|scope| {
        let run = |driver: Driver<'_>| driver.run(begin, begin + time);
        let hands: Vec<_> = drivers.into_iter().map(|driver| scope.spawn(move || run(driver))).collect();
        hands.into_iter().map(|hand| hand.join().expect("a thread that does not panic")).collect()
    });
    for result in results {
        let outcome = result?;
        all.times.merge(&outcome.times);
        all.errors += outcome.errors;
        all.first_error = all.first_error.or(outcome.first_error);
    }
    all.elapsed = begin.elapsed();
    Ok(all)
}

/// One thread with its connections.
struct Driver<'a> {
    server: SocketAddr,
    exchange: &'a Exchange,
    poll: Poll,
    connections: Vec<Connection>,
    schedule: Option<Schedule>,
    outcome: Outcome,
}

impl<'a> Driver<'a> {
    fn new(server: SocketAddr, exchange: &'a Exchange, connections: usize, pace: Pace) -> io::Result<Self> {
        let poll = Poll::new()?;
        let schedule = match pace {
            Pace::Busy => None,
            Pace::Rate(rate) => Some(Schedule::new(&poll, rate, connections)?),
        };
        let connect = |index| Connection::open(server, &poll, index, index);
        let connections = (0..connections).map(connect).collect::<io::Result<_>>()?;
        Ok(Self { server, exchange, poll, connections, schedule, outcome: Outcome::default() })
    }

    fn run(mut self, begin: Instant, end: Instant) -> io::Result<Outcome> {
        match &mut self.schedule {
            Some(schedule) => schedule.begin = begin,
            None => self.begin_all()?,
        }
        let mut events = Events::with_capacity(1024);
        let mut buffer = vec![0; 256 * 1024];
        loop {
            self.begin_due()?;
            let now = Instant::now();
            if now >= end {
                break;
            }
            self.poll.poll(&mut events, Some(end - now)).or_else(|error| match error.kind() {
                io::ErrorKind::Interrupted => Ok(()),
                _ => Err(error),
            })?;
            for event in &events {
                let index = event.token().0;
                if index != TIMER {
                    self.work(index, &mut buffer)?;
                }
            }
        }
        self.count_waiting(end);
        Ok(self.outcome)
    }

    /// Sends the first request of every connection.
    fn begin_all(&mut self) -> io::Result<()> {
        (0..self.connections.len()).try_for_each(|index| self.begin(index, Instant::now()))
    }

    /// Sends the requests whose time has come, and has the timer wake this thread for the next one.
    fn begin_due(&mut self) -> io::Result<()> {
        while let Some(index) = self.schedule.as_mut().and_then(|schedule| schedule.pop(Instant::now())) {
            if !self.connections[index].is_busy {
                self.begin_next(index)?;
            }
        }
        self.schedule.as_ref().map_or(Ok(()), Schedule::arm)
    }

    /// Sends the next request of a connection if its time has come.
    fn begin_next(&mut self, index: usize) -> io::Result<()> {
        match &mut self.schedule {
            None => self.begin(index, Instant::now()),
            Some(schedule) => match schedule.take(index, Instant::now()) {
                Some(due) => self.begin(index, due),
                None => Ok(()),
            },
        }
    }

    fn begin(&mut self, index: usize, at: Instant) -> io::Result<()> {
        let connection = &mut self.connections[index];
        (connection.sent, connection.begun, connection.is_busy) = (0, at, true);
        if let Err(error) = connection.send(self.exchange) {
            self.outcome.fail(error.to_string());
            self.connect(index)?;
        }
        Ok(())
    }

    /// Sends and receives what there is for a connection.
    fn work(&mut self, index: usize, buffer: &mut [u8]) -> io::Result<()> {
        loop {
            match self.connections[index].work(self.exchange, &mut self.outcome, buffer) {
                Step::Waits => return Ok(()),
                Step::Answered => {
                    self.begin_next(index)?;
                    if !self.connections[index].has_more {
                        return Ok(());
                    }
                }
                Step::Closed => return self.connect(index),
                Step::Failed(why) => {
                    self.outcome.fail(why);
                    return self.connect(index);
                }
            }
        }
    }

    /// A new connection in place of one that has ended.
    fn connect(&mut self, index: usize) -> io::Result<()> {
        let turn = self.connections[index].turn;
        self.connections[index] = Connection::open(self.server, &self.poll, index, turn)?;
        self.begin_next(index)
    }

    /// What is still without an answer at the end.
    fn count_waiting(&mut self, end: Instant) {
        for (index, connection) in self.connections.iter().enumerate() {
            let waited = connection.is_busy.then(|| end.saturating_duration_since(connection.begun));
            if waited.is_some_and(|waited| waited > LOST) {
                self.outcome.fail("no answer".to_owned());
            }
            let Some(schedule) = &mut self.schedule else { continue };
            // Those that should have been answered long ago count with the time that they have waited so far, or a
            // server that falls behind would look better the sooner the run ends.
            let late = |waited: &Duration| *waited > schedule.period();
            waited.filter(late).into_iter().for_each(|waited| self.outcome.times.add(waited));
            while let Some(due) = schedule.take(index, end) {
                self.outcome.times.add(end.saturating_duration_since(due));
            }
        }
    }
}

impl Outcome {
    /// Counts an error, and keeps the first one's reason.
    pub fn fail(&mut self, why: String) {
        self.errors += 1;
        self.first_error.get_or_insert(why);
    }
}
