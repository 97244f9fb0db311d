//! Bodies that take their time, and other servers: echoes, ticks, trailer fields, a proxy, work after the answer.

mod hall;

use std::cell::Cell;
use std::future::poll_fn;
use std::task::{Poll, Waker};
use std::time::Duration;
use tabi::{Body, Error, Headers, OrStatus, Request, Response, Result, Router, Status, client, join, time};

/// Returns the app.
pub fn router() -> Router {
    Router::new()
        .state(Meeting::default())
        .state(hall::Hall::default())
        .post("/echo", echo)
        .post("/trailers", trailers)
        .post("/early", early)
        .get("/ticks/{count}/{millis}", ticks)
        .get("/silence", silence)
        .get("/farewell", farewell)
        .get("/broken", broken)
        .get("/later", later)
        .get("/meet", meet)
        .nest("/hall", hall::router())
        .get("/both", both)
        .get("/patience/{millis}", patience)
        .any("/proxy", proxy)
}

/// The body as it came, as fast as the client takes it back.
async fn echo(mut req: Request) -> Response {
    Response::content("application/octet-stream", req.body().take())
}

/// The body and its trailer fields.
async fn trailers(mut req: Request) -> Response {
    Response::new(Body::stream(async move |mut out| {
        while let Some(chunk) = req.body().chunk().await? {
            out.send(chunk).await;
        }
        if let Some(trailers) = req.trailers().await? {
            out.finish(trailers);
        }
        Ok(())
    }))
    .with_header("trailer", "x-sum")
}

/// An answer that begins while the request is still coming.
async fn early(mut req: Request) -> Response {
    Response::new(Body::stream(async move |mut out| {
        out.send("begun\n").await;
        let mut length = 0;
        while let Some(chunk) = req.body().chunk().await? {
            length += chunk.len() as u64;
        }
        out.send(tabi::decimal(length)).await;
        Ok(())
    }))
}

/// A line now and then.
async fn ticks(req: Request) -> Result {
    let count: u32 = req.param("count")?;
    let mut interval = time::interval(Duration::from_millis(req.param("millis")?));
    Ok(Response::text(Body::stream(async move |mut out| {
        let _gone = Gone("the ticks are over");
        for number in 1..=count {
            interval.tick().await;
            out.send(tabi::concat([&tabi::decimal(number.into()), "\n"])).await;
        }
        Ok(())
    })))
}

/// A line, and then nothing for an hour.
async fn silence(_: Request) -> Response {
    Response::text(Body::stream(async |mut out| {
        let _gone = Gone("the silence is over");
        out.send("begun\n").await;
        time::sleep(Duration::from_secs(3600)).await;
        Ok(())
    }))
}

/// A line now and then, without end, and work that is done after it.
async fn farewell(_: Request) -> Response {
    tabi::wait_until(async {
        time::sleep(Duration::from_millis(20)).await;
        eprintln!("the work after the stream is done");
    });
    let mut interval = time::interval(Duration::from_millis(5));
    Response::text(Body::stream(async move |mut out| {
        loop {
            interval.tick().await;
            out.send("here\n").await;
        }
    }))
}

/// Says in the log that code has come to an end, or was dropped because the client is gone.
struct Gone(&'static str);

impl Drop for Gone {
    fn drop(&mut self) {
        eprintln!("{}", self.0);
    }
}

/// A body that breaks off.
async fn broken(_: Request) -> Response {
    Response::text(Body::stream(async |mut out| {
        out.send("begun\n").await;
        Err(Error::new(Status::INTERNAL_SERVER_ERROR, "broken on purpose"))
    }))
}

/// An answer at once, and work that is done after it.
async fn later(_: Request) -> &'static str {
    tabi::wait_until(async {
        time::sleep(Duration::from_millis(20)).await;
        eprintln!("the work is done");
    });
    "now"
}

/// Where two requests meet that are in the same instance at the same time.
#[derive(Default)]
struct Meeting {
    first: Cell<Option<Waker>>,
    met: Cell<bool>,
}

/// Waits for another request of the same instance, and is woken by it.
async fn meet(req: Request) -> Result<&'static str> {
    let meeting = req.state::<Meeting>()?;
    if let Some(first) = meeting.first.take() {
        meeting.met.set(true);
        first.wake();
        return Ok("second");
    }
    let wait = poll_fn(|cx| {
        if meeting.met.take() {
            return Poll::Ready("first");
        }
        meeting.first.set(Some(cx.waker().clone()));
        Poll::Pending
    });
    let met = time::timeout(Duration::from_secs(2), wait).await;
    meeting.first.take();
    Ok(met.unwrap_or("alone"))
}

/// Two pages of other servers, fetched at the same time.
async fn both(req: Request) -> Result<String> {
    let fetch = async |name| client::get(&url(&req, name)?).send().await?.text().await;
    let (first, second) = join(fetch("first"), fetch("second")).await;
    Ok(tabi::concat([&first?, " and ", &second?]))
}

/// A page of another server, if it comes in time.
async fn patience(req: Request) -> Result<client::Reply> {
    let patience = Duration::from_millis(req.param("millis")?);
    client::get(&url(&req, "url")?).timeout(patience).send().await
}

/// Whatever another server answers, to whatever was asked.
async fn proxy(mut req: Request) -> Result<client::Reply> {
    let mut call = client::request(req.method().clone(), &url(&req, "url")?);
    for (name, value) in passed_on(req.headers()) {
        call = call.header(name, value);
    }
    call.body(req.body().take()).send().await
}

/// The fields that are not about this connection or this body's length.
fn passed_on(headers: &Headers) -> impl Iterator<Item = (&str, &str)> {
    let fields = headers.iter().filter(|(name, _)| *name != "content-length");
    fields.filter_map(|(name, value)| Some((name, std::str::from_utf8(value).ok()?)))
}

fn url(req: &Request, name: &str) -> Result<String> {
    req.query(name).or_status(Status::BAD_REQUEST, "a query parameter with a URL is missing")
}

tabi::serve!(router);

#[cfg(test)]
mod tests {
    use super::*;
    use tabi::testing::{Client, upstream};

    #[track_caller]
    fn check(path: &str, expected: (u16, &str)) {
        upstream("http://far.example", router());
        let page = Client::new(router()).get(path).send();
        assert_eq!((page.status().code(), page.text().as_str()), expected);
    }

    #[test]
    fn other_servers() {
        check("/both?first=http://far.example/later&second=http://far.example/ticks/2/5", (200, "now and 1\n2\n"));
        check("/both?first=http://far.example/later", (400, "a query parameter with a URL is missing"));
        check("/both?first=http://far.example/later&second=http://no.example/", (502, "upstream is out of reach"));
        check("/patience/10?url=http://far.example/ticks/3/5", (200, "1\n2\n3\n"));
        check("/proxy?url=http://far.example/none", (404, "not found"));
        check("/meet", (200, "alone"));
    }

    #[test]
    fn corpus() {
        tabi_corpus::native("streams", super::router());
    }
}
