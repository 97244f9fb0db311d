//! `Accept`: what of several things a client likes best (RFC 9110, section 12).

use crate::headers::{Headers, is_token_byte};
use crate::parameter::{Parameters, take};
use alloc::vec::Vec;

/// What a client accepts: one of the fields `Accept`, `Accept-Language`, `Accept-Encoding` and `Accept-Charset`.
///
/// The most specific range that matches an offer decides about its weight, and a weight of 0 excludes it. Of two
/// offers with the same weight that comes first which is named more specifically, then which the client names first,
/// then which is offered first. An item that is malformed, its weight included, is as good as not there; a field that
/// is absent, empty, or malformed as a whole accepts everything.
///
/// [`Request::accepts`](crate::Request::accepts) and its sisters are what a handler mostly needs.
///
/// ```
/// use tabi::{Accept, Headers};
///
/// let mut headers = Headers::new();
/// headers.append("accept", "text/*;q=0.5, text/html, */*;q=0.1, image/gif;q=0")?;
/// let accept = Accept::media_types(&headers);
/// assert_eq!(accept.best(&["image/gif", "text/plain", "text/html"]), Some("text/html"));
/// assert_eq!(accept.ranked(&["image/gif", "image/png", "text/plain"]), ["text/plain", "image/png"]);
/// # Ok::<(), tabi::Error>(())
/// ```
pub struct Accept<'a> {
    headers: &'a Headers,
    kind: Kind,
}

/// How many items of a field are listed.
const LISTED: usize = 100;

/// How one of the fields is read.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    /// What stands for a field that is not there.
    absent: &'static str,
    /// How many slashes an item has.
    slashes: usize,
    /// Tells how specifically an item names an offer, or `None` where it doesn't.
    matches: fn(&Item<'_>, &str) -> Option<usize>,
}

const MEDIA: Kind = Kind { name: "accept", absent: "*/*", slashes: 1, matches: media };
const LANGUAGE: Kind = Kind { name: "accept-language", absent: "*", slashes: 0, matches: language };
const ENCODING: Kind = Kind { name: "accept-encoding", absent: "identity", slashes: 0, matches: encoding };
const CHARSET: Kind = Kind { name: "accept-charset", absent: "*", slashes: 0, matches: token };

/// One item of the field.
struct Item<'a> {
    range: &'a str,
    parameters: Parameters<'a>,
    /// In thousandths.
    weight: u16,
}

/// How much an offer is liked, 0 for not at all: its weight, how specifically it is named, how early. In one number,
/// which is less code than three to compare.
type Rank = u64;

