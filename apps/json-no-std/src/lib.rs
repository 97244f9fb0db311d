//! The app `json` without std.
#![no_std]

extern crate alloc;

use alloc::string::String;
use serde::{Deserialize, Serialize};
use tabi::{Request, Response, Result, Router};

/// Returns the app.
pub fn router() -> Router {
    Router::new().get("/", about).get("/hello/{name}", hello).post("/json", echo)
}

tabi::serve!(router);

#[derive(Serialize)]
struct Greeting<'a> {
    hello: &'a str,
}

#[derive(Deserialize)]
struct Person {
    name: String,
    age: u32,
}

#[derive(Serialize)]
struct Answer {
    greeting: String,
    next_age: u32,
}

async fn about(_: Request) -> Result {
    Response::json(&Greeting { hello: "world" })
}

async fn hello(req: Request) -> Result {
    Response::json(&Greeting { hello: &req.raw_param("name")? })
}

async fn echo(mut req: Request) -> Result {
    let person: Person = req.json().await?;
    let greeting = tabi::concat(["Hello, ", &person.name, "!"]);
    Response::json(&Answer { greeting, next_age: person.age.saturating_add(1) })
}

#[cfg(test)]
mod tests {
    use tabi::testing::Client;

    #[test]
    fn answers() {
        let client = Client::new(super::router());
        assert_eq!(client.get("/").send().text(), r#"{"hello":"world"}"#);
        assert_eq!(client.get("/hello/%22Ada%22").send().text(), r#"{"hello":"\"Ada\""}"#);
        for (body, status, text) in [
            (r#"{"name":"Ada","age":36}"#, 200, r#"{"greeting":"Hello, Ada!","next_age":37}"#),
            (r#"{"name":"Ada","age":4294967295}"#, 200, r#"{"greeting":"Hello, Ada!","next_age":4294967295}"#),
        ] {
            let reply = client.post("/json").header("content-type", "application/json").body(body).send();
            assert_eq!((reply.status().code(), reply.text().as_str()), (status, text), "{body}");
        }
        for (body, status) in [("", 400), ("{", 400), ("{}", 422), (r#"{"name":1,"age":1}"#, 422)] {
            let reply = client.post("/json").header("content-type", "application/json").body(body).send();
            assert_eq!(reply.status().code(), status, "{body}");
        }
    }

    #[test]
    fn corpus() {
        tabi_corpus::native("json", super::router());
    }
}
