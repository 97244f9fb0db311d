//! Every convenience once, in as few lines as it takes: the app that the corpus asks about, and a place to copy from.

mod api;
mod cookies;
mod pages;
mod parameters;
mod uploads;

use tabi::{Assets, Problems, Request, Response, Result, Router, Security};

static FILES: Assets = tabi::assets!("static");

/// Returns the app.
pub fn router() -> Router {
    Router::new()
        .with(Security::new())
        .with(Problems)
        .get("/", home)
        .named("home")
        .get("/robots.txt", FILES.file("robots.txt"))
        .get("/static/{*path}", &FILES)
        .merge(pages::router())
        .merge(parameters::router())
        .merge(cookies::router())
        .merge(uploads::router())
        .nest("/api", api::router())
}

tabi::serve!(router);

/// Links to routes by their names, and to a file by a URL that changes with its content.
async fn home(req: Request) -> Result {
    Ok(Response::html(tabi::concat([
        "<!doctype html><title>Conformance</title><link rel=stylesheet href=\"",
        &FILES.url("css/custom.css"),
        "\"><a href=\"",
        &req.url("person", &[("id", "a/b c")])?,
        "\">a person</a> <a href=\"",
        &req.url("file", &[("id", "7"), ("path", "notes/\u{e9}.txt")])?,
        "\">a file</a>\n",
    ])))
}

#[cfg(test)]
mod tests;
