//! `Cookie`: what a request carries, and what a response sets (RFC 6265bis).

use crate::date::Date;
use crate::error::{Error, Result};
use crate::headers::{Headers, is_token};
use crate::request::Request;
use crate::response::{IntoResponse, Response};
use crate::text::{concat, push_decimal};
use alloc::string::String;
use core::time::Duration;

/// A cookie to be set: a name, a value, and what the browser is to do with it.
///
/// [`Cookie::new`] begins with what is right for most: `Path=/; Secure; HttpOnly; SameSite=Lax`, until the browser is
/// closed. [`Cookie::plain`] begins with nothing.
///
/// ```
/// use core::time::Duration;
/// use tabi::{Cookie, Response, SameSite};
///
/// let theme = Cookie::new("theme", "dark").http_only(false).max_age(Duration::from_secs(3600));
/// let page = Response::text("hello").with_cookie(theme);
/// assert_eq!(page.header("set-cookie"), Some("theme=dark; Path=/; Max-Age=3600; Secure; SameSite=Lax"));
/// ```
///
/// # Secure
/// Browsers keep a `Secure` cookie of `https` pages only, and of `http://localhost`. An app that is served over plain
/// `http` elsewhere needs [`Cookie::secure`] with `false`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cookie {
    name: String,
    value: String,
    path: Option<String>,
    domain: Option<String>,
    max_age: Option<u64>,
    expires: Option<Date>,
    secure: bool,
    http_only: bool,
    same_site: Option<SameSite>,
    partitioned: bool,
}

/// With which requests from other sites a browser sends a cookie (RFC 6265bis, section 5.6.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SameSite {
    /// With none.
    Strict,
    /// With those that open a page by GET, such as a link.
    Lax,
    /// With all. The cookie has to be `Secure`.
    None,
}

