//! Percent-encoding, both ways (RFC 3986, section 2.1; WHATWG URL).

use alloc::string::String;

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
        for text in ["", "a/b", "a b+c", "50%", "?#[]", "\u{20ac}\u{1f600}", "~-._!$&'()*,;=:@"] {
            let mut out = String::from("/");
            push_segment(&mut out, text.as_bytes());
            assert!(!out.contains(['?', '#', ' ']) && out.matches('/').count() == 1, "{out}");
            let pattern = crate::pattern::Pattern::new("/{*x}".into());
            let decoded = crate::pattern::decode_path(&out).unwrap();
            let mut value = None;
            pattern.params(&decoded, &mut |_, found| value = Some(found.replace("%2F", "/")));
            assert_eq!(value.as_deref(), Some(text));
        }
    }
}
