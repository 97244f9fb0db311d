//! A site of files: compiled in, compressed at build time, with URLs that change with the content.

use tabi::{Assets, Request, Response, Router};

static FILES: Assets = tabi::assets!("static");

/// Returns the app.
pub fn router() -> Router {
    Router::new().get("/", home).get("/robots.txt", FILES.file("robots.txt")).get("/static/{*path}", &FILES)
}

/// Prints the URLs that browsers may keep for a year.
async fn home(_: Request) -> Response {
    Response::html(tabi::concat([
        "<!doctype html><title>Files</title><link rel=stylesheet href=\"",
        &FILES.url("css/app.css"),
        "\"><script type=module src=\"",
        &FILES.url("js/app.mjs"),
        "\"></script><img alt=\"\" src=\"",
        &FILES.url("img/tabi.svg"),
        "\"><p>See the <a href=\"/static/guide/\">guide</a>.\n",
    ]))
}

tabi::serve!(router);

#[cfg(test)]
mod tests;
