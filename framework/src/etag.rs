//! `ETag`: the name of one version of what a URL shows (RFC 9110, section 8.8.3).

use alloc::borrow::Cow;
use alloc::string::String;

/// An entity tag: `"v1"`, or weak `W/"v1"`.
///
/// A strong tag changes with every byte; a weak one only where the meaning changes. Ranges and lost-update checks
/// (`If-Match`) need strong ones.
///
/// ```
/// use tabi::ETag;
///
/// let tag = ETag::strong("v1").unwrap();
/// assert_eq!(tag.as_str(), "\"v1\"");
/// assert!(tag.weak_eq(&ETag::parse("W/\"v1\"").unwrap()));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ETag(Cow<'static, str>);

impl ETag {
    /// Returns a strong tag, or `None` where the text has what a tag can't: quotes, spaces, control characters.
    pub fn strong(text: &str) -> Option<ETag> {
        ETag::parse(&crate::text::concat(["\"", text, "\""]))
    }

    /// Returns a weak tag, or `None` as [`ETag::strong`].
    pub fn weak(text: &str) -> Option<ETag> {
        ETag::parse(&crate::text::concat(["W/\"", text, "\""]))
    }

    /// Returns a strong tag that is made from the content: the same for the same bytes, and in practice for no
    /// others (FNV-1a with 128 bits; not for content whose author wants two versions to look alike).
    pub fn of(content: &[u8]) -> ETag {
        let step = |hash: u128, byte: &u8| (hash ^ u128::from(*byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        let hash = content.iter().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, step);
        let mut text = String::with_capacity(34);
        text.push('"');
        for byte in hash.to_be_bytes() {
            for nibble in [byte >> 4, byte & 15] {
                text.push(char::from(if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 }));
            }
        }
        text.push('"');
        ETag(Cow::Owned(text))
    }

    /// Reads a tag as header fields have it, or returns `None` where it is none.
    pub fn parse(text: &str) -> Option<ETag> {
        let bytes = text.as_bytes();
        match bytes.strip_prefix(b"W/").unwrap_or(bytes) {
            [b'"', tag @ .., b'"'] if tag.iter().all(is_tag_byte) => Some(ETag(Cow::Owned(String::from(text)))),
            _ => None,
        }
    }

    /// Returns a tag whose text is known to be right.
    pub(crate) const fn from_static(text: &'static str) -> ETag {
        ETag(Cow::Borrowed(text))
    }

    /// Returns it as header fields have it, with quotes.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Tells whether it is a weak one.
    pub fn is_weak(&self) -> bool {
        self.0.as_bytes().starts_with(b"W/")
    }

    /// Tells whether both are strong and the same: every byte is.
    pub fn strong_eq(&self, other: &ETag) -> bool {
        !self.is_weak() && self.0 == other.0
    }

    /// Tells whether both are the same apart from being weak: the meaning is.
    pub fn weak_eq(&self, other: &ETag) -> bool {
        opaque(self.0.as_bytes()) == opaque(other.0.as_bytes())
    }
}

/// Tells whether a list of tags, as `If-Match` and `If-None-Match` have it, names this one. What is no tag matches
/// nothing; `*` is not looked for.
pub(crate) fn list_names(list: &[u8], tag: &ETag, strong: bool) -> bool {
    let mut rest = list;
    while !rest.is_empty() {
        rest = rest.trim_ascii_start();
        let (item, tail) = next_tag(rest);
        rest = tail;
        let is_weak = item.starts_with(b"W/");
        if !item.is_empty() && opaque(item) == opaque(tag.0.as_bytes()) && !(strong && (is_weak || tag.is_weak())) {
            return true;
        }
    }
    false
}

