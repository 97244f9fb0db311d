//! Multipart forms through the public API: the public cases, each form whole, byte by byte and in two pieces.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on may stop there")]

mod cases;
mod upload;

use cases::{Case, base64};
use upload::{Limits, Part, outcome};

/// Rows of busboy's tests that say something else here, and why.
const BUSBOY: [(&str, &str); 2] = [
    ("Empty content-type and empty content-disposition", "RFC 7578, section 4.2: a part without a name is refused"),
    ("Oversized part header", "a part whose head is over the limit is refused with the form, not skipped"),
];

#[test]
fn busboy() {
    for case in cases::read("multipart-busboy.json") {
        let chunks: Vec<u8> =
            case.list("chunks_b64").iter().flat_map(|chunk| base64(chunk.as_str().unwrap())).collect();
        let content_type = format!("multipart/form-data; boundary={}", case.text("boundary"));
        // Busboy counts fields and files apart and goes on without what is over; here it is one limit, and a 413.
        let limits = case.get("limits");
        let parts = if !limits["fields"].is_null() || !limits["files"].is_null() { Some(1) } else { None };
        let (status, parts) = outcome(&content_type, &chunks, Limits { parts, ..Limits::default() });
        let expected = case.list("expected");
        let ends_well = expected.iter().all(|event| event.get("error").is_none() && event.get("event").is_none());
        if BUSBOY.iter().any(|(id, _)| *id == case.text("id")) {
            assert!((400..500).contains(&status), "{}", case.text("id"));
            continue;
        }
        assert_eq!(status == 204, ends_well, "{}", case.text("id"));
        let is_only_files = !case.get("options")["events"].is_null();
        let parts: Vec<_> = parts.iter().filter(|part| !is_only_files || part.full_file_name.is_some()).collect();
        let complete = |event: &&serde_json::Value| event.get("kind").is_some() && event.get("error").is_none();
        let expected: Vec<_> = expected.iter().filter(complete).collect();
        assert_eq!(parts.len(), expected.len(), "{}", case.text("id"));
        for (part, expected) in parts.iter().zip(expected) {
            assert_eq!(part.name, expected["name"], "{}", case.text("id"));
            let keeps_path = case.get("options")["preservePath"] == true;
            let file_name = if keeps_path { &part.full_file_name } else { &part.file_name };
            assert_eq!(file_name.as_deref(), expected["filename"].as_str());
            let kind = part.content_type.as_deref().unwrap_or("text/plain").split(';').next();
            assert_eq!(kind, expected["mimeType"].as_str());
            let data = match expected["kind"].as_str() {
                Some("field") => expected["value"].as_str().unwrap().as_bytes().to_vec(),
                _ => base64(expected["data_b64"].as_str().unwrap()),
            };
            assert!(part.data == data, "{}", case.text("id"));
        }
    }
}

#[test]
fn python_multipart() {
    for case in cases::read("multipart-python-multipart.json") {
        let content_type = format!("multipart/form-data; boundary={}", case.text("boundary"));
        let (status, parts) = outcome(&content_type, &base64(case.text("input_b64")), Limits::default());
        let expected = case.get("expected");
        if expected["outcome"] == "error" {
            assert_eq!(status, 400, "{}", case.text("id"));
            continue;
        }
        assert_eq!(status, 204, "{}", case.text("id"));
        let expected = expected["parts"].as_array().unwrap();
        assert_eq!(parts.len(), expected.len(), "{}", case.text("id"));
        for (part, expected) in parts.iter().zip(expected) {
            // RFC 7578, section 4.7: Content-Transfer-Encoding is not applied, so that the part is what was sent.
            let is_encoded = part.headers.iter().any(|(name, _)| name == "content-transfer-encoding");
            let data = if is_encoded { base64(str::from_utf8(&part.data).unwrap()) } else { part.data.clone() };
            assert_eq!(part.name, expected["name"]);
            assert_eq!(part.full_file_name.as_deref(), expected["filename"].as_str());
            if let (Some(kind), true) = (expected["content_type"].as_str(), part.content_type.is_some()) {
                assert_eq!(part.content_type.as_deref(), Some(kind));
            }
            assert_eq!(data, base64(expected["data_b64"].as_str().unwrap()), "{}", case.text("id"));
        }
    }
}

