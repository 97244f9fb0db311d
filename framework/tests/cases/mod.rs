//! Reads the files of public cases beside this one.

#![allow(dead_code, reason = "each test file needs other parts of it")]

use serde_json::Value;
use std::path::Path;

/// One row of a file.
pub(crate) struct Case(Value);

/// Returns the rows of a file: its `cases`, or the file where it is a list.
#[track_caller]
pub(crate) fn read(file: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut value: Value = serde_json::from_str(&text).unwrap();
    let rows = if value.is_array() { value } else { value["cases"].take() };
    let rows: Vec<_> = rows.as_array().unwrap().iter().cloned().map(Case).collect();
    assert!(!rows.is_empty(), "{file} has no rows");
    rows
}

impl Case {
    /// Returns what a row has under a key; null where it has nothing.
    pub(crate) fn get(&self, key: &str) -> &Value {
        &self.0[key]
    }

    /// Returns a text.
    #[track_caller]
    pub(crate) fn text(&self, key: &str) -> &str {
        self.0[key].as_str().unwrap_or_else(|| panic!("no text `{key}` in {}", self.0))
    }

    /// Returns a list.
    #[track_caller]
    pub(crate) fn list(&self, key: &str) -> &[Value] {
        self.0[key].as_array().unwrap_or_else(|| panic!("no list `{key}` in {}", self.0))
    }
}

/// Decodes base64, as the files have bytes.
#[track_caller]
pub(crate) fn base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => panic!("no base64: {text}"),
    };
    let (mut bytes, mut bits, mut value) = (Vec::new(), 0, 0u32);
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        (value, bits) = (value << 6 | u32::from(digit(byte)), bits + 6);
        if bits >= 8 {
            bits -= 8;
            bytes.push((value >> bits) as u8);
        }
    }
    bytes
}

/// Undoes the escapes that `bug-reports.json` has in its texts: `\r`, `\n`, `\t`, `\\` and `\xNN`.
#[track_caller]
pub(crate) fn unescaped(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [byte, tail @ ..] = rest {
        (bytes, rest) = match (byte, tail) {
            (b'\\', [b'x', high, low, tail @ ..]) => {
                let digits = [*high, *low];
                bytes.push(u8::from_str_radix(str::from_utf8(&digits).unwrap(), 16).unwrap());
                (bytes, tail)
            }
            (b'\\', [letter, tail @ ..]) => {
                bytes.push(match letter {
                    b'r' => b'\r',
                    b'n' => b'\n',
                    b't' => b'\t',
                    other => *other,
                });
                (bytes, tail)
            }
            _ => {
                bytes.push(*byte);
                (bytes, tail)
            }
        };
    }
    bytes
}
