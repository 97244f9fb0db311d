//! Where a request really comes from: `Forwarded` (RFC 7239) and `X-Forwarded-*` of trusted proxies.
//!
//! What anybody else claims in these fields is removed, so no guest can be made to believe it.

use crate::TrustedFields;
use crate::networks::Networks;
use crate::peer::Peer;
use crate::request::{Refusal, parse_host};
use hyper::header::{FORWARDED, HeaderName, HeaderValue};
use hyper::http::uri::Authority;
use hyper::{HeaderMap, StatusCode};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// Whom to believe, and what to pass on.
#[derive(Clone, Debug)]
pub(crate) struct Trust {
    /// Who may speak for others.
    pub(crate) proxies: Networks,
    /// Which fields they set; the others may be a client's that they did not look at.
    pub(crate) fields: TrustedFields,
    /// Whether guests are told of clients.
    pub(crate) tell: bool,
}

/// Where a request comes from and what it asked for there.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) client: Client,
    pub(crate) https: bool,
    /// The authority that the client used, if a proxy has told it.
    pub(crate) authority: Option<Authority>,
    /// Whether a proxy has told how the client came to it.
    pub(crate) relayed: bool,
}

/// Who sent a request, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    /// The other end of the connection.
    Peer(Peer),
    /// Somebody behind a proxy.
    Ip(IpAddr),
    /// Somebody whose address the proxy keeps to itself: `unknown`, or a name that starts with `_`.
    Hidden(String),
}

impl Client {
    /// Its address without a port, or the word that stands for it.
    pub(crate) fn host(&self) -> String {
        match self {
            Self::Peer(peer) => peer.ip().map_or_else(|| peer.to_string(), |ip| ip.to_string()),
            Self::Ip(ip) => ip.to_string(),
            Self::Hidden(name) => name.clone(),
        }
    }
}

/// One element of `Forwarded`.
#[derive(Debug, Default)]
struct Element {
    node: Option<String>,
    host: Option<String>,
    proto: Option<String>,
}

impl Trust {
    /// Finds out where a request comes from, and takes all claims about it out of `headers`.
    ///
    /// # Errors
    /// 400 when a trusted proxy says something that can't be understood.
    pub(crate) fn origin(&self, headers: &mut HeaderMap, peer: Peer, https: bool) -> Result<Origin, Refusal> {
        let mut origin = Origin { client: Client::Peer(peer), https, authority: None, relayed: false };
        if !headers.keys().any(is_claim) {
            return Ok(origin);
        }
        if self.proxies.contain(peer) {
            let told = match self.fields {
                TrustedFields::XForwarded => self.x_forwarded(headers),
                TrustedFields::Forwarded => self.forwarded(headers),
            };
            let (client, proto, host) = told.ok_or(Refusal {
                status: StatusCode::BAD_REQUEST,
                reason: "what the proxy forwards about the client is malformed",
            })?;
            origin.client = client.unwrap_or(origin.client);
            if let Some(proto) = proto {
                origin.https = is_https(&proto)?;
                origin.relayed = true;
            }
            if let Some(host) = host {
                let host = HeaderValue::try_from(host).map_err(|_| bad_host())?;
                origin.authority = parse_host(&host).map_err(|_| bad_host())?;
            }
        }
        let claims: Vec<HeaderName> = headers.keys().filter(|name| is_claim(name)).cloned().collect();
        for name in claims {
            headers.remove(name);
        }
        Ok(origin)
    }

