//! The CORS protocol, through the public API: what a browser would be told.

use serde_json::Value;
use std::time::Duration;
use tabi::testing::{Call, Client, Reply};
use tabi::{Cors, Error, Method, Request, Response, Result, Router, Status};

fn router(cors: Cors) -> Router {
    Router::new()
        .with(cors)
        .get("/r", async |_| "read")
        .put("/r", async |_| ())
        .get("/vary", async |_| Response::text("x").with_header("vary", "Accept-Encoding"))
        .get("/error", async |_| -> Result { Err(Error::new(Status::CONFLICT, "no")) })
        .options("/own", async |_| "own")
        .get("/own", async |_| "own")
}

fn listed() -> Cors {
    Cors::origins(&["https://a.test"])
}

/// Reads `GET /r\nOrigin: https://a.test` as the reports write requests.
fn call(client: &Client, text: &str) -> Call {
    let mut lines = text.split("\\n");
    let (method, path) = lines.next().and_then(|line| line.split_once(' ')).expect("a request line");
    let call = client.request(Method::new(method).expect("a method"), path);
    lines.filter_map(|line| line.split_once(": ")).fold(call, |call, (name, value)| call.header(name, value))
}

fn told(reply: &Reply) -> String {
    let mut told = reply.status().to_string();
    for (name, value) in reply.headers().iter() {
        let short = match name {
            "access-control-allow-origin" => "origin",
            "access-control-allow-credentials" => "credentials",
            "access-control-allow-methods" => "methods",
            "access-control-allow-headers" => "headers",
            "access-control-expose-headers" => "exposed",
            "access-control-max-age" => "age",
            "access-control-allow-private-network" => "private",
            "vary" => "vary",
            other => {
                assert!(!other.starts_with("access-control"), "{other}");
                continue;
            }
        };
        told.push_str(&format!(" | {short} {}", String::from_utf8_lossy(value)));
    }
    told
}

#[track_caller]
fn check(cors: Cors, request: &str, expected: &str) {
    let mut asked: Vec<&str> = expected.split(" | ").collect();
    let reply = told(&call(&Client::new(router(cors)), request).send());
    let mut reply: Vec<&str> = reply.split(" | ").collect();
    asked.sort_unstable();
    reply.sort_unstable();
    assert_eq!(reply, asked, "{request}");
}

#[test]
fn does_not_repeat_reported_bugs() {
    let rows: Vec<Value> = serde_json::from_str(include_str!("cases/reports-cors.json")).expect("rows");
    assert_eq!(rows.len(), 4);
    for row in rows {
        let (id, expected) = (&row["id"], &row["expected"]);
        let cors = match &row["given"]["config"]["methods"] {
            Value::Array(_) => listed().methods(&["GET", "POST"]),
            _ => listed(),
        };
        let client = Client::new(router(cors));
        let input = row["input"].as_str().expect("input");
        let input = if expected["vary_includes_all"].is_array() { input.replace("/r", "/vary") } else { input.into() };
        for (index, request) in input.split("\\n---\\n").enumerate() {
            let reply = call(&client, request).send();
            let each = if expected["each"].is_object() { &expected["each"] } else { &expected["responses"][index] };
            if each.is_object() {
                assert_eq!(reply.header("access-control-allow-origin"), each["acao"].as_str(), "{id}: {request}");
                assert!(reply.header("vary").is_some_and(|vary| vary.contains("origin")), "{id}: {request}");
            } else if expected["vary_includes_all"].is_array() {
                assert_eq!(reply.header("vary"), Some("Accept-Encoding, origin"), "{id}");
            } else {
                assert_eq!(reply.header("access-control-allow-methods"), Some("GET, POST"), "{id}");
            }
        }
    }
}

