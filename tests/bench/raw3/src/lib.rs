//! Hello for `wasi:http@0.3` on nothing but the bindings.

use wasip3::http::types::{ErrorCode, Fields, Request, Response};
use wasip3::{wit_bindgen, wit_future, wit_stream};

wasip3::http::service::export!(Hello);

struct Hello;

impl wasip3::exports::http::handler::Guest for Hello {
    async fn handle(_: Request) -> Result<Response, ErrorCode> {
        let fields = Fields::new();
        let _ = fields.append("content-type", b"text/plain; charset=utf-8");
        let (mut body, reader) = wit_stream::new();
        let (_, trailers) = wit_future::new(|| Ok(None));
        wit_bindgen::spawn_local(async move {
            body.write_all(b"Hello, World!".to_vec()).await;
        });
        Ok(Response::new(fields, Some(reader), trailers).0)
    }
}