/// Takes a tag from a list, with its quotes; what is no tag, up to the next comma, gives an empty one. A comma may
/// stand inside of a tag.
fn next_tag(list: &[u8]) -> (&[u8], &[u8]) {
    let start = if list.starts_with(b"W/") { 2 } else { 0 };
    let inner = list.get(start..).and_then(|tag| tag.strip_prefix(b"\""));
    if let Some(inner) = inner
        && let Some(length) = inner.iter().position(|byte| !is_tag_byte(byte))
        && let Some((item, tail)) = list.split_at_checked(start + length + 2)
        && item.ends_with(b"\"")
    {
        match tail.trim_ascii_start() {
            [] => return (item, &[]),
            [b',', tail @ ..] => return (item, tail),
            _ => {}
        }
    }
    let mut parts = list.splitn(2, |byte| *byte == b',');
    parts.next();
    (&[], parts.next().unwrap_or_default())
}

/// Returns the quoted part.
fn opaque(tag: &[u8]) -> &[u8] {
    tag.strip_prefix(b"W/").unwrap_or(tag)
}

/// RFC 9110's etagc: no space, no quote, no control character.
fn is_tag_byte(byte: &u8) -> bool {
    *byte == 0x21 || (*byte >= 0x23 && *byte != 0x7f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags() {
        for (text, good) in [
            ("\"v1\"", true),
            ("W/\"v1\"", true),
            ("\"\"", true),
            ("\"a,b\"", true),
            ("\"\u{e9}\"", true),
            ("", false),
            ("\"", false),
            ("v1", false),
            ("w/\"v1\"", false),
            ("W/v1", false),
            ("\"a b\"", false),
            ("\"a\"b\"", false),
            ("\"a\x7f\"", false),
            (" \"a\"", false),
        ] {
            assert_eq!(ETag::parse(text).is_some(), good, "{text}");
        }
        assert_eq!((ETag::strong("a\"b"), ETag::weak("\n")), (None, None));
    }

    #[test]
    fn comparison() {
        // The table of RFC 9110, section 8.8.3.2.
        for (one, two, strong, weak) in [
            ("W/\"1\"", "W/\"1\"", false, true),
            ("W/\"1\"", "W/\"2\"", false, false),
            ("W/\"1\"", "\"1\"", false, true),
            ("\"1\"", "\"1\"", true, true),
        ] {
            let (a, b) = (ETag::parse(one).unwrap(), ETag::parse(two).unwrap());
            assert_eq!((a.strong_eq(&b), b.strong_eq(&a)), (strong, strong), "{one} {two}");
            assert_eq!((a.weak_eq(&b), b.weak_eq(&a)), (weak, weak), "{one} {two}");
            assert_eq!(list_names(two.as_bytes(), &a, true), strong, "{one} {two}");
            assert_eq!(list_names(two.as_bytes(), &a, false), weak, "{one} {two}");
        }
    }

    #[test]
    fn lists() {
        let tag = ETag::parse("\"a,b\"").unwrap();
        for (list, named) in [
            ("\"a,b\"", true),
            ("\"x\", \"a,b\"", true),
            ("\"x\",\t\"a,b\" ,\"y\"", true),
            (",, \"a,b\",", true),
            ("*, \"a,b\"", true),
            ("x, \"a,b\"", true),
            ("\"x\" y, \"a,b\"", true),
            ("\"xa,by\", \"a\"", false),
            ("\"a\",\"b\"", false),
            ("a,b", false),
            ("\"a,b", false),
            ("\"a,b\" x", false),
            ("w/\"a,b\"", false),
            ("", false),
            ("W/", false),
        ] {
            assert_eq!(list_names(list.as_bytes(), &tag, false), named, "{list}");
        }
    }

    #[test]
    fn of_content() {
        // Vectors of FNV-1a, 128 bits.
        assert_eq!(ETag::of(b"").as_str(), "\"6c62272e07bb014262b821756295c58d\"");
        assert_eq!(ETag::of(b"a").as_str(), "\"d228cb696f1a8caf78912b704e4a8964\"");
    }
}