#[test]
fn actual_requests() {
    let from_a = "GET /r\\nOrigin: https://a.test";
    check(listed(), from_a, "200 | origin https://a.test | vary origin");
    check(listed(), "GET /r\\nOrigin: https://b.test", "200 | vary origin");
    check(listed(), "GET /r", "200 | vary origin");
    check(listed(), "GET /r\\nOrigin: https://a.test\\nOrigin: https://b.test", "200 | vary origin");
    check(listed(), "GET /r\\nOrigin: https://a.test, https://b.test", "200 | vary origin");
    check(listed(), "HEAD /r\\nOrigin: https://a.test", "200 | origin https://a.test | vary origin");
    check(listed().credentials(), from_a, "200 | origin https://a.test | credentials true | vary origin");
    check(listed().credentials(), "GET /r\\nOrigin: https://b.test", "200 | vary origin");
    check(listed().expose(&["x-a", "x-b"]), from_a, "200 | origin https://a.test | exposed x-a, x-b | vary origin");
    check(listed().expose(&["x-a"]), "GET /r", "200 | vary origin");
    check(Cors::any(), from_a, "200 | origin *");
    check(Cors::any(), "GET /r", "200 | origin *");
    check(Cors::any().expose(&["*"]), "GET /r\\nOrigin: null", "200 | origin * | exposed *");
}

#[test]
fn every_answer_is_marked() {
    for (request, status) in [
        ("GET /nowhere", "404"),
        ("POST /r", "405"),
        ("GET /error", "409"),
        ("GET /%zz", "400"),
        ("OPTIONS /r", "204"),
        ("OPTIONS /own", "200"),
        ("OPTIONS /nowhere", "404"),
        ("OPTIONS *", "204"),
    ] {
        let request = format!("{request}\\nOrigin: https://a.test");
        check(listed(), &request, &format!("{status} | origin https://a.test | vary origin"));
    }
}

#[test]
fn preflights() {
    let vary = "vary origin, access-control-request-method, access-control-request-headers";
    let ask = |path: &str, more: &str| {
        format!("OPTIONS {path}\\nOrigin: https://a.test\\nAccess-Control-Request-Method: PUT{more}")
    };
    let yes = format!("204 | origin https://a.test | {vary} | headers content-type");
    let all = "methods GET, HEAD, POST, PUT, PATCH, DELETE";
    check(listed(), &ask("/r", ""), &format!("{yes} | methods GET, HEAD, PUT, OPTIONS"));
    check(listed(), &ask("/own", ""), &format!("{yes} | {all}"));
    check(listed(), &ask("/nowhere", ""), &format!("{yes} | {all}"));
    check(listed().methods(&["PURGE"]), &ask("/r", ""), &format!("{yes} | methods PURGE"));
    let age = listed().max_age(Duration::from_secs(600)).methods(&["PUT"]);
    check(age, &ask("/r", ""), &format!("{yes} | methods PUT | age 600"));
    let credentials = listed().credentials().methods(&["PUT"]);
    check(credentials, &ask("/r", ""), &format!("{yes} | methods PUT | credentials true"));
    let none = listed().headers(&[]).methods(&["PUT"]);
    let yes = format!("204 | origin https://a.test | {vary} | methods PUT");
    check(none, &ask("/r", "\\nAccess-Control-Request-Headers: x-evil"), &yes);
    let some = listed().headers(&["x-a", "x-b"]).methods(&["PUT"]);
    check(some, &ask("/r", "\\nAccess-Control-Request-Headers: x-c"), &format!("{yes} | headers x-a, x-b"));
    let from_b = "OPTIONS /r\\nOrigin: https://b.test\\nAccess-Control-Request-Method: PUT";
    check(listed().max_age(Duration::from_secs(1)), from_b, &format!("204 | {vary}"));
    let any = "204 | origin * | vary access-control-request-method, access-control-request-headers | methods PUT";
    check(Cors::any().methods(&["PUT"]).headers(&["*"]), from_b, &format!("{any} | headers *"));
    // Not a preflight: a question without its subject, or a method that is no question.
    check(listed(), "OPTIONS /r\\nAccess-Control-Request-Method: PUT", "204 | vary origin");
    let put = "PUT /r\\nOrigin: https://a.test\\nAccess-Control-Request-Method: PUT";
    check(listed(), put, "204 | origin https://a.test | vary origin");
}

