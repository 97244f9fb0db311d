//! `Url`: where a request goes.

use alloc::string::String;

/// An absolute URL of `http` or `https`, taken apart.
#[derive(Default, Debug, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) is_https: bool,
    /// Host and port.
    pub(crate) authority: String,
    /// Path and query.
    pub(crate) target: String,
}

impl Url {
    /// Takes a URL apart, or says why that is not possible. A fragment is left out, as it is the client's alone.
    pub(crate) fn parse(text: &str) -> Result<Url, &'static str> {
        // Whoever puts a text from outside into a URL has to escape it: what would end a line is no part of one.
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("a URL with characters that have to be escaped");
        }
        let Some((scheme, rest)) = text.split_once("://") else { return Err("no absolute URL") };
        let is_https = scheme.eq_ignore_ascii_case("https");
        if !is_https && !scheme.eq_ignore_ascii_case("http") {
            return Err("a URL that is neither of http nor of https");
        }
        let rest = crate::text::split(rest, crate::text::find(rest, b'#')).0;
        let end = rest.bytes().position(|byte| matches!(byte, b'/' | b'?' | b'\\')).unwrap_or(rest.len());
        let (authority, path) = crate::text::split(rest, end);
        if authority.bytes().any(|byte| byte == b'@') {
            // RFC 9110, section 4.2.4.
            return Err("a URL with a user in it");
        }
        if authority.is_empty() || authority.starts_with(':') || path.starts_with('\\') {
            return Err("a URL without a host");
        }
        let mut target = String::new();
        if !path.starts_with('/') {
            target.push('/');
        }
        crate::text::append(&mut target, path);
        Ok(Url { is_https, authority: authority.into(), target })
    }

    pub(crate) fn scheme(&self) -> &'static str {
        if self.is_https { "https" } else { "http" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(&str, &str, &str)>) {
        let url = Url::parse(text).ok();
        let parts = url.as_ref().map(|url| (url.scheme(), url.authority.as_str(), url.target.as_str()));
        assert_eq!(parts, expected, "{text}");
    }

    #[test]
    fn parts() {
        check("http://a.example", Some(("http", "a.example", "/")));
        check("HTTPS://a.example:8443/x/y?z=%20#part", Some(("https", "a.example:8443", "/x/y?z=%20")));
        check("http://a.example?x=/y", Some(("http", "a.example", "/?x=/y")));
        check("http://a.example#x/y", Some(("http", "a.example", "/")));
        check("http://[::1]:80/@b:c", Some(("http", "[::1]:80", "/@b:c")));
        check("http://a.example/?u=http://b.example/", Some(("http", "a.example", "/?u=http://b.example/")));
    }

    #[test]
    fn no_urls() {
        for text in ["", "a.example/x", "/x", "//a.example/", "ftp://a.example/", "http:/a.example", "http:///x"] {
            check(text, None);
        }
        for text in ["http://u:p@a.example/", "http://u@a.example", "http://a.example\\@b.example/", "http://:80/"] {
            check(text, None);
        }
        for text in ["http://a.example/a b", "http://a.example/\r\nx: y", "http://ä.example/", "http://a.example/\0"] {
            check(text, None);
        }
    }
}
