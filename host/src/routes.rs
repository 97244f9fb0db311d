//! What a request is for: the most specific host, then the longest prefix.
//!
//! Paths are compared segment by segment after percent-decoding; nothing else is repaired. So `/%61pi` is `/api`,
//! while `//api` and `/api%2Fx` are not below it, and a path with `.` or `..` in it is refused.

use crate::StartError;
use std::borrow::Cow;
use std::collections::HashMap;

/// Segments of the longest prefix.
const MAX_DEPTH: usize = 16;

/// All places of a host and what is there: `T` is a target.
pub(crate) struct Routes<T> {
    hosts: HashMap<Box<str>, Space<T>>,
    /// By what follows the star and its dot.
    wild: HashMap<Box<str>, Space<T>>,
    any: Space<T>,
    /// Segments of the longest path in any space.
    depth: usize,
}

/// Where a target is, as the operator writes it.
pub(crate) struct Place<'a> {
    /// Host names, or `*.` and a name; none for any host.
    pub(crate) hosts: &'a [String],
    pub(crate) paths: Paths<'a>,
    /// What to call the target when another has the same place.
    pub(crate) title: String,
}

/// The paths of a place.
#[derive(Clone, Copy)]
pub(crate) enum Paths<'a> {
    /// This one alone.
    Exact(&'a str),
    /// This one and all below it.
    Prefix(&'a str),
    /// All below it.
    Below(&'a str),
}

/// A target, and where in the path begins what follows its prefix.
#[derive(Debug)]
pub(crate) struct Found<'a, T> {
    pub(crate) target: &'a T,
    pub(crate) rest: usize,
}

/// Why there is no target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Miss {
    /// Nothing is for this host at all.
    Host,
    /// Nothing of this host is for this path.
    Path,
    /// The path has `.` or `..` in it, so that it means one thing here and another elsewhere.
    Dots,
}

/// The targets of one host, by decoded path.
struct Space<T>(HashMap<Box<[u8]>, Slot<T>>);

struct Slot<T> {
    exact: Option<Here<T>>,
    /// For the path itself and what is below it; with `true` only for the latter.
    prefix: Option<(Here<T>, bool)>,
}

struct Here<T> {
    target: T,
    title: String,
}

impl<T: Clone> Routes<T> {
    /// Checks the places and makes a table of them.
    ///
    /// # Errors
    /// When a host or a path means nothing, or two targets have the same place; both are named.
    pub(crate) fn new<'a>(places: impl IntoIterator<Item = (Place<'a>, T)>) -> Result<Self, StartError> {
        let mut routes = Self { hosts: HashMap::new(), wild: HashMap::new(), any: Space::default(), depth: 0 };
        for (place, target) in places {
            let fail = |why: String| StartError::new(format!("{}: {why}", place.title));
            let path = read_path(place.paths).map_err(fail)?;
            let depth = path.iter().filter(|byte| **byte == b'/').count();
            if depth > MAX_DEPTH {
                return Err(fail(format!("its path has more than {MAX_DEPTH} parts")));
            }
            routes.depth = routes.depth.max(depth);
            if place.hosts.is_empty() {
                routes.any.add(&path, &place, target, "any host")?;
                continue;
            }
            for written in place.hosts {
                let host = read_host(written).map_err(fail)?;
                let space = match host.strip_prefix("*.") {
                    Some(parent) => routes.wild.entry(parent.into()).or_default(),
                    None => routes.hosts.entry(host.as_str().into()).or_default(),
                };
                space.add(&path, &place, target.clone(), &host)?;
            }
        }
        Ok(routes)
    }
}

impl<T> Routes<T> {
    /// Finds the target of a request.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn find(&self, host: &str, path: &str) -> Result<Found<'_, T>, Miss> {
        if has_dots(path) {
            return Err(Miss::Dots);
        }
        let host = plain_host(host);
        let own = self.hosts.get(&*host);
        // From the longest parent to the shortest.
        let parents = host.match_indices('.').filter_map(|(dot, _)| self.wild.get(host.get(dot + 1..)?));
        let mut spaces =
            own.into_iter().chain(parents).chain(std::iter::once(&self.any)).filter(|space| !space.0.is_empty());
        let cut = Cut::new(path, self.depth);
        let mut miss = Miss::Host;
        let found = spaces.find_map(|space| {
            miss = Miss::Path;
            space.find(&cut)
        });
        found.ok_or(miss)
    }
}

impl<T> Default for Space<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T> Space<T> {
    fn add(&mut self, path: &[u8], place: &Place<'_>, target: T, host: &str) -> Result<(), StartError> {
        let slot = self.0.entry(path.into()).or_insert(Slot { exact: None, prefix: None });
        let here = Here { target, title: place.title.clone() };
        let before = match place.paths {
            Paths::Exact(_) => slot.exact.replace(here),
            Paths::Prefix(_) => slot.prefix.replace((here, false)).map(|(here, _)| here),
            Paths::Below(_) => slot.prefix.replace((here, true)).map(|(here, _)| here),
        };
        let Some(before) = before else { return Ok(()) };
        let path = if path.is_empty() { Cow::Borrowed("/") } else { String::from_utf8_lossy(path) };
        Err(StartError::new(format!(
            "{} and {} are both for {path} on {host}; give one of them another host or prefix",
            before.title, place.title
        )))
    }

