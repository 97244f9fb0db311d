//! Answers: redirects, bytes, what fits the client best, what it has already, and streams.

use tabi::sse::{self, Event};
use tabi::{Accept, Body, Choice, Date, ETag, OrStatus, Request, Response, Result, Router, Status, Validators};

pub(crate) fn router() -> Router {
    Router::new()
        .get("/redirect", async |_| Response::redirect("/"))
        .get("/redirect/temporary", async |_| Response::redirect_temporary("/"))
        .get("/redirect/permanent", async |_| Response::redirect_permanent("/"))
        .get("/redirect/to", redirect_to)
        .get("/bytes", async |_| b"Hi!".to_vec())
        .get("/html", async |_| Response::html("<p>\u{e4}</p>"))
        .get("/empty", async |_| "")
        .get("/nothing", async |_| ())
        .get("/links", links)
        .get("/download/{name}", download)
        .get("/page", page)
        .get("/page/any", page_or_html)
        .get("/language", language)
        .get("/article", article)
        .put("/article", replace)
        .get("/dated", dated)
        .get("/stream", stream)
        .get("/events", events)
}

/// A value from outside in a header field: what can't be in one is the client's mistake.
async fn redirect_to(req: Request) -> Result {
    let to = req.query("to").filter(|to| to.starts_with('/') && !to.starts_with("//"));
    let to = to.filter(|to| to.bytes().all(|byte| byte.is_ascii_graphic()));
    Ok(Response::redirect(&to.or_status(Status::BAD_REQUEST, "query parameter `to` is no path of this site")?))
}

async fn links(_: Request) -> Response {
    Response::text("links").with_appended("link", "</a>; rel=prev").with_appended("Link", "</b>; rel=next")
}

async fn download(req: Request) -> Result {
    Ok(Response::text("1;2\n").with_attachment(&req.raw_param("name")?))
}

const KINDS: [&str; 3] = ["text/html; charset=utf-8", "application/json", "text/plain; charset=utf-8"];

fn rendered(kind: Choice<'_>) -> Response {
    kind.respond(match &*kind {
        "application/json" => "{\"text\":\"hello\"}",
        "text/plain; charset=utf-8" => "hello",
        _ => "<p>hello",
    })
}

/// 406 where nothing fits.
async fn page(req: Request) -> Result {
    Ok(rendered(req.accepts(&KINDS)?))
}

/// HTML where nothing fits.
async fn page_or_html(req: Request) -> Response {
    match req.accepts(&KINDS) {
        Ok(kind) => rendered(kind),
        Err(_) => Response::html("<p>hello").with_vary("accept"),
    }
}

async fn language(req: Request) -> Response {
    let language = req.accepts_language(&["en", "de", "fr"]);
    let text = match &*language {
        "de" => "Guten Tag",
        "fr" => "Bonjour",
        _ => "Hello",
    };
    let first = Accept::languages(req.headers()).listed().first().copied().unwrap_or("none");
    language.respond(tabi::concat([text, " (asked for ", first, ")"]))
}

const ARTICLE: &str = "0123456789";
const CHANGED: Date = Date::from_unix(784_111_777);

async fn article(req: Request) -> Response {
    Response::text(ARTICLE)
        .with_header("etag", ETag::of(ARTICLE.as_bytes()).as_str())
        .with_header("last-modified", &CHANGED.to_http())
        .with_header("cache-control", "max-age=60")
        .conditional(&req)
}

/// Only who has seen the current version may write the next.
async fn replace(mut req: Request) -> Result {
    if let Some(refusal) = req.conditional(&Validators::new().etag(ETag::of(ARTICLE.as_bytes()))) {
        return Ok(refusal);
    }
    let bytes = req.bytes().await?;
    Ok(Response::default().with_status(Status::NO_CONTENT).with_header("etag", ETag::of(&bytes).as_str()))
}

async fn dated(req: Request) -> Response {
    Response::text("dated").with_header("last-modified", &CHANGED.to_http()).conditional(&req)
}

async fn stream(_: Request) -> Response {
    Response::text(Body::stream(async |mut out| {
        for number in 0..3 {
            out.send(tabi::concat([&tabi::decimal(number), "\n"])).await;
        }
        Ok(())
    }))
}

async fn events(req: Request) -> Response {
    let first = req.last_event_id().and_then(|id| id.parse().ok()).map_or(0, |last: u64| last.saturating_add(1));
    sse::stream(async move |mut events| {
        events.comment("hello").await;
        for number in first..2 {
            let number = tabi::decimal(number);
            events.send(Event::data(&tabi::concat(["line\nid: ", &number])).name("tick").id(&number)).await?;
        }
        Ok(())
    })
}
