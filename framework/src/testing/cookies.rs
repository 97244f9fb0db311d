//! `Cookies`: what a browser keeps and sends back (RFC 6265bis, sections 5.7 and 5.8).

use super::set_cookie::SetCookie;
use crate::date::Date;
use alloc::string::String;
use alloc::vec::Vec;

/// The cookies of a browser, as a [`Client`](super::Client) has them; for tests of `Set-Cookie` fields alone.
///
/// It keeps cookies by name, domain and path, honours `Secure` (for `https` and for `localhost`), `Max-Age` and
/// `Expires` (400 days at most), and refuses what browsers refuse: a domain that is not the host's,
/// `SameSite=None` without `Secure`, and a name with `__Secure-` or `__Host-` that doesn't keep the promise. All
/// requests come from the site itself, and there is no list of public suffixes in it. Time doesn't pass by itself.
///
/// ```
/// use tabi::testing::Cookies;
///
/// let mut cookies = Cookies::new();
/// cookies.set("https://example.com/a/b", "id=1; Path=/a; Secure");
/// assert_eq!(cookies.sent("https://example.com/a"), ["id=1"]);
/// assert!(cookies.sent("http://example.com/a").is_empty());
/// ```
pub struct Cookies {
    cookies: Vec<Kept>,
    now: Date,
}

struct Kept {
    name: Vec<u8>,
    value: Vec<u8>,
    expires: Option<Date>,
    domain: Vec<u8>,
    is_for_host: bool,
    path: Vec<u8>,
    is_secure: bool,
}

/// Where a request goes.
pub(super) struct Url {
    is_secure: bool,
    host: Vec<u8>,
    path: Vec<u8>,
}

/// Browsers keep no cookie longer than 400 days.
const LONGEST: i64 = 400 * 86_400;

impl Default for Cookies {
    fn default() -> Cookies {
        Cookies::new()
    }
}

impl Cookies {
    /// Returns an empty store, at the start of 2026.
    pub const fn new() -> Cookies {
        Cookies { cookies: Vec::new(), now: Date::from_unix(1_767_225_600) }
    }

    /// Sets the time.
    pub fn set_time(&mut self, now: Date) {
        self.now = now;
    }

    /// Returns the time.
    pub fn time(&self) -> Date {
        self.now
    }

    /// Takes a `Set-Cookie` field that came with the answer of this URL.
    pub fn set(&mut self, url: &str, field: impl AsRef<[u8]>) {
        self.keep(&Url::parse(url), field.as_ref());
    }

    /// Returns what is sent to this URL, each cookie as `name=value`, in the order of the `Cookie` field. What is not
    /// UTF-8 becomes U+FFFD.
    pub fn sent(&self, url: &str) -> Vec<String> {
        let text = |cookie: &Kept| String::from_utf8_lossy(&cookie.pair()).into_owned();
        self.matching(&Url::parse(url)).into_iter().map(text).collect()
    }

    /// Returns the value of a cookie that is kept, of whatever host and path; of several, the newest.
    pub fn get(&self, name: &str) -> Option<String> {
        let found = self.cookies.iter().rev().find(|cookie| cookie.name == name.as_bytes() && self.is_alive(cookie))?;
        Some(String::from_utf8_lossy(&found.value).into_owned())
    }

    /// Returns the value of the `Cookie` field of a request.
    pub(super) fn field(&self, url: &Url) -> Vec<u8> {
        let pairs: Vec<_> = self.matching(url).into_iter().map(Kept::pair).collect();
        pairs.join(&b"; "[..])
    }

    /// Takes a `Set-Cookie` field (section 5.7).
    pub(super) fn keep(&mut self, url: &Url, field: &[u8]) {
        let Some(cookie) = SetCookie::parse(field) else { return };
        let Some(kept) = self.checked(url, cookie) else { return };
        match self.cookies.iter_mut().find(|known| known.is_same(&kept)) {
            // It keeps its place in the order.
            Some(known) if known.expires.is_none_or(|end| end > self.now) => *known = kept,
            _ => self.cookies.push(kept),
        }
        let now = self.now;
        self.cookies.retain(|cookie| cookie.expires.is_none_or(|end| end > now));
    }

