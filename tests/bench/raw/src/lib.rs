//! Hello for `wasi:http@0.2` on nothing but the bindings: the limit of what a component can do.

use wasip2::http::types::{Fields, IncomingRequest, OutgoingBody, OutgoingResponse, ResponseOutparam};

wasip2::http::proxy::export!(Hello);

struct Hello;

impl wasip2::exports::http::incoming_handler::Guest for Hello {
    fn handle(_: IncomingRequest, out: ResponseOutparam) {
        let fields = Fields::new();
        let _ = fields.append("content-type", b"text/plain; charset=utf-8");
        let response = OutgoingResponse::new(fields);
        let Ok(body) = response.body() else { return };
        ResponseOutparam::set(out, Ok(response));
        if let Ok(stream) = body.write() {
            let _ = stream.blocking_write_and_flush(b"Hello, World!");
        }
        let _ = OutgoingBody::finish(body, None);
    }
}
