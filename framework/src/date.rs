//! `Date`: a point in time as HTTP writes it, to the second (RFC 9110, section 5.6.7).

use alloc::string::String;
use core::fmt;

/// A point in time, to the second, between the years 1 and 9999.
///
/// It reads all three formats that HTTP has had and writes the one that is left. There is no clock in it.
///
/// ```
/// use tabi::Date;
///
/// let date = Date::parse("Sunday, 06-Nov-94 08:49:37 GMT").unwrap();
/// assert_eq!(date.to_http(), "Sun, 06 Nov 1994 08:49:37 GMT");
/// assert_eq!(date, Date::from_unix(784111777));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Date(i64);

const DAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// The first second of the year 1 and the last of 9999.
const FIRST: i64 = -62_135_596_800;
const LAST: i64 = 253_402_300_799;

impl Date {
    /// Returns the time that is so many seconds after the start of 1970, in UTC. What HTTP can't write becomes the
    /// first second of the year 1 or the last of 9999.
    pub const fn from_unix(seconds: i64) -> Date {
        if seconds < FIRST {
            Date(FIRST)
        } else if seconds > LAST {
            Date(LAST)
        } else {
            Date(seconds)
        }
    }

    /// Returns the seconds since the start of 1970, in UTC; they are negative before.
    pub const fn unix(self) -> i64 {
        self.0
    }

    /// Returns the time of a day of the calendar in UTC, or `None` where there is no such day or time.
    ///
    /// Months and days count from 1. A leap second, 60, is the second after it.
    pub const fn new(year: u16, month: u8, day: u8, hour: u8, minute: u8, second: u8) -> Option<Date> {
        let (year, month, day) = (year as i64, month as i64, day as i64);
        if year < 1
            || year > 9999
            || hour > 23
            || minute > 59
            || second > 60
            || day < 1
            || day > month_length(year, month)
        {
            return None;
        }
        // The year begins in March here, so that the leap day is its last. 719,468 days are from there to 1970.
        let (years, months) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
        let days = years * 365 + years / 4 - years / 100 + years / 400 + (153 * months + 2) / 5 + day - 1 - 719_468;
        Some(Date::from_unix(days * 86_400 + hour as i64 * 3600 + minute as i64 * 60 + second as i64))
    }

    /// Reads a date in any of the three formats, or returns `None` where it is in none of them. The name of the day
    /// has to be one, but not that of the date.
    ///
    /// The oldest format has years of two digits. RFC 9110 wants them seen from today: no more than 50 years in the
    /// future. Here is no clock, so `70` to `99` are 1970 to 1999 and `00` to `69` are 2000 to 2069, as cookies have
    /// it (RFC 6265, section 5.1.1); [`Date::parse_at`] follows the rule.
    pub fn parse(text: &str) -> Option<Date> {
        parse(text.as_bytes(), 2069)
    }

    /// Reads a date as [`Date::parse`] does, with years of two digits seen from `now`: what looks more than 50 years
    /// in the future is the last year in the past with these digits.
    pub fn parse_at(text: &str, now: Date) -> Option<Date> {
        let this_year = i64::from(civil(now.0).0);
        let latest = parse(text.as_bytes(), this_year + 50)?;
        let limit = civil(now.0);
        // In the fiftieth year the rest of the date decides.
        let is_later = civil(latest.0) > (limit.0 + 50, limit.1, limit.2) || {
            civil(latest.0) == (limit.0 + 50, limit.1, limit.2)
                && latest.0.rem_euclid(86_400) > now.0.rem_euclid(86_400)
        };
        if is_later { parse(text.as_bytes(), this_year + 49) } else { Some(latest) }
    }

    /// Returns it as HTTP writes it today: `Sun, 06 Nov 1994 08:49:37 GMT`.
    pub fn to_http(self) -> String {
        let mut text = String::with_capacity(29);
        self.push_http(&mut text);
        text
    }

    pub(crate) fn push_http(self, out: &mut String) {
        let (days, seconds) = (self.0.div_euclid(86_400), self.0.rem_euclid(86_400));
        let (year, month, day) = civil(self.0);
        push_name(out, DAYS.get(days.rem_euclid(7) as usize));
        out.push_str(", ");
        push_two(out, day);
        out.push(' ');
        push_name(out, MONTHS.get(usize::from(month).wrapping_sub(1)));
        out.push(' ');
        push_two(out, (year / 100) as u8);
        push_two(out, (year % 100) as u8);
        for (separator, number) in [(' ', seconds / 3600), (':', seconds / 60 % 60), (':', seconds % 60)] {
            out.push(separator);
            push_two(out, number as u8);
        }
        out.push_str(" GMT");
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_http())
    }
}

