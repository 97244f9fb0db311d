//! Another server, of which a test says byte for byte what it does.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// A server with a thread for each connection.
pub struct Stub {
    pub addr: SocketAddr,
    connections: Arc<AtomicUsize>,
    said: mpsc::Receiver<String>,
}

/// A connection as the server has it.
pub struct Peer<S = TcpStream> {
    pub stream: S,
    seen: Vec<u8>,
    said: mpsc::Sender<String>,
}

impl Stub {
    /// Treats every connection with `serve`.
    pub fn start(serve: impl Fn(&mut Peer) + Send + Sync + 'static) -> Self {
        Self::with(Some, serve)
    }

    /// Treats every connection with `serve` after `wrap` has made of it what it is.
    pub fn with<S: Read + Write + 'static>(
        wrap: impl Fn(TcpStream) -> Option<S> + Send + Sync + 'static,
        serve: impl Fn(&mut Peer<S>) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let addr = listener.local_addr().expect("an address");
        let connections = Arc::new(AtomicUsize::new(0));
        let (tell, said) = mpsc::channel();
        let (count, both) = (connections.clone(), Arc::new((wrap, serve)));
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                count.fetch_add(1, SeqCst);
                let (said, both) = (tell.clone(), both.clone());
                std::thread::spawn(move || {
                    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
                    if let Some(stream) = both.0(stream) {
                        both.1(&mut Peer { stream, seen: Vec::new(), said });
                    }
                });
            }
        });
        Self { addr, connections, said }
    }

    /// Answers every request of every connection with the same bytes.
    pub fn answering(answer: &'static str) -> Self {
        Self::start(move |peer| {
            while peer.request().is_some() {
                peer.write(answer);
            }
        })
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    /// How many connections there were.
    pub fn connections(&self) -> usize {
        self.connections.load(SeqCst)
    }

    /// Waits for the next thing that a connection tells.
    pub fn said(&self) -> String {
        self.said.recv_timeout(Duration::from_secs(20)).expect("the stub says something")
    }
}

impl<S: Read + Write> Peer<S> {
    /// Reads a head, or `None` when the connection ends first.
    pub fn request(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.seen.windows(4).position(|four| four == b"\r\n\r\n") {
                let head: Vec<u8> = self.seen.drain(..end + 4).collect();
                return Some(String::from_utf8_lossy(&head).into_owned());
            }
            if !self.more() {
                return None;
            }
        }
    }

    /// Reads until the connection ends; `None` when it doesn't.
    pub fn rest(&mut self) -> Option<String> {
        let mut more = [0; 4096];
        loop {
            match self.stream.read(&mut more) {
                Ok(0) => break,
                Ok(count) => self.seen.extend_from_slice(&more[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
                Err(_) => return None,
            }
        }
        Some(String::from_utf8_lossy(&self.seen).into_owned())
    }

    /// Reads until `end` has come.
    pub fn until(&mut self, end: &str) -> String {
        while !self.seen.ends_with(end.as_bytes()) && self.more() {}
        String::from_utf8_lossy(&std::mem::take(&mut self.seen)).into_owned()
    }

    pub fn write(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref());
        let _ = self.stream.flush();
    }

    /// Tells the test something.
    pub fn say(&self, what: impl Into<String>) {
        let _ = self.said.send(what.into());
    }

    /// Tells the test whether the other side closes the connection.
    pub fn say_how_it_ends(&mut self) {
        let closed = self.rest().is_some();
        self.say(if closed { "closed" } else { "still open" });
    }

    fn more(&mut self) -> bool {
        let mut more = [0; 4096];
        match self.stream.read(&mut more) {
            Ok(count) if count > 0 => {
                self.seen.extend_from_slice(&more[..count]);
                true
            }
            _ => false,
        }
    }
}
