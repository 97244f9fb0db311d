//! What is sent and what comes back.

/// Header fields in their order.
pub(crate) type Fields = Vec<(String, Vec<u8>)>;

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method.
    pub method: Vec<u8>,
    /// The request target, as it goes over the wire.
    pub target: Vec<u8>,
    /// The header fields, `host` and `content-length` among them.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body.
    pub body: Vec<u8>,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The header fields.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body, without its framing.
    pub body: Vec<u8>,
}

impl Answer {
    /// Returns each value of a header field.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = String> + 'a {
        let fields = self.headers.iter().filter(move |(known, _)| known.eq_ignore_ascii_case(name));
        fields.map(|(_, value)| escape(value))
    }
}

/// Reads `\xNN`, `\r`, `\n`, `\t` and `\\`.
pub(crate) fn unescape(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [byte, tail @ ..] = rest {
        rest = tail;
        if *byte != b'\\' {
            bytes.push(*byte);
            continue;
        }
        let (value, length) = match rest {
            [b'r', ..] => (b'\r', 1),
            [b'n', ..] => (b'\n', 1),
            [b't', ..] => (b'\t', 1),
            [b'\\', ..] => (b'\\', 1),
            [b'x', high, low, ..] => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).map_err(|error| error.to_string())?;
                (u8::from_str_radix(digits, 16).map_err(|error| format!("\\x{digits}: {error}"))?, 3)
            }
            _ => return Err(String::from("an unknown escape")),
        };
        bytes.push(value);
        rest = rest.get(length..).unwrap_or_default();
    }
    Ok(bytes)
}

/// Writes what [`unescape`] reads, line breaks as they are.
pub(crate) fn escape(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '\\' => text.push_str("\\\\"),
                '\r' => text.push_str("\\r"),
                '\t' => text.push_str("\\t"),
                '\n' => text.push('\n'),
                char if char.is_control() => text.push_str(&format!("\\x{:02x}", char as u32)),
                char => text.push(char),
            }
        }
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}
