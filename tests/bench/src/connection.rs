//! A connection to the server under load: one request at a time, and its answer.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::time::Instant;

use mio::net::TcpStream;
use mio::{Interest, Poll, Token};

use crate::load::{Exchange, Outcome};
use crate::reply::Reader;

/// A connection with what is on its way.
pub struct Connection {
    stream: TcpStream,
    reader: Reader,
    /// Which of the requests is sent.
    pub turn: usize,
    /// Bytes of the request that are sent.
    pub sent: usize,
    /// When the request began, or should have.
    pub begun: Instant,
    /// Whether an answer is waited for.
    pub is_busy: bool,
    /// Whether the socket may have more bytes to read.
    pub has_more: bool,
}

/// What became of a connection when it was worked on.
pub enum Step {
    /// The socket has to be waited for.
    Waits,
    /// An answer came, and the next request may be sent.
    Answered,
    /// The server has ended the connection after an answer.
    Closed,
    /// It is of no use any more, and why.
    Failed(String),
}

impl Connection {
    /// Opens the connection with this index, whose first request is the `turn`th.
    ///
    /// # Errors
    /// When the machine or the server does not give one.
    pub fn open(server: SocketAddr, poll: &Poll, index: usize, turn: usize) -> io::Result<Self> {
        // Waiting here keeps thousands of connections from knocking all at once.
        let stream = std::net::TcpStream::connect(server)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut stream = TcpStream::from_std(stream);
        poll.registry().register(&mut stream, Token(index), Interest::READABLE | Interest::WRITABLE)?;
        let (reader, begun) = (Reader::default(), Instant::now());
        Ok(Self { stream, reader, turn, sent: 0, begun, is_busy: false, has_more: false })
    }

    /// Sends and receives until there is an answer, or the socket has to be waited for.
    pub fn work(&mut self, exchange: &Exchange, outcome: &mut Outcome, buffer: &mut [u8]) -> Step {
        loop {
            if let Err(error) = self.send(exchange) {
                return Step::Failed(error.to_string());
            }
            let count = match self.stream.read(buffer) {
                Ok(0) if self.reader.has_begun() => return Step::Failed("an answer was cut".to_owned()),
                Ok(0) if !self.is_busy => return Step::Closed,
                Ok(0) => return Step::Failed("closed in place of an answer".to_owned()),
                Ok(count) => count,
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return Step::Waits,
                    io::ErrorKind::Interrupted => continue,
                    _ => return Step::Failed(error.to_string()),
                },
            };
            let is_sent = self.sent == exchange.request(self.turn).len();
            // A short read has emptied the socket: the next bytes bring another event.
            self.has_more = count == buffer.len() || !is_sent;
            match self.receive(exchange, outcome, &buffer[..count]) {
                Step::Waits if self.has_more => {}
                step => return step,
            }
        }
    }

    /// Sends what is left of the request, as far as the socket takes it.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn send(&mut self, exchange: &Exchange) -> io::Result<()> {
        let request = exchange.request(self.turn);
        while self.is_busy && self.sent < request.len() {
            match self.stream.write(&request[self.sent..]) {
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

    /// Reads what came.
    fn receive(&mut self, exchange: &Exchange, outcome: &mut Outcome, mut bytes: &[u8]) -> Step {
        let reply = match self.reader.read(&mut bytes) {
            Ok(None) => return Step::Waits,
            Ok(Some(reply)) => reply,
            Err(fault) => return Step::Failed(fault.to_owned()),
        };
        if !self.is_busy || !bytes.is_empty() {
            return Step::Failed("more came than was asked for".to_owned());
        }
        if self.sent < exchange.request(self.turn).len() {
            return Step::Failed(format!("status {} before the request was whole", reply.status));
        }
        if reply.status != 200 || reply.length != exchange.length {
            let wanted = exchange.length;
            outcome.fail(format!("status {} with {} bytes, not {wanted}", reply.status, reply.length));
        } else {
            outcome.times.add(self.begun.elapsed());
        }
        self.turn += 1;
        self.is_busy = false;
        if reply.closes { Step::Closed } else { Step::Answered }
    }
}
