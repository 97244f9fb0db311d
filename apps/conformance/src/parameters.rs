//! What a request says in its path, its query string and its form.

use serde::{Deserialize, Serialize};
use tabi::{Error, Request, Response, Result, Router};

pub(crate) fn router() -> Router {
    Router::new()
        .get("/people/{id}", path)
        .named("person")
        .get("/people/{id}/files/{*path}", path)
        .named("file")
        .get("/people/{id}/", path)
        .get("/people/me", async |_| "it's you")
        .get("/numbers/{number}", async |req: Request| Ok::<_, Error>(tabi::decimal(req.param("number")?)))
        .get("/query", async |req: Request| query(&req))
        .get("/search", search)
        .post("/form", form)
        .post("/order", order)
        .get("/target", target)
}

/// Prints pairs as lines.
pub(crate) fn lines<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    pairs.map(|(name, value)| tabi::concat([name, "=", value, "\n"])).collect()
}

async fn path(req: Request) -> String {
    let params: Vec<_> = req.params().collect();
    lines(params.iter().map(|(name, value)| (*name, &**value)))
}

/// Prints the query string, decoded.
pub(crate) fn query(req: &Request) -> String {
    let pairs: Vec<_> = req.query_pairs().collect();
    lines(pairs.iter().map(|(name, value)| (&**name, &**value)))
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Order {
    Newest,
    Oldest,
}

#[derive(Deserialize, Serialize)]
struct Search {
    q: String,
    order: Option<Order>,
    #[serde(default)]
    tag: Vec<String>,
}

async fn search(req: Request) -> Result {
    Response::json(&req.query_as::<Search>()?)
}

/// The query string before the form: both are there, and never mixed unless somebody does it.
async fn form(mut req: Request) -> Result<String> {
    let form = req.form().await?;
    Ok(tabi::concat([&query(&req), "--\n", &lines(form.iter())]))
}

#[derive(Deserialize, Serialize)]
struct Item {
    s: String,
    i: i32,
    l: i64,
    b: bool,
}

async fn order(mut req: Request) -> Result {
    Response::json(&req.form_as::<Item>().await?)
}

/// What the request line and `Host` say.
async fn target(req: Request) -> String {
    let authority = req.authority().unwrap_or_default();
    let query = req.query_string().map_or_else(|| "none".into(), |query| tabi::concat(["`", query, "`"]));
    tabi::concat(["path ", req.path(), "\nquery ", &query, "\nauthority ", &authority, "\n"])
}