    /// Tells the guest of the client, once and in both forms, if that is wanted.
    pub(crate) fn tell<B>(&self, request: &mut hyper::Request<B>, origin: &Origin) {
        if !self.tell {
            return;
        }
        let ip = match &origin.client {
            Client::Peer(peer) => peer.ip(),
            Client::Ip(ip) => Some(*ip),
            Client::Hidden(_) => None,
        };
        let mut text = match (ip, &origin.client) {
            (Some(IpAddr::V4(ip)), _) => format!("for={ip}"),
            (Some(IpAddr::V6(ip)), _) => format!("for=\"[{ip}]\""),
            (None, Client::Hidden(name)) => format!("for={name}"),
            (None, _) => "for=unknown".to_owned(),
        };
        if let Some(host) = request.uri().authority().map(Authority::as_str).filter(|host| !host.contains(['"', '\\']))
        {
            let quote = if host.bytes().all(is_tchar) { "" } else { "\"" };
            text.extend([";host=", quote, host, quote]);
        }
        text.push_str(if origin.https { ";proto=https" } else { ";proto=http" });
        let headers = request.headers_mut();
        if let Ok(value) = HeaderValue::try_from(text) {
            headers.insert(FORWARDED, value);
        }
        if let Some(value) = ip.and_then(|ip| HeaderValue::try_from(ip.to_string()).ok()) {
            headers.insert(FOR, value);
        }
    }

    /// Reads `X-Forwarded-*`; `None` if they are malformed.
    fn x_forwarded(&self, headers: &HeaderMap) -> Option<Told> {
        let nodes = list(headers, &FOR)?;
        let (client, place) = self.walk(nodes.iter().map(|text| parse_node(text)).rev())?;
        let pick = |name| -> Option<Option<String>> {
            let values = list(headers, name)?;
            // Lists of one length were made by the same proxies, entry by entry; otherwise the last
            // word is that of the proxy which is nearest.
            let place = if values.len() == nodes.len() { place } else { 0 };
            Some(values.iter().rev().nth(place).map(|text| (*text).to_owned()))
        };
        Some((client, pick(&PROTO)?, pick(&HOST)?))
    }

    /// Reads `Forwarded`; `None` if it is malformed.
    fn forwarded(&self, headers: &HeaderMap) -> Option<Told> {
        let (mut proto, mut host) = (None, None);
        let mut elements = Vec::new();
        for line in headers.get_all(FORWARDED) {
            elements.extend(parse_elements(line.to_str().ok()?)?);
        }
        let mut seen = 0;
        let (client, _) = self.walk(elements.iter().rev().map_while(|element| {
            seen += 1;
            // A proxy that names nobody tells nothing of what was before it.
            element.node.as_deref().map(parse_node)
        }))?;
        // The proxy that saw the client knows best; those nearer fill in what it left out.
        for element in elements.into_iter().rev().take(seen) {
            proto = element.proto.or(proto);
            host = element.host.or(host);
        }
        Some((client, proto, host))
    }

    /// Goes from the nearest node to the first that is no trusted proxy; gives it and its place.
    ///
    /// The outer `None` is for a node on this way that is malformed.
    fn walk(&self, nodes: impl Iterator<Item = Option<Client>>) -> Option<(Option<Client>, usize)> {
        let mut found = (None, 0);
        for (place, node) in nodes.enumerate() {
            let node = node?;
            let trusted = matches!(&node, Client::Ip(ip) if self.proxies.contain_ip(*ip));
            found = (Some(node), place);
            if !trusted {
                break;
            }
        }
        Some(found)
    }
}

/// The client, the scheme and the authority, as a proxy has told them.
type Told = (Option<Client>, Option<String>, Option<String>);

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Peer(peer) => peer.fmt(f),
            Self::Ip(ip) => ip.fmt(f),
            Self::Hidden(name) => f.write_str(name),
        }
    }
}

/// Whether a field claims something about the client that only a proxy can know.
fn is_claim(name: &HeaderName) -> bool {
    let name = name.as_str();
    name.starts_with("x-forwarded-") || matches!(name, "forwarded" | "x-real-ip" | "client-cert" | "client-cert-chain")
}

/// The entries of all lines of a field.
fn list<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<Vec<&'a str>> {
    let mut all = Vec::new();
    for line in headers.get_all(name) {
        all.extend(line.to_str().ok()?.split(',').map(str::trim).filter(|entry| !entry.is_empty()));
    }
    Some(all)
}

