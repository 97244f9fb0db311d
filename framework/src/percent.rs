//! Percent-encoding, both ways (RFC 3986, section 2.1; WHATWG URL).

use crate::text::{append, find, split};
use alloc::borrow::Cow;
use alloc::string::String;

/// Decodes a piece of a path. `slash` is how a slash that came encoded is written. Returns `None` where an escape is
/// malformed or NUL, or what escapes stand for is not UTF-8.
pub(crate) fn decode<'a>(text: &'a str, slash: &str) -> Option<Cow<'a, str>> {
    let mut decoded = String::new();
    let mut rest = text;
    loop {
        let (before, escapes) = split(rest, find(rest, b'%'));
        if escapes.is_empty() && decoded.is_empty() {
            return Some(Cow::Borrowed(before));
        }
        append(&mut decoded, before);
        if escapes.is_empty() {
            return Some(Cow::Owned(decoded));
        }
        let (letter, length) = letter(escapes.as_bytes())?;
        match letter {
            '\0' => return None,
            '/' => append(&mut decoded, slash),
            other => append(&mut decoded, other.encode_utf8(&mut [0; 4])),
        }
        rest = split(escapes, length).1;
    }
}

/// Reads the escapes of one character, and tells how many bytes they are (RFC 3629, section 4). Done here since the
/// library's own check of UTF-8 is made for megabytes, and is 0.7 KB.
fn letter(escapes: &[u8]) -> Option<(char, usize)> {
    let mut code = escape_at(escapes, 1);
    // A byte with so many ones in front starts a sequence of so many bytes; without one it is a character by itself.
    let ones = (!(code << 24)).leading_zeros();
    if code >= MALFORMED || ones == 1 || ones > 4 {
        return None;
    }
    code &= 0x7f >> ones;
    let length = ones.max(1) as usize;
    for index in 1..length {
        let next = escape_at(escapes, index * 3 + 1);
        // This is so for no malformed one.
        if escapes.get(index * 3) != Some(&b'%') || next & !0x3f != 0x80 {
            return None;
        }
        code = code << 6 | next & 0x3f;
    }
    let letter = char::from_u32(code)?;
    // What a shorter sequence could say is malformed.
    if letter.len_utf8() == length { Some((letter, length * 3)) } else { None }
}

/// Reads the two hexadecimal digits of an escape and returns what follows them.
pub(crate) fn escape(rest: &[u8]) -> Option<(u8, &[u8])> {
    Some((u8::try_from(escape_at(rest, 0)).ok()?, rest.get(2..)?))
}

/// Reads the two hexadecimal digits of an escape; what is no byte is malformed.
#[inline(never)]
pub(crate) fn escape_at(bytes: &[u8], at: usize) -> u32 {
    let digit = |at| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16)).unwrap_or(MALFORMED);
    digit(at) << 4 | digit(at + 1)
}

const MALFORMED: u32 = 256;

/// Adds a segment to a path: everything but unreserved characters, sub-delims, `:` and `@` is escaped (RFC 3986,
/// section 3.3), so a slash stays inside.
pub(crate) fn push_segment(out: &mut String, segment: &[u8]) {
    push(out, segment, b"-._~!$&'()*+,;=:@");
}

/// Adds segments with the slashes between them.
pub(crate) fn push_path(out: &mut String, path: &[u8]) {
    push(out, path, b"-._~!$&'()*+,;=:@/");
}

fn push(out: &mut String, bytes: &[u8], safe: &[u8]) {
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || safe.contains(byte) {
            out.push(char::from(*byte));
        } else {
            push_escape(out, *byte);
        }
    }
}

/// Adds `%XX`.
pub(crate) fn push_escape(out: &mut String, byte: u8) {
    out.push('%');
    for nibble in [byte >> 4, byte & 15] {
        out.push(char::from(if nibble < 10 { b'0' + nibble } else { b'A' + nibble - 10 }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn escapes() {
        for (text, value) in [
            ("41", Some(b'A')),
            ("2f", Some(b'/')),
            ("2F!", Some(b'/')),
            ("", None),
            ("4", None),
            ("4x", None),
            ("+1", None),
        ] {
            assert_eq!(escape(text.as_bytes()).map(|(value, _)| value), value, "{text}");
        }
    }

    #[test]
    fn a_segment_survives_the_round_trip() {
        for text in [
            "",
            "a/b",
            "\u{7f}\u{80}\u{7ff}\u{800}\u{d7ff}\u{e000}\u{ffff}\u{10000}\u{10ffff}",
            "a b+c",
            "50%",
            "?#[]",
            "\u{20ac}\u{1f600}",
            "~-._!$&'()*,;=:@",
        ] {
            let mut out = String::from("/");
            push_segment(&mut out, text.as_bytes());
            assert!(!out.contains(['?', '#', ' ']) && out.matches('/').count() == 1, "{out}");
            assert_eq!(decode(&out[1..], "/").as_deref(), Some(text));
        }
    }

    /// Whatever bytes the escapes stand for, the library must agree.
    #[test]
    fn utf8() {
        let bytes =
            [0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc1, 0xc2, 0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5];
        let mut number = 0usize;
        for length in 1..=4 {
            for _ in 0..bytes.len().pow(length) {
                let mut path = String::new();
                let mut raw = Vec::new();
                let mut index = number;
                for _ in 0..length {
                    raw.push(bytes[index % bytes.len()]);
                    index /= bytes.len();
                }
                number += 1;
                raw.iter().for_each(|byte| push_escape(&mut path, *byte));
                assert_eq!(decode(&path, "/"), String::from_utf8(raw).ok().map(Cow::Owned), "{path}");
            }
        }
    }
}
