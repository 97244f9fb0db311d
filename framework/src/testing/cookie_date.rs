//! Reads dates as browsers read them in cookies (RFC 6265bis, section 5.1.1): anything that looks like one.

use crate::date::Date;
use alloc::vec::Vec;

const MONTHS: [&[u8]; 12] =
    [b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec"];

/// Returns the date that a text has in it, or `None` where a browser sees none.
pub(super) fn parse(text: &[u8]) -> Option<Date> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in text.split(|byte| is_delimiter(*byte)).filter(|token| !token.is_empty()) {
        // The first token that can be a thing is the thing; only what is no such thing is tried for the next.
        let _ = fill(&mut time, || time_of(token))
            || fill(&mut day, || number(token, 1, 2))
            || fill(&mut month, || month_of(token))
            || fill(&mut year, || number(token, 2, 4));
    }
    let [hour, minute, second] = time?;
    let year = match year? {
        year @ 70..=99 => year + 1900,
        year @ 0..=69 => year + 2000,
        year => year,
    };
    if year < 1601 || second > 59 {
        return None;
    }
    let small = |number: u16| u8::try_from(number).unwrap_or(u8::MAX);
    Date::new(year, month?, small(day?), small(hour), small(minute), small(second))
}

/// Fills a place that is empty; tells whether it was and is no more.
fn fill<T>(place: &mut Option<T>, value: impl FnOnce() -> Option<T>) -> bool {
    let was_empty = place.is_none();
    if was_empty {
        *place = value();
    }
    was_empty && place.is_some()
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b'\t' | 0x20..=0x2f | 0x3b..=0x40 | 0x5b..=0x60 | 0x7b..=0x7e)
}

/// Reads a number of so many digits, whatever follows them but a digit.
fn number(token: &[u8], least: usize, most: usize) -> Option<u16> {
    let digits = token.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let digits = token.get(..digits).filter(|digits| (least..=most).contains(&digits.len()))?;
    Some(digits.iter().fold(0, |number, digit| number * 10 + u16::from(digit - b'0')))
}

fn month_of(token: &[u8]) -> Option<u8> {
    let name = token.get(..3)?;
    let at = MONTHS.iter().position(|month| month.eq_ignore_ascii_case(name))?;
    u8::try_from(at + 1).ok()
}

fn time_of(token: &[u8]) -> Option<[u16; 3]> {
    let parts: Vec<_> = token.splitn(3, |byte| *byte == b':').collect();
    let [hour, minute, second] = parts.as_slice() else { return None };
    let is_whole = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    if !is_whole(hour) || !is_whole(minute) {
        return None;
    }
    Some([number(hour, 1, 2)?, number(minute, 1, 2)?, number(second, 1, 2)?])
}