impl<'a> Accept<'a> {
    /// Returns what media types are accepted. An offer may have parameters; a range with parameters matches offers
    /// that have the same ones.
    pub fn media_types(headers: &'a Headers) -> Accept<'a> {
        Accept { headers, kind: MEDIA }
    }

    /// Returns what languages are accepted. `en` accepts `en-GB` (RFC 4647, section 3.3.1), and `en-GB` falls back to
    /// `en` (section 3.4); neither has to do with `eng`.
    pub fn languages(headers: &'a Headers) -> Accept<'a> {
        Accept { headers, kind: LANGUAGE }
    }

    /// Returns what content codings are accepted. `identity`, which is no coding, is accepted where it is not excluded;
    /// without the field nothing else is.
    pub fn encodings(headers: &'a Headers) -> Accept<'a> {
        Accept { headers, kind: ENCODING }
    }

    /// Returns what charsets are accepted.
    pub fn charsets(headers: &'a Headers) -> Accept<'a> {
        Accept { headers, kind: CHARSET }
    }

    /// Returns the offer that the client likes best, or `None` where it accepts none of them.
    pub fn best<'o>(&self, offers: &[&'o str]) -> Option<&'o str> {
        let (mut best, mut most) = (None, 0);
        for offer in offers {
            let rank = self.rank(offer);
            if rank > most {
                (best, most) = (Some(*offer), rank);
            }
        }
        best
    }

    /// Returns the offers that the client accepts, the best first.
    pub fn ranked<'o>(&self, offers: &[&'o str]) -> Vec<&'o str> {
        in_order(offers.iter().map(|offer| (self.rank(offer), *offer)).collect())
    }

    /// Returns what the client names, the best first, without parameters and what it excludes: the first 100 at most.
    pub fn listed(&self) -> Vec<&'a str> {
        let mut listed = Vec::new();
        self.each(&mut |index, item| {
            // Sorting takes longer with each of them, and nobody likes so many things.
            if index < LISTED {
                listed.push((rank(item.weight, 0, index), item.range));
            }
        });
        in_order(listed)
    }

    /// Says how much an offer is liked.
    fn rank(&self, offer: &str) -> Rank {
        // Of several items that name it the most specific decides, then the one with the most weight.
        let (mut decides, mut found) = (0, 0);
        self.each(&mut |index, item| {
            if let Some(specific) = (self.kind.matches)(&item, offer) {
                let decisive = 1 + ((specific as u64) << 16 | u64::from(item.weight));
                if decisive >= decides {
                    (decides, found) = (decisive, rank(item.weight, specific, index));
                }
            }
        });
        found
    }

    /// Goes through the items that are well-formed.
    fn each(&self, visit: &mut dyn FnMut(usize, Item<'a>)) {
        let (mut index, mut least, mut identity) = (0, 1000, self.kind.name != ENCODING.name);
        for value in self.headers.get_all_bytes(self.kind.name) {
            let mut rest = value;
            while !rest.is_empty() {
                if let Some(item) = Item::parse(take(&mut rest, b','), self.kind.slashes) {
                    identity |= item.range == "*" || item.range.eq_ignore_ascii_case("identity");
                    least = if item.weight > 0 { item.weight.min(least) } else { least };
                    visit(index, item);
                    index += 1;
                }
            }
        }
        // RFC 9110, section 12.5.3: no coding is acceptable unless excluded; it is liked least of what is named.
        if index == 0 || !identity {
            visit(index, Item { range: self.kind.absent, parameters: Parameters(b""), weight: least });
        }
    }
}

impl<'a> Item<'a> {
    fn parse(item: &'a [u8], slashes: usize) -> Option<Item<'a>> {
        let mut rest = item;
        let range = take(&mut rest, b';');
        let mut names = range.split(|byte| *byte == b'/');
        if !names.all(|name| !name.is_empty() && name.iter().all(|byte| is_token_byte(*byte)))
            || range.iter().filter(|byte| **byte == b'/').count() != slashes
        {
            return None;
        }
        let parameters = Parameters(rest);
        let weight = match parameters.clone().find(|(name, _)| is_weight(name)) {
            Some((_, value)) => weight(&value)?,
            None => 1000,
        };
        Some(Item { range: core::str::from_utf8(range).ok()?, parameters, weight })
    }

    /// Returns the parameters that belong to the range: those before the weight.
    fn own_parameters(&self) -> impl Iterator<Item = <Parameters<'a> as Iterator>::Item> {
        self.parameters.clone().take_while(|(name, _)| !is_weight(name))
    }
}

fn rank(weight: u16, specific: usize, index: usize) -> Rank {
    if weight == 0 {
        return 0;
    }
    u64::from(weight) << 48 | (specific as u64) << 24 | (0xff_ffff - index.min(0xff_ffff) as u64)
}

/// Sorts what is liked, and leaves out the rest. Not with `sort`, which is larger than all of this file.
fn in_order(mut ranked: Vec<(Rank, &str)>) -> Vec<&str> {
    let mut ordered = Vec::new();
    loop {
        let mut best = &mut (0, "");
        for entry in &mut ranked {
            if entry.0 > best.0 {
                best = entry;
            }
        }
        if best.0 == 0 {
            return ordered;
        }
        ordered.push(best.1);
        best.0 = 0;
    }
}

