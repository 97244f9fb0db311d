//! How often a request has come through this host already: requests that go round in circles.
//!
//! Each request that a guest sends carries `CDN-Loop` (RFC 8586) with the name of this process and
//! the number of times that its forerunners were here. Nobody in between may take the field out.

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use std::hash::{BuildHasher, RandomState};

const CDN_LOOP: HeaderName = HeaderName::from_static("cdn-loop");

/// The name that this process goes by in `CDN-Loop`.
#[derive(Debug)]
pub(crate) struct Mark(String);

impl Mark {
    /// Makes a name that no other process has.
    pub(crate) fn new() -> Self {
        Self(format!("tabi-{:016x}", RandomState::new().hash_one(0)))
    }

    /// How often the request with these fields was here before.
    pub(crate) fn count(&self, headers: &HeaderMap) -> u32 {
        let entries = headers.get_all(CDN_LOOP).iter().flat_map(|value| value.as_bytes().split(|&byte| byte == b','));
        entries.filter_map(|entry| self.read(entry)).max().unwrap_or(0)
    }

    /// Notes in the fields of a request that it is the follower of one that came `hops` times.
    pub(crate) fn set(&self, headers: &mut HeaderMap, hops: u32) {
        let mut list = Vec::new();
        for value in headers.get_all(CDN_LOOP) {
            for entry in value.as_bytes().split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
                // What a guest passes on of ours has been counted.
                if !entry.is_empty() && self.read(entry).is_none() {
                    list.extend_from_slice(entry);
                    list.extend_from_slice(b", ");
                }
            }
        }
        list.extend_from_slice(self.0.as_bytes());
        list.extend_from_slice(format!(";hops={}", hops.saturating_add(1)).as_bytes());
        if let Ok(value) = HeaderValue::from_bytes(&list) {
            headers.insert(CDN_LOOP, value);
        }
    }

    /// Reads an entry, if it is one of ours.
    fn read(&self, entry: &[u8]) -> Option<u32> {
        let rest = entry.trim_ascii().strip_prefix(self.0.as_bytes())?.trim_ascii();
        if rest.is_empty() {
            return Some(1);
        }
        let parameters = rest.strip_prefix(b";")?;
        let hops = parameters.trim_ascii().strip_prefix(b"hops=").and_then(|text| std::str::from_utf8(text).ok());
        Some(hops.and_then(|text| text.parse().ok()).unwrap_or(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(fields: &[&str], count: u32, next: &str) {
        let mark = Mark("tabi-7".into());
        let mut headers = HeaderMap::new();
        for field in fields {
            headers.append(CDN_LOOP, HeaderValue::from_str(field).expect("a value"));
        }
        assert_eq!(mark.count(&headers), count, "{fields:?}");
        mark.set(&mut headers, count);
        let all: Vec<_> = headers.get_all(CDN_LOOP).iter().map(|value| value.to_str().expect("text")).collect();
        assert_eq!(all, [next], "{fields:?}");
    }

    #[test]
    fn passes_are_counted() {
        check(&[], 0, "tabi-7;hops=1");
        check(&["tabi-7;hops=1"], 1, "tabi-7;hops=2");
        check(&["other, tabi-7; hops=2", "another; abc=1"], 2, "other, another; abc=1, tabi-7;hops=3");
        check(&["tabi-7;hops=1, tabi-7;hops=5"], 5, "tabi-7;hops=6");
        check(&["tabi-77;hops=9"], 0, "tabi-77;hops=9, tabi-7;hops=1");
        check(&["tabi-7", ""], 1, "tabi-7;hops=2");
        check(&["tabi-7;hops=x"], 1, "tabi-7;hops=2");
        check(&["tabi-7;hops=4294967295"], u32::MAX, "tabi-7;hops=4294967295");
    }
}
