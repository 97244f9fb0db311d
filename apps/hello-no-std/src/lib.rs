//! The app `hello` without std: one line more, and half the size.
#![no_std]

extern crate alloc;

use alloc::string::String;
use tabi::{Request, Result, Router};

/// Returns the app.
pub fn router() -> Router {
    Router::new()
        .get("/", async |_| "Hello from Tabi! Try /hello/Ada")
        .get("/health", async |_| "healthy")
        .get("/hello/{name}", hello)
}

async fn hello(req: Request) -> Result<String> {
    Ok(tabi::concat(["Hello, ", &req.raw_param("name")?, "!"]))
}

tabi::serve!(router);

#[cfg(test)]
mod tests {
    use tabi::testing::Client;

    #[test]
    fn pages() {
        let client = Client::new(super::router());
        for (path, status, text) in [
            ("/health", 200, "healthy"),
            ("/hello/Ada", 200, "Hello, Ada!"),
            ("/hello/Ad%C3%A8le%20%2F", 200, "Hello, Ad\u{e8}le /!"),
            ("/hello/", 404, "not found"),
            ("/hello/%zz", 400, "malformed path"),
        ] {
            let page = client.get(path).send();
            assert_eq!((page.status().code(), page.text().as_str()), (status, text), "{path}");
        }
    }

    #[test]
    fn corpus() {
        tabi_corpus::native("hello", super::router());
    }
}
