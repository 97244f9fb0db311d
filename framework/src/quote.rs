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
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| byte < b' ' || byte == b'"' || byte == b'\\' || byte == also) {
        let Some((before, from)) = rest.split_at_checked(at) else { break };
        let mut letters = from.chars();
        out.push_str(before);
        push_escape(out, letters.next().unwrap_or_default());
        rest = letters.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

fn push_escape(out: &mut String, letter: char) {
    let short = match letter {
        '"' | '\\' => letter,
        '\x08' => 'b',
        '\x0c' => 'f',
        '\n' => 'n',
        '\r' => 'r',
        '\t' => 't',
        _ => 'u',
    };
    out.push('\\');
    out.push(short);
    if short == 'u' {
        out.push_str(if letter < '\x10' { "000" } else { "00" });
        if letter >= '\x10' {
            out.push(digit(letter as u8 >> 4));
        }
        out.push(digit(letter as u8 & 15));
    }
}

fn digit(number: u8) -> char {
    char::from(if number < 10 { b'0' + number } else { b'a' + number - 10 })
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
