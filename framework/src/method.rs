//! `Method`: what a request asks for (RFC 9110, section 9).

use crate::text::slice;
use alloc::string::String;
use core::fmt;

/// A request method, such as `Method::GET`.
///
/// Methods are case-sensitive (RFC 9110, section 9.1): `get` is an extension method, not `GET`.
#[derive(Clone, PartialEq, Eq)]
pub struct Method(Name);

#[derive(Clone, PartialEq, Eq)]
enum Name {
    /// Which of [`NAMES`] it is: comparing numbers costs a component less than comparing texts.
    Known(u8),
    Extension(String),
}

/// The methods with names of their own, in the order in which `Allow` lists them, and where each starts: a list of
/// texts would be 72 bytes more in a component.
const NAMES: &str = "GETHEADPOSTPUTPATCHDELETECONNECTTRACEOPTIONS";
const STARTS: [u8; 10] = [0, 3, 7, 11, 14, 19, 25, 32, 37, 44];

impl Method {
    /// Transfers a representation of the resource.
    pub const GET: Method = Method::known(0);
    /// As GET, without the content.
    pub const HEAD: Method = Method::known(1);
    /// Lets the resource process the content.
    pub const POST: Method = Method::known(2);
    /// Replaces the resource with the content.
    pub const PUT: Method = Method::known(3);
    /// Changes a part of the resource (RFC 5789).
    pub const PATCH: Method = Method::known(4);
    /// Removes the resource.
    pub const DELETE: Method = Method::known(5);
    /// Asks for a tunnel.
    pub const CONNECT: Method = Method::known(6);
    /// Asks for the request to be looped back.
    pub const TRACE: Method = Method::known(7);
    /// Asks what the resource can do.
    pub const OPTIONS: Method = Method::known(8);

    /// Returns the method of this name, or `None` where it is not a token (RFC 9110, section 5.6.2).
    pub fn new(name: &str) -> Option<Method> {
        match (0..9).find(|number| Method::name(*number) == name) {
            Some(number) => Some(Method::known(number)),
            None if crate::headers::is_token(name) => Some(Method::other(name.into())),
            None => None,
        }
    }

    /// Returns the method of a name that is known to be a token, and none of those with numbers.
    pub(crate) fn other(name: String) -> Method {
        Method(Name::Extension(name))
    }

    /// Returns the name as it goes over the wire.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Name::Known(index) => Method::name(*index),
            Name::Extension(name) => name,
        }
    }

    /// Tells whether a client may send it without asking for a change (RFC 9110, section 9.2.1).
    pub fn is_safe(&self) -> bool {
        matches!(self.as_str(), "GET" | "HEAD" | "OPTIONS" | "TRACE")
    }

    /// Tells whether sending it twice means the same as sending it once (RFC 9110, section 9.2.2).
    pub fn is_idempotent(&self) -> bool {
        self.is_safe() || matches!(self.as_str(), "PUT" | "DELETE")
    }

    /// Returns the method with this number; see [`Method::number`].
    pub(crate) const fn known(index: u8) -> Method {
        Method(Name::Known(index))
    }

    /// Returns the name of the method with this number.
    pub(crate) fn name(index: u8) -> &'static str {
        let start = |index: u8| STARTS.get(usize::from(index)).copied().unwrap_or_default().into();
        slice(NAMES, start(index), start(index + 1))
    }

    /// Returns the number of a method with a name of its own: 0 for GET, 1 for HEAD, 8 for OPTIONS.
    pub(crate) fn number(&self) -> Option<u8> {
        match self.0 {
            Name::Known(index) => Some(index),
            Name::Extension(_) => None,
        }
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (name, known) in
            [("GET", Some(Method::GET)), ("PATCH", Some(Method::PATCH)), ("", None), ("a b", None), ("a\r", None)]
        {
            assert_eq!(Method::new(name), known, "{name:?}");
        }
        let extension = Method::new("PROPFIND").map(|method| method.as_str() == "PROPFIND");
        assert_eq!(extension, Some(true));
        assert_ne!(Method::new("get"), Some(Method::GET));
    }

    #[test]
    fn constants() {
        for (method, name) in [
            (Method::GET, "GET"),
            (Method::HEAD, "HEAD"),
            (Method::POST, "POST"),
            (Method::PUT, "PUT"),
            (Method::PATCH, "PATCH"),
            (Method::DELETE, "DELETE"),
            (Method::CONNECT, "CONNECT"),
            (Method::TRACE, "TRACE"),
            (Method::OPTIONS, "OPTIONS"),
        ] {
            assert_eq!((method.as_str(), Method::new(name)), (name, Some(method.clone())));
        }
    }
}
