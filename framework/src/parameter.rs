//! Lists and parameters inside a field value: `a;b="c, d", e` (RFC 9110, section 5.6).

use alloc::borrow::Cow;
use alloc::vec::Vec;

/// Takes what stands before the next separator outside of quotes, without the white space around it.
pub(crate) fn take<'a>(rest: &mut &'a [u8], separator: u8) -> &'a [u8] {
    let (mut quoted, mut escaped) = (false, false);
    let end = rest.iter().position(|byte| {
        let plain = !core::mem::take(&mut escaped);
        match *byte {
            b'\\' if quoted => escaped = plain,
            b'"' if plain => quoted = !quoted,
            byte => return byte == separator && !quoted,
        }
        false
    });
    match end.and_then(|end| rest.split_at_checked(end)) {
        Some((item, [_, tail @ ..])) => {
            *rest = tail;
            item.trim_ascii()
        }
        _ => core::mem::take(rest).trim_ascii(),
    }
}

/// The parameters that follow the first item of a value, names as they came, values without their quotes.
#[derive(Clone)]
pub(crate) struct Parameters<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Parameters<'a> {
    type Item = (&'a [u8], Cow<'a, [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
        while !self.0.is_empty() {
            let mut value = take(&mut self.0, b';');
            let name = take(&mut value, b'=');
            if !name.is_empty() {
                return Some((name, unquote(value.trim_ascii())));
            }
        }
        None
    }
}

/// Returns a value without the quotes around it and the backslashes in it (RFC 9110, section 5.6.4).
fn unquote(value: &[u8]) -> Cow<'_, [u8]> {
    let [b'"', inner @ ..] = value else { return Cow::Borrowed(value) };
    let inner = inner.strip_suffix(b"\"").unwrap_or(inner);
    if inner.iter().all(|byte| *byte != b'\\') {
        return Cow::Borrowed(inner);
    }
    let mut plain = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter();
    while let Some(byte) = bytes.next() {
        plain.extend(if *byte == b'\\' { bytes.next() } else { Some(byte) });
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;

    #[track_caller]
    fn check(value: &str, expected: &[(&str, &str)]) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut rest = value.as_bytes();
        let first = take(&mut rest, b';');
        let mut found = Vec::from([(text(first), String::new())]);
        found.extend(Parameters(rest).map(|(name, value)| (text(name), text(&value))));
        let found: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(found, expected, "{value}");
    }

    #[test]
    fn parameters() {
        check("a", &[("a", "")]);
        check("a; b=c ;d = \"e;f\"; g", &[("a", ""), ("b", "c"), ("d", "e;f"), ("g", "")]);
        check("a;;b=\"\\\"\\\\;\";c=d", &[("a", ""), ("b", "\"\\;"), ("c", "d")]);
        check("a;b=\"open;c=d", &[("a", ""), ("b", "open;c=d")]);
        check("a;b=c=d;=e", &[("a", ""), ("b", "c=d")]);
        check("a;b=\"x\\", &[("a", ""), ("b", "x")]);
    }

    #[test]
    fn lists() {
        let mut rest: &[u8] = b" a ,\"b,c\" ,, d";
        let items: Vec<_> = core::iter::from_fn(|| (!rest.is_empty()).then(|| take(&mut rest, b','))).collect();
        assert_eq!(items, [&b"a"[..], b"\"b,c\"", b"", b"d"]);
    }
}
