//! JSON taken apart (RFC 8259), in a fraction of the bytes that serde_json takes in a component.
//!
//! Texts of faults are fixed: nothing that came from the client gets into them.

use crate::limits;
use alloc::borrow::Cow;
use alloc::string::String;
use serde::de::DeserializeOwned;

/// Why JSON can't be read.
#[derive(Debug)]
pub(crate) struct Fault {
    /// It is no JSON; otherwise it is JSON of another shape.
    pub(crate) malformed: bool,
    pub(crate) what: &'static str,
    /// The field that it is about, where there is one that the app has named.
    pub(crate) field: &'static str,
}

pub(crate) type Result<T> = core::result::Result<T, Fault>;

/// What is read, and how far.
pub(crate) struct Reader<'de> {
    text: &'de str,
    at: usize,
    depth: usize,
}

/// Reads a text to its end, or says what is wrong and where: line and column, from 1.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> core::result::Result<T, (Fault, usize, usize)> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    match T::deserialize(&mut reader) {
        Ok(value) => reader.end().map(|()| value),
        Err(fault) => Err(fault),
    }
    .map_err(|fault| reader.locate(fault))
}

impl<'de> Reader<'de> {
    #[cold]
    #[inline(never)]
    fn locate(&self, fault: Fault) -> (Fault, usize, usize) {
        let (mut line, mut column) = (1, usize::from(fault.malformed));
        for byte in self.text.bytes().take(self.at) {
            if byte == b'\n' {
                (line, column) = (line + 1, usize::from(fault.malformed));
            } else if byte & 0xc0 != 0x80 {
                column += 1;
            }
        }
        (fault, line, column)
    }

