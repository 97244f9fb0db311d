//! Finds the parts in the bytes of a multipart body (RFC 2046, section 5.1): bytes in, parts out, nothing read.

use super::head::Head;
use alloc::vec::Vec;

/// Takes bytes in pieces of any size and says what they mean.
///
/// It keeps what it can't tell yet: the head of a part, or what may be the beginning of a delimiter. The rest goes
/// through, so that its memory doesn't grow with the body.
pub(crate) struct Parser {
    /// CRLF, two hyphens and the boundary.
    delimiter: Vec<u8>,
    buffer: Vec<u8>,
    /// How much of the buffer is done with.
    done: usize,
    state: State,
    /// Whether there are no more bytes than those in the buffer.
    is_last: bool,
    pub(crate) parts_left: usize,
    pub(crate) head_limit: usize,
}

/// What comes next in the bytes.
#[derive(Clone, Copy)]
enum State {
    /// With so many bytes passed over.
    Preamble(usize),
    Head,
    /// The CRLF after a head, which is that of the next delimiter where a part has no content.
    HeadEnd,
    Content,
    Epilogue,
    Failed(Fault),
}

/// What the bytes mean.
pub(crate) enum Event {
    /// Nothing without more bytes.
    Wants,
    Part(Head),
    Data(Vec<u8>),
    PartEnd,
    End,
}

/// Why the bytes are no form, or none that is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    NotMultipart,
    Boundary,
    Malformed,
    Incomplete,
    Charset,
    NotText,
    PartLimit,
    HeadLimit,
    FieldLimit,
    TotalLimit,
}

/// What the bytes that are not done with begin with.
enum Found {
    /// So many bytes of content.
    Data(usize),
    /// A delimiter line of this length, with a part behind it.
    Next(usize),
    /// The delimiter that closes the form.
    Close,
    /// A delimiter that goes on and on.
    Endless,
    Wants,
}

/// What follows the bytes of a delimiter.
enum Tail {
    Line(usize),
    Close,
    Endless,
    Other,
    Wants,
}

/// How many spaces may follow a boundary: more than a mailer ever added.
const PADDING: usize = 256;

impl Parser {
    pub(crate) fn new(boundary: &[u8], parts: usize, head_limit: usize) -> Parser {
        let delimiter = [b"\r\n--", boundary].concat();
        // The first delimiter needs no CRLF where nothing stands before it.
        let buffer = b"\r\n".to_vec();
        let state = State::Preamble(0);
        Parser { delimiter, buffer, done: 0, state, is_last: false, parts_left: parts, head_limit }
    }

    /// Adds bytes. To be called where [`Event::Wants`] was returned.
    pub(crate) fn feed(&mut self, chunk: Vec<u8>) {
        let rest = self.rest();
        if rest.is_empty() {
            self.buffer = chunk;
        } else if self.done > 0 {
            // Made at its full size at once, so that it is of the same size each time.
            self.buffer = [rest, &chunk].concat();
        } else {
            self.buffer.extend_from_slice(&chunk);
        }
        self.done = 0;
    }

    /// Says that there are no more bytes.
    pub(crate) fn finish(&mut self) {
        self.is_last = true;
    }

    /// Returns what comes next.
    pub(crate) fn next(&mut self) -> Result<Event, Fault> {
        let event = loop {
            match self.step() {
                Ok(Some(Event::Wants)) if self.is_last => break Err(Fault::Incomplete),
                Ok(Some(event)) => break Ok(event),
                Ok(None) => {}
                Err(fault) => break Err(fault),
            }
        };
        if let Err(fault) = event {
            self.state = State::Failed(fault);
        }
        event
    }

    /// Goes one step; tells where there is something to tell.
    fn step(&mut self) -> Result<Option<Event>, Fault> {
        match self.state {
            State::Head => return self.head().map(Some),
            State::Epilogue => return Ok(Some(Event::End)),
            State::Failed(fault) => return Err(fault),
            State::Preamble(_) | State::HeadEnd | State::Content => {}
        }
        let is_in_part = !matches!(self.state, State::Preamble(_));
        let end = if is_in_part { Some(Event::PartEnd) } else { None };
        match self.found() {
            Found::Wants => Ok(Some(Event::Wants)),
            Found::Endless => Err(Fault::Malformed),
            Found::Data(length) => Ok(self.data(length)),
            Found::Close => {
                // A form without fields is its last delimiter alone. Where something else stands before it, that was
                // meant to be a part, but its delimiter is a wrong one.
                if matches!(self.state, State::Preamble(length) if length > 2) {
                    return Err(Fault::Malformed);
                }
                self.state = State::Epilogue;
                Ok(end)
            }
            Found::Next(length) => {
                self.done += length;
                self.state = State::Head;
                Ok(end)
            }
        }
    }

