//! The load: as many connections as asked for, each with a request on its way at all times, every response checked.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};

use crate::histogram::Histogram;
use crate::reply::Reader;

/// A request as its bytes, and what has to come back.
#[derive(Clone)]
pub struct Exchange {
    /// The whole request.
    pub request: Vec<u8>,
    /// The bytes of the body of the answer, whose status is 200.
    pub length: u64,
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
pub fn run(server: SocketAddr, exchange: &Exchange, connections: usize, time: Duration) -> io::Result<Outcome> {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    // Half of the cores are for the server.
    let threads = (cores / 2).clamp(1, connections);
    let share = |thread: usize| connections / threads + usize::from(thread < connections % threads);
    // All connections are there before the clock starts.
    let drivers = (0..threads).map(|thread| Driver::new(server, exchange, share(thread)));
    let drivers: Vec<_> = drivers.collect::<io::Result<_>>()?;
    let begin = Instant::now();
    let mut all = Outcome::default();
    let results: Vec<_> = std::thread::scope(|scope| {
        let hands: Vec<_> = drivers.into_iter().map(|driver| scope.spawn(move || driver.run(begin + time))).collect();
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
    outcome: Outcome,
}

struct Connection {
    stream: TcpStream,
    reader: Reader,
    /// Bytes of the request that are sent.
    sent: usize,
    begun: Instant,
}

/// What became of a connection when it was worked on.
enum Step {
    Waits,
    Closed,
    Failed(String),
}

impl<'a> Driver<'a> {
    fn new(server: SocketAddr, exchange: &'a Exchange, connections: usize) -> io::Result<Self> {
        let poll = Poll::new()?;
        let connections = (0..connections).map(|index| connect(server, &poll, index)).collect::<io::Result<_>>()?;
        Ok(Self { server, exchange, poll, connections, outcome: Outcome::default() })
    }

    fn run(mut self, end: Instant) -> io::Result<Outcome> {
        self.connections.iter_mut().for_each(|connection| connection.begun = Instant::now());
        let mut events = Events::with_capacity(1024);
        let mut buffer = vec![0; 256 * 1024];
        loop {
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
                match self.connections[index].work(self.exchange, &mut self.outcome, &mut buffer) {
                    Step::Waits => continue,
                    Step::Closed => {}
                    Step::Failed(why) => self.outcome.fail(why),
                }
                self.connections[index] = connect(self.server, &self.poll, index)?;
            }
        }
        for connection in &self.connections {
            if connection.begun.elapsed() > LOST {
                self.outcome.fail("no answer".to_owned());
            }
        }
        Ok(self.outcome)
    }
}

impl Outcome {
    fn fail(&mut self, why: String) {
        self.errors += 1;
        self.first_error.get_or_insert(why);
    }
}

fn connect(server: SocketAddr, poll: &Poll, index: usize) -> io::Result<Connection> {
    // Waiting here keeps thousands of connections from knocking all at once.
    let stream = std::net::TcpStream::connect(server)?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    let mut stream = TcpStream::from_std(stream);
    poll.registry().register(&mut stream, Token(index), Interest::READABLE | Interest::WRITABLE)?;
    Ok(Connection { stream, reader: Reader::default(), sent: 0, begun: Instant::now() })
}

impl Connection {
    /// Sends and receives until the socket has to be waited for.
    fn work(&mut self, exchange: &Exchange, outcome: &mut Outcome, buffer: &mut [u8]) -> Step {
        loop {
            match self.send(exchange) {
                Ok(()) => {}
                Err(error) => return Step::Failed(error.to_string()),
            }
            let count = match self.stream.read(buffer) {
                Ok(0) if self.reader.has_begun() => return Step::Failed("an answer was cut".to_owned()),
                Ok(0) => return Step::Failed("closed in place of an answer".to_owned()),
                Ok(count) => count,
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return Step::Waits,
                    io::ErrorKind::Interrupted => continue,
                    _ => return Step::Failed(error.to_string()),
                },
            };
            let mut bytes = &buffer[..count];
            match self.receive(exchange, outcome, &mut bytes) {
                Step::Waits => {}
                end => return end,
            }
            // A short read has emptied the socket: the next bytes bring another event.
            if count < buffer.len() && self.sent == exchange.request.len() {
                return Step::Waits;
            }
        }
    }

    fn send(&mut self, exchange: &Exchange) -> io::Result<()> {
        while self.sent < exchange.request.len() {
            match self.stream.write(&exchange.request[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return Ok(()),
                    io::ErrorKind::Interrupted => {}
                    _ => return Err(error),
                },
            }
        }
        Ok(())
    }

    /// Reads what came; after a whole response the next request goes out.
    fn receive(&mut self, exchange: &Exchange, outcome: &mut Outcome, bytes: &mut &[u8]) -> Step {
        while !bytes.is_empty() {
            let reply = match self.reader.read(bytes) {
                Ok(None) => continue,
                Ok(Some(reply)) => reply,
                Err(fault) => return Step::Failed(fault.to_owned()),
            };
            if self.sent < exchange.request.len() {
                return Step::Failed(format!("status {} before the request was whole", reply.status));
            }
            if reply.status != 200 || reply.length != exchange.length {
                let wanted = exchange.length;
                outcome.fail(format!("status {} with {} bytes, not {wanted}", reply.status, reply.length));
            } else {
                outcome.times.add(self.begun.elapsed());
            }
            if reply.closes {
                return Step::Closed;
            }
            (self.sent, self.begun) = (0, Instant::now());
            if let Err(error) = self.send(exchange) {
                return Step::Failed(error.to_string());
            }
        }
        Step::Waits
    }
}
