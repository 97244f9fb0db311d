//! Forms and query strings, through the public API: public cases whole, byte by byte and in every split.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Debug;
use tabi::testing::{Client, Reply};
use tabi::{BodyLimit, Form, Pairs, Request, Response, Result, Router, limits};

type Expected = Vec<(String, String)>;

#[derive(Deserialize)]
struct Cases<T> {
    cases: Vec<T>,
}

fn cases<T: DeserializeOwned>(file: &str) -> Vec<T> {
    serde_json::from_str::<Cases<T>>(file).expect("a file of cases").cases
}

async fn show_form(mut req: Request) -> Result {
    let form = req.form().await?;
    Response::json(&form.iter().collect::<Vec<_>>())
}

async fn show_query(req: Request) -> Result {
    Response::json(&req.query_pairs().collect::<Vec<_>>())
}

fn client() -> Client {
    let small = Router::new().with(BodyLimit(8)).post("/small", show_form);
    Client::new(Router::new().post("/", show_form).get("/", show_query).merge(small))
}

#[track_caller]
fn check(client: &Client, body: &str, expected: &[(String, String)]) {
    let kind = "application/x-www-form-urlencoded";
    let text = |reply: Reply| {
        assert_eq!(reply.status().code(), 200, "{body}: {}", reply.text());
        reply.json::<Expected>()
    };
    let post = || client.post("/").header("content-type", kind);
    assert_eq!(text(post().body(body).send()), expected, "whole: {body}");
    assert_eq!(text(post().chunks(body.bytes().map(|byte| vec![byte])).send()), expected, "byte by byte: {body}");
    for at in 0..=body.len() {
        let (one, two) = body.as_bytes().split_at(at);
        assert_eq!(text(post().chunks([one, two]).send()), expected, "split at {at}: {body}");
    }
    assert_eq!(text(client.get(&format!("/?{body}")).send()), expected, "as query: {body}");
    let encoded = Form::encode(&expected.iter().fold(Form::new(), |form, (name, value)| form.with(name, value)));
    let again: Expected = Pairs::new(&encoded).map(|(name, value)| (name.into(), value.into())).collect();
    assert_eq!(again, expected, "round trip: {body} as {encoded}");
}

#[test]
fn parses_as_the_url_standard_says() {
    #[derive(Deserialize)]
    struct Case {
        input: String,
        expected: Expected,
    }
    for case in cases::<Case>(include_str!("cases/urlencoded-parse.json")) {
        check(&client(), &case.input, &case.expected);
    }
}

#[test]
fn parses_what_busboy_parses() {
    #[derive(Deserialize)]
    struct Case {
        chunks: Vec<String>,
        expected: Expected,
    }
    for case in cases::<Case>(include_str!("cases/urlencoded-busboy.json")) {
        check(&client(), &case.chunks.concat(), &case.expected);
    }
}

#[test]
fn does_not_repeat_reported_bugs() {
    #[derive(Deserialize)]
    struct Case {
        input: String,
        expected: Pairs,
    }
    #[derive(Deserialize)]
    struct Pairs {
        pairs: Expected,
    }
    let rows: Vec<Case> = serde_json::from_str(include_str!("cases/reports-urlencoded.json")).expect("rows");
    for case in rows {
        check(&client(), &case.input, &case.expected.pairs);
    }
}

#[test]
fn serialises_as_the_url_standard_says() {
    #[derive(Deserialize)]
    struct Case {
        input: Expected,
        expected: String,
    }
    for case in cases::<Case>(include_str!("cases/urlencoded-serialize.json")) {
        let form = case.input.iter().fold(Form::new(), |form, (name, value)| form.with(name, value));
        assert_eq!(form.encode(), case.expected);
    }
}

