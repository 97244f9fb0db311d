//! From a request head to a response head: checks, a place in the queue, the guest, the answer.

use crate::board::{Found, Served};
use crate::body::ResponseBody;
use crate::conn::{Conn, Stop};
use crate::dispatch::{Answer, AnswerBody, Failure};
use crate::encoding::Offer;
use crate::exchange::Exchange;
use crate::forwarded::{Client, Origin};
use crate::metrics::{By, Refused};
use crate::peer::Peer;
use crate::trace::Trace;
use crate::worker::{Dispatch, Worker};
use crate::{World, answer, board, files, request, request_id};
use hyper::header::{CONTENT_LENGTH, EXPECT, HeaderMap};
use hyper::{Method, Request, Response, StatusCode, Version};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::OwnedSemaphorePermit;

/// Answers one request.
pub(crate) async fn serve(
    worker: Arc<Worker>,
    conn: Arc<Conn>,
    mut request: Request<hyper::body::Incoming>,
) -> Result<Response<ResponseBody>, Infallible> {
    let shared = &worker.shared;
    let mut exchange = Exchange::begin(&worker, &conn, &request);
    let trace = exchange.trace();
    if let Some(trace) = &trace {
        trace.request(&request);
    }
    let id = shared.config.request_id.then(|| {
        let trusted = shared.sources.trust.proxies.contain(conn.peer());
        request_id::choose(request.headers(), trusted, exchange.id())
    });
    if let Some(id) = &id {
        exchange.name(id);
    }
    let version = request.version();
    let last = conn.requests() >= shared.limits.requests_per_connection;
    let origin = shared.sources.trust.origin(request.headers_mut(), conn.peer(), conn.https);
    let checked = origin.and_then(|origin| {
        exchange.client(&origin.client);
        request::check_head(&mut request, &shared.limits, &origin, &shared.local).map(|()| origin)
    });
    let mut response = match checked {
        Err(refusal) => {
            exchange.refuse(refusal.kind(), refusal.reason);
            let mut response = answer::error(refusal.status, exchange);
            // Where one request ends and the next begins can't be trusted after a bad one.
            answer::close(&mut response, version);
            response
        }
        Ok(_) if request.uri().path() == "*" => answer::options(exchange),
        Ok(origin) if shared.config.https_redirect && !is_secure(&origin) => {
            // A proxy that has told of http has its https where everybody's is.
            let port = shared.https_port.filter(|_| !origin.relayed);
            answer::to_https(request.uri(), port, exchange)
        }
        Ok(origin) => {
            shared.sources.trust.tell(&mut request, &origin);
            if let Some(cert) = conn.client_cert() {
                request.headers_mut().insert("client-cert", cert.clone());
            }
            exchange.join_trace(&mut request);
            if let Some(id) = &id {
                request.headers_mut().insert(request_id::NAME, id.clone());
            }
            target(&worker, &conn, origin.https, request, exchange, trace.as_deref()).await
        }
    };
    if let Some(id) = id {
        response.headers_mut().insert(request_id::NAME, id);
    }
    if last {
        answer::close(&mut response, version);
        if version == Version::HTTP_2 {
            conn.stop(Stop::Drain);
        }
    }
    if let Some(trace) = &trace {
        trace.response(&response);
        response.body_mut().show(trace);
    }
    Ok(response)
}

/// Whether nobody on the way could read along, or it is this machine's own affair.
fn is_secure(origin: &Origin) -> bool {
    origin.https || (!origin.relayed && origin.client == Client::Peer(Peer::Unix))
}

/// Finds out what the request is for and has that answer.
async fn target(
    worker: &Arc<Worker>,
    conn: &Conn,
    https: bool,
    mut request: Request<hyper::body::Incoming>,
    mut exchange: Exchange,
    trace: Option<&Trace>,
) -> Response<ResponseBody> {
    let board = worker.board();
    match board.find(request.uri()) {
        Ok(Found::App(app, rest)) => {
            if let Some(name) = &app.name {
                exchange.app(name);
            }
            if let Some(prefix) = &app.stripped
                && request::strip_prefix(&mut request, rest, prefix).is_err()
            {
                return answer::error(StatusCode::BAD_REQUEST, exchange);
            }
            guest(worker, https, app, request, exchange, trace).await
        }
        // In a box, as it is large and most requests are for guests.
        Ok(Found::Folder(folder, rest)) => Box::pin(files::serve(worker, folder, rest, request, exchange)).await,
        Ok(Found::Redirect(status, location)) => answer::redirect(status, location, exchange),
        Err(miss) => answer::error(board::status(miss, conn.https), exchange),
    }
}

