//! Which handler a request finds, and what it gets where there is none.

use std::panic::{AssertUnwindSafe, catch_unwind};
use tabi::testing::Client;
use tabi::{BodyLimit, Error, Method, Next, Request, Result, Router, Status};

/// Answers with the route and the parameters that were found.
async fn show(req: Request) -> String {
    let params: Vec<_> = req.params().map(|(name, value)| format!(" {name}={value}")).collect();
    format!("{}{}", req.route().unwrap_or("none"), params.concat())
}

#[track_caller]
fn check(router: fn() -> Router, rows: &[(Method, &str, u16, &str)]) {
    let client = Client::new(router());
    for (method, path, status, text) in rows {
        let page = client.request(method.clone(), path).send();
        assert_eq!((page.status().code(), page.text().as_str()), (*status, *text), "{method} {path}");
    }
}

const GET: Method = Method::GET;
const POST: Method = Method::POST;

#[test]
fn specificity_beats_order() {
    fn router() -> Router {
        Router::new()
            .get("/{*all}", show)
            .get("/users/{id}", show)
            .get("/users/me", show)
            .get("/users/{id}/{*rest}", show)
            .get("/users/{id}/posts", show)
            .post("/users/new", show)
            .get("/{section}/me", show)
    }
    check(
        router,
        &[
            (GET, "/users/me", 200, "/users/me"),
            (GET, "/users/7", 200, "/users/{id} id=7"),
            (GET, "/groups/me", 200, "/{section}/me section=groups"),
            (GET, "/users/7/posts", 200, "/users/{id}/posts id=7"),
            (GET, "/users/7/a/b", 200, "/users/{id}/{*rest} id=7 rest=a/b"),
            (GET, "/users/", 200, "/{*all} all=users/"),
            (GET, "/", 200, "/{*all} all="),
            // The pattern that fits best has another method: the next best answers.
            (GET, "/users/new", 200, "/users/{id} id=new"),
            (POST, "/users/new", 200, "/users/new"),
            (POST, "/users/7", 405, "method not allowed"),
        ],
    );
}

#[test]
fn any_method_and_one() {
    fn router() -> Router {
        let purge = Method::new("PURGE").unwrap();
        Router::new()
            .any("/a", async |_| "any")
            .put("/a", async |_| "put")
            .method(purge, "/b", async |_| "purge")
            .head("/a", async |_| "")
    }
    let purge = Method::new("PURGE").unwrap();
    check(
        router,
        &[
            (GET, "/a", 200, "any"),
            (Method::PUT, "/a", 200, "put"),
            (Method::OPTIONS, "/a", 200, "any"),
            (purge.clone(), "/a", 200, "any"),
            (purge, "/b", 200, "purge"),
            (GET, "/b", 405, "method not allowed"),
        ],
    );
    assert_eq!(Client::new(router()).get("/b").send().header("allow"), Some("PURGE, OPTIONS"));
}

#[test]
fn head_is_get_without_content() {
    fn router() -> Router {
        Router::new().get("/a", async |_| "text").head("/b", async |_| Status::NO_CONTENT).get("/b", async |_| "b")
    }
    let client = Client::new(router());
    let page = client.head("/a").send();
    assert_eq!((page.status().code(), page.header("content-length"), page.text().as_str()), (200, Some("4"), ""));
    assert_eq!(client.head("/b").send().status().code(), 204);
}

#[test]
fn options_and_405_name_all_methods() {
    fn router() -> Router {
        Router::new().delete("/a/{id}", show).get("/a/{id}", show).patch("/a/b", show).post("/c", show)
    }
    let client = Client::new(router());
    for (method, path, status, allow) in [
        (Method::OPTIONS, "/a/b", 204, Some("GET, HEAD, PATCH, DELETE, OPTIONS")),
        (Method::OPTIONS, "/a/x", 204, Some("GET, HEAD, DELETE, OPTIONS")),
        (Method::OPTIONS, "*", 204, Some("GET, HEAD, POST, PATCH, DELETE, OPTIONS")),
        (Method::OPTIONS, "/x", 404, None),
        (Method::PUT, "/a/b", 405, Some("GET, HEAD, PATCH, DELETE, OPTIONS")),
        (Method::GET, "/c", 405, Some("POST, OPTIONS")),
        (Method::GET, "*", 404, None),
    ] {
        let page = client.request(method.clone(), path).send();
        assert_eq!((page.status().code(), page.header("allow")), (status, allow), "{method} {path}");
    }
}

