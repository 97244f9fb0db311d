//! Text as a string of JSON, for an app that has no use for serde.

use alloc::string::String;

/// Returns a text as a string of JSON, quotes included: `tabi::concat(["{\"name\":", &tabi::json_string(name), "}"])`.
///
/// Quotes, backslashes and control characters are escaped (RFC 8259, section 7), and `<`, so that it may stand in a
/// `<script>`, too.
pub fn json_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push(&mut out, text, b'<');
    out
}

/// Adds a text as a string of JSON.
pub(crate) fn push_json_string(out: &mut String, text: &str) {
    push(out, text, b'"');
}

fn push(out: &mut String, text: &str, also: u8) {
    out.push('"');
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte < b' ' || byte == b'"' || byte == b'\\' || byte == also {
            out.push_str(text.get(start..at).unwrap_or_default());
            push_escape(out, byte);
            start = at + 1;
        }
    }
    out.push_str(text.get(start..).unwrap_or_default());
    out.push('"');
}

fn push_escape(out: &mut String, byte: u8) {
    let short = match byte {
        b'"' => "\\\"",
        b'\\' => "\\\\",
        b'\x08' => "\\b",
        b'\x0c' => "\\f",
        b'\n' => "\\n",
        b'\r' => "\\r",
        b'\t' => "\\t",
        _ => "\\u00",
    };
    out.push_str(short);
    if short.len() > 2 {
        for digit in [usize::from(byte >> 4), usize::from(byte & 15)] {
            out.push_str("0123456789abcdef".get(digit..digit + 1).unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, quoted: &str) {
        assert_eq!(json_string(text), quoted);
        assert_eq!(serde_json::from_str::<String>(quoted).ok().as_deref(), Some(text));
    }

    #[test]
    fn quotes() {
        check("", "\"\"");
        check("a\"b\\c/d", "\"a\\\"b\\\\c/d\"");
        check("\r\n\t\x08\x0c\0\x1f", "\"\\r\\n\\t\\b\\f\\u0000\\u001f\"");
        check("</script><!--", "\"\\u003c/script>\\u003c!--\"");
        check("\u{20ac}\u{1f600}\u{2028}", "\"\u{20ac}\u{1f600}\u{2028}\"");
        for code in 0..0x3000 {
            let text = char::from_u32(code).map(String::from).unwrap_or_default();
            assert_eq!(serde_json::from_str::<String>(&json_string(&text)).ok(), Some(text));
        }
    }
}