    fn data(&mut self, length: usize) -> Option<Event> {
        match self.state {
            State::HeadEnd => {
                self.done += 2;
                self.state = State::Content;
                None
            }
            State::Content => {
                let data = self.rest().get(..length).unwrap_or_default().to_vec();
                self.done += length;
                Some(Event::Data(data))
            }
            State::Preamble(before) => {
                self.done += length;
                self.state = State::Preamble(before.saturating_add(length));
                None
            }
            _ => None,
        }
    }

    fn head(&mut self) -> Result<Event, Fault> {
        let parts_left = self.parts_left.checked_sub(1).ok_or(Fault::PartLimit)?;
        let rest = self.rest();
        if rest.starts_with(b"\r\n") {
            // RFC 7578, section 4.2: each part has a Content-Disposition.
            return Err(Fault::Malformed);
        }
        let Some(length) = find(rest, b"\r\n\r\n") else {
            let is_too_long = rest.len() > self.head_limit + 3;
            return if is_too_long { Err(Fault::HeadLimit) } else { Ok(Event::Wants) };
        };
        if length > self.head_limit {
            return Err(Fault::HeadLimit);
        }
        let head = Head::parse(rest.get(..length).unwrap_or_default())?;
        self.parts_left = parts_left;
        self.done += length + 2;
        self.state = State::HeadEnd;
        Ok(Event::Part(head))
    }

    /// Looks for a delimiter.
    fn found(&self) -> Found {
        let rest = self.rest();
        let mut from = 0;
        loop {
            let Some(candidate) = rest.get(from..).filter(|candidate| !candidate.is_empty()) else {
                return if rest.is_empty() { Found::Wants } else { Found::Data(rest.len()) };
            };
            let Some(next) = candidate.iter().position(|byte| *byte == b'\r') else {
                return Found::Data(rest.len());
            };
            let at = from + next;
            let found = match self.tail(rest.get(at..).unwrap_or_default()) {
                Tail::Other => {
                    from = at + 1;
                    continue;
                }
                Tail::Line(length) => Found::Next(self.delimiter.len() + length),
                Tail::Close => Found::Close,
                Tail::Endless => Found::Endless,
                Tail::Wants => Found::Wants,
            };
            return if at == 0 { found } else { Found::Data(at) };
        }
    }

    /// Tells whether a delimiter stands here. What only begins as one is content.
    fn tail(&self, bytes: &[u8]) -> Tail {
        // Most line breaks are only that, which is to be seen without the boundary.
        if let [_, second, third, _, ..] = bytes
            && (*second, *third) != (b'\n', b'-')
        {
            return Tail::Other;
        }
        let Some(mut rest) = bytes.strip_prefix(self.delimiter.as_slice()) else {
            return if self.delimiter.starts_with(bytes) { self.undecided() } else { Tail::Other };
        };
        if rest.starts_with(b"--") {
            return Tail::Close;
        }
        let mut padding = 0;
        while let [b' ' | b'\t', more @ ..] = rest {
            rest = more;
            padding += 1;
        }
        match rest {
            _ if padding > PADDING => Tail::Endless,
            [b'\r', b'\n', ..] => Tail::Line(padding + 2),
            [] | [b'\r'] => self.undecided(),
            [b'-'] if padding == 0 => self.undecided(),
            _ => Tail::Other,
        }
    }

    fn undecided(&self) -> Tail {
        if self.is_last { Tail::Other } else { Tail::Wants }
    }

    /// Returns how many bytes wait for more.
    pub(crate) fn kept(&self) -> usize {
        self.rest().len()
    }

    fn rest(&self) -> &[u8] {
        self.buffer.get(self.done..).unwrap_or_default()
    }
}

/// Returns where `needle` begins in `bytes`.
pub(crate) fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    let first = needle.first()?;
    let mut from = 0;
    loop {
        let rest = bytes.get(from..)?;
        let at = rest.iter().position(|byte| byte == first)?;
        if rest.get(at..)?.starts_with(needle) {
            return Some(from + at);
        }
        from += at + 1;
    }
}
