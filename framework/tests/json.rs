//! JSON in and out, through the public API: public cases whole, byte by byte and in every split.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tabi::testing::{Client, Reply};
use tabi::{BodyLimit, Json, Request, Response, Result, Router, Status};

async fn echo(mut req: Request) -> Result<Json<Value>> {
    Ok(Json(req.json().await?))
}

#[derive(Deserialize, Serialize, Debug)]
struct Todo {
    title: String,
    #[serde(default)]
    done: bool,
    #[serde(default)]
    steps: Vec<Step>,
}

#[derive(Deserialize, Serialize, Debug)]
#[serde(deny_unknown_fields)]
struct Step {
    minutes: u8,
    kind: Option<Kind>,
}

#[derive(Deserialize, Serialize, Debug)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Short,
    Long,
}

async fn todo(mut req: Request) -> Result {
    let todo: Todo = req.json().await?;
    Ok(Response::json(&todo)?.with_status(Status::CREATED))
}

fn client() -> Client {
    let small = Router::new().with(BodyLimit(8)).post("/small", echo);
    Client::new(Router::new().post("/", echo).post("/todo", todo).merge(small))
}

/// Sends a body whole and in pieces; every way must be answered alike.
#[track_caller]
fn send(client: &Client, path: &str, body: &[u8]) -> Reply {
    let post = || client.post(path).header("content-type", "application/json");
    let whole = post().body(body).send();
    let check = |reply: Reply, how: &str| {
        let what = String::from_utf8_lossy(body);
        assert_eq!((reply.status(), reply.text()), (whole.status(), whole.text()), "{how}: {what}");
    };
    if body.len() < 300 {
        check(post().chunks(body.iter().map(|byte| vec![*byte])).send(), "byte by byte");
        for at in 0..=body.len() {
            let (one, two) = body.split_at(at);
            check(post().chunks([one, two]).send(), "split");
        }
    }
    whole
}

#[test]
fn takes_and_refuses_what_the_rfc_does() {
    #[derive(Deserialize)]
    struct Cases {
        cases: Vec<Case>,
    }
    #[derive(Deserialize)]
    struct Case {
        id: String,
        #[serde(default)]
        input_b64: String,
        /// How to make an input that is too long to be written down.
        #[serde(default)]
        generate: String,
        expected: String,
    }
    let file: Cases = serde_json::from_str(include_str!("cases/json-parse.json")).expect("a file of cases");
    let client = client();
    for case in file.cases {
        let body = match case.generate.as_str() {
            "" => base64(&case.input_b64),
            "'['*100000" => "[".repeat(100_000).into(),
            r#"'[{"":'*50000 + '\n'"# => (r#"[{"":"#.repeat(50_000) + "\n").into(),
            other => panic!("no way to make {other}"),
        };
        let status = send(&client, "/", &body).status().code();
        let right = match case.expected.as_str() {
            "accept" => status == 200,
            "reject" => status == 400,
            _ => status == 200 || status == 400,
        };
        assert!(right, "{}: {status}, expected {}", case.id, case.expected);
    }
}

