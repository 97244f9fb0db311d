//! Conditions against tags and times.

use super::*;

const TAG: &str = "\"1-2\"";
/// 1,000,000,000 seconds, and a little more: times of files are finer than dates.
const MODIFIED: Duration = Duration::from_millis(1_000_000_000_500);
const DATE: &str = "Sun, 09 Sep 2001 01:46:40 GMT";
const EARLIER: &str = "Sun, 09 Sep 2001 01:46:39 GMT";

#[track_caller]
fn check(tag: &str, fields: &[(&str, &str)], wanted: Option<u16>) {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        let name = hyper::header::HeaderName::try_from(*name).expect("a name");
        headers.append(name, HeaderValue::try_from(*value).expect("a value"));
    }
    let got = precondition(&headers, tag, UNIX_EPOCH + MODIFIED).map(|status| status.as_u16());
    assert_eq!(got, wanted, "{tag} {fields:?}");
}

#[test]
fn conditions_in_their_order() {
    check(TAG, &[], None);
    for (field, wanted) in [
        ("\"1-2\"", Some(304)),
        ("W/\"1-2\"", Some(304)),
        ("\"x\", \"1-2\"", Some(304)),
        ("\"x,\\\"1-2\\\"\"", None),
        ("*", Some(304)),
        ("\"1-3\"", None),
        ("1-2", None),
        ("", None),
    ] {
        check(TAG, &[("if-none-match", field)], wanted);
    }
    check("W/\"1-2\"", &[("if-none-match", "\"1-2\"")], Some(304));
    check(TAG, &[("if-none-match", "\"x\""), ("if-none-match", TAG)], Some(304));
    check(TAG, &[("if-modified-since", DATE)], Some(304));
    check(TAG, &[("if-modified-since", EARLIER)], None);
    check(TAG, &[("if-modified-since", "yesterday")], None);
    check(TAG, &[("if-none-match", "\"x\""), ("if-modified-since", DATE)], None);
    check(TAG, &[("if-match", TAG)], None);
    check(TAG, &[("if-match", "*")], None);
    check(TAG, &[("if-match", "\"x\"")], Some(412));
    check(TAG, &[("if-match", "W/\"1-2\"")], Some(412));
    check("W/\"1-2\"", &[("if-match", "W/\"1-2\"")], Some(412));
    check(TAG, &[("if-unmodified-since", DATE)], None);
    check(TAG, &[("if-unmodified-since", EARLIER)], Some(412));
    check(TAG, &[("if-match", TAG), ("if-unmodified-since", EARLIER)], None);
    check(TAG, &[("if-match", "\"x\""), ("if-none-match", TAG)], Some(412));
    check(TAG, &[("if-match", TAG), ("if-none-match", TAG)], Some(304));
}
