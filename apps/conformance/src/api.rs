//! JSON for programs on other sites: CORS, limits, streams of lines.

use core::time::Duration;
use serde::{Deserialize, Serialize};
use tabi::{BodyLimit, Cors, Error, Request, Response, Result, Router, Status};

pub(crate) fn router() -> Router {
    let cors = Cors::origins(&["https://app.example"])
        .credentials()
        .headers(&["content-type"])
        .expose(&["x-total"])
        .max_age(Duration::from_secs(600));
    Router::new()
        .with(cors)
        .with(BodyLimit(4096))
        .post("/people", person)
        .get("/people", people)
        .get("/conflict", async |_| Error::new(Status::CONFLICT, "somebody else was faster"))
        .get("/broken", broken)
}

#[derive(Deserialize, Serialize)]
struct Person {
    name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    friends: Vec<Person>,
}

/// What came, with the query parameter `a` beside it.
async fn person(mut req: Request) -> Result {
    let person: Person = req.json().await?;
    let total = tabi::decimal(person.friends.len() as u64);
    let response = Response::json(&person)?.with_status(Status::CREATED).with_header("x-total", &total);
    Ok(match req.query("a") {
        Some(a) => response.with_header("x-query-a", &a),
        None => response,
    })
}

async fn people(_: Request) -> Response {
    Response::ndjson(async |mut lines| {
        for name in ["Ada", "Zo\u{eb}"] {
            lines.send(&Person { name: name.into(), friends: Vec::new() }).await?;
        }
        Ok(())
    })
}

/// What went wrong is for the log.
async fn broken(_: Request) -> Result<String> {
    let secret = String::from_utf8(vec![0xff])?;
    Ok(secret)
}
