//! Percent-encoding, both ways (RFC 3986, section 2.1; WHATWG URL).

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

/// Decodes a path segment, or returns `None` where an escape is malformed or the result is not UTF-8.
/// `+` stays what it is.
pub(crate) fn decode_segment(segment: &[u8]) -> Option<Cow<'_, str>> {
    if !segment.contains(&b'%') {
        return core::str::from_utf8(segment).ok().map(Cow::Borrowed);
    }
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment;
    while let [byte, tail @ ..] = rest {
        rest = tail;
        if *byte != b'%' {
            bytes.push(*byte);
        } else {
            let (value, tail) = escape(rest)?;
            bytes.push(value);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}

/// Reads the two hexadecimal digits of an escape and returns what follows them.
pub(crate) fn escape(rest: &[u8]) -> Option<(u8, &[u8])> {
    let [high, low, tail @ ..] = rest else { return None };
    Some((digit(*high)? << 4 | digit(*low)?, tail))
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// Adds text to a path as one segment: everything but unreserved characters and sub-delims, `:` and `@` is escaped
/// (RFC 3986, section 3.3), so a slash stays inside.
pub(crate) fn push_segment(out: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte) {
            out.push(char::from(byte));
        } else {
            push_escape(out, byte);
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

    #[test]
    fn decodes_once_and_strictly() {
        for (text, decoded) in [
            ("", Some("")),
            ("a b", Some("a b")),
            ("a+b", Some("a+b")),
            ("%41", Some("A")),
            ("%2f%2F", Some("//")),
            ("%2541", Some("%41")),
            ("%e2%82%ac", Some("\u{20ac}")),
            ("%", None),
            ("%4", None),
            ("%4x", None),
            ("a%zz", None),
            ("%ff", None),
            ("%c3", None),
            ("%00", Some("\0")),
            ("%+1", None),
        ] {
            assert_eq!(decode_segment(text.as_bytes()).as_deref(), decoded, "{text}");
        }
    }

    #[test]
    fn a_segment_survives_the_round_trip() {
        for text in ["", "a/b", "a b+c", "50%", "?#[]", "\u{20ac}\0\u{1f600}", "~-._!$&'()*,;=:@"] {
            let mut out = String::new();
            push_segment(&mut out, text);
            assert!(!out.contains(['/', '?', '#', ' ']), "{out}");
            assert_eq!(decode_segment(out.as_bytes()).as_deref(), Some(text));
        }
    }
}
