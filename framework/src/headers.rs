//! `Headers`: the fields of a message, in their order (RFC 9110, section 5).

use crate::error::Error;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

/// The header or trailer fields of a message.
///
/// Names are compared without regard to case. A field may stand several times; the order is kept.
/// Method names mean what they mean in the `http` crate: `insert` replaces, `append` adds, `get` is the first
/// value, `get_all` all.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Headers(Vec<(Name, Value)>);

/// A name; those that the framework itself gives need no memory.
type Name = Cow<'static, str>;
type Value = Cow<'static, [u8]>;

impl Headers {
    /// Returns an empty list.
    pub const fn new() -> Headers {
        Headers(Vec::new())
    }

    /// Returns the first value of the field, or `None` where it is absent or not UTF-8.
    pub fn get(&self, name: &str) -> Option<&str> {
        core::str::from_utf8(self.get_bytes(name)?).ok()
    }

    /// Returns the first value of the field as it came, whatever its bytes.
    pub fn get_bytes(&self, name: &str) -> Option<&[u8]> {
        self.0.get(self.position(name)).map(|(_, value)| &**value)
    }

    /// Returns each value of the field that is UTF-8, in order.
    pub fn get_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.get_all_bytes(name).filter_map(|value| core::str::from_utf8(value).ok())
    }

    /// Returns each value of the field as it came, in order.
    pub fn get_all_bytes<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.0.iter().filter(move |(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }

    /// Tells whether the field is there.
    pub fn contains(&self, name: &str) -> bool {
        self.position(name) < self.0.len()
    }

    /// Replaces every field of this name with one.
    ///
    /// # Errors
    /// 500 where the name is not a token or the value has a control character such as CR or LF
    /// (RFC 9110, sections 5.1 and 5.5): the field is a programmer's, so the client is not to blame.
    pub fn insert(&mut self, name: &str, value: impl AsRef<[u8]>) -> Result<(), Error> {
        self.put(name, value.as_ref(), true)
    }

    /// Adds a field and keeps those of the same name. Fields that are about one connection only, such as `Connection`
    /// and `Transfer-Encoding`, are the runtime's own and left out.
    ///
    /// # Errors
    /// As [`Headers::insert`].
    pub fn append(&mut self, name: &str, value: impl AsRef<[u8]>) -> Result<(), Error> {
        self.put(name, value.as_ref(), false)
    }

    /// Removes every field of this name; tells whether there was one.
    #[inline(never)]
    pub fn remove(&mut self, name: &str) -> bool {
        let before = self.0.len();
        loop {
            let mut at = self.position(name);
            if at >= self.0.len() {
                return at != before;
            }
            // As `Vec::remove`, which brings a component what it would say of an index that is none.
            while let Some([this, next]) = self.0.get_mut(at..at + 2) {
                core::mem::swap(this, next);
                at += 1;
            }
            self.0.pop();
        }
    }

    /// Returns all fields in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Returns how many fields there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Tells whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the fields as a runtime hands them over, unchecked: it has checked them.
    #[allow(dead_code, reason = "only runtimes need it")]
    pub(crate) fn from_raw(fields: Vec<(String, Vec<u8>)>) -> Headers {
        Headers(fields.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }

    /// Keeps the fields for which `keep` says so, given names in lower case and values.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&str, &[u8]) -> bool) {
        self.0.retain(|(name, value)| keep(name, value));
    }

    fn put(&mut self, name: &str, value: &[u8], replace: bool) -> Result<(), Error> {
        if !is_token(name) || !is_field_value(value) {
            return Err(Error::internal("header field with an invalid name or value"));
        }
        if replace {
            self.remove(name);
        }
        let name = name.to_ascii_lowercase();
        // These are between a server and its neighbour (RFC 9110, section 7.6.1): the runtime's, which refuses them.
        if !HOP_BY_HOP.contains(&name.as_str()) {
            self.0.push((name.into(), Vec::from(value).into()));
        }
        Ok(())
    }

    /// Returns where the first field of this name is, or the end. Stands once in a component, since so much is built on
    /// it.
    #[inline(never)]
    fn position(&self, name: &str) -> usize {
        self.0.iter().position(|(known, _)| known.eq_ignore_ascii_case(name)).unwrap_or(self.0.len())
    }

    /// Replaces the first value of a field, or adds it; both are known to be well-formed.
    pub(crate) fn set(&mut self, name: &'static str, value: impl Into<Vec<u8>>) {
        let value = Cow::Owned(value.into());
        let at = self.position(name);
        match self.0.get_mut(at) {
            Some(field) => field.1 = value,
            None => self.0.push((Cow::Borrowed(name), value)),
        }
    }

    /// Adds a field that is known to be well-formed, and not there yet.
    pub(crate) fn push(&mut self, name: &'static str, value: &str) {
        self.0.push((Cow::Borrowed(name), Cow::Owned(value.into())));
    }

    /// As [`Headers::push`], without a copy.
    pub(crate) fn push_static(&mut self, name: &'static str, value: &'static str) {
        self.0.push((Cow::Borrowed(name), Cow::Borrowed(value.as_bytes())));
    }
}

/// The fields that are about one connection only.
const HOP_BY_HOP: [&str; 10] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
    "host",
];

/// Tells whether it is a token (RFC 9110, section 5.6.2), as names of methods, fields and parameters are.
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_token_byte)
}

/// Tells whether a byte may stand in a token: RFC 9110's tchar.
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Tells whether it can be a field value: no control characters but HTAB (RFC 9110, section 5.5).
fn is_field_value(value: &[u8]) -> bool {
    value.iter().all(|byte| *byte == b'\t' || (*byte >= 0x20 && *byte != 0x7f))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn insert_append_get() {
        let mut headers = Headers::new();
        headers.append("X-A", "1").unwrap();
        headers.append("x-a", "2").unwrap();
        assert_eq!(headers.get_all("x-A").collect::<Vec<_>>(), ["1", "2"]);
        headers.insert("X-a", "3").unwrap();
        assert_eq!((headers.get("x-a"), headers.len()), (Some("3"), 1));
        assert!(headers.remove("X-A") && !headers.remove("X-A") && headers.is_empty());
    }

    #[test]
    fn refuses_what_would_split_a_message() {
        for (name, value, good) in [
            ("x", "a b\tc", true),
            ("x", "caf\u{e9}", true),
            ("x", "", true),
            ("", "a", false),
            ("x y", "a", false),
            ("x:", "a", false),
            ("x", "a\r\nb: c", false),
            ("x", "a\nb", false),
            ("x", "a\0", false),
            ("x", "\x7f", false),
        ] {
            assert_eq!(Headers::new().append(name, value).is_ok(), good, "{name:?} {value:?}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_kept() {
        let mut headers = Headers::new();
        headers.append("x", [0xe9]).unwrap();
        assert_eq!((headers.get("x"), headers.get_bytes("x")), (None, Some(&[0xe9][..])));
    }
}
