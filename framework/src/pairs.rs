//! `Pairs`: `a=b&c=d`, as query strings and forms have it (WHATWG URL, application/x-www-form-urlencoded).

use crate::percent;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

/// The names and values of a query string or a form, decoded, in their order.
///
/// `+` is a space; a malformed escape stays as it is, and bytes that are no UTF-8 become U+FFFD: the standard knows
/// no errors here. A name without `=` has an empty value. Only `&` separates pairs, and brackets mean nothing.
#[derive(Clone)]
pub struct Pairs<'a>(&'a [u8]);

impl<'a> Pairs<'a> {
    /// Reads pairs from text.
    pub fn new(text: &'a str) -> Pairs<'a> {
        Pairs::from_bytes(text.as_bytes())
    }

    /// Reads pairs from bytes.
    pub fn from_bytes(bytes: &'a [u8]) -> Pairs<'a> {
        Pairs(bytes)
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = (Cow<'a, str>, Cow<'a, str>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.0.is_empty() {
                return None;
            }
            let (pair, rest) = split(self.0, b'&');
            self.0 = rest;
            if !pair.is_empty() {
                let (name, value) = split(pair, b'=');
                return Some((decode(name), decode(value)));
            }
        }
    }
}

/// Adds a pair to a query string or a form, encoded (WHATWG URL, section 5.2).
pub(crate) fn push(out: &mut String, name: &str, value: &str) {
    if !out.is_empty() {
        out.push('&');
    }
    encode(out, name);
    out.push('=');
    encode(out, value);
}

/// Splits at the first such byte; without one, all is before it.
fn split(bytes: &[u8], at: u8) -> (&[u8], &[u8]) {
    let mut parts = bytes.splitn(2, |byte| *byte == at);
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}

fn encode(out: &mut String, text: &str) {
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        if !byte.is_ascii_alphanumeric() && !matches!(byte, b'*' | b'-' | b'.' | b'_') {
            out.push_str(text.get(start..at).unwrap_or_default());
            start = at + 1;
            if byte == b' ' {
                out.push('+');
            } else {
                percent::push_escape(out, byte);
            }
        }
    }
    out.push_str(text.get(start..).unwrap_or_default());
}

fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let plain = !bytes.iter().any(|byte| matches!(byte, b'%' | b'+'));
    match core::str::from_utf8(bytes) {
        Ok(text) if plain => Cow::Borrowed(text),
        _ => Cow::Owned(text(&unescape(bytes))),
    }
}

fn unescape(mut rest: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(rest.len());
    while let [byte, tail @ ..] = rest {
        rest = tail;
        match byte {
            b'+' => decoded.push(b' '),
            b'%' => match percent::escape(rest) {
                Some((value, tail)) => {
                    decoded.push(value);
                    rest = tail;
                }
                None => decoded.push(b'%'),
            },
            other => decoded.push(*other),
        }
    }
    decoded
}

/// Returns bytes as text; what is no UTF-8 becomes U+FFFD.
fn text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let pairs: Vec<_> = Pairs::new(text).collect();
        let pairs: Vec<_> = pairs.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(pairs, expected, "{text}");
        let mut encoded = String::new();
        for (name, value) in &pairs {
            push(&mut encoded, name, value);
        }
        let again: Vec<_> = Pairs::new(&encoded).collect();
        let again: Vec<_> = again.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(again, expected, "{text} as {encoded}");
    }

    #[test]
    fn pairs() {
        check("", &[]);
        check("a=1&b=2", &[("a", "1"), ("b", "2")]);
        check("a&=b&&c=", &[("a", ""), ("", "b"), ("c", "")]);
        check("a=b=c", &[("a", "b=c")]);
        check("=", &[("", "")]);
        check("a=1;b=2", &[("a", "1;b=2")]);
        check("a+b=%20%2B", &[("a b", " +")]);
        check("a=%zz%4", &[("a", "%zz%4")]);
        check("a=%", &[("a", "%")]);
        check("a=%+1", &[("a", "% 1")]);
        check("a=%2541", &[("a", "%41")]);
        check("a=%26%3D%23", &[("a", "&=#")]);
        check("a=%ff", &[("a", "\u{fffd}")]);
        check("a=%f0%9f%98%80%0D%0a%00", &[("a", "\u{1f600}\r\n\0")]);
        check("%E2%82%AC=\u{20ac}", &[("\u{20ac}", "\u{20ac}")]);
        check("%ef%bb%bfa=\u{feff}", &[("\u{feff}a", "\u{feff}")]);
    }
}