fn is_https(proto: &str) -> Result<bool, Refusal> {
    // Some proxies name the protocol that a handshake is going to switch to.
    match proto.to_ascii_lowercase().as_str() {
        "https" | "wss" => Ok(true),
        "http" | "ws" => Ok(false),
        _ => Err(Refusal { status: StatusCode::BAD_REQUEST, reason: "the proxy forwards an unknown scheme" }),
    }
}

fn bad_host() -> Refusal {
    Refusal { status: StatusCode::BAD_REQUEST, reason: "the proxy forwards a host that is malformed" }
}

/// Reads an address, maybe with a port, or a name that stands for one (RFC 7239 6).
fn parse_node(text: &str) -> Option<Client> {
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Some(Client::Ip(ip.to_canonical()));
    }
    if let Some(rest) = text.strip_prefix('[') {
        let (ip, port) = rest.split_once(']')?;
        let ip = ip.parse::<Ipv6Addr>().ok()?;
        return (port.is_empty() || is_port(port.strip_prefix(':')?))
            .then(|| Client::Ip(IpAddr::V6(ip).to_canonical()));
    }
    let name = match text.split_once(':') {
        Some((name, port)) => Some(name).filter(|_| is_port(port))?,
        None => text,
    };
    if let Ok(ip) = name.parse::<Ipv4Addr>() {
        return Some(Client::Ip(ip.into()));
    }
    let hidden = name.strip_prefix('_').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(is_obfuscated));
    (hidden || name.eq_ignore_ascii_case("unknown")).then(|| Client::Hidden(name.to_ascii_lowercase()))
}

/// A port is a number or, too, a name that stands for one.
fn is_port(text: &str) -> bool {
    match text.strip_prefix('_') {
        Some(rest) => !rest.is_empty() && rest.bytes().all(is_obfuscated),
        None => (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

fn is_obfuscated(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

fn is_tchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Reads the elements of one line of `Forwarded` (RFC 7239 4); `None` if it is malformed.
fn parse_elements(line: &str) -> Option<Vec<Element>> {
    let mut elements = Vec::new();
    let (mut element, mut pairs) = (Element::default(), 0);
    let mut rest = line.trim_matches([' ', '\t']);
    loop {
        let empty = rest.is_empty() || rest.starts_with([',', ';']);
        if !empty {
            let (name, after) = rest.split_once('=')?;
            let (value, after) = parse_value(after)?;
            let slot = match name.to_ascii_lowercase().as_str() {
                "for" => Some(&mut element.node),
                "host" => Some(&mut element.host),
                "proto" => Some(&mut element.proto),
                other if !other.is_empty() && other.bytes().all(is_tchar) => None,
                _ => return None,
            };
            pairs += 1;
            // Each parameter occurs once at most.
            if slot.is_some_and(|slot| slot.replace(value).is_some()) {
                return None;
            }
            rest = after.trim_start_matches([' ', '\t']);
        }
        let mut chars = rest.chars();
        let next = chars.next();
        // RFC 9110 5.6.1: an empty entry of a list is none.
        if matches!(next, Some(',') | None) && std::mem::take(&mut pairs) > 0 {
            elements.push(std::mem::take(&mut element));
        }
        match next {
            Some(';' | ',') => {}
            None => return Some(elements),
            Some(_) => return None,
        }
        rest = chars.as_str().trim_start_matches([' ', '\t']);
    }
}

/// Reads a token or a quoted string, and gives what follows it.
fn parse_value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.bytes().position(|byte| !is_tchar(byte)).unwrap_or(text.len());
        let (token, rest) = text.split_at_checked(end)?;
        return (!token.is_empty()).then(|| (token.to_owned(), rest));
    };
    let mut value = String::new();
    let mut chars = quoted.chars();
    loop {
        match chars.next()? {
            '"' => return Some((value, chars.as_str())),
            '\\' => value.push(chars.next()?),
            c => value.push(c),
        }
    }
}

#[cfg(test)]
#[path = "forwarded_tests.rs"]
mod tests;
