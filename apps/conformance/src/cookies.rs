//! Cookies that come in, are set, counted and removed.

use core::time::Duration;
use tabi::{Cookie, Error, OrStatus, Request, Response, Result, Router, SameSite, Status};

pub(crate) fn router() -> Router {
    Router::new()
        .get("/cookies", show)
        .post("/cookies/set", set)
        .post("/cookies/remove", remove)
        .get("/cookies/many", many)
        .get("/visits", visits)
}

async fn show(req: Request) -> String {
    crate::parameters::lines(req.cookies())
}

/// A name or a value that no cookie can have is the client's mistake here, since both come from it.
async fn set(req: Request) -> Result {
    let name = req.query("name").or_status(Status::BAD_REQUEST, "query parameter `name` is missing")?;
    let mut cookie = Cookie::new(name, req.query("value").unwrap_or_default());
    if let Some(path) = req.query("path") {
        cookie = cookie.path(path);
    }
    cookie.to_http().map_err(|_| Error::new(Status::BAD_REQUEST, "there can be no such cookie"))?;
    Ok(Response::redirect("/cookies").with_cookie(cookie))
}

async fn remove(req: Request) -> Result {
    let name = req.query("name").or_status(Status::BAD_REQUEST, "query parameter `name` is missing")?;
    let mut jar = req.jar();
    jar.remove(&name);
    Ok(Response::redirect("/cookies").with_jar(jar))
}

/// Every attribute, and a cookie that replaces one of the same name.
async fn many(_: Request) -> Response {
    let token = Cookie::new("__Host-token", "a+b/c==").same_site(SameSite::Strict).partitioned();
    let theme = Cookie::plain("theme", "\"dark\"").path("/app").domain("example.com").max_age(Duration::from_secs(60));
    Response::text("many")
        .with_cookie(Cookie::new("__Host-token", "replaced"))
        .with_cookie(theme)
        .with_cookie(token)
        .with_cookie(Cookie::new("until", "then").expires(tabi::Date::from_unix(784_111_777)))
}

async fn visits(req: Request) -> Response {
    let mut jar = req.jar();
    let visits = jar.get("visits").and_then(|text| text.parse().ok()).unwrap_or(0u64).saturating_add(1);
    jar.insert(Cookie::new("visits", tabi::decimal(visits)));
    Response::text(tabi::decimal(visits)).with_jar(jar)
}