#[test]
fn does_not_repeat_reported_bugs() {
    #[derive(Deserialize)]
    struct Case {
        id: String,
        input_b64: String,
        given: Value,
    }
    let rows: Vec<Case> = serde_json::from_str(include_str!("cases/reports-json.json")).expect("rows");
    let client = client();
    for case in rows {
        let body = base64(&case.input_b64);
        match case.id.as_str() {
            "JS-01" => {
                for kind in case.given["content_types"].as_array().expect("types") {
                    let kind = kind.as_str().expect("text");
                    let reply = client.post("/").header("content-type", kind).body(&*body).send();
                    assert_eq!((reply.status().code(), reply.json()), (200, json!({"a": 1})), "{kind}");
                }
            }
            "JS-03" => assert_eq!(send(&client, "/", &body).text(), r#"{"a":1}"#),
            "JS-05" => {
                let chunks = body.chunks(4).map(Vec::from);
                let reply = client.post("/small").header("content-type", "application/json").chunks(chunks).send();
                assert_eq!(reply.status().code(), 413);
            }
            "JS-07" => assert_eq!(send(&client, "/", &body).status().code(), 200),
            other => panic!("no test for {other}"),
        }
    }
}

#[test]
fn depth_has_a_limit() {
    let client = client();
    let post = |path: &str, body: String| {
        client.post(path).header("content-type", "application/json").body(body).send().status().code()
    };
    let limit = tabi::limits::JSON_DEPTH;
    for (depth, status) in [(1, 200), (64, 200), (limit, 200), (limit + 1, 400), (100_000, 400), (900_000, 400)] {
        for (open, close) in [("[", "]"), ("{\"\":", "}")] {
            // Larger bodies are refused for their size.
            let depth = depth.min(tabi::limits::BODY / (open.len() + 1) - 10);
            let body = [&open.repeat(depth), "0", &close.repeat(depth)].concat();
            assert_eq!(post("/", body.clone()), status, "{depth} of {open}");
            // In a field that nobody reads, and where the type wants something else.
            let inside = if depth < limit { 201 } else { 400 };
            assert_eq!(post("/todo", [r#"{"title":"","x":"#, &body, "}"].concat()), inside, "{depth} of {open}");
            let instead = if depth <= limit { 422 } else { 400 };
            assert_eq!(post("/todo", body), instead, "{depth} of {open}");
        }
        assert_eq!(post("/", "[".repeat(depth)), 400, "{depth} open");
    }
}

#[test]
fn content_types() {
    for (kind, status) in [
        ("application/json", 200),
        ("APPLICATION/JSON ; charset=\"utf-8\"", 200),
        ("application/json; charset=iso-8859-1", 200),
        ("text/json", 200),
        ("model/gltf+json", 200),
        ("application/problem+json", 200),
        ("application/jsonp", 415),
        ("application/x-www-form-urlencoded", 415),
        ("text/plain", 415),
        ("+json", 415),
        ("", 415),
    ] {
        let reply = client().post("/").header("content-type", kind).body("1").send();
        assert_eq!(reply.status().code(), status, "{kind}");
    }
    assert_eq!(client().post("/").body("1").send().status().code(), 415);
}

#[test]
fn messages_name_the_place_and_never_the_value() {
    let shape = "JSON of another shape than expected at line ";
    for (body, status, message) in [
        ("{\"title\":\"a\"}", 201, r#"{"title":"a","done":false,"steps":[]}"#),
        ("\u{feff}{\"title\":\"a\",\"unknown\":[1]}", 201, r#"{"title":"a","done":false,"steps":[]}"#),
        ("", 400, "malformed JSON at line 1, column 1: unexpected end"),
        ("\u{feff}", 400, "malformed JSON at line 1, column 1: unexpected end"),
        ("{\"title\":\"secret\",}", 400, "malformed JSON at line 1, column 19: trailing comma"),
        ("{\n\"title\": secret}", 400, "malformed JSON at line 2, column 10: expected a value"),
        ("{\"title\":\"a\"} secret", 400, "malformed JSON at line 1, column 15: text after the value"),
        (
            "{\"title\":\"\u{20ac}\u{1f600}\" 1}",
            400,
            "malformed JSON at line 1, column 15: expected a comma or the end",
        ),
        ("{\"title\":\"secret", 400, "malformed JSON at line 1, column 17: unexpected end"),
        ("{\"title\":\"\\x\"}", 400, "malformed JSON at line 1, column 12: unknown escape"),
        ("{\"title\":[1,]}", 400, "malformed JSON at line 1, column 13: trailing comma"),
        ("{}", 422, "1, column 2: missing field `title`"),
        ("{\"title\":\"secret\",\n\"title\":\"b\"}", 422, "2, column 7: duplicate field `title`"),
        ("{\"title\":5}", 422, "1, column 10: unexpected type"),
        ("{\"title\":null}", 422, "1, column 13: unexpected type"),
        ("{\"title\":\"a\",\"done\":\"secret\"}", 422, "1, column 28: unexpected type"),
        ("{\"title\":\"a\",\"steps\":[{\"minutes\":300}]}", 422, "1, column 36: unexpected value"),
        ("{\"title\":\"a\",\"steps\":[{\"minutes\":1.5}]}", 422, "1, column 36: unexpected fraction"),
        ("{\"title\":\"a\",\"steps\":[{\"minutes\":1,\"secret\":2}]}", 422, "1, column 43: unknown field"),
        ("{\"title\":\"a\",\"steps\":[{\"minutes\":1,\"kind\":\"secret\"}]}", 422, "1, column 50: unknown variant"),
        ("[]", 422, "1, column 2: unexpected type"),
        ("[\"a\",true,[]]", 422, "1, column 13: unexpected type"),
        ("\"secret\"", 422, "1, column 8: unexpected type"),
    ] {
        let reply = send(&client(), "/todo", body.as_bytes());
        let message = if status == 422 { [shape, message].concat() } else { message.into() };
        assert_eq!((reply.status().code(), reply.text()), (status, message), "{body}");
    }
    let reply = send(&client(), "/todo", b"{\"title\":\"\xff\"}");
    assert_eq!((reply.status().code(), reply.text().as_str()), (400, "malformed JSON: not UTF-8"));
}

#[test]
fn limits_are_on() {
    for (body, status) in [("[1,2,34]", 200), ("[1,2,345]", 413)] {
        assert_eq!(send(&client(), "/small", body.as_bytes()).status().code(), status, "{body}");
    }
    let reply = client().post("/").header("content-type", "application/json").body(vec![b' '; tabi::limits::BODY + 1]);
    assert_eq!(reply.send().status().code(), 413);
}

#[test]
fn values_go_out() {
    async fn good(_: Request) -> Json<BTreeMap<&'static str, f64>> {
        Json(BTreeMap::from([("a\"\n\u{20ac}", 0.5), ("b", f64::NAN)]))
    }
    async fn bad(_: Request) -> Json<BTreeMap<Vec<u8>, u8>> {
        Json(BTreeMap::from([(vec![1], 1)]))
    }
    async fn breaks(_: Request) -> Response {
        Response::ndjson(async |mut lines| {
            lines.send(&1).await?;
            lines.send(&BTreeMap::from([(vec![1], 1)])).await
        })
    }
    let client = Client::new(Router::new().get("/good", good).get("/bad", bad).get("/breaks", breaks));
    let reply = client.get("/good").send();
    assert_eq!((reply.header("content-type"), reply.header("content-length")), (Some("application/json"), Some("25")));
    assert_eq!(reply.text(), "{\"a\\\"\\n\u{20ac}\":0.5,\"b\":null}");
    assert_eq!(client.get("/bad").send().status().code(), 500);
    let reply = client.get("/breaks").send();
    assert_eq!((reply.status().code(), reply.text().as_str(), reply.broken().is_some()), (200, "1\n", true));
    assert_eq!((reply.header("content-type"), reply.header("content-length")), (Some("application/x-ndjson"), None));
}

#[test]
fn lines_are_written_as_they_are_read() {
    let written = std::rc::Rc::new(std::cell::Cell::new(0));
    let count = written.clone();
    let mut response = Response::ndjson(async move |mut lines| {
        for number in 0u64.. {
            lines.send(&number).await?;
            count.set(number + 1);
        }
        Ok(())
    });
    for number in 0..1000u64 {
        let chunk = tabi::testing::block_on(response.body().chunk()).expect("no error").expect("no end");
        assert_eq!(chunk, format!("{number}\n").into_bytes());
        assert!(written.get() <= number + 2, "{} written, {number} read", written.get());
    }
}

fn base64(text: &str) -> Vec<u8> {
    let digit = |byte| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    for group in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 6 | u32::from(digit(*byte))) << (6 * (4 - group.len()));
        bytes.extend_from_slice(bits.to_be_bytes().get(1..group.len()).unwrap_or_default());
    }
    bytes
}
