//! Whether an answer is compressed, and what its head says then (RFC 9110, sections 8.4 and 12.5.3).

use crate::Config;
use hyper::StatusCode;
use hyper::header::{
    ACCEPT_ENCODING, ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG,
    HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH, VARY,
};
use hyper::http::response::Parts;

/// What a request says about compression.
pub(crate) struct Offer {
    /// Whether the client takes gzip, and likes it no less than the plain form.
    gzip: bool,
    /// The tags of what the client has.
    known: Vec<HeaderValue>,
    min_bytes: u64,
}

impl Offer {
    /// Reads the fields of a request; `None` where the host doesn't compress.
    pub(crate) fn of(config: &Config, headers: &HeaderMap) -> Option<Self> {
        config.compression.then(|| Self {
            gzip: takes_gzip(headers),
            known: headers.get_all(IF_NONE_MATCH).iter().cloned().collect(),
            min_bytes: config.compression_min_bytes,
        })
    }

    /// Makes `head` that of the compressed form and says `true`, or leaves it to the plain form.
    ///
    /// `length` is that of the plain form, when it is known.
    pub(crate) fn apply(&self, head: &mut Parts, length: Option<u64>) -> bool {
        if head.status == StatusCode::NOT_MODIFIED {
            self.confirm(&mut head.headers);
            return false;
        }
        if !may_be_coded(head) || length.is_some_and(|length| length < self.min_bytes) {
            return false;
        }
        add_vary(&mut head.headers);
        if self.gzip {
            head.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            head.headers.remove(CONTENT_LENGTH);
            head.headers.remove(ACCEPT_RANGES);
            weaken(&mut head.headers);
        }
        self.gzip
    }

    /// Makes a 304 name the tag that the client has, where compression made that weak.
    fn confirm(&self, headers: &mut HeaderMap) {
        let Some(weak) = headers.get(ETAG).and_then(weak) else { return };
        if self.known.iter().any(|value| items(value.as_bytes()).any(|tag| tag == weak.as_bytes())) {
            headers.insert(ETAG, weak);
            add_vary(headers);
        }
    }
}

/// Whether a coding would be right for such an answer, whoever asks.
fn may_be_coded(head: &Parts) -> bool {
    // A digest is one of the bytes that are sent (RFC 9530, section 2).
    const FIXED: [HeaderName; 6] = [
        CONTENT_ENCODING,
        CONTENT_RANGE,
        HeaderName::from_static("content-digest"),
        HeaderName::from_static("repr-digest"),
        HeaderName::from_static("digest"),
        HeaderName::from_static("content-md5"),
    ];
    let headers = &head.headers;
    head.status.is_success()
        && !matches!(head.status.as_u16(), 204..=206)
        && !FIXED.iter().any(|name| headers.contains_key(name))
        && !lists(headers, &CACHE_CONTROL, b"no-transform")
        && gets_smaller(headers)
}

/// Whether the content type is one of text, in a wide sense.
fn gets_smaller(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let (Some(value), None) = (types.next(), types.next()) else { return false };
    is_smaller_coded(&String::from_utf8_lossy(value.as_bytes()))
}

/// Whether content of this type gets smaller by compression.
pub(crate) fn is_smaller_coded(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let Some((kind, name)) = essence.split_once('/') else { return false };
    match (kind, name) {
        // Events are for now and not for when a block is full.
        ("text", "event-stream") => false,
        ("text", name) => !name.is_empty(),
        (_, name) if name.ends_with("+json") || name.ends_with("+xml") || name.ends_with("+text") => true,
        ("application", name) => matches!(
            name,
            "json"
                | "javascript"
                | "x-javascript"
                | "ecmascript"
                | "xml"
                | "xml-dtd"
                | "wasm"
                | "x-ndjson"
                | "ndjson"
                | "jsonl"
                | "json-seq"
                | "yaml"
                | "toml"
                | "graphql"
                | "sql"
                | "rtf"
                | "x-tar"
                | "vnd.ms-fontobject"
                | "x-www-form-urlencoded"
        ),
        ("font", name) => matches!(name, "ttf" | "otf" | "collection"),
        ("image", name) => matches!(name, "bmp" | "x-icon" | "vnd.microsoft.icon"),
        _ => false,
    }
}

