//! Text as a string of JSON, for an app that has no use for serde.

use alloc::string::String;

/// Returns a text as a string of JSON, quotes included: `tabi::concat(["{\"name\":", &tabi::json_string(name), "}"])`.
///
/// Quotes, backslashes and control characters are escaped (RFC 8259, section 7), and `<`, so that it may stand in a
/// `<script>`, too.
pub fn json_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_json_string(&mut out, text);
    out
}

/// Adds a text as a string of JSON.
pub(crate) fn push_json_string(out: &mut String, text: &str) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '<' | '\0'..='\x1f' | '\x7f' | '\u{2028}' | '\u{2029}' => {
                out.push_str("\\u");
                for shift in [12, 8, 4, 0] {
                    let digit = (letter as u32 >> shift & 15) as u8;
                    out.push(char::from(if digit < 10 { b'0' + digit } else { b'a' + digit - 10 }));
                }
            }
            other => out.push(other),
        }
    }
    out.push('"');
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
        check("\r\n\t\0\x1f\x7f", "\"\\r\\n\\t\\u0000\\u001f\\u007f\"");
        check("</script><!--", "\"\\u003c/script>\\u003c!--\"");
        check("\u{20ac}\u{1f600}\u{2028}", "\"\u{20ac}\u{1f600}\\u2028\"");
        for code in 0..0x3000 {
            let text = char::from_u32(code).map(String::from).unwrap_or_default();
            assert_eq!(serde_json::from_str::<String>(&json_string(&text)).ok(), Some(text));
        }
    }
}
