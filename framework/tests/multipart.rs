//! Multipart forms through the public API: tables of our own, each form whole, byte by byte and in two pieces.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on may stop there")]

mod upload;

use tabi::testing::Client;
use tabi::{Fields, Request, Result, Router};
use upload::{Limits, outcome, reader};

/// Name, file name and content of a part.
type Row<'a> = (&'a str, Option<&'a str>, &'a str);

/// Checks names, file names and contents; an `Err` is the status of a refusal.
#[track_caller]
fn check(body: &str, expected: Result<&[Row<'_>], u16>) {
    let (status, parts) = outcome("multipart/form-data; boundary=XX", body.as_bytes(), Limits::default());
    let parts: Vec<_> = parts
        .iter()
        .map(|part| (part.name.as_str(), part.full_file_name.as_deref(), str::from_utf8(&part.data).unwrap()))
        .collect();
    let outcome = if status == 204 { Ok(&*parts) } else { Err(status) };
    assert_eq!(outcome, expected, "{body:?}");
}

const A: &str = "Content-Disposition: form-data; name=a\r\n\r\n";

#[test]
fn delimiters() {
    let a = |content: &str| [A, content].concat();
    for (body, expected) in [
        // Preamble and epilogue.
        (["pre\r\namble\r\n--XX\r\n", &a("1"), "\r\n--XX--"].concat(), Some("1")),
        (["--YY\r\n", &a("1"), "\r\n--XX--"].concat(), None),
        ("preamble\r\n--XX--".into(), None),
        ("\r\n\r\n--XX--".into(), None),
        (["x--XX\r\n\r\n--XX\r\n", &a("1"), "\r\n--XX--"].concat(), Some("1")),
        (["--XX\r\n", &a("1"), "\r\n--XX--\r\n--XX\r\nnonsense"].concat(), Some("1")),
        (["--XX\r\n", &a("1"), "\r\n--XX--garbage"].concat(), Some("1")),
        // Content that looks like delimiters.
        (["--XX\r\n", &a("--XXX"), "\r\n--XX--"].concat(), Some("--XXX")),
        (["--XX\r\n", &a("--XX"), "\r\n--XX--"].concat(), None),
        (["--XX\r\n", &a("x--XX--"), "\r\n--XX--"].concat(), Some("x--XX--")),
        (["--XX\r\n", &a("x\n--XX--\ny"), "\r\n--XX--"].concat(), Some("x\n--XX--\ny")),
        (["--XX\r\n", &a("x\r--XX--\ry"), "\r\n--XX--"].concat(), Some("x\r--XX--\ry")),
        (["--XX\r\n", &a("x\r\n--XXX\r\ny"), "\r\n--XX--"].concat(), Some("x\r\n--XXX\r\ny")),
        (["--XX\r\n", &a("x\r\n--XX-\r\ny"), "\r\n--XX--"].concat(), Some("x\r\n--XX-\r\ny")),
        (["--XX\r\n", &a("x\r\n--XX -- \r\ny"), "\r\n--XX--"].concat(), Some("x\r\n--XX -- \r\ny")),
        (["--XX\r\n", &a("x\r\n--XX\ry"), "\r\n--XX--"].concat(), Some("x\r\n--XX\ry")),
        (["--XX\r\n", &a("x\r\n--XX\ny"), "\r\n--XX--"].concat(), Some("x\r\n--XX\ny")),
        (
            ["--XX\r\n", &a("x\r\n--X\r\n--\r\n-\r\n\r\n\r"), "\r\n--XX--"].concat(),
            Some("x\r\n--X\r\n--\r\n-\r\n\r\n\r"),
        ),
        // Padding.
        (["--XX \t \r\n", &a("1"), "\r\n--XX-- \t"].concat(), Some("1")),
        (["--XX", &" ".repeat(256), "\r\n", &a("1"), "\r\n--XX--"].concat(), Some("1")),
        (["--XX", &" ".repeat(257), "\r\n", &a("1"), "\r\n--XX--"].concat(), None),
        // No content, with and without the empty line's CRLF of its own (RFC 2046, body-part).
        (["--XX\r\n", &a("\r\n--XX--")].concat(), Some("")),
        (["--XX\r\n", &a("--XX--")].concat(), Some("")),
        (["--XX\r\n", &a("\r\n\r\n--XX--")].concat(), Some("\r\n")),
        // No end.
        (String::new(), None),
        ("\r\n".into(), None),
        ("nothing of the kind".into(), None),
        ("--XX".into(), None),
        ("--XX\r\n".into(), None),
        ("--XX\n".into(), None),
        (["--XX\r\n", A.trim_end()].concat(), None),
        (["--XX\r\n", &a("")].concat(), None),
        (["--XX\r\n", &a("1")].concat(), None),
        (["--XX\r\n", &a("1\r\n--XX")].concat(), None),
        (["--XX\r\n", &a("1\r\n--XX-")].concat(), None),
        (["--XX\r\n", &a("1\r\n--XX\r\n")].concat(), None),
    ] {
        match expected {
            Some(content) => check(&body, Ok(&[("a", None, content)])),
            None => check(&body, Err(400)),
        }
    }
    check("--XX--", Ok(&[]));
    check("--XX--\r\n", Ok(&[]));
    check("\r\n--XX--\r\n", Ok(&[]));
}

#[test]
fn heads() {
    let body = |head: &str| ["--XX\r\n", head, "\r\n\r\n1\r\n--XX--\r\n"].concat();
    for (head, expected) in [
        ("Content-Disposition: form-data; name=\"a\"", Some(("a", None))),
        ("content-DISPOSITION:form-data;name=a", Some(("a", None))),
        ("Content-Disposition: FORM-DATA ; NAME = \"a\" ;", Some(("a", None))),
        ("Content-Disposition: form-data;\r\n name=\"a\";\r\n\tfilename=\"b\"", Some(("a", Some("b")))),
        ("X-A:\r\nContent-Disposition: form-data; name=a\r\nX-B: \u{e9}", Some(("a", None))),
        ("Content-Disposition: form-data; name=\"\"; filename=\"\"", Some(("", Some("")))),
        ("Content-Disposition: form-data; name=a; filename=b c.txt", Some(("a", Some("b c.txt")))),
        ("Content-Disposition: form-data; name=a; filename=\"b\\\"c.txt\"", Some(("a", Some("b\"c.txt")))),
        ("Content-Disposition: form-data; name=a; filename=\"b\\\\c\"", Some(("a", Some("b\\c")))),
        ("Content-Disposition: form-data; name=a; filename=\"b\\c\\\"", Some(("a", Some("b\\c\\")))),
        ("Content-Disposition: form-data; name=a; filename=\"%22%0D%0A%20%2e%\"", Some(("a", Some("\"\r\n%20%2e%")))),
        (
            "Content-Disposition: form-data; name=\"\u{540d}\"; filename=\"\u{1f600}\"",
            Some(("\u{540d}", Some("\u{1f600}"))),
        ),
        ("Content-Disposition: form-data; name=a; filename*=utf-8''b.txt", Some(("a", None))),
        ("Content-Disposition: form-data; xname=b; name=a; filenames=c", Some(("a", None))),
        ("Content-Disposition: form-data; x=\"; name=b\"; name=a", Some(("a", None))),
        // A part has exactly one disposition, and that one name.
        ("", None),
        ("X-A: b", None),
        ("Content-Disposition:", None),
        ("Content-Disposition: form-data", None),
        ("Content-Disposition: form-data; filename=\"b\"", None),
        ("Content-Disposition: attachment; name=\"a\"", None),
        ("Content-Disposition: form-data; name=a\r\nContent-Disposition: form-data; name=b", None),
        ("Content-Disposition: form-data; name=a; name=b", None),
        ("Content-Disposition: form-data; name=a; filename=b; filename=c", None),
        ("Content-Disposition: form-data; name=\"a", None),
        ("Content-Disposition: form-data; name=\"a\"b", None),
        // Lines that are no header fields.
        (" Content-Disposition: form-data; name=a", None),
        ("Content-Disposition : form-data; name=a", None),
        ("Content-Disposition: form-data; name=a\r\n: b", None),
        ("Content-Disposition: form-data; name=a\r\nnothing", None),
        ("Content-Disposition: form-data; name=a\nX: b", None),
        ("Content-Disposition: form-data; name=a\rX: b", None),
        ("Content-Disposition: form-data; name=a\0", None),
        ("Content-Disposition: form-data; name=a\r\nX\u{e9}: b", None),
    ] {
        match expected {
            Some((name, file_name)) => check(&body(head), Ok(&[(name, file_name, "1")])),
            None => check(&body(head), Err(400)),
        }
    }
}

#[test]
fn file_names() {
    for (sent, safe) in [
        ("a.txt", Some("a.txt")),
        ("/tmp/a.txt", Some("a.txt")),
        ("C:\\a\\b.txt", Some("b.txt")),
        ("..\\../b", Some("b")),
        ("a/", None),
        ("..", None),
        (".", None),
        ("", None),
        ("x/..", None),
        ("...", Some("...")),
        (".hidden", Some(".hidden")),
        ("\u{65e5}\u{672c}/\u{8a9e}.txt", Some("\u{8a9e}.txt")),
    ] {
        let disposition = ["Content-Disposition: form-data; name=a; filename=\"", sent, "\"\r\n\r\n"].concat();
        let body = ["--XX\r\n", &disposition, "\r\n--XX--\r\n"].concat();
        let (_, parts) = outcome("multipart/form-data; boundary=XX", body.as_bytes(), Limits::default());
        assert_eq!((parts[0].file_name.as_deref(), parts[0].full_file_name.as_deref()), (safe, Some(sent)));
    }
}

#[test]
fn names_that_are_not_utf8() {
    // Old clients send them as their page has them, which is ISO-8859-1 in all likelihood.
    let body =
        b"--XX\r\nContent-Disposition: form-data; name=\"\xe9\"; filename=\"\xfc/\xe4.txt\"\r\n\r\n\xff\r\n--XX--";
    let (status, parts) = outcome("multipart/form-data; boundary=XX", body, Limits::default());
    let names = (parts[0].name.as_str(), parts[0].file_name.as_deref(), parts[0].full_file_name.as_deref());
    assert_eq!((status, names), (204, ("\u{e9}", Some("\u{e4}.txt"), Some("\u{fc}/\u{e4}.txt"))));
    assert_eq!(parts[0].data, b"\xff");
}

#[test]
fn boundaries() {
    let long = |length| "a".repeat(length);
    for (content_type, boundary, status) in [
        ("multipart/form-data; boundary=XX".into(), "XX".into(), 204),
        ("Multipart/Form-Data;BOUNDARY=XX".into(), "XX".into(), 204),
        ("multipart/form-data; charset=utf-8; boundary=\"XX\"; x".into(), "XX".into(), 204),
        ("multipart/form-data; boundary=\"a b:/?\"".into(), "a b:/?".into(), 204),
        ("multipart/form-data; boundary=----=_Part_1.2;x=y".into(), "----=_Part_1.2".into(), 204),
        ("multipart/form-data; boundary=\"a\\b\\\"\"".into(), "ab\"".into(), 204),
        (["multipart/form-data; boundary=", &long(70)].concat(), long(70), 204),
        (["multipart/form-data; boundary=", &long(71)].concat(), long(71), 400),
        (["multipart/form-data; boundary=", &long(4092)].concat(), long(4092), 400),
        (["multipart/form-data; boundary=", &long(100_000)].concat(), long(100_000), 400),
        ("multipart/form-data; boundary=a; boundary=b".into(), "a".into(), 400),
        ("multipart/form-data; boundary=a; boundary=a".into(), "a".into(), 400),
        ("multipart/form-data; boundary=\"XX".into(), "XX".into(), 400),
        ("multipart/form-data; boundary=\"XX \"".into(), "XX ".into(), 400),
        ("multipart/form-data; boundary=".into(), String::new(), 400),
        ("multipart/form-data; boundary=\"\"".into(), String::new(), 400),
        ("multipart/form-data; boundary=\u{e9}".into(), "\u{e9}".into(), 400),
        ("multipart/form-data".into(), String::new(), 400),
        ("multipart/mixed; boundary=XX".into(), "XX".into(), 415),
        ("application/x-www-form-urlencoded".into(), "XX".into(), 415),
        (String::new(), "XX".into(), 415),
    ] {
        let body = ["--", &boundary, "\r\n", A, "1\r\n--", &boundary, "--\r\n"].concat();
        let (client, _) = reader(Limits::default());
        let reply = client.post("/").header("content-type", &content_type).body(body).send();
        assert_eq!(reply.status().code(), status, "{content_type}");
    }
    let (client, _) = reader(Limits::default());
    assert_eq!(client.post("/").body("--XX--").send().status().code(), 415, "no content type");
}

#[test]
fn limits() {
    let part = ["--XX\r\n", A, "12345\r\n"].concat();
    let two = [&*part, &part, "--XX--"].concat();
    let head = A.len() - 4;
    let none = Limits::default();
    for (limits, status, complete) in [
        (none, 204, 2),
        (Limits { parts: Some(2), ..none }, 204, 2),
        (Limits { parts: Some(1), ..none }, 413, 1),
        (Limits { parts: Some(0), ..none }, 413, 0),
        (Limits { head: Some(head), ..none }, 204, 2),
        (Limits { head: Some(head - 1), ..none }, 413, 0),
        (Limits { head: Some(0), ..none }, 413, 0),
        (Limits { total: Some(two.len() as u64), ..none }, 204, 2),
        (Limits { total: Some(two.len() as u64 - 1), ..none }, 413, 1),
        (Limits { total: Some(2 * part.len() as u64), ..none }, 413, 1),
        (Limits { total: Some(0), ..none }, 413, 0),
        (Limits { route: Some(two.len()), ..none }, 204, 2),
        (Limits { route: Some(part.len() + 8), ..none }, 413, 1),
        (Limits { route: Some(1), total: Some(1000), ..none }, 204, 2),
    ] {
        let (found, parts) = outcome("multipart/form-data; boundary=XX", two.as_bytes(), limits);
        assert_eq!((found, parts.len()), (status, complete), "{:?}", (limits.parts, limits.head, limits.total));
        // With a length, what is too long is refused before it is read.
        let (client, _) = reader(limits);
        let call = client.post("/").header("content-type", "multipart/form-data; boundary=XX");
        assert_eq!(call.body(two.clone()).send().status().code(), status);
    }
}

#[test]
fn limits_by_default() {
    let parts = |count| [["--XX\r\n", A, "\r\n"].concat().repeat(count), "--XX--".into()].concat();
    let head = |length: usize| {
        let padding = "x".repeat(length - A.len());
        ["--XX\r\nX:", &padding, "\r\n", A, "\r\n--XX--"].concat()
    };
    let limits = tabi::limits::PARTS..=tabi::limits::PARTS;
    for (body, status) in [
        (parts(*limits.start()), 204),
        (parts(limits.end() + 1), 413),
        (head(tabi::limits::PART_HEAD), 204),
        (head(tabi::limits::PART_HEAD + 1), 413),
    ] {
        let (client, _) = reader(Limits::default());
        let call = client.post("/").header("content-type", "multipart/form-data; boundary=XX");
        assert_eq!(call.body(body).send().status().code(), status);
    }
}

#[test]
fn a_head_without_end_is_refused_before_it_is_all_there() {
    let (client, _) = reader(Limits::default());
    let endless = std::iter::once(b"--XX\r\n".to_vec()).chain((0..1000).map(|_| vec![b'x'; 1000]));
    let call = client.post("/").header("content-type", "multipart/form-data; boundary=XX");
    assert_eq!(call.chunks(endless).send().status().code(), 413);
}

/// What a test does with a form.
async fn texts(mut req: Request) -> Result<String> {
    let mut form = req.multipart()?.field_limit(8);
    let mut texts = String::new();
    while let Some(mut field) = form.next_field().await? {
        texts.push_str(&field.text().await?);
        texts.push('|');
    }
    Ok(texts)
}

#[test]
fn text() {
    let client = Client::new(Router::new().post("/", texts));
    let field = |kind: &str, content: &[u8]| {
        let head = ["--XX\r\nContent-Disposition: form-data; name=a\r\nContent-Type: ", kind, "\r\n\r\n"].concat();
        [head.as_bytes(), content, b"\r\n"].concat()
    };
    for (kind, content, status, text) in [
        ("", &b""[..], 200, "|"),
        ("text/plain", "\u{e9}\u{20ac}".as_bytes(), 200, "\u{e9}\u{20ac}|"),
        ("text/plain; charset=UTF-8", "\u{e9}".as_bytes(), 200, "\u{e9}|"),
        ("text/plain; charset=\"utf8\"", "\u{e9}".as_bytes(), 200, "\u{e9}|"),
        ("text/plain; charset=us-ascii", b"e", 200, "e|"),
        ("text/plain; charset=ISO-8859-1", b"\xe9", 200, "\u{e9}|"),
        ("application/json", b"{}", 200, "{}|"),
        ("text/plain", b"\xe9", 400, "form field is not UTF-8"),
        ("text/plain; charset=shift_jis", b"\x82", 415, "form field in an unknown charset"),
        ("text/plain", b"12345678", 200, "12345678|"),
        ("text/plain", b"123456789", 413, "form field is too large"),
    ] {
        for pieces in [1, 7, 1000] {
            let body = [&field(kind, content)[..], b"--XX--"].concat();
            let call = client.post("/").header("content-type", "multipart/form-data; boundary=XX");
            let reply = call.chunks(body.chunks(pieces)).send();
            assert_eq!((reply.status().code(), &*reply.text()), (status, text), "{kind} {content:?}");
        }
    }
    // RFC 7578, section 4.6: `_charset_` is a field like others here.
    let charset = "--XX\r\nContent-Disposition: form-data; name=_charset_\r\n\r\nlatin1\r\n";
    let body = [charset.as_bytes(), &field("", b"\xe9"), b"--XX--"].concat();
    let call = client.post("/").header("content-type", "multipart/form-data; boundary=XX");
    assert_eq!(call.body(body).send().status().code(), 400);
}

async fn collects(mut req: Request) -> Result<String> {
    let mut form = req.multipart()?;
    let mut fields = Fields::new();
    let mut log = String::new();
    while let Some(mut file) = form.next_file(&mut fields).await? {
        log.push_str(&format!("{} {:?} after {} fields: ", file.name(), file.file_name(), fields.iter().count()));
        // Only a piece of it: the rest is passed over.
        log.push_str(&format!("{:?}; ", file.chunk().await?.is_some()));
    }
    log.push_str(&format!("{:?}", fields.iter().collect::<Vec<_>>()));
    let tags: Vec<_> = fields.get_all("tag").collect();
    Ok(format!("{log} {:?} {tags:?} {:?}", fields.get("tag"), fields.get("none")))
}

#[test]
fn fields_are_collected_and_files_handed_on() {
    let client = Client::new(Router::new().post("/", collects));
    let part = |disposition: &str, content: &str| {
        ["--XX\r\nContent-Disposition: form-data; ", disposition, "\r\n\r\n", content, "\r\n"].concat()
    };
    let body = [
        part("name=tag", "1"),
        part("name=f; filename=\"a.txt\"", "a file"),
        part("name=tag", "2"),
        part("name=g; filename=\"\"", ""),
        part("name=title", "Cats"),
        "--XX--".into(),
    ]
    .concat();
    let expected = "f Some(\"a.txt\") after 1 fields: true; g None after 2 fields: false; \
        [(\"tag\", \"1\"), (\"tag\", \"2\"), (\"title\", \"Cats\")] Some(\"1\") [\"1\", \"2\"] None";
    for pieces in [1, 2, 3, 50, 1000] {
        let call = client.post("/").header("content-type", "multipart/form-data; boundary=XX");
        assert_eq!(call.chunks(body.as_bytes().chunks(pieces)).send().text(), expected);
    }
    // Each field alone is small enough, all of them are not.
    let large = part("name=x", &"x".repeat(tabi::limits::FIELD - 1));
    for (body, status) in [(vec![&*large], 200), (vec![&large, &large], 200), (vec![&large, &large, &large], 413)] {
        let body = [body.concat(), "--XX--".into()].concat();
        let call = client.post("/").header("content-type", "multipart/form-data; boundary=XX");
        assert_eq!(call.body(body).send().status().code(), status);
    }
}

#[test]
fn an_error_is_told_again() {
    async fn insists(mut req: Request) -> Result<String> {
        let mut form = req.multipart()?;
        let mut statuses = String::new();
        for _ in 0..3 {
            match form.next_field().await {
                Ok(found) => statuses.push_str(&format!("{} ", found.is_some())),
                Err(error) => statuses.push_str(&format!("{} ", error.status().code())),
            }
        }
        Ok(statuses)
    }
    let client = Client::new(Router::new().post("/", insists));
    let part = ["--XX\r\n", A, "1\r\n"].concat();
    for (body, statuses) in [
        ([&*part, "--XX\r\nnonsense\r\n\r\n\r\n", &part, "--XX--"].concat(), "true 400 400 "),
        ([&*part, "--XX"].concat(), "true 400 400 "),
        ([&*part, "--XX--"].concat(), "true false false "),
    ] {
        let call = client.post("/").header("content-type", "multipart/form-data; boundary=XX");
        assert_eq!(call.body(body).send().text(), statuses);
    }
}

#[test]
fn query_parameters_stay_readable() {
    // A framework before this one lost them when the body was a form.
    async fn both(mut req: Request) -> Result<String> {
        let query = req.query("a").unwrap_or_default();
        let mut form = req.multipart()?;
        let field = match form.next_field().await? {
            Some(mut field) => field.text().await?,
            None => String::new(),
        };
        Ok(query + &field + &req.query("b").unwrap_or_default())
    }
    let client = Client::new(Router::new().post("/", both));
    let body = ["--XX\r\n", A, "x\r\n--XX--"].concat();
    let call = client.post("/?a=%E2%82%AC&b=2").header("content-type", "multipart/form-data; boundary=XX");
    assert_eq!(call.body(body).send().text(), "\u{20ac}x2");
}