    /// Returns the cookie to be kept, if a browser keeps it.
    fn checked(&self, url: &Url, cookie: SetCookie) -> Option<Kept> {
        let domain = cookie.domain.filter(|domain| !domain.is_empty());
        if domain.as_ref().is_some_and(|domain| !domain.is_ascii() || !domain_matches(&url.host, domain)) {
            return None;
        }
        if (cookie.secure && !url.is_secure) || (cookie.same_site_none && !cookie.secure) {
            return None;
        }
        let has_root = cookie.path.as_deref() == Some(b"/");
        let path = cookie.path.filter(|path| path.starts_with(b"/")).unwrap_or_else(|| url.folder().to_vec());
        // A cookie without a name looks like its value when it is sent.
        let shown = if cookie.name.is_empty() { &cookie.value } else { &cookie.name };
        let has_prefix = |prefix: &[u8]| shown.get(..prefix.len()).is_some_and(|s| s.eq_ignore_ascii_case(prefix));
        let is_host = has_prefix(b"__host-");
        if (is_host || has_prefix(b"__secure-")) && (cookie.name.is_empty() || !cookie.secure) {
            return None;
        }
        if is_host && (domain.is_some() || !has_root) {
            return None;
        }
        let kept = Kept {
            expires: self.end(cookie.max_age, cookie.expires),
            is_for_host: domain.is_none(),
            domain: domain.unwrap_or_else(|| url.host.clone()),
            name: cookie.name,
            value: cookie.value,
            path,
            is_secure: cookie.secure,
        };
        // An attacker on the wire must not replace what came safely.
        let is_threat = |known: &Kept| !url.is_secure && known.is_secure && !kept.is_secure && known.is_over(&kept);
        if self.cookies.iter().any(is_threat) { None } else { Some(kept) }
    }

    /// Returns when a cookie ends.
    fn end(&self, max_age: Option<i64>, expires: Option<Date>) -> Option<Date> {
        let latest = self.now.unix().saturating_add(LONGEST);
        let end = match max_age {
            Some(age) if age <= 0 => i64::MIN,
            Some(age) => self.now.unix().saturating_add(age),
            None => expires?.unix(),
        };
        Some(Date::from_unix(end.min(latest)))
    }

    /// Returns the cookies for a URL, those with longer paths first, then older before newer (section 5.8.3).
    fn matching(&self, url: &Url) -> Vec<&Kept> {
        let belongs = |cookie: &&Kept| {
            let is_host =
                if cookie.is_for_host { cookie.domain == url.host } else { domain_matches(&url.host, &cookie.domain) };
            is_host && path_matches(&url.path, &cookie.path) && (url.is_secure || !cookie.is_secure)
        };
        let mut found: Vec<_> = self.cookies.iter().filter(|cookie| self.is_alive(cookie)).filter(belongs).collect();
        found.sort_by_key(|cookie| core::cmp::Reverse(cookie.path.len()));
        found
    }

    fn is_alive(&self, cookie: &Kept) -> bool {
        cookie.expires.is_none_or(|end| end > self.now)
    }
}

impl Kept {
    fn pair(&self) -> Vec<u8> {
        if self.name.is_empty() { self.value.clone() } else { [&self.name[..], b"=", &self.value].concat() }
    }

    fn is_same(&self, other: &Kept) -> bool {
        let both = [self, other].map(|cookie| (&cookie.name, &cookie.domain, cookie.is_for_host, &cookie.path));
        both[0] == both[1]
    }

    /// Tells whether a new cookie would get in the way of this one (section 5.7, on secure cookies).
    fn is_over(&self, new: &Kept) -> bool {
        self.name == new.name
            && (domain_matches(&self.domain, &new.domain) || domain_matches(&new.domain, &self.domain))
            && path_matches(&new.path, &self.path)
    }
}

impl Url {
    pub(super) fn new(scheme: &str, authority: &str, target: &str) -> Url {
        let authority = authority.as_bytes().to_ascii_lowercase();
        let end = match authority.first() {
            Some(b'[') => authority.iter().position(|byte| *byte == b']').map(|at| at + 1),
            _ => authority.iter().position(|byte| *byte == b':'),
        };
        let host = authority.get(..end.unwrap_or(authority.len())).unwrap_or_default().to_vec();
        let is_local = matches!(&host[..], b"localhost" | b"[::1]") || host.ends_with(b".localhost");
        let is_secure =
            scheme.eq_ignore_ascii_case("https") || is_local || (is_address(&host) && host.starts_with(b"127."));
        let path = target.split(['?', '#']).next().unwrap_or_default();
        Url { is_secure, host, path: if path.starts_with('/') { path.into() } else { b"/".to_vec() } }
    }

    fn parse(url: &str) -> Url {
        let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
        let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(at);
        Url::new(scheme, authority, target)
    }

    /// Returns the path that a cookie has by default (section 5.1.4).
    fn folder(&self) -> &[u8] {
        match self.path.iter().rposition(|byte| *byte == b'/') {
            None | Some(0) => b"/",
            Some(end) => self.path.get(..end).unwrap_or_default(),
        }
    }
}

/// Tells whether a host is a domain or below it (section 5.1.3).
fn domain_matches(host: &[u8], domain: &[u8]) -> bool {
    let is_below = host.strip_suffix(domain).is_some_and(|before| before.ends_with(b"."));
    host == domain || (is_below && !is_address(host))
}

/// Tells whether a host is an address rather than a name.
fn is_address(host: &[u8]) -> bool {
    host.starts_with(b"[") || host.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
}

/// Tells whether a path is a cookie's or below it (section 5.1.4).
fn path_matches(path: &[u8], cookie: &[u8]) -> bool {
    match path.strip_prefix(cookie) {
        Some([]) | Some([b'/', ..]) => true,
        Some(_) => cookie.ends_with(b"/"),
        None => false,
    }
}