    /// Looks at the next byte.
    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Looks at the first byte after white space.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.next() {
            self.at += 1;
        }
        self.next()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is = self.next() == Some(byte);
        self.at += usize::from(is);
        is
    }

    fn end(&mut self) -> Result<()> {
        if self.peek().is_some() { Err(malformed("text after the value")) } else { Ok(()) }
    }

    /// Expects a value of a kind by its first byte, and takes that byte.
    pub(crate) fn open(&mut self, byte: u8) -> Result<()> {
        if self.peek() != Some(byte) {
            return Err(self.misfit());
        }
        self.at += 1;
        Ok(())
    }

    /// Says what is wrong with a value that is not of the expected kind.
    #[cold]
    #[inline(never)]
    pub(crate) fn misfit(&mut self) -> Fault {
        match self.skip() {
            Ok(()) => misfit("unexpected type"),
            Err(fault) => fault,
        }
    }

    pub(crate) fn word(&mut self, word: &'static str) -> Result<()> {
        for byte in word.bytes() {
            if !self.take(byte) {
                return Err(malformed("expected a value"));
            }
        }
        Ok(())
    }

    pub(crate) fn bool(&mut self) -> Result<bool> {
        match self.peek() {
            Some(b't') => self.word("true").map(|()| true),
            Some(b'f') => self.word("false").map(|()| false),
            _ => Err(self.misfit()),
        }
    }

    /// Takes a number, and tells whether it is a whole one.
    pub(crate) fn number(&mut self) -> Result<(&'de str, bool)> {
        if !matches!(self.peek(), Some(b'-' | b'0'..=b'9')) {
            return Err(self.misfit());
        }
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        let whole = !matches!(self.next(), Some(b'.' | b'e' | b'E'));
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        Ok((self.text.get(start..self.at).unwrap_or_default(), whole))
    }

    fn digits(&mut self) -> Result<()> {
        if !self.next().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(malformed("expected a digit"));
        }
        while self.next().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    /// Takes the number as a whole one.
    pub(crate) fn integer(&mut self) -> Result<Integer> {
        let (text, whole) = self.number()?;
        match integer(text) {
            Some(integer) if whole => Ok(integer),
            _ => Err(misfit(if whole { "number out of range" } else { "unexpected fraction" })),
        }
    }

    /// Takes a string, its quotes included.
    pub(crate) fn string(&mut self) -> Result<Cow<'de, str>> {
        self.open(b'"')?;
        let mut start = self.at;
        let mut unescaped = String::new();
        loop {
            let part = self.text.get(start..self.at).unwrap_or_default();
            match self.next() {
                Some(b'"') if unescaped.is_empty() => {
                    self.at += 1;
                    return Ok(Cow::Borrowed(part));
                }
                Some(b'"') => {
                    self.at += 1;
                    unescaped.push_str(part);
                    return Ok(Cow::Owned(unescaped));
                }
                Some(b'\\') => {
                    unescaped.push_str(part);
                    self.at += 1;
                    unescaped.push(self.escape()?);
                    start = self.at;
                }
                Some(0x20..) => self.at += 1,
                Some(_) => return Err(malformed("control character in a string")),
                None => return Err(malformed("unexpected end")),
            }
        }
    }

    fn escape(&mut self) -> Result<char> {
        let letter = self.next();
        let plain = match letter {
            Some(b'"' | b'\\' | b'/') => letter.map(char::from),
            Some(b'b') => Some('\x08'),
            Some(b'f') => Some('\x0c'),
            Some(b'n') => Some('\n'),
            Some(b'r') => Some('\r'),
            Some(b't') => Some('\t'),
            Some(b'u') => None,
            None => return Err(malformed("unexpected end")),
            Some(_) => return Err(malformed("unknown escape")),
        };
        self.at += 1;
        if let Some(plain) = plain {
            return Ok(plain);
        }
        let first = self.unit()?;
        let mut code = first;
        if first & 0xfc00 == 0xd800 && self.take(b'\\') && self.take(b'u') {
            let second = self.unit()?;
            if second & 0xfc00 == 0xdc00 {
                code = 0x10000 + ((first & 0x3ff) << 10 | second & 0x3ff);
            }
        }
        char::from_u32(code).ok_or_else(|| malformed("lone surrogate"))
    }

    /// Takes the four digits of an escape.
    fn unit(&mut self) -> Result<u32> {
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self
                .next()
                .and_then(|byte| char::from(byte).to_digit(16))
                .ok_or_else(|| malformed("malformed escape"))?;
            unit = unit << 4 | digit;
            self.at += 1;
        }
        Ok(unit)
    }

    /// Goes a level deeper.
    pub(crate) fn deeper(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > limits::JSON_DEPTH { Err(malformed("nested too deeply")) } else { Ok(()) }
    }

    /// Tells whether another item follows, and otherwise takes the end.
    pub(crate) fn more(&mut self, first: bool, close: u8) -> Result<bool> {
        match self.peek() {
            Some(byte) if byte == close => {
                self.at += 1;
                self.depth -= 1;
                return Ok(false);
            }
            Some(b',') if !first => self.at += 1,
            Some(_) if first => return Ok(true),
            Some(_) => return Err(malformed("expected a comma or the end")),
            None => return Err(malformed("unexpected end")),
        }
        if self.peek() == Some(close) { Err(malformed("trailing comma")) } else { Ok(true) }
    }

    pub(crate) fn key(&mut self) -> Result<Cow<'de, str>> {
        match self.peek() {
            Some(b'"') => self.string(),
            _ => Err(malformed("expected a name in quotes")),
        }
    }

    pub(crate) fn colon(&mut self) -> Result<()> {
        self.peek();
        if self.take(b':') { Ok(()) } else { Err(malformed("expected a colon")) }
    }

    /// Takes a value, whatever it is. No deeper than the limit, so the stack is none.
    pub(crate) fn skip(&mut self) -> Result<()> {
        match self.peek() {
            Some(b'n') => self.word("null"),
            Some(b't' | b'f') => self.bool().map(drop),
            Some(b'"') => self.string().map(drop),
            Some(b'-' | b'0'..=b'9') => self.number().map(drop),
            Some(open @ (b'[' | b'{')) => {
                self.at += 1;
                self.deeper()?;
                let mut first = true;
                // The codes of closing brackets are two after those of opening ones.
                while self.more(first, open + 2)? {
                    first = false;
                    if open == b'{' {
                        self.key()?;
                        self.colon()?;
                    }
                    self.skip()?;
                }
                Ok(())
            }
            Some(_) => Err(malformed("expected a value")),
            None => Err(malformed("unexpected end")),
        }
    }
}

/// A whole number.
pub(crate) enum Integer {
    Unsigned(u64),
    Signed(i64),
}

/// Reads a whole number, where it is one and not too large.
pub(crate) fn integer(text: &str) -> Option<Integer> {
    match text.parse() {
        Ok(number) => Some(Integer::Unsigned(number)),
        Err(_) => text.parse().ok().map(Integer::Signed),
    }
}

/// Reads any number.
pub(crate) fn finite(text: &str) -> Result<f64> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(malformed("number out of range")),
    }
}

#[cold]
#[inline(never)]
pub(crate) fn malformed(what: &'static str) -> Fault {
    Fault { malformed: true, what, field: "" }
}

#[cold]
#[inline(never)]
pub(crate) fn misfit(what: &'static str) -> Fault {
    Fault { malformed: false, what, field: "" }
}
