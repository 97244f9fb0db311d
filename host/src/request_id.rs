//! The id that guest and client know a request by: the log's own, or that of a proxy which has numbered
//! the request already.

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};

/// The field that has it, as most proxies call it.
pub(crate) const NAME: HeaderName = HeaderName::from_static("x-request-id");

/// Characters of an id of somebody else's.
const LONGEST: usize = 128;

/// Chooses the id of a request that the log has as `id`. Of a trusted proxy its own is taken, if it is one; what
/// anybody else sends could be made to look like another request's.
pub(crate) fn choose(headers: &HeaderMap, trusted: bool, id: u64) -> HeaderValue {
    let mut given = headers.get_all(NAME).iter();
    match (given.next(), given.next()) {
        (Some(only), None) if trusted && is_id(only.as_bytes()) => only.clone(),
        _ => own(id),
    }
}

/// The id of the log.
pub(crate) fn own(id: u64) -> HeaderValue {
    // Sixteen hexadecimal digits are a field's value.
    HeaderValue::try_from(format!("{id:016x}")).unwrap_or_else(|_| HeaderValue::from_static("0"))
}

/// Whether it is what usual ids are made of, so that it may stand in a line of the log.
fn is_id(bytes: &[u8]) -> bool {
    let usual = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:+/=".contains(byte);
    (1..=LONGEST).contains(&bytes.len()) && bytes.iter().all(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(given: &[&[u8]], trusted: bool, wanted: &str) {
        let mut headers = HeaderMap::new();
        for value in given {
            headers.append(NAME, HeaderValue::from_bytes(value).expect("a value"));
        }
        assert_eq!(choose(&headers, trusted, 0xab), wanted);
    }

    #[test]
    fn ids_of_trusted_proxies_are_kept() {
        let own = "00000000000000ab";
        check(&[], true, own);
        check(&[b"f058ebd6-02f7-4d3f-942e-904344e8cde5"], true, "f058ebd6-02f7-4d3f-942e-904344e8cde5");
        check(&[b"Root=1-67891233-abcdef:x/y+z="], true, "Root=1-67891233-abcdef:x/y+z=");
        check(&[b"mine"], false, own);
        check(&[b"a", b"b"], true, own);
        for wrong in [&b""[..], b"a b", b"a\"b", b"a\\b", b"\xff", b"a,b", &[b'a'; 129]] {
            check(&[wrong], true, own);
        }
    }
}
