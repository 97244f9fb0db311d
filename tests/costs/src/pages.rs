//! A page for each convenience, with as little as possible beside it.

#![allow(dead_code, reason = "a feature takes one of them")]

use serde::{Deserialize, Serialize};
use tabi::__private::assets::{File, Variant};
use tabi::sse::{self, Event};
use tabi::{Assets, Body, Cookie, Cors, ETag, Fields, Next, Request, Response, Result, Validators};

pub(crate) async fn header(req: Request) -> Result {
    Ok(Response::text(String::from(req.header("x-a").unwrap_or_default())))
}

pub(crate) async fn param(req: Request) -> Result {
    let number: u32 = req.param("n")?;
    Ok(Response::text(tabi::decimal(number.into())))
}

pub(crate) async fn query(req: Request) -> Result {
    Ok(Response::text(req.query("a").unwrap_or_default()))
}

pub(crate) async fn body(mut req: Request) -> Result {
    Ok(Response::text(req.bytes().await?))
}

pub(crate) async fn cookie(req: Request) -> Result {
    Ok(Response::text(String::from(req.cookie("a").unwrap_or_default())))
}

pub(crate) async fn set_cookie(_: Request) -> Result {
    Ok(Response::text("hello").with_cookie(Cookie::new("a", "b")))
}

pub(crate) async fn jar(req: Request) -> Result {
    let mut jar = req.jar();
    let value = String::from(jar.get("a").unwrap_or_default());
    jar.insert(Cookie::new("a", value));
    Ok(Response::text("hello").with_jar(jar))
}

pub(crate) async fn form(mut req: Request) -> Result {
    Ok(Response::text(String::from(req.form().await?.get("a").unwrap_or_default())))
}

#[derive(Deserialize, Serialize)]
struct Person {
    name: String,
    age: u32,
}

pub(crate) async fn form_typed(mut req: Request) -> Result {
    Ok(Response::text(req.form_as::<Person>().await?.name))
}

pub(crate) async fn query_typed(req: Request) -> Result {
    Ok(Response::text(req.query_as::<Person>()?.name))
}

pub(crate) async fn multipart(mut req: Request) -> Result {
    let (mut form, mut bytes) = (req.multipart()?, 0);
    while let Some(mut field) = form.next_field().await? {
        while let Some(chunk) = field.chunk().await? {
            bytes += chunk.len() as u64;
        }
    }
    Ok(Response::text(tabi::decimal(bytes)))
}

pub(crate) async fn multipart_fields(mut req: Request) -> Result {
    let (mut fields, mut bytes) = (Fields::new(), 0);
    let mut form = req.multipart()?;
    while let Some(mut file) = form.next_file(&mut fields).await? {
        while let Some(chunk) = file.chunk().await? {
            bytes += chunk.len() as u64;
        }
    }
    Ok(Response::text(tabi::concat([fields.get("a").unwrap_or_default(), &tabi::decimal(bytes)])))
}

pub(crate) async fn json_in(mut req: Request) -> Result {
    Ok(Response::text(req.json::<Person>().await?.name))
}

pub(crate) async fn json_out(_: Request) -> Result {
    Response::json(&Person { name: "Ada".into(), age: 36 })
}

pub(crate) async fn json(mut req: Request) -> Result {
    Response::json(&req.json::<Person>().await?)
}

pub(crate) async fn ndjson(_: Request) -> Result {
    Ok(Response::ndjson(async |mut lines| lines.send(&Person { name: "Ada".into(), age: 36 }).await))
}

pub(crate) async fn accept(req: Request) -> Result {
    let kind = req.accepts(&["text/plain", "application/json"])?;
    Ok(kind.respond("hello"))
}

pub(crate) async fn language(req: Request) -> Result {
    Ok(req.accepts_language(&["en", "de"]).respond("hello"))
}

pub(crate) async fn conditional(req: Request) -> Result {
    Ok(Response::text("hello").with_header("etag", ETag::of(b"hello").as_str()).conditional(&req))
}

pub(crate) async fn validators(req: Request) -> Result {
    let refusal = req.conditional(&Validators::new().etag(ETag::of(b"hello")));
    Ok(refusal.unwrap_or_else(|| Response::text("hello")))
}

pub(crate) static FILES: Assets = Assets::new(
    "/static/",
    &[File {
        name: "a.css",
        fingerprinted: "a.0123456789abcdef.css",
        content_type: tabi::content_type("a.css"),
        plain: Variant { etag: "\"1\"", bytes: b"a {}" },
        br: Some(Variant { etag: "\"1-br\"", bytes: b"a" }),
        gzip: None,
    }],
);

pub(crate) async fn download(req: Request) -> Result {
    Ok(Response::text("hello").with_attachment(req.path()))
}

pub(crate) async fn redirect(_: Request) -> Result {
    Ok(Response::redirect("/there"))
}

pub(crate) async fn url(req: Request) -> Result {
    Ok(Response::text(req.url("person", &[("id", "7")])?))
}

pub(crate) async fn middleware(req: Request, next: Next) -> Response {
    next.run(req).await.with_header("x-a", "b")
}

pub(crate) fn cors() -> Cors {
    Cors::origins(&["https://app.example"])
}

pub(crate) async fn stream(_: Request) -> Result {
    Ok(Response::text(Body::stream(async |mut out| {
        out.send("hello").await;
        Ok(())
    })))
}

pub(crate) async fn events(_: Request) -> Result {
    Ok(sse::stream(async |mut events| events.send(Event::data("hello").name("a").id("1")).await))
}

#[cfg(feature = "deflate")]
pub(crate) async fn deflate(_: Request) -> Result {
    Ok(Response::text(miniz_oxide::deflate::compress_to_vec(b"hello", 6)))
}

#[cfg(feature = "brotli")]
pub(crate) async fn brotli(_: Request) -> Result {
    let params = brotli::enc::BrotliEncoderParams { quality: 4, lgwin: 22, ..Default::default() };
    let mut compressed = Vec::new();
    brotli::BrotliCompress(&mut &b"hello"[..], &mut compressed, &params)?;
    Ok(Response::text(compressed))
}
