//! Parts of a file that a client asks for (RFC 9110, section 14).

use std::ops::Range;

/// Parts in one request; more are ignored, and the whole is sent.
const MAX_PARTS: usize = 16;

/// What of the file is sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parts {
    /// All of it: there is no range, or none that means something.
    Whole,
    /// These bytes.
    Some(Vec<Range<u64>>),
    /// None of what was asked for is in the file.
    Outside,
}

/// Reads a `Range` field for a file of `length` bytes.
pub(crate) fn read(field: &[u8], length: u64) -> Parts {
    let Some((unit, list)) = std::str::from_utf8(field).ok().and_then(|field| field.split_once('=')) else {
        return Parts::Whole;
    };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return Parts::Whole;
    }
    let mut parts: Vec<Range<u64>> = Vec::new();
    let mut count = 0;
    for item in list.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        count += 1;
        // RFC 9110 14.2: a malformed range is ignored as if it were not there.
        let Some(part) = part(item, length) else { return Parts::Whole };
        if count > MAX_PARTS {
            return Parts::Whole;
        }
        parts.extend(part);
    }
    if count == 0 {
        return Parts::Whole;
    }
    if parts.is_empty() {
        return Parts::Outside;
    }
    // Parts that overlap could make a small request cost many times the file.
    let sum = parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.end - part.start));
    if parts.len() > 1 && sum > length { Parts::Whole } else { Parts::Some(parts) }
}

/// Reads `first-last`, `first-` or `-count`; the inner `None` is for what is outside of the file.
#[allow(clippy::option_option, reason = "malformed, outside and inside are three things")]
fn part(item: &str, length: u64) -> Option<Option<Range<u64>>> {
    let (first, last) = item.split_once('-')?;
    let (first, last) = (first.trim(), last.trim());
    if first.is_empty() {
        let count = number(last)?.min(length);
        return Some((count > 0).then(|| length - count..length));
    }
    let first = number(first)?;
    let end = match last {
        "" => length,
        last => {
            let last = number(last)?;
            if last < first {
                return None;
            }
            last.saturating_add(1).min(length)
        }
    };
    Some((first < length).then_some(first..end))
}

/// Reads digits; a number beyond all files is the largest.
fn number(digits: &str) -> Option<u64> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(field: &str, wanted: &[(u64, u64)]) {
        let wanted: Vec<Range<u64>> = wanted.iter().map(|(first, end)| *first..*end).collect();
        assert_eq!(read(field.as_bytes(), 100), Parts::Some(wanted), "{field}");
    }

    #[test]
    fn parts() {
        check("bytes=0-0", &[(0, 1)]);
        check("bytes=0-99", &[(0, 100)]);
        check("bytes=0-100", &[(0, 100)]);
        check("bytes=99-", &[(99, 100)]);
        check("bytes=-1", &[(99, 100)]);
        check("bytes=-1000", &[(0, 100)]);
        check("Bytes = 1-2", &[(1, 3)]);
        check("bytes=0-0,-1", &[(0, 1), (99, 100)]);
        check("bytes=50-59 , ,0-9,", &[(50, 60), (0, 10)]);
        check("bytes=0-9,200-300", &[(0, 10)]);
        check("bytes=0-99999999999999999999999", &[(0, 100)]);
    }

    #[test]
    fn what_is_no_range_is_not_there() {
        for field in [
            "",
            "bytes",
            "bytes=",
            "bytes=,",
            "bytes=-",
            "bytes=a-b",
            "bytes=1",
            "bytes=2-1",
            "bytes=+1-2",
            "bytes=1-2x",
            "bytes=1-2-3",
            "bytes=--1",
            "lines=1-2",
            "bytes 1-2",
            "bytes=0-0,x",
            "bytes=0-99,0-99",
            "bytes=0-60,50-99",
        ] {
            assert_eq!(read(field.as_bytes(), 100), Parts::Whole, "{field}");
        }
        let many = |count: usize| format!("bytes={}", "0-0,".repeat(count));
        assert_eq!(read(many(17).as_bytes(), 100), Parts::Whole);
        assert!(matches!(read(many(16).as_bytes(), 100), Parts::Some(parts) if parts.len() == 16));
        assert_eq!(read(b"bytes=\xff-1", 100), Parts::Whole);
    }

    #[test]
    fn what_is_outside() {
        for field in ["bytes=100-", "bytes=100-200", "bytes=-0", "bytes=99999999999999999999999-"] {
            assert_eq!(read(field.as_bytes(), 100), Parts::Outside, "{field}");
        }
        for field in ["bytes=0-", "bytes=-1", "bytes=0-0"] {
            assert_eq!(read(field.as_bytes(), 0), Parts::Outside, "{field}");
        }
    }
}
