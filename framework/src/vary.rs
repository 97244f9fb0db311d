//! `Vary`: what of a request an answer depends on (RFC 9110, section 12.5.5).

use crate::headers::Headers;
use crate::parameter::take;
use crate::response::Response;
use alloc::string::String;

impl Response {
    /// Returns it with one more field name in `Vary`, unless it is there already or `*` is. The names that are there
    /// stay, and all of them stand in one field.
    ///
    /// ```
    /// use tabi::Response;
    ///
    /// let page = Response::text("hello").with_vary("accept-language").with_vary("origin").with_vary("Accept-Language");
    /// assert_eq!(page.header("vary"), Some("accept-language, origin"));
    /// ```
    #[must_use]
    pub fn with_vary(mut self, name: &str) -> Response {
        add(self.headers_mut(), name);
        self
    }
}

/// Adds a field name to `Vary`.
pub(crate) fn add(headers: &mut Headers, name: &str) {
    let mut list = String::new();
    for value in headers.get_all("vary") {
        let mut rest = value.as_bytes();
        while !rest.is_empty() {
            let known = take(&mut rest, b',');
            if known == b"*" || known.eq_ignore_ascii_case(name.as_bytes()) {
                return;
            }
        }
        if !value.is_empty() {
            list.push_str(value);
            list.push_str(", ");
        }
    }
    list.push_str(name);
    let _ = headers.insert("vary", list);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &[&str], name: &str, after: &[&str]) {
        let mut headers = Headers::new();
        for value in before {
            headers.append("vary", value).unwrap();
        }
        add(&mut headers, name);
        assert!(headers.get_all("vary").eq(after.iter().copied()), "{before:?} and {name}: {headers:?}");
    }

    #[test]
    fn merges() {
        check(&[], "origin", &["origin"]);
        check(&["Accept-Encoding"], "origin", &["Accept-Encoding, origin"]);
        check(&["a", "b, c"], "d", &["a, b, c, d"]);
        check(&["a", "Origin ,c"], "origin", &["a", "Origin ,c"]);
        check(&["origin-x"], "origin", &["origin-x, origin"]);
        check(&["*"], "origin", &["*"]);
        check(&["a, *"], "origin", &["a, *"]);
        check(&[""], "origin", &["origin"]);
    }
}
