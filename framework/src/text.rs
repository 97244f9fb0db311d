//! Small texts without `format!`, whose machinery costs a component kilobytes.

use alloc::string::String;

/// Joins texts: `tabi::concat(["Hello, ", name, "!"])`.
///
/// Does what `[..].concat()` and `format!` do; in a component it costs a few bytes a call where `format!` brings
/// kilobytes.
pub fn concat<const N: usize>(parts: [&str; N]) -> String {
    join(&parts)
}

fn join(parts: &[&str]) -> String {
    let mut text = String::new();
    for part in parts {
        append(&mut text, part);
    }
    text
}

/// Adds a text. As `push_str`, whose code would stand wherever it is called.
#[inline(never)]
pub(crate) fn append(out: &mut String, text: &str) {
    out.push_str(text);
}

/// Returns a number in decimal.
pub fn decimal(number: u64) -> String {
    let mut text = String::new();
    push_decimal(&mut text, number);
    text
}

/// Adds a number in decimal.
pub(crate) fn push_decimal(out: &mut String, number: u64) {
    if number >= 10 {
        push_decimal(out, number / 10);
    }
    out.push(char::from(b'0' + (number % 10) as u8));
}

/// Returns where such a byte is, or the end.
#[inline(never)]
pub(crate) fn find(text: &str, byte: u8) -> usize {
    text.bytes().position(|known| known == byte).unwrap_or(text.len())
}

/// Splits at a place that [`find`] has found.
#[inline(never)]
pub(crate) fn split(text: &str, at: usize) -> (&str, &str) {
    text.split_at_checked(at).unwrap_or_default()
}

/// Returns the text between two places that [`find`] has found.
#[inline(never)]
pub(crate) fn slice(text: &str, from: usize, to: usize) -> &str {
    split(split(text, to).0, from).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (number, text) in [(0, "0"), (9, "9"), (10, "10"), (305, "305"), (u64::MAX, "18446744073709551615")] {
            assert_eq!(decimal(number), text);
        }
        assert_eq!(concat(["a", "", "bc"]), "abc");
    }
}
