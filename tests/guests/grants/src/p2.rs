//! The export for 0.2.

use wasip2::http::types::{Fields, IncomingRequest, OutgoingBody, OutgoingResponse, ResponseOutparam};

wasip2::http::proxy::export!(Granted);

struct Granted;

impl wasip2::exports::http::incoming_handler::Guest for Granted {
    fn handle(request: IncomingRequest, out: ResponseOutparam) {
        let text = crate::answer(&request.path_with_query().unwrap_or_default());
        let response = OutgoingResponse::new(Fields::new());
        let body = response.body().expect("body");
        ResponseOutparam::set(out, Ok(response));
        let stream = body.write().expect("stream");
        for piece in text.as_bytes().chunks(4096) {
            stream.blocking_write_and_flush(piece).expect("write");
        }
        drop(stream);
        OutgoingBody::finish(body, None).expect("finish");
    }
}
