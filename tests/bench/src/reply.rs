//! Responses as they come in, in whatever pieces: status, length of the body, and where they end.

/// Why bytes are no response.
pub type Fault = &'static str;

/// Reads one response after the other.
#[derive(Default)]
pub struct Reader {
    state: State,
    /// What has come of a head or a line that is not whole yet.
    held: Vec<u8>,
    status: u16,
    length: u64,
    closes: bool,
    is_chunked: bool,
}

/// A whole response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Its status.
    pub status: u16,
    /// The bytes of its body, without their framing.
    pub length: u64,
    /// Whether the connection ends with it.
    pub closes: bool,
}

#[derive(Default, Clone, Copy)]
enum State {
    #[default]
    Head,
    Body(u64),
    Size,
    Chunk(u64),
    /// The line after a chunk.
    Gap,
    Trailers,
}

/// No head or line of a benchmark is larger.
const MOST: usize = 64 * 1024;

impl Reader {
    /// Takes bytes off the front of `bytes`; gives the response when its end is among them.
    ///
    /// # Errors
    /// When this is no response with a length or in chunks.
    pub fn read(&mut self, bytes: &mut &[u8]) -> Result<Option<Reply>, Fault> {
        loop {
            match self.state {
                State::Head => {
                    let Some(head) = self.until(bytes, b"\r\n\r\n")? else { return Ok(None) };
                    self.head(&head)?;
                }
                State::Body(left) => match self.skip(bytes, left) {
                    0 => return Ok(Some(self.finish())),
                    left => {
                        self.state = State::Body(left);
                        return Ok(None);
                    }
                },
                State::Size => {
                    let Some(line) = self.until(bytes, b"\r\n")? else { return Ok(None) };
                    self.state = match chunk_size(&line)? {
                        0 => State::Trailers,
                        size => State::Chunk(size),
                    };
                }
                State::Chunk(left) => match self.skip(bytes, left) {
                    0 => self.state = State::Gap,
                    left => {
                        self.state = State::Chunk(left);
                        return Ok(None);
                    }
                },
                State::Gap => {
                    let Some(line) = self.until(bytes, b"\r\n")? else { return Ok(None) };
                    if !line.is_empty() {
                        return Err("a chunk is longer than it says");
                    }
                    self.state = State::Size;
                }
                State::Trailers => {
                    let Some(line) = self.until(bytes, b"\r\n")? else { return Ok(None) };
                    if line.is_empty() {
                        return Ok(Some(self.finish()));
                    }
                }
            }
        }
    }

    /// Whether a response has begun.
    pub fn has_begun(&self) -> bool {
        !self.held.is_empty() || !matches!(self.state, State::Head)
    }

    fn finish(&mut self) -> Reply {
        let reply = Reply { status: self.status, length: self.length, closes: self.closes };
        *self = Self { held: std::mem::take(&mut self.held), ..Self::default() };
        reply
    }

    /// Takes what stands before `end`, and `end`, if it is there.
    fn until(&mut self, bytes: &mut &[u8], end: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        // The end may begin in what was held back.
        let from = self.held.len().saturating_sub(end.len() - 1);
        self.held.extend_from_slice(bytes);
        let Some(at) = self.held[from..].windows(end.len()).position(|window| window == end) else {
            *bytes = &[];
            return if self.held.len() > MOST { Err("an endless head or line") } else { Ok(None) };
        };
        let rest = self.held.len() - (from + at + end.len());
        *bytes = &bytes[bytes.len() - rest..];
        self.held.truncate(from + at);
        Ok(Some(std::mem::take(&mut self.held)))
    }

    fn skip(&mut self, bytes: &mut &[u8], left: u64) -> u64 {
        let count = left.min(bytes.len() as u64);
        *bytes = &bytes[count as usize..];
        self.length += count;
        left - count
    }

    fn head(&mut self, head: &[u8]) -> Result<(), Fault> {
        let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let start = lines.next().unwrap_or_default();
        let status = start.strip_prefix(b"HTTP/1.1 ").and_then(|rest| number(rest.get(..3)?, 10));
        self.status = status.ok_or("no status line")? as u16;
        let mut length = None;
        for line in lines {
            let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
            let value = line[colon + 1..].trim_ascii();
            match &line[..colon] {
                name if name.eq_ignore_ascii_case(b"content-length") => length = number(value, 10),
                name if name.eq_ignore_ascii_case(b"transfer-encoding") => self.is_chunked = true,
                name if name.eq_ignore_ascii_case(b"connection") => self.closes = value.eq_ignore_ascii_case(b"close"),
                _ => {}
            }
        }
        self.state = match (self.is_chunked, length) {
            (true, _) => State::Size,
            (false, Some(length)) => State::Body(length),
            (false, None) => return Err("a response without a length"),
        };
        Ok(())
    }
}

fn chunk_size(line: &[u8]) -> Result<u64, Fault> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
    number(digits.trim_ascii(), 16).ok_or("a chunk without a size")
}

fn number(digits: &[u8], radix: u32) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads `bytes` in pieces of every size; `expected` has status and length of each response.
    #[track_caller]
    fn check(bytes: &str, expected: Result<&[(u16, u64)], Fault>) {
        for size in 1..=bytes.len() {
            let mut reader = Reader::default();
            let mut found = Vec::new();
            let read = bytes.as_bytes().chunks(size).try_for_each(|mut piece| {
                while !piece.is_empty() {
                    found.extend(reader.read(&mut piece)?.map(|reply| (reply.status, reply.length)));
                }
                Ok(())
            });
            assert_eq!(read.map(|()| found.as_slice()), expected, "in pieces of {size}");
            assert!(expected.is_err() || !reader.has_begun());
        }
    }

    #[test]
    fn reads_responses() {
        let (sized, chunked) = ("HTTP/1.1 200 OK\r\n", "HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n");
        check(&format!("{sized}Content-Length:5\r\n\r\nhello"), Ok(&[(200, 5)]));
        check(&format!("{sized}content-length: 1\r\n\r\n!{sized}content-length: 0\r\n\r\n"), Ok(&[(200, 1), (200, 0)]));
        check(&format!("{chunked}5\r\nhello\r\n1;x=y\r\n!\r\n0\r\n\r\n"), Ok(&[(500, 6)]));
        check(&format!("{chunked}0\r\na: b\r\n\r\n{chunked}A\r\n0123456789\r\n0\r\n\r\n"), Ok(&[(500, 0), (500, 10)]));
        check(&format!("{chunked}1\r\nab\r\n"), Err("a chunk is longer than it says"));
        check(&format!("{chunked}x\r\n"), Err("a chunk without a size"));
        check(&format!("{sized}\r\n"), Err("a response without a length"));
        check("HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n", Err("no status line"));
    }

    #[test]
    fn notices_the_last_response() {
        let mut bytes = b"HTTP/1.1 200 OK\r\nConnection: close\r\ncontent-length: 0\r\n\r\n".as_slice();
        assert!(Reader::default().read(&mut bytes).unwrap().unwrap().closes);
    }
}