#[test]
fn a_form_is_read_by_name() {
    let form = Form::new().with("cb", "1").with("x", "").with("cb", "2");
    assert_eq!((form.get("cb"), form.get("x"), form.get("y")), (Some("1"), Some(""), None));
    assert_eq!((form.get_all("cb").collect::<Vec<_>>(), form.len(), form.is_empty()), (vec!["1", "2"], 3, false));
}

#[test]
fn refuses_what_is_no_form() {
    let client = client();
    for (kind, status) in [
        ("application/x-www-form-urlencoded", 200),
        ("Application/X-WWW-Form-Urlencoded", 200),
        ("application/x-www-form-urlencoded;charset=utf-8", 200),
        ("application/x-www-form-urlencoded ; Charset=\"UTF-8\"", 200),
        ("application/x-www-form-urlencoded; charset=utf8; x=y", 200),
        ("application/x-www-form-urlencoded; charset=us-ascii", 200),
        ("application/x-www-form-urlencoded; charset=iso-8859-1", 415),
        ("application/x-www-form-urlencoded; charset=utf-16", 415),
        ("application/x-www-form-urlencoded; charset=", 415),
        ("application/x-www-form-urlencodedx", 415),
        ("multipart/form-data; boundary=x", 415),
        ("text/plain", 415),
        ("", 415),
    ] {
        let reply = client.post("/").header("content-type", kind).body("a=1").send();
        assert_eq!(reply.status().code(), status, "{kind}");
    }
    assert_eq!(client.post("/").body("a=1").send().status().code(), 415);
}

#[test]
fn limits_are_on() {
    let client = client();
    let kind = "application/x-www-form-urlencoded";
    let fields = |count: usize| vec!["a=1"; count].join("&&");
    for (count, status) in [(limits::PAIRS, 200), (limits::PAIRS + 1, 400)] {
        assert_eq!(client.post("/").header("content-type", kind).body(fields(count)).send().status().code(), status);
    }
    for (body, status) in [("a=123456", 200), ("a=1234567", 413)] {
        let post = || client.post("/small").header("content-type", kind);
        assert_eq!(post().body(body).send().status().code(), status, "{body}");
        assert_eq!(post().chunks(body.bytes().map(|byte| vec![byte])).send().status().code(), status, "{body}");
    }
}

#[derive(Deserialize, Debug, PartialEq, Default)]
#[serde(default)]
struct Typed {
    text: String,
    byte: u8,
    int: i64,
    big: u128,
    float: f64,
    small: f32,
    flag: bool,
    letter: char,
    level: Level,
    wrapped: Wrapped,
    maybe: Option<u32>,
    maybe_text: Option<String>,
    list: Vec<u16>,
    levels: Vec<Level>,
    maybe_list: Option<Vec<String>>,
    pair: Option<(u8, u8)>,
    nothing: (),
    #[serde(rename = "a[b]")]
    brackets: String,
}

#[derive(Deserialize, Debug, PartialEq, Default)]
#[serde(rename_all = "lowercase")]
enum Level {
    #[default]
    Low,
    High,
}

#[derive(Deserialize, Debug, PartialEq, Default)]
struct Wrapped(u32);

async fn form_as<T: DeserializeOwned + Debug>(mut req: Request) -> Result<String> {
    Ok(format!("{:?}", req.form_as::<T>().await?))
}

async fn query_as<T: DeserializeOwned + Debug>(req: Request) -> Result<String> {
    Ok(format!("{:?}", req.query_as::<T>()?))
}

/// Checks that a form and a query are read as the same thing, or refused with the same text about it.
#[track_caller]
fn check_typed<T: DeserializeOwned + Debug + 'static>(text: &str, expected: std::result::Result<T, &str>) {
    let client = Client::new(Router::new().post("/", form_as::<T>).get("/", query_as::<T>));
    let form = client.post("/").header("content-type", "application/x-www-form-urlencoded").body(text).send();
    let query = client.get(&format!("/?{text}")).send();
    for (reply, status, what) in [(form, 422, "form field"), (query, 400, "query parameter")] {
        let (status, answer) = match &expected {
            Ok(value) => (200, format!("{value:?}")),
            Err(fault) => (status, fault.replace("_ ", &format!("{what} "))),
        };
        assert_eq!((reply.status().code(), reply.text()), (status, answer), "{text}");
    }
}

