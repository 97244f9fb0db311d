//! A client that sends exactly the HTTP/2 frames it is given and tells what came back.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const PRIORITY: u8 = 2;
pub const RESET: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PUSH: u8 = 5;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW: u8 = 8;
pub const CONTINUATION: u8 = 9;

pub const END_STREAM: u8 = 1;
pub const ACK: u8 = 1;
pub const END_HEADERS: u8 = 4;
pub const PADDED: u8 = 8;

/// A connection whose preface and first SETTINGS have been sent.
pub struct Frames {
    stream: TcpStream,
    seen: Vec<u8>,
    /// The code of a GOAWAY that has come, and its last stream.
    pub goodbye: Option<(u32, u32)>,
}

/// A frame as it was on the wire.
#[derive(Debug)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

/// What became of a stream.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// A whole answer: its status, its body, and whether trailers followed.
    Answer(u16, Vec<u8>, bool),
    /// The stream was reset with this code; the head of an answer may have come before.
    Reset(u32, Option<u16>),
    /// The connection ended, with the code of its GOAWAY.
    Closed(Option<u32>),
}

impl Frames {
    /// Connects and sends preface and settings.
    pub fn connect(addr: SocketAddr) -> Self {
        // No dynamic table: what comes back can be read field by field.
        Self::connect_with(addr, &[(1, 0)])
    }

    /// Connects with settings of one's own.
    pub fn connect_with(addr: SocketAddr, settings: &[(u16, u32)]) -> Self {
        let stream = TcpStream::connect(addr).expect("the host accepts");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        stream.set_write_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        stream.set_nodelay(true).expect("nodelay");
        let mut frames = Self { stream, seen: Vec::new(), goodbye: None };
        frames.raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        let payload: Vec<u8> =
            settings.iter().flat_map(|(key, value)| [&key.to_be_bytes()[..], &value.to_be_bytes()].concat()).collect();
        frames.send(SETTINGS, 0, 0, &payload);
        frames
    }

    /// Sends bytes; `false` when the host takes no more.
    pub fn raw(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Sends one frame; `false` when the host takes no more.
    pub fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> bool {
        self.raw(&frame(kind, flags, stream, payload))
    }

    /// Sends the head of a request, in one frame.
    pub fn head(&mut self, stream: u32, fields: &[(&str, &str)], flags: u8) -> bool {
        self.send(HEADERS, END_HEADERS | flags, stream, &block(fields))
    }

    /// Sends a GET without anything special.
    pub fn get(&mut self, stream: u32, path: &str) -> bool {
        self.head(stream, &request("GET", path), END_STREAM)
    }

    /// Sends a GET and tells what became of it.
    pub fn ask(&mut self, stream: u32, path: &str) -> End {
        self.get(stream, path);
        self.end(stream)
    }

    /// Reads until the stream, or the connection, has ended.
    pub fn end(&mut self, stream: u32) -> End {
        let (mut status, mut body, mut trailers) = (None, Vec::new(), false);
        let begin = Instant::now();
        while let Some(frame) = self.read() {
            assert!(begin.elapsed() < Duration::from_secs(60), "stream {stream} does not end");
            match frame.kind {
                HEADERS if frame.stream == stream && status.is_none() => status = status_of(&frame.payload),
                HEADERS if frame.stream == stream => trailers = true,
                DATA if frame.stream == stream => body.extend(&frame.payload),
                RESET if frame.stream == stream => return End::Reset(number(&frame.payload), status),
                _ => continue,
            }
            if frame.stream == stream && matches!(frame.kind, HEADERS | DATA) && frame.flags & END_STREAM != 0 {
                return End::Answer(status.expect("a status"), body, trailers);
            }
        }
        End::Closed(self.goodbye.map(|(code, _)| code))
    }

    /// Reads the next frame, and answers SETTINGS and PING; `None` at the end of the connection.
    pub fn read(&mut self) -> Option<Frame> {
        let frame = self.read_silently()?;
        match frame.kind {
            SETTINGS | PING if frame.flags & ACK == 0 => {
                let payload = if frame.kind == PING { &frame.payload[..] } else { &[] };
                self.send(frame.kind, ACK, 0, payload);
            }
            _ => {}
        }
        Some(frame)
    }

    /// Reads the next frame and answers nothing.
    pub fn read_silently(&mut self) -> Option<Frame> {
        self.fill(9)?;
        let length = u32::from_be_bytes([0, self.seen[0], self.seen[1], self.seen[2]]) as usize;
        self.fill(9 + length)?;
        let bytes: Vec<u8> = self.seen.drain(..9 + length).collect();
        let stream = number(&bytes[5..9]) & 0x7fff_ffff;
        let frame = Frame { kind: bytes[3], flags: bytes[4], stream, payload: bytes[9..].to_vec() };
        if frame.kind == GOAWAY {
            self.goodbye = Some((number(&frame.payload[4..]), number(&frame.payload)));
        }
        Some(frame)
    }

    /// Reads to the end of the connection, and tells the code of its GOAWAY.
    pub fn closed(&mut self) -> Option<u32> {
        let begin = Instant::now();
        while self.read().is_some() {
            // The host's own PINGs would keep this connection for ever.
            assert!(begin.elapsed() < Duration::from_secs(60), "the host does not close");
        }
        self.goodbye.map(|(code, _)| code)
    }

    fn fill(&mut self, length: usize) -> Option<()> {
        let mut buffer = [0; 16 * 1024];
        while self.seen.len() < length {
            match self.stream.read(&mut buffer) {
                Ok(0) => return None,
                Ok(count) => self.seen.extend_from_slice(&buffer[..count]),
                Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {
                    return None;
                }
                Err(error) => panic!("the host neither answers nor closes: {error}"),
            }
        }
        Some(())
    }
}

/// The bytes of a frame.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a frame");
    let mut bytes = length.to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// The fields that every request has.
pub fn request<'a>(method: &'a str, path: &'a str) -> Vec<(&'static str, &'a str)> {
    vec![(":method", method), (":scheme", "http"), (":authority", "a.org"), (":path", path)]
}

