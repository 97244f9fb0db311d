//! A client that sends exactly the bytes it is given and tells exactly what came back.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A connection to a host.
pub struct Client {
    stream: Box<dyn Duplex>,
    seen: Vec<u8>,
}

trait Duplex: Read + Write + Send {}

impl<T: Read + Write + Send> Duplex for T {}

/// One response as it was on the wire.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Whether the framing says that this is all of the body.
    pub complete: bool,
    pub trailers: Vec<(String, String)>,
}

impl Reply {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Client {
    pub fn connect(addr: SocketAddr) -> Self {
        let stream = TcpStream::connect(addr).expect("the host accepts");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        stream.set_nodelay(true).expect("nodelay");
        Self::over(stream)
    }

    /// Talks over a connection that is already there.
    pub fn over(stream: impl Read + Write + Send + 'static) -> Self {
        Self { stream: Box::new(stream), seen: Vec::new() }
    }

    /// Connects to a Unix socket.
    pub fn connect_unix(path: &Path) -> Self {
        let stream = UnixStream::connect(path).expect("the host accepts");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        Self::over(stream)
    }

    /// Sends `bytes`; a host that has already closed is no error here.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        let _ = self.stream.write_all(bytes.as_ref());
        self
    }

    /// Sends a GET without anything special.
    #[track_caller]
    pub fn get(&mut self, path: &str) -> Reply {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n")).reply()
    }

    /// Reads one response to a request that was not HEAD.
    #[track_caller]
    pub fn reply(&mut self) -> Reply {
        self.read_reply(false).expect("a response")
    }

    /// Reads the response to a HEAD request.
    #[track_caller]
    pub fn reply_to_head(&mut self) -> Reply {
        self.read_reply(true).expect("a response")
    }

    /// Reads the head of a response, whose body then comes by [`chunk`](Self::chunk).
    #[track_caller]
    pub fn begin(&mut self) -> Reply {
        let (status, headers) = self.head().expect("a response");
        Reply { status, headers, body: Vec::new(), complete: false, trailers: Vec::new() }
    }

    /// Reads the data of one chunk; that of the last is empty.
    #[track_caller]
    pub fn chunk(&mut self) -> Vec<u8> {
        let line = self.line().expect("a chunk");
        let size = usize::from_str_radix(line.trim(), 16).expect("a size");
        assert_eq!(self.fill(size + 2), size + 2, "the chunk breaks off");
        let data = self.seen.drain(..size).collect();
        self.seen.drain(..2);
        data
    }

    /// Reads a response, or `None` when the connection ends first.
    pub fn read_reply(&mut self, head: bool) -> Option<Reply> {
        let (status, headers) = self.head()?;
        let mut reply = Reply { status, headers, body: Vec::new(), complete: true, trailers: Vec::new() };
        if head || matches!(reply.status, 100..=199 | 204 | 304) {
            return Some(reply);
        }
        if reply.header("transfer-encoding") == Some("chunked") {
            reply.complete = self.chunks(&mut reply).is_some();
        } else if let Some(length) = reply.header("content-length") {
            let length: usize = length.parse().expect("a length");
            let have = self.fill(length);
            reply.complete = have == length;
            reply.body = self.seen.drain(..have).collect();
        } else {
            while self.more() {}
            reply.body = std::mem::take(&mut self.seen);
        }
        Some(reply)
    }

    fn head(&mut self) -> Option<(u16, Vec<(String, String)>)> {
        let line = self.line()?;
        let status = line.split(' ').nth(1)?.parse().ok()?;
        Some((status, self.fields()?))
    }

    fn fields(&mut self) -> Option<Vec<(String, String)>> {
        let mut fields = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Some(fields);
            }
            let (name, value) = line.split_once(':')?;
            fields.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }

    fn chunks(&mut self, reply: &mut Reply) -> Option<()> {
        loop {
            let size = usize::from_str_radix(self.line()?.trim(), 16).ok()?;
            if size == 0 {
                reply.trailers = self.fields()?;
                return Some(());
            }
            let have = self.fill(size + 2);
            let whole = have == size + 2;
            reply.body.extend(self.seen.drain(..have.min(size)));
            if !whole {
                return None;
            }
            self.seen.drain(..2);
        }
    }

    fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.seen.windows(2).position(|two| two == b"\r\n") {
                let line: Vec<u8> = self.seen.drain(..end + 2).collect();
                return Some(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            if !self.more() {
                return None;
            }
        }
    }

    /// Reads until `length` bytes are here, and tells how many of them are.
    fn fill(&mut self, length: usize) -> usize {
        while self.seen.len() < length && self.more() {}
        self.seen.len().min(length)
    }

    /// Reads some more; `false` at the end of the connection.
    fn more(&mut self) -> bool {
        let mut buffer = [0; 16 * 1024];
        match self.stream.read(&mut buffer) {
            Ok(0) => false,
            Ok(count) => {
                self.seen.extend_from_slice(&buffer[..count]);
                true
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
            Err(error) => panic!("the host neither answers nor closes: {error}"),
        }
    }

    /// The next `count` bytes.
    #[track_caller]
    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        assert_eq!(self.fill(count), count, "the connection ends");
        self.seen.drain(..count).collect()
    }

    /// Whether the host closes without another byte.
    pub fn is_closed(&mut self) -> bool {
        self.seen.is_empty() && !self.more()
    }

    /// Everything up to the end of the connection.
    pub fn rest(&mut self) -> String {
        while self.more() {}
        String::from_utf8_lossy(&std::mem::take(&mut self.seen)).into_owned()
    }
}