/// Middleware that leaves a mark.
macro_rules! mark {
    ($name:literal) => {
        async |req: Request, next: Next| next.run(req).await.with_appended("x-mark", $name)
    };
}

fn nested() -> Router {
    let inner = Router::new()
        .with(mark!("inner"))
        .get("/", show)
        .get("/x", show)
        .nest("/deep/{n}", Router::new().get("/y", show).fallback(async |_| Error::new(Status::NOT_FOUND, "deep")))
        .fallback(async |_| Error::new(Status::GONE, "inner"));
    Router::new()
        .with(mark!("one"))
        .with(mark!("two"))
        .nest("/in/{id}", inner)
        .merge(Router::new().with(mark!("merged")).get("/merged", show).post("/merged", show))
        .get("/out", show)
}

#[test]
fn nesting() {
    let client = Client::new(nested());
    for (method, path, status, text, marks) in [
        (Method::GET, "/in/7", 200, "/in/{id} id=7", "inner two one"),
        (Method::GET, "/in/7/x", 200, "/in/{id}/x id=7", "inner two one"),
        (Method::GET, "/in/7/", 410, "inner", "inner two one"),
        (Method::GET, "/in/7/z", 410, "inner", "inner two one"),
        (Method::POST, "/in/7/x", 405, "method not allowed", "inner two one"),
        (Method::GET, "/in/7/deep/8/y", 200, "/in/{id}/deep/{n}/y id=7 n=8", "inner two one"),
        (Method::GET, "/in/7/deep/8/z", 404, "deep", "inner two one"),
        (Method::GET, "/merged", 200, "/merged", "merged two one"),
        (Method::DELETE, "/merged", 405, "method not allowed", "merged two one"),
        (Method::OPTIONS, "/merged", 204, "", "merged two one"),
        (Method::GET, "/out", 200, "/out", "two one"),
        (Method::GET, "/in", 404, "not found", "two one"),
        (Method::GET, "/inx/7", 404, "not found", "two one"),
        (Method::GET, "/%zz", 400, "malformed path", "two one"),
    ] {
        let page = client.request(method.clone(), path).send();
        let found: Vec<_> = page.headers().get_all("x-mark").collect();
        assert_eq!(
            (page.status().code(), page.text().as_str(), found.join(" ").as_str()),
            (status, text, marks),
            "{method} {path}"
        );
    }
}

