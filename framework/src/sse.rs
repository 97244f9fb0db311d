//! `sse::stream`: server-sent events (WHATWG HTML, section 9.2): a response that goes on as long as the client listens.

use crate::body::Body;
use crate::error::{Error, Result};
use crate::request::Request;
use crate::response::Response;
use crate::stream::Sender;
use crate::text::push_decimal;
use alloc::string::String;
use core::future::Future;
use core::time::Duration;

/// Returns a response of events, which the given code sends.
///
/// The code waits in [`Events::send`] until the client has taken what came before, and is dropped there when the
/// client leaves; what it holds is freed then. When it ends, browsers come back after a while, with
/// [`Request::last_event_id`]: to tell them to stay away, answer with 204.
///
/// ```
/// use tabi::sse::{self, Event};
/// use tabi::{Request, Response, Router};
///
/// async fn ticks(req: Request) -> Response {
///     let first = req.last_event_id().and_then(|id| id.parse().ok()).map_or(0, |last: u64| last + 1);
///     sse::stream(async move |mut events| {
///         for number in first..3 {
///             let number = tabi::decimal(number);
///             events.send(Event::data(&number).name("tick").id(&number)).await?;
///         }
///         Ok(())
///     })
/// }
/// # let client = tabi::testing::Client::new(Router::new().get("/", ticks));
/// # let page = client.get("/").header("last-event-id", "1").send();
/// # assert_eq!(page.text(), "event: tick\nid: 2\ndata: 2\n\n");
/// # assert_eq!(page.header("content-type"), Some("text/event-stream"));
/// ```
pub fn stream<F, C>(code: C) -> Response
where
    C: FnOnce(Events) -> F,
    F: Future<Output = Result<()>> + 'static,
{
    events(Body::stream(|sender| code(Events(sender))))
}

/// Where the code behind [`stream`] sends its events.
pub struct Events(Sender);

impl Events {
    /// Sends an event; returns once there is room for it.
    ///
    /// # Errors
    /// 500 where the name or id has a line break, or the id a NUL: the client would read fields that nobody wrote.
    /// The error ends the stream where it is passed on.
    pub async fn send(&mut self, event: Event) -> Result<()> {
        let text = event.into_text()?;
        self.0.send(text).await;
        Ok(())
    }

    /// Sends a comment, which clients don't show: about every 15 seconds it keeps proxies from giving up on a quiet
    /// stream.
    pub async fn comment(&mut self, text: &str) {
        let mut comment = String::new();
        push_lines(&mut comment, ":", text.as_bytes());
        comment.push('\n');
        self.0.send(comment).await;
    }

    /// Tells the client how long to wait before it comes back when the connection is lost.
    pub async fn retry(&mut self, after: Duration) {
        let mut field = String::new();
        push_retry(&mut field, after);
        field.push('\n');
        self.0.send(field).await;
    }
}

/// An event: data, and maybe a name and an id.
///
/// The data may be anything: each of its lines becomes one on the wire, and the client puts them together again with
/// LF between them, whether they ended with LF, CR LF or CR.
#[must_use = "nothing is sent before `send`"]
#[derive(Clone, Debug)]
pub struct Event {
    fields: String,
    data: String,
    malformed: bool,
}

impl Event {
    /// Returns an event with this data. Without a name it arrives as `message`.
    pub fn data(data: &str) -> Event {
        let mut lines = String::new();
        push_lines(&mut lines, "data:", data.as_bytes());
        Event { fields: String::new(), data: lines, malformed: false }
    }

    /// Returns an event with a value as JSON for its data.
    ///
    /// # Errors
    /// 500 where the value can't be JSON.
    #[cfg(feature = "json")]
    pub fn json<T: serde::Serialize + ?Sized>(value: &T) -> Result<Event> {
        Ok(Event::data(&crate::json_write::write(value)?))
    }

    /// Names the event, for `addEventListener(name, …)`.
    pub fn name(self, name: &str) -> Event {
        self.field("event:", name, false)
    }

    /// Gives the event an id, which comes back as [`Request::last_event_id`] when the client comes back. An empty one
    /// makes the client forget the last.
    pub fn id(self, id: &str) -> Event {
        self.field("id:", id, id.as_bytes().contains(&0))
    }

    /// Tells the client how long to wait before it comes back when the connection is lost.
    pub fn retry(mut self, after: Duration) -> Event {
        push_retry(&mut self.fields, after);
        self
    }

    fn field(mut self, name: &str, value: &str, malformed: bool) -> Event {
        // A line break would begin a field of the value's choice.
        self.malformed |= malformed || value.bytes().any(|byte| matches!(byte, b'\r' | b'\n'));
        push_line(&mut self.fields, name, value.as_bytes());
        self
    }

    fn into_text(self) -> Result<String> {
        if self.malformed {
            return Err(Error::internal("a line break or NUL in the name or id of an event"));
        }
        let mut text = self.fields;
        text.push_str(&self.data);
        text.push('\n');
        Ok(text)
    }
}

impl Request {
    /// Returns the id of the last event that the client has seen, where it comes back to a stream of events.
    ///
    /// Empty is none, as it is for browsers.
    pub fn last_event_id(&self) -> Option<&str> {
        self.header("last-event-id").filter(|id| !id.is_empty())
    }
}

fn events(body: Body) -> Response {
    // Always UTF-8, so no charset (section 9.2.5). Neither to be kept nor to be changed on the way; the last one
    // keeps nginx from collecting it first.
    let mut response = Response::of("text/event-stream", body);
    let headers = response.headers_mut();
    headers.push("cache-control", "no-cache, no-transform");
    headers.push("x-accel-buffering", "no");
    response
}

/// Adds a field for each line of a text; an empty text is one empty line.
fn push_lines(out: &mut String, name: &str, text: &[u8]) {
    let mut rest = text;
    loop {
        let end = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
        let (line, tail) = rest.split_at_checked(end.unwrap_or(rest.len())).unwrap_or((rest, &[]));
        push_line(out, name, line);
        rest = match tail {
            [b'\r', b'\n', tail @ ..] | [_, tail @ ..] => tail,
            [] => return,
        };
    }
}

fn push_line(out: &mut String, name: &str, line: &[u8]) {
    out.push_str(name);
    // The first space of a value is the client's to remove, so there is always one that is ours.
    out.push(' ');
    // A piece between ASCII characters of a text is a text.
    out.push_str(core::str::from_utf8(line).unwrap_or_default());
    out.push('\n');
}

fn push_retry(out: &mut String, after: Duration) {
    out.push_str("retry: ");
    push_decimal(out, after.as_secs().saturating_mul(1000).saturating_add(after.subsec_millis().into()));
    out.push('\n');
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