/// Says by `Accept-Encoding` whether gzip is welcome, and no less than the plain form.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let gzip = liking(headers, &[b"gzip", b"x-gzip"]).or(liking(headers, &[b"*"])).unwrap_or(0);
    gzip > 0 && gzip >= liking(headers, &[b"identity"]).unwrap_or(0)
}

/// How much a client likes a coding, which may have several names, in thousandths; `None` if it does not say.
pub(crate) fn liking(headers: &HeaderMap, names: &[&[u8]]) -> Option<u16> {
    let all = headers.get_all(ACCEPT_ENCODING).iter();
    // A weight that is none says nothing about the coding; the first word holds.
    all.flat_map(|value| items(value.as_bytes())).find_map(|item| {
        let mut parts = split(item, b';').map(<[u8]>::trim_ascii);
        let name = parts.next().unwrap_or_default();
        if !names.iter().any(|known| name.eq_ignore_ascii_case(known)) {
            return None;
        }
        parts.try_fold(1000, |known, part| match part {
            [b'q' | b'Q', b'=', digits @ ..] => weight(digits),
            _ => Some(known),
        })
    })
}

/// Reads a weight in thousandths (RFC 9110, section 12.4.2).
fn weight(digits: &[u8]) -> Option<u16> {
    let (whole, fraction) = match digits {
        [whole] => (whole, &[][..]),
        [whole, b'.', fraction @ ..] => (whole, fraction),
        _ => return None,
    };
    if !matches!(whole, b'0' | b'1') || fraction.len() > 3 || !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digit = |at: usize| u16::from(fraction.get(at).map_or(0, |digit| digit - b'0'));
    let sum = u16::from(whole - b'0') * 1000 + digit(0) * 100 + digit(1) * 10 + digit(2);
    (sum <= 1000).then_some(sum)
}

/// Whether a list field has the word `wanted`, with or without an argument.
fn lists(headers: &HeaderMap, name: &HeaderName, wanted: &[u8]) -> bool {
    headers.get_all(name).iter().flat_map(|value| items(value.as_bytes())).any(|item| {
        let word = item.split(|byte| *byte == b'=').next().unwrap_or_default();
        word.trim_ascii().eq_ignore_ascii_case(wanted)
    })
}

/// Adds `accept-encoding` to what the answer depends on, unless it is there.
fn add_vary(headers: &mut HeaderMap) {
    if lists(headers, &VARY, b"accept-encoding") || lists(headers, &VARY, b"*") {
        return;
    }
    let mut all: Vec<&[u8]> = headers.get_all(VARY).iter().map(HeaderValue::as_bytes).collect();
    all.retain(|value| !value.is_empty());
    all.push(b"accept-encoding");
    if let Ok(value) = HeaderValue::from_bytes(&all.join(&b", "[..])) {
        headers.insert(VARY, value);
    }
}

/// Makes a strong tag a weak one: the bytes are not those that the guest has tagged.
fn weaken(headers: &mut HeaderMap) {
    if let Some(weak) = headers.get(ETAG).and_then(weak) {
        headers.insert(ETAG, weak);
    }
}

/// The weak form of a strong tag.
fn weak(tag: &HeaderValue) -> Option<HeaderValue> {
    let strong = tag.as_bytes().starts_with(b"\"");
    strong.then(|| HeaderValue::from_bytes(&[b"W/", tag.as_bytes()].concat()).ok())?
}

/// The members of a list field; a comma within quotes separates nothing.
pub(crate) fn items(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    split(list, b',').map(<[u8]>::trim_ascii).filter(|item| !item.is_empty())
}

fn split(text: &[u8], mark: u8) -> impl Iterator<Item = &[u8]> {
    let (mut quoted, mut escaped) = (false, false);
    text.split(move |&byte| {
        if std::mem::take(&mut escaped) {
            return false;
        }
        escaped = quoted && byte == b'\\';
        quoted ^= byte == b'"';
        byte == mark && !quoted
    })
}

#[cfg(test)]
#[path = "encoding_tests.rs"]
mod tests;