#[test]
fn reads_types() {
    let check = check_typed::<Typed>;
    let default = Typed::default;
    check("", Ok(default()));
    check("text=a+b&byte=255", Ok(Typed { text: "a b".into(), byte: 255, ..default() }));
    check("text=", Ok(default()));
    check("int=-9223372036854775808", Ok(Typed { int: i64::MIN, ..default() }));
    check("big=340282366920938463463374607431768211455", Ok(Typed { big: u128::MAX, ..default() }));
    check("float=1.5e3&small=0.5", Ok(Typed { float: 1500.0, small: 0.5, ..default() }));
    check("flag=true", Ok(Typed { flag: true, ..default() }));
    check("flag=on", Ok(Typed { flag: true, ..default() }));
    check("flag=false", Ok(default()));
    check("letter=%E2%82%AC", Ok(Typed { letter: '\u{20ac}', ..default() }));
    check("level=high&wrapped=7", Ok(Typed { level: Level::High, wrapped: Wrapped(7), ..default() }));
    check("maybe=&maybe_text=", Ok(default()));
    check("maybe=3&maybe_text=x", Ok(Typed { maybe: Some(3), maybe_text: Some("x".into()), ..default() }));
    check("list=1", Ok(Typed { list: vec![1], ..default() }));
    check("list=1&text=x&list=2&list=3", Ok(Typed { list: vec![1, 2, 3], text: "x".into(), ..default() }));
    check("levels=high&levels=low", Ok(Typed { levels: vec![Level::High, Level::Low], ..default() }));
    check("maybe_list=a&maybe_list=", Ok(Typed { maybe_list: Some(vec!["a".into(), "".into()]), ..default() }));
    check("pair=1&pair=2", Ok(Typed { pair: Some((1, 2)), ..default() }));
    check("a%5Bb%5D=1&unknown=2&nothing=", Ok(Typed { brackets: "1".into(), ..default() }));
    check("byte=256", Err("_ `byte` is not a whole number in range"));
    check("byte=-1", Err("_ `byte` is not a whole number in range"));
    check("byte=", Err("_ `byte` is not a whole number in range"));
    check("byte=1&byte=2", Err("_ `byte` is given more than once"));
    check("text=1&text=2", Err("_ `text` is given more than once"));
    check("maybe=1&maybe=2", Err("_ `maybe` is given more than once"));
    check("float=secret", Err("_ `float` is not a number"));
    check("float=NaN", Err("_ `float` is not a number"));
    check("float=1e999", Err("_ `float` is not a number"));
    check("flag=yes", Err("_ `flag` is neither true nor false"));
    check("letter=ab", Err("_ `letter` has an unexpected value"));
    check("level=HIGH", Err("_ `level` has an unexpected value"));
    check("wrapped=x", Err("_ `wrapped` is not a whole number in range"));
    check("list=1&list=x", Err("_ `list` is not a whole number in range"));
    check("pair=1", Err("_ `pair` has an unexpected number of values"));
    check("pair=1&pair=2&pair=3", Err("_ `pair` has an unexpected number of values"));
}

