//! Dates of the Gregorian calendar, from year 1 to 9999.

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::str::FromStr;

/// A day.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date {
    year: i32,
    month: i32,
    day: i32,
}

/// A day of the week; its number counts from Monday, 0.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Weekday {
    Monday,
    Tuesday,
    Wednesday,
    Thursday,
    Friday,
    Saturday,
    Sunday,
}

const WEEK: [Weekday; 7] = [
    Weekday::Monday,
    Weekday::Tuesday,
    Weekday::Wednesday,
    Weekday::Thursday,
    Weekday::Friday,
    Weekday::Saturday,
    Weekday::Sunday,
];

impl Date {
    /// Returns the day, if there is one.
    pub fn new(year: i32, month: i32, day: i32) -> Option<Date> {
        let exists =
            (1..=9999).contains(&year) && (1..=12).contains(&month) && (1..=length(year, month)).contains(&day);
        exists.then_some(Date { year, month, day })
    }

    /// Returns how many days after the first of January of the year 1 it is.
    pub fn number(self) -> i32 {
        let years = self.year - 1;
        years * 365 + years / 4 - years / 100 + years / 400 + self.day_of_year() - 1
    }

    /// Returns the day of this number.
    fn from_number(number: i32) -> Option<Date> {
        let mut year = number / 366 + 1;
        while Date::new(year + 1, 1, 1).is_some_and(|next| next.number() <= number) {
            year += 1;
        }
        let mut rest = number - Date::new(year, 1, 1)?.number();
        let mut month = 1;
        while rest >= length(year, month) {
            rest -= length(year, month);
            month += 1;
        }
        Date::new(year, month, rest + 1)
    }

    /// Returns the day of the week.
    pub fn weekday(self) -> Weekday {
        // The first of January of the year 1 was a Monday.
        WEEK[self.number().rem_euclid(7) as usize]
    }

    /// Returns the number of the day in its year, from 1.
    pub fn day_of_year(self) -> i32 {
        (1..self.month).map(|month| length(self.year, month)).sum::<i32>() + self.day
    }

    /// Tells whether its year has 366 days.
    pub fn is_in_leap_year(self) -> bool {
        is_leap(self.year)
    }

    /// Returns the day so much later: first the years and months, where a day that the month lacks becomes its last,
    /// then the days.
    pub fn shifted(self, years: i32, months: i32, days: i32) -> Option<Date> {
        let month = self.year.checked_add(years)?.checked_mul(12)?.checked_add(self.month - 1)?.checked_add(months)?;
        let (year, month) = (month.div_euclid(12), month.rem_euclid(12) + 1);
        let moved = Date::new(year, month, self.day.min(length(year, month)))?;
        Date::from_number(moved.number().checked_add(days).filter(|number| *number >= 0)?)
    }

    /// Counts the days from Monday to Friday from this day on, up to the other and without it.
    pub fn workdays_until(self, other: Date) -> i32 {
        // In a whole number of weeks five of seven days are.
        let before = |number: i32| number / 7 * 5 + (number % 7).min(5);
        before(other.number()) - before(self.number())
    }
}

fn is_leap(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn length(year: i32, month: i32) -> i32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Reads `2026-12-24`.
impl FromStr for Date {
    type Err = ();

    fn from_str(text: &str) -> Result<Date, ()> {
        let &[a, b, c, d, b'-', e, f, b'-', g, h] = text.as_bytes() else { return Err(()) };
        let number = |digits: &[u8]| {
            digits
                .iter()
                .try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + i32::from(digit - b'0')))
        };
        let parts = (number(&[a, b, c, d]), number(&[e, f]), number(&[g, h]));
        let (Some(year), Some(month), Some(day)) = parts else { return Err(()) };
        Date::new(year, month, day).ok_or(())
    }
}

impl Serialize for Date {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = *b"0000-00-00";
        let mut put = |at: &[usize], mut number: i32| {
            for at in at {
                text[*at] += (number % 10) as u8;
                number /= 10;
            }
        };
        put(&[3, 2, 1, 0], self.year);
        put(&[6, 5], self.month);
        put(&[9, 8], self.day);
        serializer.serialize_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Date, D::Error> {
        let text = <&str>::deserialize(deserializer)?;
        text.parse().map_err(|()| Error::invalid_value(Unexpected::Str(text), &"a date such as 2026-12-24"))
    }
}
