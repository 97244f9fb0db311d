//! Ordinary clients: kept connections, one request after the other, and every answer looked at.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

/// How many clients there are.
const CLIENTS: usize = 8;

/// Clients at work.
pub struct Load {
    stop: std::sync::Arc<AtomicBool>,
    threads: Vec<JoinHandle<(u64, u64)>>,
}

impl Load {
    /// Asks for `paths` in turn, each with the status that is right for it.
    pub fn start(address: &str, paths: &'static [(&'static str, u16)]) -> Self {
        let stop = std::sync::Arc::new(AtomicBool::new(false));
        let work = |_| {
            let (address, stop) = (address.to_owned(), stop.clone());
            spawn(move || {
                let (mut requests, mut failures) = (0, 0);
                let mut client = Client::connect(&address);
                while !stop.load(Relaxed) {
                    let (path, right) = paths[(requests % paths.len() as u64) as usize];
                    requests += 1;
                    let got = client.as_mut().and_then(|client| client.get(path));
                    if got != Some(right) {
                        failures += 1;
                    }
                    if got.is_none() {
                        client = Client::connect(&address);
                    }
                }
                (requests, failures)
            })
        };
        Self { threads: (0..CLIENTS).map(work).collect(), stop }
    }

    /// Waits a while, stops, and tells how many requests there were and how many of them failed.
    pub fn run(self, time: Duration) -> (u64, u64) {
        std::thread::sleep(time);
        self.stop()
    }

    /// Stops, and tells how many requests there were and how many of them failed.
    pub fn stop(self) -> (u64, u64) {
        self.stop.store(true, Relaxed);
        let (requests, failures) = (AtomicU64::new(0), AtomicU64::new(0));
        for thread in self.threads {
            let (more, failed) = thread.join().expect("a client");
            requests.fetch_add(more, Relaxed);
            failures.fetch_add(failed, Relaxed);
        }
        (requests.into_inner(), failures.into_inner())
    }
}

/// One connection.
pub struct Client(TcpStream, Vec<u8>);

impl Client {
    pub fn connect(address: &str) -> Option<Self> {
        let stream = TcpStream::connect(address).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
        stream.set_nodelay(true).ok()?;
        Some(Self(stream, Vec::new()))
    }

    /// Asks, and gives the status of a whole answer.
    pub fn get(&mut self, path: &str) -> Option<u16> {
        if self.ask(path) { self.answer() } else { None }
    }

    /// Asks; the answer is for [`answer`](Self::answer).
    pub fn ask(&mut self, path: &str) -> bool {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n").as_bytes())
    }

    /// Gives the status of a whole answer.
    pub fn answer(&mut self) -> Option<u16> {
        self.whole().map(|(status, _)| status)
    }

    /// Asks, and gives the body of an answer that is 200 and has a length.
    pub fn get_text(&mut self, path: &str) -> Option<String> {
        let (status, body) = if self.ask(path) { self.whole()? } else { return None };
        if status == 200 { String::from_utf8(body).ok() } else { None }
    }

    fn whole(&mut self) -> Option<(u16, Vec<u8>)> {
        let end = loop {
            match self.1.windows(4).position(|four| four == b"\r\n\r\n") {
                Some(end) => break end + 4,
                None => self.more()?,
            }
        };
        let head: Vec<u8> = self.1.drain(..end).collect();
        let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
        let end = match head.split("content-length: ").nth(1) {
            Some(rest) => rest.split("\r\n").next()?.parse().ok()?,
            // Chunks, then: no body here has the mark of their end in it.
            None => loop {
                match self.1.windows(5).position(|five| five == b"0\r\n\r\n") {
                    Some(end) => break end + 5,
                    None => self.more()?,
                }
            },
        };
        while self.1.len() < end {
            self.more()?;
        }
        let body = self.1.drain(..end).collect();
        Some((head.split(' ').nth(1)?.parse().ok()?, body))
    }

    fn more(&mut self) -> Option<()> {
        let mut buffer = [0; 4096];
        let count = self.0.read(&mut buffer).ok().filter(|&count| count > 0)?;
        self.1.extend_from_slice(&buffer[..count]);
        Some(())
    }

    pub fn send(&mut self, bytes: &[u8]) -> bool {
        self.0.write_all(bytes).is_ok()
    }

    /// Whether the server has closed the connection.
    pub fn is_closed(&mut self) -> bool {
        let _ = self.0.set_read_timeout(Some(Duration::from_secs(20)));
        let mut buffer = [0; 65536];
        loop {
            match self.0.read(&mut buffer) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
            }
        }
    }
}
