//! Where a guest may send requests: the entries of `grants.outbound`.

use hyper::Uri;
use hyper::http::uri::Scheme;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Target {
    pub(crate) https: bool,
    pub(crate) host: Name,
    pub(crate) port: u16,
}

/// A host: a name in lower case and without the final dot, or an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Name {
    Dns(String),
    Ip(IpAddr),
}

/// One entry of `grants.outbound`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// `None` allows both schemes.
    https: Option<bool>,
    host: Host,
    /// `None` allows every port.
    port: Option<u16>,
    /// What paths begin with; without a final `/`, and so empty for all of them.
    path: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    Any,
    /// Every name with this end, which begins with a dot.
    Under(String),
    Exactly(Name),
}

/// What the rules say of a request that they allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    /// To a public address alone.
    Public,
    /// To the address that the operator has written down.
    Literal,
    /// To this machine, by the name that means it.
    Localhost,
}

impl Target {
    /// Reads where `uri` leads.
    ///
    /// `None` is for what is no URL of a host, or one that could be read in two ways.
    pub(crate) fn of(uri: &Uri) -> Option<Self> {
        let https = uri.scheme() == Some(&Scheme::HTTPS);
        let authority = uri.authority()?.as_str();
        let (host, port) = split_port(authority)?;
        let port = match port {
            None | Some("") => default_port(https),
            Some(port) => number(port)?,
        };
        Some(Self { https, host: Name::parse(host)?, port })
    }
}

impl Name {
    /// Reads a name of the DNS or an address; one of IPv6 stands in brackets.
    fn parse(text: &str) -> Option<Self> {
        if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let ip: Ipv6Addr = inner.parse().ok()?;
            return Some(Self::Ip(IpAddr::V6(ip).to_canonical()));
        }
        if let Ok(ip) = text.parse::<Ipv4Addr>() {
            return Some(Self::Ip(ip.into()));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if name.is_empty() || name.len() > 253 || !name.bytes().all(fits) || name.split('.').any(str::is_empty) {
            return None;
        }
        // "127.1", "0x7f.1" and "2130706433" are addresses to some resolvers and names to others.
        let last = name.rsplit('.').next().unwrap_or_default();
        let numeric =
            last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x") || last.starts_with("0X");
        (!numeric).then(|| Self::Dns(name.to_ascii_lowercase()))
    }

    /// Whether it always means this machine (RFC 6761 6.3).
    fn is_localhost(&self) -> bool {
        matches!(self, Self::Dns(name) if name == "localhost" || name.ends_with(".localhost"))
    }
}

impl Rule {
    /// Reads an entry.
    ///
    /// # Errors
    /// What is wrong with it, as the rest of a sentence.
    pub(crate) fn parse(entry: &str) -> Result<Self, &'static str> {
        if entry == "*" {
            return Ok(Self { https: None, host: Host::Any, port: None, path: String::new() });
        }
        let Some((scheme, rest)) = entry.split_once("://") else {
            return Err("has no scheme; write https://example.org, or * for every destination");
        };
        let https = match scheme {
            "https" => true,
            "http" => false,
            _ => return Err("is of neither http nor https"),
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let Some((host, port)) = split_port(authority) else {
            return Err("names no host; write https://example.org");
        };
        let port = match port {
            Some("*") => None,
            Some(port) => Some(number(port).ok_or("has a port that is none; write a number from 1 to 65535, or *")?),
            None => Some(default_port(https)),
        };
        let host = match host.strip_prefix('*') {
            Some("") => Host::Any,
            Some(end) if end.starts_with('.') => match Name::parse(end.get(1..).unwrap_or_default()) {
                Some(Name::Dns(name)) => Host::Under(format!(".{name}")),
                _ => return Err("has no name after its *; write https://*.example.org"),
            },
            _ => Host::Exactly(Name::parse(host).ok_or("names no host; write a name, an address, or *.example.org")?),
        };
        if !is_plain(path) || path.contains('*') {
            return Err(
                "has a path with a query, a dot segment, a * or an escape; write where paths begin, such as /v1/",
            );
        }
        Ok(Self { https: Some(https), host, port, path: path.strip_suffix('/').unwrap_or(path).to_owned() })
    }

    /// Whether a request to `target` with this path is allowed, and how far.
    fn allows(&self, target: &Target, path: &str) -> Option<Leave> {
        if self.https.is_some_and(|https| https != target.https) || self.port.is_some_and(|port| port != target.port) {
            return None;
        }
        let leave = match (&self.host, &target.host) {
            (Host::Any, _) => Leave::Public,
            (Host::Under(end), Name::Dns(name)) if name.ends_with(end.as_str()) => Leave::Public,
            (Host::Exactly(own), name) if own == name => match name {
                Name::Ip(_) => Leave::Literal,
                name if name.is_localhost() => Leave::Localhost,
                Name::Dns(_) => Leave::Public,
            },
            _ => return None,
        };
        if self.path.is_empty() {
            return Some(leave);
        }
        // A path that means another one after it was tidied up is none that begins as it should.
        let rest = path.strip_prefix(self.path.as_str()).filter(|_| is_plain(path))?;
        (rest.is_empty() || rest.starts_with('/')).then_some(leave)
    }
}

/// Whether any of `rules` allows a request, and how far the widest of them does.
pub(crate) fn find(rules: &[Rule], target: &Target, path: &str) -> Option<Leave> {
    let mut found = None;
    for leave in rules.iter().filter_map(|rule| rule.allows(target, path)) {
        match leave {
            Leave::Public => found = found.or(Some(leave)),
            Leave::Literal | Leave::Localhost => return Some(leave),
        }
    }
    found
}

impl fmt::Display for Target {
    /// As an entry of `grants.outbound` that allows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.https { "https://" } else { "http://" })?;
        match &self.host {
            Name::Dns(name) => f.write_str(name)?,
            Name::Ip(IpAddr::V4(ip)) => write!(f, "{ip}")?,
            Name::Ip(IpAddr::V6(ip)) => write!(f, "[{ip}]")?,
        }
        if self.port == default_port(self.https) { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

fn default_port(https: bool) -> u16 {
    if https { 443 } else { 80 }
}

/// Takes the port off; the colons of an address in brackets are none before a port.
fn split_port(authority: &str) -> Option<(&str, Option<&str>)> {
    if authority.contains('@') {
        return None;
    }
    let end = authority.rfind(']').map_or(0, |at| at + 1);
    let (head, tail) = authority.split_at(end);
    match tail.split_once(':') {
        Some((name, port)) if head.is_empty() => Some((name, Some(port))),
        Some(("", port)) => Some((head, Some(port))),
        Some(_) => None,
        None => Some((authority, None)),
    }
}

fn number(port: &str) -> Option<u16> {
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    port.parse().ok().filter(|&port| digits && port > 0)
}

/// Whether no server could take a path for another one: it has no dot segments, nor escapes of what
/// they and their neighbours are made of.
fn is_plain(path: &str) -> bool {
    let bad = |byte: u8| matches!(byte, b'\\' | b'?' | b'#') || !byte.is_ascii_graphic();
    let hides = |escape: &str| {
        let code = escape.get(..2).unwrap_or_default();
        ["2e", "2f", "5c", "25"].iter().any(|hidden| code.eq_ignore_ascii_case(hidden))
    };
    !path.bytes().any(bad)
        && !path.split('/').any(|segment| segment == "." || segment == "..")
        && !path.split('%').skip(1).any(hides)
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