fn is_weight(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"q")
}

/// Reads a weight in thousandths (RFC 9110, section 12.4.2). More than three digits are read, too: a little is not 0.
pub(crate) fn weight(text: &[u8]) -> Option<u16> {
    let (whole, fraction) = match text {
        [whole @ (b'0' | b'1')] => (*whole, &[][..]),
        [whole @ (b'0' | b'1'), b'.', fraction @ ..] => (*whole, fraction),
        _ => return None,
    };
    let (mut weight, mut unit, mut more) = (u16::from(whole - b'0') * 1000, 100, false);
    for digit in fraction {
        if !digit.is_ascii_digit() {
            return None;
        }
        weight += u16::from(digit - b'0') * unit;
        more |= *digit != b'0';
        unit /= 10;
    }
    match weight {
        0 => Some(u16::from(more)),
        1..=1000 => Some(weight),
        _ => None,
    }
}

/// A media range: `*/*`, `text/*`, `text/html` or `text/html;level=1`, less specific to more.
fn media(item: &Item<'_>, offer: &str) -> Option<usize> {
    let mut rest = offer.as_bytes();
    let mut subtype = take(&mut rest, b';');
    let kind = take(&mut subtype, b'/');
    let mut range_subtype = item.range.as_bytes();
    let range_kind = take(&mut range_subtype, b'/');
    if kind.is_empty() || subtype.is_empty() || !subtype.iter().all(|byte| is_token_byte(*byte)) {
        return None;
    }
    let specific = match (range_kind, range_subtype) {
        (b"*", b"*") => 0,
        (same, b"*") if same.eq_ignore_ascii_case(kind) => 1,
        (same, also) if same.eq_ignore_ascii_case(kind) && also.eq_ignore_ascii_case(subtype) => 2,
        _ => return None,
    };
    let mut count = 0;
    for (name, value) in item.own_parameters() {
        let (_, of_offer) = Parameters(rest).find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        if !value.eq_ignore_ascii_case(&of_offer) {
            return None;
        }
        count += 1;
    }
    Some(specific * 256 + count.min(255))
}

/// A language range: `*`, a prefix of the offer, an extension of it, or the offer itself, less specific to more.
fn language(item: &Item<'_>, offer: &str) -> Option<usize> {
    let (range, offer) = (item.range.as_bytes(), offer.as_bytes());
    if range == b"*" {
        return Some(0);
    }
    if range.eq_ignore_ascii_case(offer) {
        Some(3 << 16)
    } else if is_prefix(offer, range) {
        // Who does not want `en-US` has said nothing about `en`.
        (item.weight > 0).then_some(2 << 16 | offer.len().min(0xffff))
    } else {
        is_prefix(range, offer).then_some(1 << 16 | range.len().min(0xffff))
    }
}

/// Tells whether a tag begins with another, up to a hyphen.
fn is_prefix(prefix: &[u8], tag: &[u8]) -> bool {
    match tag.split_at_checked(prefix.len()) {
        Some((begin, [b'-', ..])) => !prefix.is_empty() && begin.eq_ignore_ascii_case(prefix),
        _ => false,
    }
}

/// A coding: as [`token`], with the old names of two of them (RFC 9110, section 8.4.1).
fn encoding(item: &Item<'_>, offer: &str) -> Option<usize> {
    let range = current(item.range);
    token(&Item { range, parameters: Parameters(b""), weight: item.weight }, current(offer))
}

fn current(coding: &str) -> &str {
    match coding {
        old if old.eq_ignore_ascii_case("x-gzip") => "gzip",
        old if old.eq_ignore_ascii_case("x-compress") => "compress",
        coding => coding,
    }
}

/// A name or `*`.
fn token(item: &Item<'_>, offer: &str) -> Option<usize> {
    match item.range {
        "*" => Some(0),
        range => range.eq_ignore_ascii_case(offer).then_some(1),
    }
}