#[test]
fn middleware_answers_changes_and_hands_on() {
    struct User(&'static str);
    async fn login(mut req: Request, next: Next) -> Result {
        if req.header("authorization") != Some("Bearer secret") {
            return Err(Error::new(Status::UNAUTHORIZED, "token required").with_header("www-authenticate", "Bearer"));
        }
        req.extensions_mut().insert(User("Ada"));
        req.headers_mut().insert("x-seen", "yes")?;
        Ok(next.run(req).await)
    }
    async fn name(req: Request) -> Result<String> {
        let user = req.extensions().get::<User>().map_or("nobody", |user| user.0);
        Ok(format!("{user} {}", req.header("x-seen").unwrap_or_default()))
    }
    let client = Client::new(Router::new().with(login).get("/", name));
    let page = client.get("/").send();
    assert_eq!((page.status().code(), page.header("www-authenticate")), (401, Some("Bearer")));
    let page = client.get("/").header("authorization", "Bearer secret").send();
    assert_eq!((page.status().code(), page.text().as_str()), (200, "Ada yes"));
    // What finds no route is behind the door, too.
    assert_eq!(client.get("/nowhere").send().status().code(), 401);
}

#[test]
fn state_of_the_nearest_router() {
    async fn both(req: Request) -> Result<String> {
        Ok(format!("{} {}", req.state::<u8>()?, req.state::<&str>()?))
    }
    async fn missing(req: Request) -> Result<String> {
        Ok(format!("{}", req.state::<u64>()?))
    }
    let inner = Router::new().state("inner").get("/both", both);
    let router = Router::new().state(1u8).state("outer").nest("/in", inner).get("/both", both).get("/missing", missing);
    let client = Client::new(router);
    for (path, status, text) in
        [("/both", 200, "1 outer"), ("/in/both", 200, "1 inner"), ("/missing", 500, "internal error")]
    {
        let page = client.get(path).send();
        assert_eq!((page.status().code(), page.text().as_str()), (status, text), "{path}");
    }
}

#[test]
fn named_routes() {
    async fn link(req: Request) -> Result<String> {
        let name: String = req.param("name")?;
        req.url("user", &[("id", &name)])
    }
    async fn wrong(req: Request) -> Result<String> {
        req.url("nobody", &[])
    }
    let users = Router::new().get("/{id}", show).named("user");
    let client = Client::new(Router::new().nest("/users", users).get("/link/{name}", link).get("/wrong", wrong));
    for (path, status, text) in [
        ("/link/7", 200, "/users/7"),
        ("/link/a%2Fb%20%3F", 200, "/users/a%2Fb%20%3F"),
        ("/link/%C3%A9", 200, "/users/%C3%A9"),
        ("/wrong", 500, "internal error"),
    ] {
        let page = client.get(path).send();
        assert_eq!((page.status().code(), page.text().as_str()), (status, text), "{path}");
    }
}

#[test]
fn limits_of_bodies() {
    async fn length(mut req: Request) -> Result<String> {
        Ok(req.bytes().await?.len().to_string())
    }
    let small = Router::new().with(BodyLimit(4)).post("/small", length);
    let client = Client::new(Router::new().merge(small).post("/usual", length));
    for (path, size, status) in
        [("/small", 4, 200), ("/small", 5, 413), ("/usual", 2 << 20, 200), ("/usual", (2 << 20) + 1, 413)]
    {
        let body = vec![b'x'; size];
        let page = client.post(path).body(body.clone()).send();
        assert_eq!(page.status().code(), status, "{path} {size}");
        // The same without a length that is told beforehand.
        let pieces: Vec<Vec<u8>> = body.chunks(100_000).map(<[u8]>::to_vec).collect();
        assert_eq!(client.post(path).chunks(pieces).send().status().code(), status, "{path} {size} in pieces");
    }
}

/// Runs what builds a router and returns its panic message and whether it names a place in this file.
#[track_caller]
fn mistake(build: impl FnOnce() -> Router, expected: &[&str]) {
    let error = catch_unwind(AssertUnwindSafe(build)).err().expect("a mistake is found");
    let message = error.downcast_ref::<String>().cloned().unwrap_or_default();
    for part in expected {
        assert!(message.contains(part), "`{message}` lacks `{part}`");
    }
}

#[test]
fn mistakes_are_found_at_the_start() {
    mistake(
        || Router::new().get("/users/{id}", show).get("/users/{name}", show),
        &["`GET /users/{name}` is already taken by `GET /users/{id}`", "routing.rs:"],
    );
    mistake(|| Router::new().any("/a", show).any("/a", show), &["`ANY /a`"]);
    mistake(
        || Router::new().get("/in/a", show).nest("/in", Router::new().get("/a", show)),
        &["`GET /in/a` is already taken"],
    );
    mistake(
        || Router::new().merge(Router::new().get("/{*a}", show)).get("/{*b}", show),
        &["`GET /{*b}` is already taken"],
    );
    mistake(|| Router::new().get("users", show), &["route `users` must start with `/`"]);
    mistake(|| Router::new().get("/a{b}", show), &["braces only around a whole segment"]);
    mistake(|| Router::new().get("/{a}/{a}", show), &["names two parameters alike"]);
    mistake(|| Router::new().get("/{*a}/b", show), &["after `{*…}`"]);
    mistake(|| Router::new().get("/a?b", show), &["`?`"]);
    mistake(|| Router::new().nest("/a/", Router::new()), &["prefix `/a/` must not end with `/`"]);
    mistake(|| Router::new().nest("a", Router::new()), &["prefix `a` must start with `/`"]);
    mistake(|| Router::new().nest("/{a}", Router::new().get("/{a}", show)), &["names two parameters alike"]);
    mistake(|| Router::new().state(1u8).state(2u8), &["state of type `u8`"]);
    mistake(|| Router::new().fallback(show).fallback(show), &["a fallback already"]);
    mistake(|| Router::new().merge(Router::new().fallback(show)), &["a merged router can't have a fallback"]);
    mistake(|| Router::new().get("/a", show).named("a").get("/b", show).named("a"), &["the name `a` is already taken"]);
    mistake(|| Router::new().named("a"), &["no route yet"]);
}

/// The same method twice is a conflict, another one is not.
#[test]
fn no_false_alarms() {
    let _ = Router::new()
        .get("/a/{x}", show)
        .post("/a/{y}", show)
        .get("/a/b", show)
        .get("/a/b/", show)
        .get("/a/{*z}", show)
        .any("/a/{w}", show);
}
