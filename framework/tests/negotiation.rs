//! What a client likes best, through the public API.

use serde::Deserialize;
use serde_json::{Value, json};
use tabi::testing::{Client, Reply};
use tabi::{Accept, Headers, Request, Response, Result, Router};

#[derive(Deserialize)]
struct Cases {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    header: Option<String>,
    offers: Option<Vec<String>>,
    want: String,
    expected: Value,
}

fn accept<'a>(field: &str, headers: &'a Headers) -> Accept<'a> {
    match field {
        "accept" => Accept::media_types(headers),
        "accept-language" => Accept::languages(headers),
        "accept-encoding" => Accept::encodings(headers),
        _ => Accept::charsets(headers),
    }
}

fn headers(field: &str, values: &[&str]) -> Headers {
    let mut headers = Headers::new();
    for value in values {
        headers.append(field, value).expect("a field value");
    }
    headers
}

#[test]
fn chooses_as_negotiator_does() {
    for (field, file) in [
        ("accept", include_str!("cases/negotiate-accept.json")),
        ("accept-language", include_str!("cases/negotiate-accept-language.json")),
        ("accept-encoding", include_str!("cases/negotiate-accept-encoding.json")),
        ("accept-charset", include_str!("cases/negotiate-accept-charset.json")),
    ] {
        for case in serde_json::from_str::<Cases>(file).expect("a file of cases").cases {
            // One field, and the same as several (RFC 9110, section 5.3), where no comma is quoted.
            let one: Vec<&str> = case.header.iter().map(String::as_str).collect();
            let many: Vec<&str> = one.iter().flat_map(|value| value.split(',')).collect();
            let lists = if one.iter().any(|value| value.contains('"')) { vec![one] } else { vec![one, many] };
            for values in lists {
                let headers = headers(field, &values);
                let accept = accept(field, &headers);
                let found = match (&case.offers, case.want.as_str()) {
                    (None, "best") => json!(accept.listed().first()),
                    (None, _) => json!(accept.listed()),
                    (Some(offers), want) => {
                        let offers: Vec<&str> = offers.iter().map(String::as_str).collect();
                        if want == "best" { json!(accept.best(&offers)) } else { json!(accept.ranked(&offers)) }
                    }
                };
                assert_eq!(found, case.expected, "{field}: {values:?} {:?} {}", case.offers, case.want);
            }
        }
    }
}

#[test]
fn does_not_repeat_reported_bugs() {
    let rows: Vec<Value> = serde_json::from_str(include_str!("cases/reports-negotiate.json")).expect("rows");
    assert_eq!(rows.len(), 5);
    for row in rows {
        let (field, value) = row["input"].as_str().and_then(|input| input.split_once(": ")).expect("a field");
        let offers: Vec<String> =
            serde_json::from_value(row["given"]["offers_in_server_order"].clone()).expect("offers");
        let offers: Vec<&str> = offers.iter().map(String::as_str).collect();
        let field = field.to_ascii_lowercase();
        let headers = headers(&field, &[value]);
        assert_eq!(json!(accept(&field, &headers).best(&offers)), row["expected"]["chosen"], "{}", row["id"]);
    }
}

#[track_caller]
fn check(field: &str, value: &str, offers: &[&str], expected: &[&str]) {
    let headers = headers(field, &[value]);
    let accept = accept(field, &headers);
    assert_eq!(accept.ranked(offers), expected, "{value}");
    assert_eq!(accept.best(offers), expected.first().copied(), "{value}");
}

#[test]
fn weights() {
    let check = |value: &str, expected: &[&str]| check("accept", value, &["a/a", "b/b"], expected);
    check("a/a;q=0.001, b/b;q=0.002", &["b/b", "a/a"]);
    check("a/a;q=1.000, b/b;q=0.999", &["a/a", "b/b"]);
    check("a/a;Q=0.1, b/b;q=\"0.2\"", &["b/b", "a/a"]);
    check("a/a ; q=0.1 , b/b ; q=0.2", &["b/b", "a/a"]);
    check("a/a;q=0.00001, b/b;q=0.0000", &["a/a"]);
    check("a/a;q=, b/b", &["b/b"]);
    check("a/a;q, b/b", &["b/b"]);
    check("a/a;q=-1, b/b", &["b/b"]);
    check("a/a;q=1.1, b/b", &["b/b"]);
    check("a/a;q=2, b/b", &["b/b"]);
    check("a/a;q=1e0, b/b", &["b/b"]);
    check("a/a;q=0.5.5, b/b", &["b/b"]);
    check("a/a;q=99999999999999999999, b/b", &["b/b"]);
    check("a/a;q=0.99999999999999999999999, b/b", &["b/b", "a/a"]);
    check("a/a;q=0, */*", &["b/b"]);
    check("*/*;q=0", &[]);
}

