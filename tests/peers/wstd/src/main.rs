//! Hello on wstd.

use wstd::http::{Body, Error, Request, Response};

#[wstd::http_server]
async fn main(_request: Request<Body>) -> Result<Response<Body>, Error> {
    Ok(Response::new(Body::from("Hello, World!")))
}