    fn find(&self, cut: &Cut<'_>) -> Option<Found<'_, T>> {
        let whole = cut.raw_length();
        for &(raw, decoded) in cut.ends().iter().rev() {
            let Some(slot) = cut.text.get(..decoded).and_then(|path| self.0.get(path)) else { continue };
            if raw == whole
                && let Some(here) = &slot.exact
            {
                return Some(Found { target: &here.target, rest: raw });
            }
            match &slot.prefix {
                Some((here, below)) if !below || raw < whole => return Some(Found { target: &here.target, rest: raw }),
                _ => {}
            }
        }
        None
    }
}

/// A path up to the depth of the table, decoded, with the ends of its segments before and after decoding.
struct Cut<'a> {
    text: Cow<'a, [u8]>,
    ends: [(usize, usize); MAX_DEPTH + 1],
    count: usize,
    raw_length: usize,
}

impl<'a> Cut<'a> {
    fn new(path: &'a str, depth: usize) -> Self {
        let raw = path.as_bytes();
        let mut decoded =
            if raw.contains(&b'%') { Cow::Owned(Vec::with_capacity(raw.len())) } else { Cow::Borrowed(raw) };
        // The first end is that of the empty prefix, which is before the first segment.
        let mut cut = Self { text: Cow::Borrowed(raw), ends: [(0, 0); MAX_DEPTH + 1], count: 1, raw_length: raw.len() };
        let mut at = 0;
        while let Some((b'/', rest)) = raw.get(at..).and_then(<[u8]>::split_first) {
            let Some(end) = cut.ends.get_mut(cut.count).filter(|_| cut.count <= depth) else { break };
            let length = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
            at += 1 + length;
            *end = match &mut decoded {
                Cow::Borrowed(_) => (at, at),
                Cow::Owned(decoded) => {
                    decoded.push(b'/');
                    decode(rest.get(..length).unwrap_or_default(), decoded);
                    (at, decoded.len())
                }
            };
            cut.count += 1;
        }
        cut.text = decoded;
        cut
    }

    fn ends(&self) -> &[(usize, usize)] {
        self.ends.get(..self.count).unwrap_or_default()
    }

    fn raw_length(&self) -> usize {
        self.raw_length
    }
}

/// Decodes a segment; an encoded slash, which is no border, and an encoded percent sign stay as they are.
fn decode(segment: &[u8], out: &mut Vec<u8>) {
    let mut rest = segment;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        match (first, escaped(after)) {
            (b'%', Some(b'/')) => out.extend_from_slice(b"%2F"),
            (b'%', Some(b'%')) => out.extend_from_slice(b"%25"),
            (b'%', Some(byte)) => out.push(byte),
            _ => {
                out.push(first);
                continue;
            }
        }
        rest = after.get(2..).unwrap_or_default();
    }
}

/// The byte that two hexadecimal digits stand for.
fn escaped(digits: &[u8]) -> Option<u8> {
    let digit = |at: usize| char::from(*digits.get(at)?).to_digit(16);
    u8::try_from(digit(0)? * 16 + digit(1)?).ok()
}

/// Whether a segment is `.` or `..`, as it is or encoded.
fn has_dots(path: &str) -> bool {
    path.split('/').any(|segment| {
        // Two dots take no more than six bytes.
        if segment.is_empty() || segment.len() > 6 {
            return false;
        }
        let dots = segment.replace("%2e", ".").replace("%2E", ".");
        dots == "." || dots == ".."
    })
}

/// The host without its case, and without the dot that ends a full name.
fn plain_host(host: &str) -> Cow<'_, str> {
    let host = host.strip_suffix('.').unwrap_or(host);
    match host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Cow::Owned(host.to_ascii_lowercase()),
        false => Cow::Borrowed(host),
    }
}

/// Checks a host of the configuration.
fn read_host(written: &str) -> Result<String, String> {
    let fail = |why: &str| Err(format!("the host {written:?} {why}"));
    let host = plain_host(written).into_owned();
    if host == "*" {
        return fail("is any host; leave hosts out for that");
    }
    if !host.is_ascii() {
        return fail("must be in the form that requests have, which begins with xn--");
    }
    let is_v6 = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    if let Some(ip) = is_v6 {
        return match ip.parse::<std::net::Ipv6Addr>() {
            Ok(ip) => Ok(format!("[{ip}]")),
            Err(_) => fail("is no IPv6 address"),
        };
    }
    if host.contains(':') {
        return fail("has a port; hosts are told apart by their names alone");
    }
    let name = host.strip_prefix("*.").unwrap_or(&host);
    if name.contains('*') {
        return fail("has a star that is not at its start, as in *.example.org");
    }
    let label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    if name.split('.').all(label) { Ok(host) } else { fail("is no host name") }
}

/// Checks a path of the configuration and decodes it as those of requests.
fn read_path(paths: Paths<'_>) -> Result<Vec<u8>, String> {
    let (Paths::Exact(written) | Paths::Prefix(written) | Paths::Below(written)) = paths;
    let fail = |why: &str| Err(format!("the path {written:?} {why}"));
    if !written.starts_with('/') {
        return fail("does not begin with a slash");
    }
    if written.contains(['?', '#', '*', '{', '}', '\\']) || written.chars().any(|c| c.is_control() || c == ' ') {
        return fail("has a character that no prefix can have: one of ? # * { } \\ or a space");
    }
    if written.contains("//") || has_dots(written) {
        return fail("has an empty part, or . or .. in it");
    }
    let path = match paths {
        Paths::Exact(path) => path,
        // A prefix ends where a segment does.
        Paths::Prefix(path) | Paths::Below(path) => path.strip_suffix('/').unwrap_or(path),
    };
    let mut decoded = Vec::new();
    for segment in path.split('/').skip(1) {
        decoded.push(b'/');
        decode(segment.as_bytes(), &mut decoded);
    }
    Ok(decoded)
}

#[cfg(test)]
#[path = "routes_tests.rs"]
mod tests;
