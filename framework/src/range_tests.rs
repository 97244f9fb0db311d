//! Tables for `range.rs`, and what holds for any field.

use super::*;
use crate::testing::block_on;

#[track_caller]
fn check(field: &str, length: u64, expected: Result<&[(u64, u64)], RangeFault>) {
    let ranges = Ranges::parse(field, length);
    assert_eq!(ranges.as_ref().map(Ranges::as_slice).map_err(|fault| *fault), expected, "{field}");
}

#[test]
fn parses() {
    check("bytes=0-0", 1, Ok(&[(0, 0)]));
    check("bytes=0-", 10, Ok(&[(0, 9)]));
    check("bytes=-3", 10, Ok(&[(7, 9)]));
    check("bytes=-30", 10, Ok(&[(0, 9)]));
    check("bytes=5-100", 10, Ok(&[(5, 9)]));
    check("bytes=0-1, 3-4 ,-1", 10, Ok(&[(0, 1), (3, 4), (9, 9)]));
    check("bytes=,,0-1,", 10, Ok(&[(0, 1)]));
    check("bytes=-0", 10, Err(RangeFault::Unsatisfiable));
    check("bytes=10-", 10, Err(RangeFault::Unsatisfiable));
    check("bytes=0-", 0, Err(RangeFault::Unsatisfiable));
    check("bytes=-5", 0, Err(RangeFault::Unsatisfiable));
    check("bytes=5-4", 10, Err(RangeFault::Unsatisfiable));
    check("bytes=-18446744073709551616", 10, Ok(&[(0, 9)]));
    check("bytes=99999999999999999999-", 10, Err(RangeFault::Unsatisfiable));
    check("bytes=0-99999999999999999999", 10, Ok(&[(0, 9)]));
    check("bytes=0-18446744073709551615", u64::MAX, Ok(&[(0, u64::MAX - 1)]));
    for malformed in
        ["", "bytes", "bytes=", "bytes=-", "bytes=a-", "bytes=0", "bytes=+1-2", "bytes=1--2", "bytes=0x1-2"]
    {
        check(malformed, 10, Err(RangeFault::Malformed));
    }
    let many = |count| concat(["bytes=", &["0-0"; 100].get(..count).unwrap().join(",")]);
    check(&many(limits::RANGES), 10, Ok(&[(0, 0); limits::RANGES]));
    check(&many(limits::RANGES + 1), 10, Err(RangeFault::Malformed));
}

#[test]
fn combines() {
    for (field, expected) in [
        ("bytes=0-1,2-3", &[(0, 3)][..]),
        ("bytes=0-1,3-4", &[(0, 1), (3, 4)]),
        ("bytes=0-4,90-99,5-75,100-199,101-102", &[(0, 75), (90, 199)]),
        ("bytes=-1,20-100,0-1,101-120", &[(999, 999), (20, 120), (0, 1)]),
        ("bytes=0-9,20-29,5-25", &[(0, 29)]),
        ("bytes=50-60,0-9,5-55", &[(0, 60)]),
    ] {
        let ranges = Ranges::parse(field, 1000).unwrap().combined();
        assert_eq!(ranges.as_slice(), expected, "{field}");
        assert!(!ranges.overlaps());
    }
}

struct Chunks(Vec<&'static str>);

impl Stream for Chunks {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>>>> {
        Poll::Ready(if self.0.is_empty() { None } else { Some(Ok(self.0.remove(0).into())) })
    }
}

#[test]
fn windows() {
    for chunks in [
        &["0123456789"][..],
        &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
        &["01234", "56789"],
        &["012", "", "3456789"],
    ] {
        for first in 0..10u64 {
            for last in first..10 {
                let body = Body::from_stream(Chunks(chunks.to_vec()));
                let mut part = Body::from_stream(Window { body, skip: first, left: last - first + 1 });
                assert_eq!(part.len(), Some(last - first + 1));
                let bytes = block_on(part.bytes(10)).unwrap();
                assert_eq!(bytes, b"0123456789".get(first as usize..=last as usize).unwrap(), "{first}-{last}");
            }
        }
    }
}

#[test]
fn the_boundary_is_not_in_the_content() {
    let text = concat(["tabi-part-", "25", " tabi-part-", "26"]);
    assert_eq!(text.len(), 25);
    assert_eq!(boundary(text.as_bytes()), "tabi-part-27");
}

/// Pseudo-random numbers, the same in each run (xorshift).
fn numbers() -> impl FnMut(u64) -> u64 {
    let mut state = 0x2545_f491_4f6c_dd1du64;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    }
}

#[test]
fn whatever_is_asked_for_is_there() {
    let mut number = numbers();
    for _ in 0..20_000 {
        let length = number(30);
        let mut field = String::from("bytes=");
        for _ in 0..number(40) {
            field.push(char::from(*b"0123456789--,, x".get(number(16) as usize).unwrap()));
        }
        let Ok(ranges) = Ranges::parse(&field, length) else { continue };
        let asked = ranges.as_slice().to_vec();
        assert!(!asked.is_empty() && asked.len() <= limits::RANGES, "{field}");
        assert!(asked.iter().all(|(first, last)| first <= last && *last < length), "{field} of {length}");
        // Combined, it is the same bytes, each once.
        let combined = ranges.combined();
        let covered = |list: &[(u64, u64)], at: u64| list.iter().filter(|part| part.0 <= at && at <= part.1).count();
        for at in 0..length {
            assert_eq!(covered(combined.as_slice(), at), covered(&asked, at).min(1), "{field} of {length} at {at}");
        }
        let apart = |(a, one): (usize, &(u64, u64))| {
            combined.as_slice().iter().enumerate().all(|(b, two)| a == b || !touches(*one, *two))
        };
        assert!(combined.as_slice().iter().enumerate().all(apart), "{field} of {length}");
    }
}
