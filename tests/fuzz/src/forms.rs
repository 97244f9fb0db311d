//! Urlencoded forms and query strings, held against the URL standard as it is written.

use serde::Deserialize;
use tabi::testing::Client;
use tabi::{Form, Pairs, Request, Response, Result, Router};

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    One,
    Two,
}

#[derive(Deserialize)]
#[allow(dead_code, reason = "what matters is that it can be read")]
struct Typed {
    n: Option<i32>,
    b: Option<bool>,
    f: Option<f64>,
    kind: Option<Kind>,
    #[serde(default)]
    list: Vec<String>,
}

async fn typed(mut req: Request) -> Result<&'static str> {
    req.form_as::<Typed>().await?;
    Ok("")
}

async fn typed_query(req: Request) -> Result<&'static str> {
    req.query_as::<Typed>()?;
    Ok("")
}

async fn show(mut req: Request) -> Result {
    Response::json(&req.form().await?.iter().collect::<Vec<_>>())
}

thread_local! {
    static CLIENT: Client = Client::new(Router::new().post("/", show).post("/typed", typed).get("/typed", typed_query));
}

/// Pairs are what the standard says, and come back when they are written.
pub(crate) fn pairs(data: &[u8]) {
    let pairs: Vec<(String, String)> =
        Pairs::from_bytes(data).map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
    assert_eq!(pairs, expected(data));
    let form = pairs.iter().fold(Form::new(), |form, (name, value)| form.with(name, value));
    let text = form.encode();
    assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "{text}");
    let again: Vec<(String, String)> =
        Pairs::new(&text).map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
    assert_eq!(again, pairs, "{text}");
}

/// A form is read or refused as a client's mistake; its pieces don't matter.
pub(crate) fn form(data: &[u8]) {
    let kind = "application/x-www-form-urlencoded";
    let post = |path: &str| CLIENT.with(|client| client.post(path).header("content-type", kind));
    let whole = post("/").body(data).send();
    let by_byte = post("/").chunks(data.chunks(1)).send();
    assert_eq!((whole.status(), whole.bytes()), (by_byte.status(), by_byte.bytes()));
    match whole.status().code() {
        200 => assert_eq!(whole.json::<Vec<(String, String)>>(), expected(data)),
        status => assert!(status == 400 && expected(data).len() > tabi::limits::PAIRS, "{status}"),
    }
    let status = post("/typed").body(data).send().status().code();
    assert!([200, 400, 422].contains(&status), "{status}");
    let query = String::from_utf8_lossy(data).replace(['#', '\n', '\r'], "");
    let status = CLIENT.with(|client| client.get(&format!("/typed?{query}")).send().status().code());
    assert!([200, 400].contains(&status), "{status}");
    let content_type = crate::field_value(data);
    let status =
        CLIENT.with(|client| client.post("/").header("content-type", content_type).body("a=1").send().status());
    assert!([200, 415].contains(&status.code()), "{}", status.code());
}

/// The parser of the URL standard, section 5.1, step by step.
fn expected(data: &[u8]) -> Vec<(String, String)> {
    let sequences = data.split(|byte| *byte == b'&').filter(|sequence| !sequence.is_empty());
    let pairs = sequences.map(|sequence| {
        let at = sequence.iter().position(|byte| *byte == b'=').unwrap_or(sequence.len());
        (decode(&sequence[..at]), decode(sequence.get(at + 1..).unwrap_or_default()))
    });
    pairs.collect()
}

fn decode(text: &[u8]) -> String {
    let text: Vec<u8> = text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    let (mut bytes, mut at) = (Vec::new(), 0);
    while let Some(byte) = text.get(at) {
        let digits = text.get(at + 1..at + 3).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        match digits.filter(|_| *byte == b'%') {
            Some(digits) => {
                bytes.push(u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap());
                at += 3;
            }
            None => {
                bytes.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