#[test]
fn malformed_fields() {
    let check = |value: &str, expected: &[&str]| check("accept", value, &["a/a", "b/b"], expected);
    check("", &["a/a", "b/b"]);
    check(" , ,, ", &["a/a", "b/b"]);
    for value in ["a", "a/", "/a", "/", "a/a/a", "a a/b", "a/a;q=x"] {
        check(value, &["a/a", "b/b"]);
    }
    check("b/b, a /a", &["b/b"]);
    check("b/b, a/", &["b/b"]);
    check("b/b, /a", &["b/b"]);
    check("b/b, a/a/a", &["b/b"]);
    check("b/b, *", &["b/b"]);
    check("b/b, */a", &["b/b"]);
    check("a/a;x=\"open, b/b", &[]);
    check("b/b;;;q=0.5;, a/a", &["a/a", "b/b"]);
    check("\u{e4}/a, b/b", &["b/b"]);
    let mut latin = Headers::new();
    latin.append("accept", b"\xe4/a, b/b").expect("obs-text is allowed");
    assert_eq!(Accept::media_types(&latin).best(&["a/a", "b/b"]), Some("b/b"));
}

#[test]
fn parameters_of_media_types() {
    let offers = ["text/html", "text/html; charset=utf-8", "text/html;level=1", "application/json"];
    let check = |value: &str, expected: &[&str]| check("accept", value, &offers, expected);
    check("text/html", &offers[..3]);
    check("text/html;level=1", &offers[2..3]);
    check("TEXT/HTML;CHARSET=\"UTF-8\"", &offers[1..2]);
    check("text/html;level=1;q=0, text/*", &offers[..2]);
    check("text/html;level=\"\";q=0, text/html", &offers[..3]);
    check("text/html;q=0.5, text/html;level=1", &[offers[2], offers[0], offers[1]]);
    check("application/signed-exchange;v=b3;q=0.9, application/json;q=0.1", &offers[3..]);
}

#[test]
fn languages() {
    let check = |value: &str, offers: &[&str], expected: &[&str]| check("accept-language", value, offers, expected);
    check("da, fr;q=0.8", &["en", "fr"], &["fr"]);
    check("zh-Hant-TW", &["zh", "zh-Hant", "en"], &["zh-Hant", "zh"]);
    check("zh", &["zh-Hant-TW", "zhx"], &["zh-Hant-TW"]);
    check("de-de", &["de-DE-1996", "de-DE", "de"], &["de-DE", "de", "de-DE-1996"]);
    check("en-US;q=0, en", &["en-US", "en"], &["en"]);
    check("en-US;q=0, *;q=0.5", &["en", "de", "en-US"], &["en", "de"]);
    check("en;q=0, *", &["en-GB", "de"], &["de"]);
    check("de-AT, en;q=0.9", &["en", "de"], &["de", "en"]);
    check("*-CH", &["de-CH"], &[]);
}

#[test]
fn codings() {
    let check = |value: &str, offers: &[&str], expected: &[&str]| check("accept-encoding", value, offers, expected);
    check("x-gzip", &["gzip", "br"], &["gzip"]);
    check("gzip, br", &["br", "gzip"], &["gzip", "br"]);
    check("", &["gzip", "identity"], &["identity"]);
    check("gzip;q=0", &["gzip", "identity"], &["identity"]);
    check("br;q=1.0, gzip;q=0.8, *;q=0.1", &["gzip", "zstd", "br"], &["br", "gzip", "zstd"]);
}

async fn page(req: Request) -> Result {
    let kind = req.accepts(&["text/html", "application/json"])?;
    let language = req.accepts_language(&["en", "de"]);
    let page = match &*kind {
        "application/json" => Response::json(language.as_str())?,
        _ => Response::html(String::from(language.as_str())),
    };
    Ok(language.respond(page).with_vary("origin")).map(|page| kind.respond(page))
}

async fn encoded(req: Request) -> Result {
    let charset = req.accepts_charset(&["utf-8"])?;
    let coding = req.accepts_encoding(&["br", "gzip"]);
    Ok(charset.respond(coding.respond(String::from(coding.as_str()))))
}

