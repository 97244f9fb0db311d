//! Content-Disposition of responses: written for old and new clients, read as others write it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on may stop there")]

mod cases;

use std::collections::BTreeMap;
use tabi::{Disposition, Response};

#[track_caller]
fn check(file_name: &str, field: &str, read: Option<&str>) {
    let response = Response::new("").with_attachment(file_name);
    assert_eq!(response.status().code(), 200, "{file_name:?}");
    assert_eq!(response.header("content-disposition"), Some(field), "{file_name:?}");
    assert_eq!(Disposition::parse(field).file_name(), read, "{file_name:?}");
    assert_eq!(Disposition::parse(field).kind(), "attachment");
}

#[test]
fn attachments() {
    check("a b.txt", "attachment; filename=\"a b.txt\"", Some("a b.txt"));
    check("a;b'.txt", "attachment; filename=\"a;b'.txt\"", Some("a;b'.txt"));
    check("a\"b", "attachment; filename=\"a_b\"; filename*=UTF-8''a%22b", Some("a\"b"));
    check("100%41", "attachment; filename=\"100_41\"; filename*=UTF-8''100%2541", Some("100%41"));
    check("na\u{ef}ve", "attachment; filename=\"na_ve\"; filename*=UTF-8''na%C3%AFve", Some("na\u{ef}ve"));
    check("../../etc/passwd", "attachment; filename=\"passwd\"", Some("passwd"));
    check("C:\\a\\b.txt", "attachment; filename=\"b.txt\"", Some("b.txt"));
    check("a\r\nb: c\0", "attachment; filename=\"a__b: c_\"", Some("a__b: c_"));
    check("", "attachment", None);
    check("..", "attachment", None);
    assert_eq!(Disposition::inline("a.txt").to_http(), "inline; filename=\"a.txt\"");
}

#[test]
fn file_names_have_no_folders() {
    for (field, name) in [
        ("attachment; filename=\"../a\"", Some("a")),
        ("attachment; filename*=UTF-8''..%2Fa", Some("a")),
        ("attachment; filename=\"..\"", None),
        ("attachment; filename*=UTF-8''%ff; filename=a", Some("a")),
        ("attachment; filename=\"a\"b", None),
    ] {
        assert_eq!(Disposition::parse(field).file_name(), name, "{field}");
    }
}

#[test]
fn public_cases() {
    for case in cases::read("content-disposition-parse.json") {
        // The source of this row builds its input with code, which is not in the file; this is what it builds.
        let lost = "form-data; name*=UTF-8''foo%0Abar; filename*=UTF-8''%22foo%0Dbar%22.txt";
        let input = if case.get("expected")["parameters"]["name*"].is_null() { case.text("input") } else { lost };
        let found = Disposition::parse(input);
        let expected = case.get("expected");
        assert_eq!(Some(found.kind()), expected["type"].as_str(), "{input}");
        let found: BTreeMap<_, _> = found.iter().collect();
        let parameters = expected["parameters"].as_object().unwrap();
        let expected = parameters.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
        assert_eq!(found, expected, "{input}");
    }
}
