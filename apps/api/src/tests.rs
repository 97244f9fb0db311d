//! The service, natively.

use super::*;
use serde_json::{Value, json};
use tabi::Method;
use tabi::testing::Client;

#[track_caller]
fn check(method: Method, path: &str, body: Option<&str>, status: u16, expected: Value) {
    let client = Client::new(router());
    let mut call = client.request(method, path);
    if let Some(body) = body {
        call = call.header("content-type", "application/json").body(body);
    }
    let reply = call.send();
    assert_eq!((reply.status().code(), reply.json::<Value>()), (status, expected), "{path}");
    assert_eq!(reply.header("x-calendar-version"), Some(env!("CARGO_PKG_VERSION")));
}

fn problem(status: u16, title: &str, detail: &str) -> Value {
    json!({"status": status, "title": title, "detail": detail})
}

#[test]
fn days() {
    for (date, weekday, day_of_year, leap_year) in [
        ("2026-12-24", "thursday", 358, false),
        ("2024-02-29", "thursday", 60, true),
        ("0001-01-01", "monday", 1, false),
        ("9999-12-31", "friday", 365, false),
        ("2000-03-01", "wednesday", 61, true),
    ] {
        let day = json!({"date": date, "weekday": weekday, "day_of_year": day_of_year, "leap_year": leap_year});
        check(Method::GET, &format!("/v1/days/{date}"), None, 200, day);
    }
    for date in ["2026-02-29", "2026-13-01", "2026-00-01", "0000-01-01", "2026-1-1", "x", "2026-12-24Z"] {
        let problem = problem(400, "Bad Request", "bad path parameter `date`");
        check(Method::GET, &format!("/v1/days/{date}"), None, 400, problem);
    }
}

#[test]
fn shifts() {
    for (date, by, moved) in [
        ("2026-01-31", r#"{"months":1}"#, "2026-02-28"),
        ("2024-02-29", r#"{"years":1}"#, "2025-02-28"),
        ("2026-12-24", r#"{"days":10,"months":-1}"#, "2026-12-04"),
        ("2026-01-01", r#"{"days":-1}"#, "2025-12-31"),
        ("2026-01-01", "{}", "2026-01-01"),
        ("0001-01-01", r#"{"days":3652058}"#, "9999-12-31"),
    ] {
        let client = Client::new(router());
        let reply =
            client.patch(&format!("/v1/days/{date}")).header("content-type", "application/json").body(by).send();
        assert_eq!((reply.status().code(), reply.json::<Value>()["date"].as_str()), (200, Some(moved)), "{date} {by}");
    }
    for (by, status) in [
        (r#"{"days":2147483647}"#, 422),
        (r#"{"years":-2147483648}"#, 422),
        (r#"{"days":-1}"#, 422),
        (r#"{"day":1}"#, 422),
        (r#"{"days":"1"}"#, 422),
        (r#"{"days":1"#, 400),
        ("", 400),
    ] {
        let client = Client::new(router());
        let reply = client.patch("/v1/days/0001-01-01").header("content-type", "application/json").body(by).send();
        assert_eq!(reply.status().code(), status, "{by}");
    }
}

#[test]
fn months() {
    for (path, offset, days) in
        [("2026/2", 6, 28), ("2026/2?first=sunday", 0, 28), ("2024/2?first=monday", 3, 29), ("2026/12", 1, 31)]
    {
        let reply = Client::new(router()).get(&format!("/v1/months/{path}")).send();
        let month: Value = reply.json();
        assert_eq!(
            (month["offset"].as_i64(), month["days"].as_array().map(Vec::len)),
            (Some(offset), Some(days)),
            "{path}"
        );
    }
    check(Method::GET, "/v1/months/2026/13", None, 404, problem(404, "Not Found", "no such month"));
    let detail = "query parameter `first` is neither monday nor sunday";
    check(Method::GET, "/v1/months/2026/1?first=friday", None, 400, problem(400, "Bad Request", detail));
}

#[test]
fn intervals() {
    let post =
        |body| Client::new(router()).post("/v1/intervals").header("content-type", "application/json").body(body).send();
    for (from, to, days, workdays) in [
        ("2026-01-01", "2026-12-24", 357, 255),
        ("2026-11-30", "2026-12-07", 7, 5),
        ("2026-12-05", "2026-12-06", 1, 0),
        ("2026-12-05", "2026-12-05", 0, 0),
    ] {
        let reply = post(format!(r#"{{"from":"{from}","to":"{to}"}}"#));
        assert_eq!(
            (reply.status().code(), reply.json::<Value>()),
            (201, json!({"days": days, "workdays": workdays})),
            "{from} {to}"
        );
    }
    for (body, status) in [
        (r#"{"from":"2026-01-02","to":"2026-01-01"}"#, 422),
        (r#"{"from":"2026-01-02"}"#, 422),
        (r#"{"from":"secret","to":"2026-01-01"}"#, 422),
        (r#"["2026-01-01"]"#, 422),
        ("{", 400),
    ] {
        let reply = post(body.into());
        assert_eq!(reply.status().code(), status, "{body}");
        assert!(!reply.text().contains("secret"), "{}", reply.text());
    }
    assert_eq!(post(" ".repeat(16 * 1024 + 1)).status().code(), 413);
}

#[test]
fn the_rest() {
    check(Method::GET, "/", None, 200, json!({"name": "calendar", "version": env!("CARGO_PKG_VERSION")}));
    check(Method::GET, "/nowhere", None, 404, problem(404, "Not Found", "not found"));
    check(Method::DELETE, "/v1/intervals", None, 405, problem(405, "Method Not Allowed", "method not allowed"));
    let client = Client::new(router());
    assert_eq!(client.get("/health").send().text(), "healthy");
    assert_eq!(client.put("/v1/days/2026-01-01").send().header("allow"), Some("GET, HEAD, PATCH, OPTIONS"));
    assert_eq!(client.post("/v1/intervals").body("{}").send().status().code(), 415);
}

#[test]
fn corpus() {
    tabi_corpus::native("api", router());
}