#[test]
fn private_networks() {
    let ask = |more: &str| format!("OPTIONS /r\\nOrigin: https://a.test\\nAccess-Control-Request-Method: PUT{more}");
    let private = "\\nAccess-Control-Request-Private-Network: true";
    let vary = "vary origin, access-control-request-method, access-control-request-headers";
    let yes = "204 | origin https://a.test | methods PUT | headers content-type";
    let cors = || listed().methods(&["PUT"]);
    let more = format!("{yes} | {vary}, access-control-request-private-network");
    check(cors(), &ask(private), &format!("{yes} | {vary}"));
    check(cors().private_network(), &ask(private), &format!("{more} | private true"));
    check(cors().private_network(), &ask(""), &more);
    check(cors().private_network(), &ask("\\nAccess-Control-Request-Private-Network: false"), &more);
}

#[test]
fn origins_may_be_a_question_of_code() {
    let cors = || Cors::matching(|origin| origin.ends_with(".a.test") || origin == "null").credentials();
    let yes = "200 | origin https://x.a.test | credentials true | vary origin";
    check(cors(), "GET /r\\nOrigin: https://x.a.test", yes);
    check(cors(), "GET /r\\nOrigin: https://x.b.test", "200 | vary origin");
    check(cors(), "GET /r\\nOrigin: null", "200 | vary origin");
    check(Cors::origins(&["null"]), "GET /r\\nOrigin: null", "200 | origin null | vary origin");
}

#[test]
fn stands_around_a_part_of_an_app() {
    let inner = Router::new().with(listed()).put("/r", async |_: Request| ());
    let client = Client::new(Router::new().nest("/api", inner).get("/r", async |_| "r"));
    let ask = |path: &str| format!("OPTIONS {path}\\nOrigin: https://a.test\\nAccess-Control-Request-Method: PUT");
    let reply = call(&client, &ask("/api/r")).send();
    assert_eq!(reply.header("access-control-allow-methods"), Some("PUT, OPTIONS"));
    assert_eq!(told(&call(&client, &ask("/r")).send()), "204");
}

#[test]
fn mistakes_are_found_when_built() {
    fn refused(build: impl FnOnce() -> Cors + std::panic::UnwindSafe) -> bool {
        std::panic::catch_unwind(|| drop(build())).is_err()
    }
    assert!(refused(|| Cors::any().credentials()));
    assert!(refused(|| listed().credentials().headers(&["*"])));
    assert!(refused(|| listed().expose(&["*"]).credentials()));
    assert!(refused(|| listed().methods(&["GET, PUT"])));
    assert!(refused(|| listed().headers(&["a\r\nb"])));
    for origin in [
        "*",
        "",
        "a.test",
        "https://",
        "https://a.test/",
        "https://A.test",
        "https://a.test:443",
        "http://a.test:80",
        "https://*.a.test",
        "https://a@b",
        "://a",
    ] {
        assert!(refused(|| Cors::origins(&[origin])), "{origin}");
    }
    for origin in ["null", "http://localhost:3000", "https://a.test:80", "https://[::1]:8080", "moz-extension://x-1"] {
        assert!(!refused(|| Cors::origins(&[origin])), "{origin}");
    }
    assert!(!refused(|| Cors::matching(|_| true).credentials()));
}

#[test]
fn a_mistake_is_reported_where_it_was_made() {
    static PLACE: std::sync::Mutex<Option<(String, u32)>> = std::sync::Mutex::new(None);
    let here = std::thread::current().id();
    let old = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        // Other tests panic at the same time.
        if std::thread::current().id() == here {
            *PLACE.lock().expect("no panic inside") = info.location().map(|at| (at.file().into(), at.line()));
        }
    }));
    let line = line!() + 1;
    let result = std::panic::catch_unwind(|| drop(Cors::any().credentials()));
    std::panic::set_hook(old);
    let (file, at) = PLACE.lock().expect("no panic inside").clone().expect("a place");
    assert!(result.is_err() && file.ends_with("cors.rs") && at == line, "{file}:{at}");
}
