//! What the benchmarks ask for: NinjaX's health check, the workloads of ninja-undertow, and bodies, header fields and
//! routes in any number. `tests/bench` has the same on axum.

use serde::Deserialize;
use tabi::{BodyLimit, Error, OrStatus, Request, Response, Result, Router, Status};

/// The limit of a body that is read whole, and of one that is made.
const BODY_LIMIT: usize = 16 * 1024 * 1024;

/// Returns the app. Built with the environment variable `TABI_BENCH_ROUTES=1000`, it has a thousand routes more.
pub fn router() -> Router {
    with_routes(option_env!("TABI_BENCH_ROUTES").and_then(|text| text.parse().ok()).unwrap_or(0))
}

tabi::serve!(router);

fn with_routes(count: u64) -> Router {
    let mut router = Router::new()
        .with(BodyLimit(BODY_LIMIT))
        .get("/", async |_| "Hello, World!")
        .get("/hello/{name}", hello)
        .get("/health", async |_| "healthy")
        .get("/benchmark_params", params)
        .post("/benchmark_object", object)
        .get("/headers", headers)
        .get("/bytes/{count}", bytes)
        .post("/length", length)
        .post("/echo", echo);
    for number in 0..count {
        let pattern = tabi::concat(["/routes/", &tabi::decimal(number), "/{id}/edit"]);
        router = router.get(pattern, async |req: Request| Ok::<_, Error>(req.raw_param("id")?.into_owned()));
    }
    router
}

async fn hello(req: Request) -> Result<String> {
    Ok(tabi::concat(["Hello, ", &req.raw_param("name")?, "!"]))
}

#[derive(Deserialize)]
struct Params {
    a: String,
    b: String,
    c: String,
    d: String,
}

#[derive(Deserialize)]
struct Short {
    a: String,
    b: String,
}

#[derive(Deserialize)]
struct Object {
    s: String,
    i: i32,
    l: i64,
    b: bool,
}

async fn params(req: Request) -> Result {
    let params: Params = req.query_as()?;
    let is_right = params.a == "adam" && params.b == "bob" && params.c == "charlie" && params.d == "david";
    benchmark(is_right && has_cookie(&req))
}

async fn object(mut req: Request) -> Result {
    let is_json = req.content_type().is_some_and(|kind| kind == "application/json");
    let object: Object = if is_json { req.json().await? } else { req.form_as().await? };
    let short: Short = req.query_as()?;
    let is_right = object.s == "sam" && object.i == 2 && object.l == 10_000_000 && object.b;
    benchmark(is_right && short.a == "adam" && short.b == "bob" && has_cookie(&req))
}

fn has_cookie(req: &Request) -> bool {
    req.cookie("TEST") == Some("THISISATESTCOOKIEHEADER")
}

/// An answer that only a request which was understood gets.
fn benchmark(is_right: bool) -> Result {
    is_right.then_some(()).or_status(Status::BAD_REQUEST, "not what the benchmark sends")?;
    Ok(Response::html("benchmark"))
}

/// How many bytes the values of all fields `x-bench-…` have.
async fn headers(req: Request) -> String {
    let own = req.headers().iter().filter(|(name, _)| name.starts_with("x-bench-"));
    tabi::decimal(own.map(|(_, value)| value.len() as u64).sum())
}

async fn bytes(req: Request) -> Result {
    let count: usize = req.param("count")?;
    (count <= BODY_LIMIT).then_some(()).or_status(Status::BAD_REQUEST, "too many")?;
    Ok(Response::content("application/octet-stream", vec![b'x'; count]))
}

async fn length(mut req: Request) -> Result<String> {
    Ok(tabi::decimal(req.bytes().await?.len() as u64))
}

async fn echo(mut req: Request) -> Response {
    Response::content("application/octet-stream", req.body().take())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tabi::testing::Client;

    const COOKIE: &str = "TEST=THISISATESTCOOKIEHEADER";

    #[track_caller]
    fn check(client: &Client, (method, target): (&str, &str), content: Option<(&str, &str)>, expected: (u16, &str)) {
        let call = match method {
            "GET" => client.get(target),
            _ => client.post(target),
        };
        let call = call.header("cookie", COOKIE).header("x-bench-1", "12345").header("x-bench-2", "678");
        let call = match content {
            Some((kind, body)) => call.header("content-type", kind).body(body),
            None => call,
        };
        let reply = call.send();
        assert_eq!((reply.status().code(), reply.text().as_str()), expected, "{method} {target}");
    }

    #[test]
    fn answers_what_the_benchmark_sends() {
        let client = Client::new(router());
        let (form, json) = ("application/x-www-form-urlencoded", "application/json");
        let right = (200, "benchmark");
        check(&client, ("GET", "/benchmark_params?a=adam&b=bob&c=charlie&d=david"), None, right);
        check(
            &client,
            ("GET", "/benchmark_params?a=adam&b=bob&c=charlie&d=eve"),
            None,
            (400, "not what the benchmark sends"),
        );
        let object = ("POST", "/benchmark_object?a=adam&b=bob");
        check(&client, object, Some((form, "s=sam&i=2&l=10000000&b=true")), right);
        check(&client, object, Some((json, r#"{ "s":"sam", "i":2, "l":10000000, "b":true  }"#)), right);
        check(
            &client,
            object,
            Some((json, r#"{"s":"sam","i":3,"l":1,"b":true}"#)),
            (400, "not what the benchmark sends"),
        );
    }

    #[test]
    fn answers_any_size() {
        let client = Client::new(router());
        check(&client, ("GET", "/headers"), None, (200, "8"));
        check(&client, ("GET", "/bytes/5"), None, (200, "xxxxx"));
        check(&client, ("GET", "/bytes/99999999"), None, (400, "too many"));
        check(&client, ("POST", "/length"), Some(("text/plain", "four")), (200, "4"));
        check(&client, ("POST", "/echo"), Some(("text/plain", "four")), (200, "four"));
    }

    #[test]
    fn has_as_many_routes_as_asked_for() {
        let client = Client::new(with_routes(1000));
        check(&client, ("GET", "/routes/999/seven/edit"), None, (200, "seven"));
        check(&client, ("GET", "/routes/1000/seven/edit"), None, (404, "not found"));
        check(&client, ("GET", "/health"), None, (200, "healthy"));
    }

    #[test]
    fn corpus() {
        tabi_corpus::native("bench", router());
    }
}