impl Cookie {
    /// Returns a cookie for the whole site that other sites and scripts have no hands on.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Cookie {
        Cookie::plain(name, value).path("/").secure(true).http_only(true).same_site(SameSite::Lax)
    }

    /// Returns a cookie without attributes: for the folder of the page only, open to scripts and to plain `http`.
    pub fn plain(name: impl Into<String>, value: impl Into<String>) -> Cookie {
        Cookie {
            name: name.into(),
            value: value.into(),
            path: None,
            domain: None,
            max_age: None,
            expires: None,
            secure: false,
            http_only: false,
            same_site: None,
            partitioned: false,
        }
    }

    /// Returns a cookie that removes another: that of this name with the same path and domain, which are `/` and none
    /// unless they are set here, too.
    pub fn removal(name: impl Into<String>) -> Cookie {
        Cookie::new(name, "").into_removal()
    }

    /// Returns the cookie that removes this one.
    #[must_use]
    pub fn into_removal(mut self) -> Cookie {
        self.value = String::new();
        self.max_age(Duration::ZERO).expires(Date::from_unix(0))
    }

    /// Sets the folder whose pages it belongs to; it begins with `/`.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Cookie {
        self.path = Some(path.into());
        self
    }

    /// Sets the domain that it belongs to with all below it. Without one, it belongs to the host alone.
    #[must_use]
    pub fn domain(mut self, domain: impl Into<String>) -> Cookie {
        self.domain = Some(domain.into());
        self
    }

    /// Sets how long it is kept, in whole seconds; browsers cut that down to 400 days. It wins over
    /// [`Cookie::expires`].
    #[must_use]
    pub fn max_age(mut self, time: Duration) -> Cookie {
        self.max_age = Some(time.as_secs());
        self
    }

    /// Sets when it ends, by the browser's clock.
    #[must_use]
    pub fn expires(mut self, date: Date) -> Cookie {
        self.expires = Some(date);
        self
    }

    /// Sets whether it goes over `https` only.
    #[must_use]
    pub fn secure(mut self, on: bool) -> Cookie {
        self.secure = on;
        self
    }

    /// Sets whether it is kept from scripts.
    #[must_use]
    pub fn http_only(mut self, on: bool) -> Cookie {
        self.http_only = on;
        self
    }

    /// Sets with which requests from other sites it goes.
    #[must_use]
    pub fn same_site(mut self, same_site: SameSite) -> Cookie {
        self.same_site = Some(same_site);
        self
    }

    /// Keeps it apart for each site that embeds the page (CHIPS).
    #[must_use]
    pub fn partitioned(mut self) -> Cookie {
        self.partitioned = true;
        self
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the value.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Returns the value of the header field that sets it.
    ///
    /// # Errors
    /// 500 where it is none, or one that every browser drops: a name that is not a token, a value with other than
    /// visible ASCII characters or with `"`, `,`, `;` or `\` in it (RFC 6265bis, section 4.1.1; quotes around it are
    /// fine), name and value over 4096 bytes together, a path or domain that can't be, `SameSite=None` or
    /// `Partitioned` without `Secure`, a name with `__Secure-` without `Secure`, one with `__Host-` without `Secure`
    /// and `Path=/` or with a domain.
    pub fn to_http(&self) -> Result<String> {
        if let Some(reason) = self.fault() {
            return Err(Error::internal(concat(["a cookie can't be set: ", reason])));
        }
        let mut field = concat([&self.name, "=", &self.value]);
        self.push_scope(&mut field);
        if let Some(seconds) = self.max_age {
            field.push_str("; Max-Age=");
            push_decimal(&mut field, seconds);
        }
        if let Some(date) = self.expires {
            field.push_str("; Expires=");
            date.push_http(&mut field);
        }
        push(&mut field, "; Secure", self.secure.then_some(""));
        push(&mut field, "; HttpOnly", self.http_only.then_some(""));
        let same_site = self.same_site.map(|same_site| match same_site {
            SameSite::Strict => "Strict",
            SameSite::Lax => "Lax",
            SameSite::None => "None",
        });
        push(&mut field, "; SameSite=", same_site);
        push(&mut field, "; Partitioned", self.partitioned.then_some(""));
        Ok(field)
    }

    /// Adds what it belongs to.
    fn push_scope(&self, field: &mut String) {
        push(field, "; Path=", self.path.as_deref());
        push(field, "; Domain=", self.domain.as_deref());
    }

    /// Tells whether it removes a cookie.
    pub(crate) fn is_removal(&self) -> bool {
        self.max_age == Some(0)
    }

    /// Tells whether a browser keeps only one of the two.
    pub(crate) fn is_same(&self, other: &Cookie) -> bool {
        self.name == other.name && self.path == other.path && self.domain == other.domain
    }

    /// Says why it is no cookie, or none that a browser keeps.
    fn fault(&self) -> Option<&'static str> {
        if !is_token(&self.name) {
            return Some("its name is not a token");
        }
        if !is_value(self.value.as_bytes()) {
            return Some("its value has characters that have to be encoded");
        }
        if self.name.len() + self.value.len() > 4096 {
            return Some("it is larger than 4096 bytes");
        }
        if self.path.as_ref().is_some_and(|path| !is_path(path.as_bytes())) {
            return Some("its path does not begin with `/`, or can't be one");
        }
        if self.domain.as_ref().is_some_and(|domain| !is_domain(domain.as_bytes())) {
            return Some("its domain is none");
        }
        let is_host = has_prefix(&self.name, b"__host-");
        let needs_secure = is_host || has_prefix(&self.name, b"__secure-");
        if (needs_secure || self.partitioned || self.same_site == Some(SameSite::None)) && !self.secure {
            return Some("SameSite=None, Partitioned and names with `__Secure-` or `__Host-` need Secure");
        }
        if is_host && (self.path.as_deref() != Some("/") || self.domain.is_some()) {
            return Some("names with `__Host-` need Path=/ and no domain");
        }
        None
    }
}

impl Request {
    /// Returns the cookies that came in, in their order.
    ///
    /// Names and values are as they came: quotes are kept and nothing is decoded. What has no name, or is not UTF-8,
    /// is left out, and the others are there all the same. Of two cookies of one name, the one with the longer path
    /// comes first.
    pub fn cookies(&self) -> impl Iterator<Item = (&str, &str)> {
        // RFC 9113, section 8.2.3: a browser may send each of them in a field of its own.
        pairs(self.headers().get_all_bytes("cookie"))
    }

