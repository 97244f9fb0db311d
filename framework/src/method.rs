//! `Method`: what a request asks for (RFC 9110, section 9).

use alloc::string::String;
use core::fmt;

/// A request method, such as `Method::GET`.
///
/// Methods are case-sensitive (RFC 9110, section 9.1): `get` is an extension method, not `GET`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method(Name);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Name {
    Known(&'static str),
    Extension(String),
}

impl Method {
    /// Transfers a representation of the resource.
    pub const GET: Method = Method(Name::Known("GET"));
    /// As GET, without the content.
    pub const HEAD: Method = Method(Name::Known("HEAD"));
    /// Lets the resource process the content.
    pub const POST: Method = Method(Name::Known("POST"));
    /// Replaces the resource with the content.
    pub const PUT: Method = Method(Name::Known("PUT"));
    /// Changes a part of the resource (RFC 5789).
    pub const PATCH: Method = Method(Name::Known("PATCH"));
    /// Removes the resource.
    pub const DELETE: Method = Method(Name::Known("DELETE"));
    /// Asks what the resource can do.
    pub const OPTIONS: Method = Method(Name::Known("OPTIONS"));
    /// Asks for the request to be looped back.
    pub const TRACE: Method = Method(Name::Known("TRACE"));
    /// Asks for a tunnel.
    pub const CONNECT: Method = Method(Name::Known("CONNECT"));

    const KNOWN: [&'static str; 9] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"];

    /// Returns the method of this name, or `None` where it is not a token (RFC 9110, section 5.6.2).
    pub fn new(name: &str) -> Option<Method> {
        match Self::KNOWN.iter().find(|known| **known == name) {
            Some(known) => Some(Method(Name::Known(known))),
            None if crate::headers::is_token(name) => Some(Method(Name::Extension(name.into()))),
            None => None,
        }
    }

    /// Returns the name as it goes over the wire.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Name::Known(name) => name,
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
}