/// Lets the guest answer, or answers for it.
async fn guest(
    worker: &Arc<Worker>,
    https: bool,
    app: &Served,
    request: Request<hyper::body::Incoming>,
    mut exchange: Exchange,
    trace: Option<&Trace>,
) -> Response<ResponseBody> {
    let shared = &worker.shared;
    let version = request.version();
    let head_only = request.method() == Method::HEAD;
    let expects = request.headers().contains_key(EXPECT);
    let offer = Offer::of(&shared.config, request.headers());
    let mut incoming = match request::bound_body(request, &app.limits, &exchange, https) {
        Ok(incoming) => incoming,
        Err(refusal) => {
            exchange.refuse(refusal.kind(), refusal.reason);
            let mut response = answer::error(refusal.status, exchange);
            answer::close(&mut response, version);
            return response;
        }
    };
    if let Some(trace) = trace {
        incoming.inner.body_mut().show(trace);
    }
    match place(worker).await {
        Ok(permit) => exchange.permit = Some(permit),
        Err(why) => {
            let reason = match why {
                Refused::Queue => "no place for the request, and as many as limits.queue wait for one",
                _ => "no place for the request within queue_timeout",
            };
            exchange.refuse(why, reason);
            return answer::error(StatusCode::SERVICE_UNAVAILABLE, exchange);
        }
    }
    exchange.body = incoming.inner.body().state();
    let Some(hops) = app.dispatch.outbound().hops(incoming.inner.headers()) else {
        exchange.refuse(Refused::OutboundHops, "the guest's own requests go round in circles: outbound_hops");
        return answer::error(StatusCode::LOOP_DETECTED, exchange);
    };
    incoming.hops = hops;
    let answer = match &app.dispatch {
        Dispatch::P2(dispatcher) => {
            exchange.hand_over(By::app(app.number, World::P2));
            dispatcher.handle(incoming).await
        }
        Dispatch::P3(dispatcher) => {
            exchange.hand_over(By::app(app.number, World::P3));
            dispatcher.handle(incoming).await
        }
    };
    exchange.hand_back();
    if expects && exchange.body.is_awaited() {
        // A guest that answers while it reads: hyper sends the go-ahead for the body, which no head may precede, when it
        // is polled the next time.
        tokio::task::yield_now().await;
    }
    if let Some((status, why, reason)) = exchange.body.fault() {
        // The guest saw an incomplete request, so its answer is about something else.
        exchange.refuse(why, reason);
        let mut response = answer::error(status, exchange);
        answer::close(&mut response, version);
        return response;
    }
    match answer.and_then(|answer| check(answer, head_only)) {
        Ok((answer, promised)) => {
            let Answer { mut head, body } = answer;
            exchange.status(head.status.as_u16());
            let mut body = ResponseBody::guest(body, promised, exchange);
            let length = if head_only { content_length(&head.headers).ok().flatten() } else { body.length() };
            // HEAD gets the fields alone.
            if offer.is_some_and(|offer| offer.apply(&mut head, length)) && !head_only {
                body.compress();
            }
            Response::from_parts(head, body)
        }
        Err(failure) => {
            exchange.fail(&failure);
            answer::error(failure.status(), exchange)
        }
    }
}

/// Waits for a place among the requests in flight, but neither long nor in a long queue.
pub(crate) async fn place(worker: &Worker) -> Result<OwnedSemaphorePermit, Refused> {
    let shared = &worker.shared;
    if let Ok(permit) = shared.places.clone().try_acquire_owned() {
        return Ok(permit);
    }
    struct Queued<'a>(&'a std::sync::atomic::AtomicUsize);
    impl Drop for Queued<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Relaxed);
        }
    }
    let before = shared.queued.fetch_add(1, Relaxed);
    let _queued = Queued(&shared.queued);
    if before >= shared.limits.queue {
        return Err(Refused::Queue);
    }
    let wait = shared.places.clone().acquire_owned();
    match tokio::time::timeout(shared.limits.queue_timeout, wait).await {
        Ok(Ok(permit)) => Ok(permit),
        Ok(Err(_)) | Err(_) => Err(Refused::QueueTimeout),
    }
}

/// Makes sure that what the guest answers is one HTTP answer, and gives its promised length.
fn check(mut answer: Answer, head_only: bool) -> Result<(Answer, Option<u64>), Failure> {
    let status = answer.head.status;
    // RFC 9110 15.2: an interim response is no answer, and 101 would leave HTTP.
    if status.is_informational() {
        return Err(Failure::Invalid(format!("the status {} is not final", status.as_u16())));
    }
    let promised = content_length(&answer.head.headers)?;
    let bodiless = head_only || status == StatusCode::NOT_MODIFIED;
    let empty = status == StatusCode::NO_CONTENT || status == StatusCode::RESET_CONTENT;
    if bodiless || empty {
        if empty {
            // RFC 9110 8.6 and 15.3.6: there is nothing to have a length.
            answer.head.headers.remove(CONTENT_LENGTH);
        }
        let body = std::mem::replace(&mut answer.body, AnswerBody::Whole(Default::default()));
        match body {
            // A HEAD answer tells the length that GET would have (RFC 9110 9.3.2).
            AnswerBody::Whole(frames) if head_only && promised.is_none() && !empty => {
                let sum: Option<u64> = frames.iter().map(|frame| Some(frame.data_ref()?.len() as u64)).sum();
                if let Some(sum) = sum {
                    answer.head.headers.insert(CONTENT_LENGTH, sum.into());
                }
            }
            AnswerBody::P2(stream) => stream.drain(),
            AnswerBody::Whole(_) | AnswerBody::P3(_) => {}
        }
        return Ok((answer, None));
    }
    if let (AnswerBody::Whole(frames), Some(promised)) = (&answer.body, promised) {
        let sum: u64 = frames.iter().filter_map(|frame| Some(frame.data_ref()?.len() as u64)).sum();
        if sum != promised {
            return Err(Failure::Invalid(format!("{sum} bytes, but content-length {promised}")));
        }
    }
    Ok((answer, promised))
}

fn content_length(headers: &HeaderMap) -> Result<Option<u64>, Failure> {
    let mut values = headers.get_all(CONTENT_LENGTH).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let bytes = value.as_bytes();
    // RFC 9110 8.6: digits only, so "+5" is refused.
    let digits = !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    let length = value.to_str().ok().filter(|_| digits).and_then(|text| text.parse().ok());
    match (length, values.next()) {
        (Some(length), None) => Ok(Some(length)),
        _ => Err(Failure::Invalid("its content-length is no length".to_owned())),
    }
}
