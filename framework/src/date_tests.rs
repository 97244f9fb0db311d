//! Tables for `date.rs`: what is a date, and what is none.

use super::*;
use std::time::{Duration, UNIX_EPOCH};

#[track_caller]
fn check(text: &str, expected: Option<i64>) {
    assert_eq!(Date::parse(text).map(Date::unix), expected, "{text}");
}

#[test]
fn three_formats() {
    // The examples of RFC 9110, section 5.6.7.
    check("Sun, 06 Nov 1994 08:49:37 GMT", Some(784111777));
    check("Sunday, 06-Nov-94 08:49:37 GMT", Some(784111777));
    check("Sun Nov  6 08:49:37 1994", Some(784111777));
    check("Wed Nov 16 08:49:37 1994", Some(784975777));
    check("Thu, 01 Jan 1970 00:00:00 GMT", Some(0));
    check("Wed, 31 Dec 1969 23:59:59 GMT", Some(-1));
    check("Tue, 29 Feb 2000 12:00:00 GMT", Some(951825600));
    check(" \tSun, 06 Nov 1994 08:49:37 GMT ", Some(784111777));
    // A leap second is the one after it; the day's name is not compared.
    check("Sat, 31 Dec 2016 23:59:60 GMT", Some(1483228800));
    check("Mon, 06 Nov 1994 08:49:37 GMT", Some(784111777));
}

#[test]
fn two_digits() {
    check("Thursday, 01-Jan-70 00:00:00 GMT", Some(0));
    check("Friday, 31-Dec-99 23:59:59 GMT", Some(946684799));
    check("Saturday, 01-Jan-00 00:00:00 GMT", Some(946684800));
    check("Tuesday, 31-Dec-69 23:59:59 GMT", Some(3155759999));
    let now = Date::new(2025, 7, 1, 12, 0, 0).unwrap();
    for (text, year) in [
        ("Monday, 01-Jul-75 12:00:00 GMT", 2075),
        ("Monday, 01-Jul-75 12:00:01 GMT", 1975),
        ("Monday, 02-Jul-75 00:00:00 GMT", 1975),
        ("Monday, 01-Jan-76 00:00:00 GMT", 1976),
        ("Monday, 01-Jan-70 00:00:00 GMT", 2070),
        ("Monday, 01-Jan-25 00:00:00 GMT", 2025),
        ("Mon, 01 Jan 2099 00:00:00 GMT", 2099),
    ] {
        assert_eq!(Date::parse_at(text, now).map(|date| civil(date.0).0), Some(year), "{text}");
    }
}

#[test]
fn no_dates() {
    for text in [
        "",
        "0",
        "foo",
        "Sun",
        "Sun,",
        "Sun, 06 Nov 1994",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 06 Nov 1994 08:49:37 GMT x",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 94 08:49:37 GMT",
        "sun, 06 nov 1994 08:49:37 gmt",
        "Sun 06 Nov 1994 08:49:37 GMT",
        "Sun,06 Nov 1994 08:49:37 GMT",
        "Xxx, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT",
        "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sunday Nov  6 08:49:37 1994",
        "Sun Nov 6 08:49:37 1994",
        "Sun Nov  6 08:49:37 1994 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 29 Feb 1900 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 0000 08:49:37 GMT",
        "Sun, +6 Nov 1994 08:49:37 GMT",
        "Sun, 06 N\u{f6}v 1994 08:49:37 GMT",
    ] {
        check(text, None);
    }
}

#[test]
fn every_day_survives_the_round_trip() {
    let mut last = i64::MIN;
    for days in (FIRST / 86_400)..=(LAST / 86_400) {
        let date = Date::from_unix(days * 86_400 + days.rem_euclid(86_400));
        let (year, month, day) = civil(date.0);
        assert_eq!(Date::new(year, month, day, 0, 0, 0).map(|date| date.0), Some(days * 86_400));
        assert!(date.0 > last);
        last = date.0;
        if days % 97 == 0 {
            check(&date.to_http(), Some(date.0));
            assert_eq!(date.to_http().len(), 29);
        }
    }
}

#[test]
fn the_ends() {
    assert_eq!(Date::from_unix(i64::MIN).to_http(), "Mon, 01 Jan 0001 00:00:00 GMT");
    assert_eq!(Date::from_unix(i64::MAX).to_http(), "Fri, 31 Dec 9999 23:59:59 GMT");
    assert_eq!(Date::new(9999, 12, 31, 23, 59, 60), Some(Date(LAST)));
    for (time, unix) in [
        (UNIX_EPOCH + Duration::from_millis(1999), 1),
        (UNIX_EPOCH - Duration::from_millis(1), -1),
        (UNIX_EPOCH - Duration::from_secs(1), -1),
    ] {
        assert_eq!(Date::from(time).unix(), unix);
    }
}