/// Rounds down to the second, so that a file's time equals the one that was sent for it.
#[cfg(any(test, feature = "std"))]
impl From<std::time::SystemTime> for Date {
    fn from(time: std::time::SystemTime) -> Date {
        let seconds = |duration: core::time::Duration| i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
        match time.duration_since(std::time::UNIX_EPOCH) {
            Ok(after) => Date::from_unix(seconds(after)),
            Err(before) => {
                let before = before.duration();
                Date::from_unix((-seconds(before)).saturating_sub((before.subsec_nanos() > 0).into()))
            }
        }
    }
}

const fn month_length(year: i64, month: i64) -> i64 {
    match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 0,
    }
}

/// Returns year, month and day of a time.
fn civil(unix: i64) -> (u16, u8, u8) {
    // As in `Date::new`, the year begins in March; 146,097 days are four centuries.
    let days = unix.div_euclid(86_400) + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let day = day - (153 * ((month + 9) % 12) + 2) / 5 + 1;
    ((era * 400 + year + next) as u16, month as u8, day as u8)
}

/// The formats: `w` and `W` are the short and the long name of a day, `m` is a month, the letters of [`FIELDS`] are
/// digits, `_` may be a space instead; the rest stands for itself.
const FORMATS: [&[u8]; 3] = [b"w, DD m YYYY hh:nn:ss GMT", b"W, DD-m-YY hh:nn:ss GMT", b"w m _D hh:nn:ss YYYY"];
const FIELDS: &[u8] = b"YmDhns";

/// Reads a date. A year of two digits is in the century that ends with `latest`.
fn parse(text: &[u8], latest: i64) -> Option<Date> {
    let text = text.trim_ascii();
    let (format, fields) = FORMATS.iter().find_map(|format| read(text, format).map(|fields| (*format, fields)))?;
    let [year, month, day, hour, minute, second] = fields;
    let year =
        if format.first() == Some(&b'W') { latest - (latest - i64::from(year)).rem_euclid(100) } else { year.into() };
    Date::new(year as u16, month as u8, day as u8, hour as u8, minute as u8, second as u8)
}

/// Reads the fields of a format.
fn read(text: &[u8], format: &[u8]) -> Option<[u16; 6]> {
    let mut fields = [0; 6];
    let mut rest = text;
    for code in format {
        let length = match code {
            b'w' | b'm' => 3,
            b'W' => rest.iter().take_while(|byte| byte.is_ascii_alphabetic()).count(),
            _ => 1,
        };
        let (piece, tail) = rest.split_at_checked(length)?;
        rest = tail;
        let digit = match piece {
            [digit @ b'0'..=b'9'] => Some(u16::from(digit - b'0')),
            _ => None,
        };
        let (field, value) = match code {
            b'w' => (0, DAYS.iter().position(|day| day.as_bytes().starts_with(piece)).map(|_| 0)),
            b'W' => (0, DAYS.iter().position(|day| day.as_bytes() == piece).map(|_| 0)),
            b'm' => (1, MONTHS.iter().position(|month| month.as_bytes() == piece).map(|index| index as u16 + 1)),
            b'_' => (2, if piece == b" " { Some(0) } else { digit }),
            code => match FIELDS.iter().position(|field| field == code) {
                Some(field) => (field, digit),
                None => (0, if piece == [*code] { Some(0) } else { None }),
            },
        };
        // Names and literals are in no field; a year has only digits, so adding 0 where nothing was leaves it alone.
        let value = value?;
        if let Some(field) = fields.get_mut(field)
            && (digit.is_some() || value > 0)
        {
            *field = *field * 10 + value;
        }
    }
    rest.is_empty().then_some(fields)
}

fn push_name(out: &mut String, name: Option<&&str>) {
    out.push_str(name.and_then(|name| name.get(..3)).unwrap_or_default());
}

fn push_two(out: &mut String, number: u8) {
    for digit in [number / 10, number % 10] {
        out.push(char::from(b'0' + digit));
    }
}

#[cfg(test)]
#[path = "date_tests.rs"]
mod tests;