    /// Returns the value of the first cookie of this name.
    pub fn cookie(&self, name: &str) -> Option<&str> {
        self.cookies().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

impl Response {
    /// Returns it with a cookie to be set. One of the same name, path and domain that was to be set before is
    /// replaced (RFC 6265bis, section 4.1.1).
    ///
    /// What is no cookie makes it a 500 with the reason in the log; [`Cookie::to_http`] says what that is.
    #[must_use]
    pub fn with_cookie(mut self, cookie: Cookie) -> Response {
        match cookie.to_http().and_then(|field| put(self.headers_mut(), &cookie, &field)) {
            Ok(()) => self,
            Err(error) => error.into_response(),
        }
    }
}

/// Adds a Set-Cookie field, in the place of one for the same cookie.
fn put(headers: &mut Headers, cookie: &Cookie, field: &str) -> Result<()> {
    let (name, mut scope) = (concat([&cookie.name, "="]), String::new());
    cookie.push_scope(&mut scope);
    // Only what was written here has to be known: name, value, and then what the cookie belongs to.
    headers.retain(|other, value| {
        let Some(value) = value.strip_prefix(name.as_bytes()).filter(|_| other == "set-cookie") else { return true };
        let attributes = value.iter().position(|byte| *byte == b';').and_then(|at| value.get(at..)).unwrap_or_default();
        let Some(others) = attributes.strip_prefix(scope.as_bytes()) else { return true };
        others.starts_with(b"; Path=") || others.starts_with(b"; Domain=")
    });
    headers.append("set-cookie", field)
}

/// Reads the cookies of some `Cookie` fields.
pub(crate) fn pairs<'a>(mut fields: impl Iterator<Item = &'a [u8]>) -> impl Iterator<Item = (&'a str, &'a str)> {
    let mut rest: &[u8] = &[];
    core::iter::from_fn(move || {
        loop {
            if rest.is_empty() {
                rest = fields.next()?;
            }
            let (piece, tail) = split(rest, b';');
            rest = tail.unwrap_or_default();
            if let Some(pair) = pair(piece) {
                return Some(pair);
            }
        }
    })
}

/// Reads a cookie of a request.
fn pair(text: &[u8]) -> Option<(&str, &str)> {
    let (name, value) = split(text, b'=');
    let (name, value) = (name.trim_ascii(), value?.trim_ascii());
    if name.is_empty() {
        return None;
    }
    Some((core::str::from_utf8(name).ok()?, core::str::from_utf8(value).ok()?))
}

/// Splits at the first such byte, if there is one.
fn split(text: &[u8], at: u8) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|byte| *byte == at).and_then(|at| text.split_at_checked(at)) {
        Some((before, [_, after @ ..])) => (before, Some(after)),
        _ => (text, None),
    }
}

fn push(field: &mut String, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        field.push_str(name);
        field.push_str(value);
    }
}

/// Tells whether it is a cookie-value (RFC 6265bis, section 4.1.1).
fn is_value(value: &[u8]) -> bool {
    let bare = if let [b'"', inside @ .., b'"'] = value { inside } else { value };
    bare.iter().all(|byte| byte.is_ascii_graphic() && !b"\",;\\".contains(byte))
}

/// Tells whether it is a path that browsers take: a longer one, or one that begins otherwise, they ignore.
fn is_path(path: &[u8]) -> bool {
    path.len() <= 1024
        && path.starts_with(b"/")
        && path.iter().all(|byte| (b' '..=b'~').contains(byte) && *byte != b';')
}

fn is_domain(domain: &[u8]) -> bool {
    !domain.is_empty()
        && domain.len() <= 255
        && domain.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'))
}

/// Tells whether a name has a prefix, in any case, as browsers compare it.
fn has_prefix(name: &str, prefix: &[u8]) -> bool {
    name.as_bytes().get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}