#[test]
fn names_from_browsers() {
    for case in cases::read("multipart-names-html.json") {
        let name = format!("Content-Disposition: form-data; name=\"{0}\"; filename=\"{0}\"\r\n\r\n", case.text("wire"));
        let body = ["--XX\r\n", &name, "\r\n--XX--\r\n"].concat();
        let (_, parts) = outcome("multipart/form-data; boundary=XX", body.as_bytes(), Limits::default());
        // What browsers do to names can't be undone for a literal `%22`: they don't escape the percent sign.
        let value = if case.text("value") == "a%22b" { "a\"b" } else { case.text("value") };
        assert_eq!((parts[0].name.as_str(), parts[0].full_file_name.as_deref()), (value, Some(value)));
    }
}

#[test]
fn bug_reports() {
    for case in cases::read("reports-multipart.json") {
        let given = case.get("given");
        let limits = Limits {
            parts: given["limits"]["max_parts"].as_u64().map(|parts| parts as usize),
            route: given["limits"]["max_body_bytes"].as_u64().map(|bytes| bytes as usize),
            ..Limits::default()
        };
        let body = base64(case.text("input_b64"));
        let (status, parts) = outcome(given["content_type"].as_str().unwrap(), &body, limits);
        let mut expected = case.get("expected").clone();
        if let Some(choices) = expected["any_of"].as_array() {
            // The preferred one comes first.
            expected = choices[0].clone();
        }
        let wanted = match expected["outcome"].as_str() {
            Some("ok") => vec![204],
            _ => expected["status"].as_u64().map(|status| vec![status]).unwrap_or_else(|| {
                expected["status_any_of"].as_array().unwrap().iter().flat_map(|status| status.as_u64()).collect()
            }),
        };
        assert!(wanted.contains(&status.into()), "{}: {status}", case.text("id"));
        let complete = expected.get("parts").or(expected.get("parts_before_error"));
        let complete = complete.and_then(|parts| parts.as_array()).cloned().unwrap_or_default();
        if status == 204 || expected.get("parts_before_error").is_some() {
            assert_eq!(parts.len(), complete.len(), "{}", case.text("id"));
        }
        for (part, expected) in parts.iter().zip(&complete) {
            check_reported(&case, part, expected);
        }
    }
}

/// Compares a part with all that a row says of it.
#[track_caller]
fn check_reported(case: &Case, part: &Part, expected: &serde_json::Value) {
    let id = case.text("id");
    for (key, value) in expected.as_object().unwrap() {
        let text = value.as_str();
        match key.as_str() {
            "name" => assert_eq!(Some(part.name.as_str()), text, "{id}"),
            "data" => assert_eq!(part.data, cases::unescaped(text.unwrap()), "{id}"),
            "filename" | "filename_raw" => assert_eq!(part.full_file_name.as_deref(), text, "{id}"),
            "safe_filename" => assert_eq!(part.file_name.as_deref(), text, "{id}"),
            "filename_any_of" => assert_eq!(part.file_name.as_deref(), value[0].as_str(), "{id}"),
            "content_type" => assert_eq!(part.content_type.as_deref(), text, "{id}"),
            "header_absent" => {
                let is_there = |name: &serde_json::Value| {
                    part.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name.as_str().unwrap()))
                };
                assert!(!value.as_array().unwrap().iter().any(is_there), "{id}");
            }
            "headers" => {
                for (name, value) in value.as_object().unwrap() {
                    let found = part.headers.iter().find(|(known, _)| known == name);
                    assert_eq!(found.map(|(_, value)| value.as_str()), value.as_str(), "{id}");
                }
            }
            other => panic!("{id}: nobody looks at `{other}`"),
        }
    }
}
