//! The native lane: the app as a Rust function, without a port or a runtime.

use crate::message::{Answer, Request};
use tabi::testing::Client;
use tabi::{Method, Router};

/// Runs the cases of an app natively. For the app's own tests.
///
/// # Panics
/// Where an answer is not as expected.
#[track_caller]
pub fn native(app: &str, router: Router) {
    let client = Client::new(router);
    // A client keeps cookies, as a browser does; an exchange is to depend on its own file alone.
    crate::check(app, "native", |request| send(&client.fresh(), request));
}

fn send(client: &Client, request: &Request) -> Result<Answer, String> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|error| error.to_string());
    let method = Method::new(&text(&request.method)?).ok_or("no method")?;
    let mut call = client.request(method, &text(&request.target)?);
    for (name, value) in &request.headers {
        match name.to_ascii_lowercase().as_str() {
            "host" => call = call.authority(&text(value)?),
            // The client sets it, or a server has taken it off.
            "content-length" | "connection" | "transfer-encoding" => {}
            _ => call = call.header(name, value),
        }
    }
    if !request.body.is_empty() {
        call = call.body(request.body.clone());
    }
    let reply = call.send();
    if let Some(error) = reply.broken() {
        return Err(format!("the body broke off: {error}"));
    }
    let headers = reply.headers().iter().map(|(name, value)| (name.to_owned(), value.to_vec())).collect();
    Ok(Answer { status: reply.status().code(), headers, body: reply.bytes().to_vec() })
}