#[test]
fn answers_tell_what_was_looked_at() {
    let client = Client::new(Router::new().get("/", page).get("/encoded", encoded));
    let told = |reply: Reply| {
        let names = ["content-type", "content-language", "content-encoding", "vary"];
        let fields = names.map(|name| reply.header(name).unwrap_or_default().to_string());
        (reply.status().code(), fields.join(" | "))
    };
    for (path, field, value, status, fields) in [
        ("/", "accept", "*/*", 200, "text/html | en |  | accept-language, origin, accept"),
        ("/", "accept", "application/json", 200, "application/json | en |  | accept-language, origin, accept"),
        ("/", "accept", "image/png", 406, "text/plain; charset=utf-8 |  |  | accept"),
        ("/", "accept-language", "fr, de;q=0.1", 200, "text/html | de |  | accept-language, origin, accept"),
        ("/", "accept-language", "fr", 200, "text/html | en |  | accept-language, origin, accept"),
        (
            "/encoded",
            "accept-encoding",
            "gzip",
            200,
            "text/plain; charset=utf-8 |  | gzip | accept-encoding, accept-charset",
        ),
        (
            "/encoded",
            "accept-encoding",
            "*;q=0",
            200,
            "text/plain; charset=utf-8 |  |  | accept-encoding, accept-charset",
        ),
        ("/encoded", "accept-charset", "latin1", 406, "text/plain; charset=utf-8 |  |  | accept-charset"),
    ] {
        let reply = client.get(path).header(field, value).send();
        assert_eq!(told(reply), (status, fields.to_string()), "{path} {field}: {value}");
    }
    let refused = client.get("/").header("accept", "image/png").send();
    assert_eq!(refused.text(), "not acceptable; there is text/html, application/json");
}

#[test]
fn a_field_of_any_length_is_read() {
    let value = vec!["a/b;q=0.5"; 20_000].join(",");
    let headers = headers("accept", &[&value, "c/d"]);
    let accept = Accept::media_types(&headers);
    assert_eq!((accept.best(&["a/b", "c/d"]), accept.listed().len()), (Some("c/d"), 100));
}

/// What the Java frameworks before this one did with `Accept` and `Accept-Language`, and what their users asked for.
#[test]
fn what_ninja_got_wrong() {
    let offers = ["text/html", "application/json", "application/xml"];
    let media = |value: &str, expected: &[&str]| check("accept", value, &offers, expected);
    // Nothing is named, so the first offer is good; and what is excluded is not chosen.
    media("", &offers);
    media("application/protobuf;q=0, application/json;q=0.7", &["application/json"]);
    // HTML was chosen wherever it stood; a range never matched; parameters beat weights; a bad weight was a 500.
    media("application/json, text/html;q=0.1", &["application/json", "text/html"]);
    media("application/*", &["application/json", "application/xml"]);
    media("text/html;level=1;q=0.1, application/json", &["application/json"]);
    media("text/html;q=high, application/json;q=0.5", &["application/json"]);
    // What can't be satisfied was a 400 after the handler had run; it is a 406 before.
    media("image/png", &[]);
    // Only the first language counted.
    check("accept-language", "da, fr;q=0.8", &["en", "fr"], &["fr"]);
    check("accept-language", "de-DE", &["en", "de"], &["de"]);
}

#[test]
fn random_fields_are_read_without_harm() {
    let mut state = 7u32;
    let mut random = move |below: usize| {
        // Xorshift: the same numbers in each run.
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as usize % below
    };
    let pieces = [
        "a/a", "b/*", "*/*", "*", "en", "gzip", "identity", ";q=", "0", "1", ".5", ",", ";", "=", "\"", "\\", "-", " ",
        "\u{e4}",
    ];
    let offers = ["a/a", "b/b;q=1", "en", "en-GB", "gzip", "identity", "", ";", "\u{e4}"];
    for _ in 0..20_000 {
        let value: String = (0..random(12)).map(|_| pieces[random(pieces.len())]).collect();
        for field in ["accept", "accept-language", "accept-encoding", "accept-charset"] {
            let headers = headers(field, &[&value]);
            let accept = accept(field, &headers);
            let ranked = accept.ranked(&offers);
            assert_eq!(accept.best(&offers), ranked.first().copied(), "{field}: {value}");
            assert!(ranked.iter().all(|offer| accept.best(&[offer]) == Some(offer)), "{field}: {value}");
            assert!(accept.listed().iter().all(|name| value.contains(name) || !name.contains(',')), "{field}: {value}");
        }
    }
}