#[test]
fn reads_maps_and_strict_types() {
    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "compared as text")]
    struct Strict {
        name: String,
        tags: Vec<String>,
    }
    #[derive(Deserialize, Debug)]
    #[serde(tag = "kind", rename_all = "lowercase")]
    #[allow(dead_code, reason = "compared as text")]
    enum Shape {
        Circle { name: String },
        Point,
    }
    let strict = |name: &str, tags: &[&str]| Strict {
        name: name.into(),
        tags: tags.iter().map(|tag| tag.to_string()).collect(),
    };
    check_typed("name=a&tags=b", Ok(strict("a", &["b"])));
    check_typed::<Strict>("tags=b", Err("_ `name` is missing"));
    check_typed::<Strict>("name=a", Err("_ `tags` is missing"));
    check_typed::<Strict>("name=a&tags=b&secret=c", Err("a _ is unknown"));
    check_typed("kind=circle&name=c", Ok(Shape::Circle { name: "c".into() }));
    check_typed("kind=point", Ok(Shape::Point));
    check_typed::<Shape>("kind=square", Err("_ `kind` has an unexpected value"));
    check_typed("b=1&a=2", Ok(owned(BTreeMap::from([("a", 2u8), ("b", 1)]))));
    check_typed::<BTreeMap<String, u8>>("a=1&b=x", Err("_ `b` is not a whole number in range"));
    check_typed("1=a&2=b", Ok(BTreeMap::from([(1u8, "a".to_string()), (2, "b".to_string())])));
    check_typed("a=1&a=2", Ok(BTreeMap::from([("a".to_string(), vec!["1".to_string(), "2".to_string()])])));
    check_typed("", Ok(None::<BTreeMap<String, String>>));
    check_typed::<BTreeMap<String, u8>>(&format!("{}=x", "n".repeat(65)), Err("a _ is not a whole number in range"));
    check_typed::<Vec<String>>("a=1", Err("a _ has an unexpected value"));
}

fn owned(map: BTreeMap<&str, u8>) -> BTreeMap<String, u8> {
    map.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

#[test]
fn typed_reading_has_the_limits_of_a_form() {
    let client = Client::new(
        Router::new().post("/", form_as::<BTreeMap<String, Vec<u8>>>).get("/", query_as::<BTreeMap<String, Vec<u8>>>),
    );
    let many = |count: usize| vec!["a=1"; count].join("&");
    for (count, status) in [(limits::PAIRS, 200), (limits::PAIRS + 1, 400)] {
        let kind = "application/x-www-form-urlencoded";
        assert_eq!(client.post("/").header("content-type", kind).body(many(count)).send().status().code(), status);
        assert_eq!(client.get(&format!("/?{}", many(count))).send().status().code(), status);
    }
    assert_eq!(client.post("/").body("a=1").send().status().code(), 415);
}

/// The Java frameworks put query and form into one map, the query first, so that a link could replace what a user had
/// typed. Here each is asked for by itself.
#[test]
fn a_query_is_no_form() {
    let both = async |mut req: Request| -> Result<String> {
        let form = req.form().await?;
        Ok([
            &req.query("a").unwrap_or_default(),
            "|",
            form.get("a").unwrap_or_default(),
            "|",
            form.get("b").unwrap_or("-"),
        ]
        .concat())
    };
    let client = Client::new(Router::new().post("/", both));
    let form = Form::new().with("a", "\u{20ac}");
    assert_eq!(client.post("/?a=query&b=%E2%82%AC").form(&form).send().text(), "query|\u{20ac}|-");
}

#[test]
fn random_forms_survive_the_round_trip() {
    let mut state = 7u32;
    let mut random = move |below: u32| {
        // Xorshift: the same numbers in each run.
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state % below
    };
    for _ in 0..5_000 {
        let mut text = || -> String {
            let width = [0x80, 0x3000, 0x11_0000][random(3) as usize];
            (0..random(6)).filter_map(|_| char::from_u32(random(width))).collect()
        };
        let pairs: Vec<_> = (0..4).map(|_| (text(), text())).collect();
        let form = pairs.iter().fold(Form::new(), |form, (name, value)| form.with(name, value));
        let encoded = form.encode();
        assert!(encoded.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"*-._+%&=".contains(&byte)), "{encoded}");
        let again: Vec<_> = Pairs::new(&encoded).map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
        assert_eq!(again, pairs, "{encoded}");
    }
}
