//! The export for 0.3.

use wasip3::http::types::{ErrorCode, Fields, Request, Response};
use wasip3::wit_bindgen::spawn_local;
use wasip3::{wit_future, wit_stream};

wasip3::http::service::export!(Granted);

struct Granted;

impl wasip3::exports::http::handler::Guest for Granted {
    async fn handle(request: Request) -> Result<Response, ErrorCode> {
        let text = crate::answer(&request.get_path_with_query().unwrap_or_default());
        let (mut body, contents) = wit_stream::new();
        let (end, trailers) = wit_future::new(|| Ok(None));
        let (response, _sent) = Response::new(Fields::new(), Some(contents), trailers);
        spawn_local(async move {
            body.write_all(text.into_bytes()).await;
            drop(body);
            let _ = end.write(Ok(None)).await;
        });
        Ok(response)
    }
}