/// Fields as literals that are neither indexed nor compressed (RFC 7541 6.2.2).
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in fields {
        bytes.push(0);
        for text in [name, value] {
            integer(&mut bytes, text.len());
            bytes.extend(text.bytes());
        }
    }
    bytes
}

/// A length with a prefix of seven bits (RFC 7541 5.1).
fn integer(bytes: &mut Vec<u8>, mut value: usize) {
    if value < 127 {
        return bytes.push(value as u8);
    }
    bytes.push(127);
    value -= 127;
    while value >= 128 {
        bytes.push((value % 128) as u8 | 128);
        value /= 128;
    }
    bytes.push(value as u8);
}

/// Four bytes as a number.
pub fn number(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |sum, &byte| sum << 8 | u32::from(byte))
}

/// The status at the start of a header block: indexed, or a literal that may be compressed.
fn status_of(block: &[u8]) -> Option<u16> {
    // The table was just made empty, which the first block says.
    let block = &block[block.iter().take_while(|&&byte| byte & 0xe0 == 0x20).count()..];
    match block.first()? {
        index @ 0x88..=0x8e => Some([200, 204, 206, 304, 400, 404, 500][usize::from(index - 0x88)]),
        _ => {
            let length = *block.get(1)?;
            let value = block.get(2..2 + usize::from(length & 0x7f))?;
            if length & 0x80 == 0 { std::str::from_utf8(value).ok()?.parse().ok() } else { digits(value) }
        }
    }
}

/// Digits in the code of RFC 7541, appendix B: 0 to 2 are the numbers in five bits, 3 to 9 are 25 to 31 in six.
fn digits(code: &[u8]) -> Option<u16> {
    let bits: Vec<u16> = code.iter().flat_map(|byte| (0..8).rev().map(move |n| u16::from(byte >> n & 1))).collect();
    let (mut at, mut sum) = (0, 0);
    while bits.len() - at >= 5 {
        let take = |count: usize| bits.get(at..at + count).map(|bits| bits.iter().fold(0, |sum, bit| sum << 1 | bit));
        let (digit, length) = match (take(5)?, take(6)) {
            (digit @ 0..=2, _) => (digit, 5),
            (_, Some(digit @ 25..=31)) => (digit - 22, 6),
            // What is left is the padding.
            _ => break,
        };
        sum = sum * 10 + digit;
        at += length;
    }
    Some(sum)
}

#[test]
fn statuses_are_read() {
    // As h2 encodes 503, 431 and 413: a literal with an indexed name.
    for (block, status) in [
        (&[0x88][..], 200),
        (&[0x20, 0x8d], 404),
        (&[0x48, 0x03, b'5', b'0', b'3'], 503),
        (&[0x48, 0x83, 0b0110_1100, 0b0000_1100, 0b1111_1111], 503),
        (&[0x48, 0x83, 0b0110_1001, 0b1001_0000, 0b1111_1111], 431),
    ] {
        assert_eq!(status_of(block), Some(status), "{block:x?}");
    }
}
