//! Tables for `sse.rs`, read back as browsers do.

use super::*;
use crate::testing::{Client, block_on};
use crate::{Router, Status};
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::task::{Context, Poll, Waker};
use std::string::ToString;

/// Reads a stream as browsers do (WHATWG HTML, section 9.2.6): name, data, and the last id at each event.
fn read(text: &str) -> Vec<(String, String, String)> {
    let (mut events, mut name, mut data, mut id) = (Vec::new(), String::new(), None::<String>, String::new());
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "" if line.is_empty() => {
                if let Some(data) = data.take() {
                    let name = if name.is_empty() { "message" } else { &name };
                    events.push((name.into(), data, id.clone()));
                }
                name.clear();
            }
            "event" => name = value.into(),
            "data" => data = Some(data.map_or(value.into(), |data| data + "\n" + value)),
            "id" if !value.contains('\0') => id = value.into(),
            _ => {}
        }
    }
    events
}

#[track_caller]
fn check(event: Event, wire: &str, name: &str, data: &str, id: &str) {
    let text = event.into_text().ok().unwrap();
    assert_eq!(text, wire);
    assert_eq!(read(&text), [(name.to_string(), data.to_string(), id.to_string())]);
}

#[test]
fn events_arrive_as_they_were_sent() {
    check(Event::data("x"), "data: x\n\n", "message", "x", "");
    check(Event::data(""), "data: \n\n", "message", "", "");
    check(Event::data(" x"), "data:  x\n\n", "message", " x", "");
    check(Event::data("a\nb"), "data: a\ndata: b\n\n", "message", "a\nb", "");
    check(Event::data("a\rb\r\nc\n"), "data: a\ndata: b\ndata: c\ndata: \n\n", "message", "a\nb\nc\n", "");
    check(Event::data("\n\n"), "data: \ndata: \ndata: \n\n", "message", "\n\n", "");
    check(Event::data("\n\r"), "data: \ndata: \ndata: \n\n", "message", "\n\n", "");
    check(Event::data("event: x\nid: 1"), "data: event: x\ndata: id: 1\n\n", "message", "event: x\nid: 1", "");
    check(Event::data("\u{e9}\u{2028}x"), "data: \u{e9}\u{2028}x\n\n", "message", "\u{e9}\u{2028}x", "");
    check(Event::data("x").name("tick").id("7"), "event: tick\nid: 7\ndata: x\n\n", "tick", "x", "7");
    check(Event::data("x").id(""), "id: \ndata: x\n\n", "message", "x", "");
    let after = Duration::from_millis(1500);
    check(Event::data("x").retry(after), "retry: 1500\ndata: x\n\n", "message", "x", "");
}

#[test]
fn injection_is_refused() {
    for event in [
        Event::data("x").name("a\nb"),
        Event::data("x").name("a\rb"),
        Event::data("x").name("a\r\ndata: b"),
        Event::data("x").id("1\n\ndata: y"),
        Event::data("x").id("1\r"),
        Event::data("x").id("1\0"),
        Event::data("x").id("1\n").id("2"),
    ] {
        assert_eq!(event.into_text().unwrap_err().status(), Status::INTERNAL_SERVER_ERROR);
    }
    // NUL is only special in an id.
    check(Event::data("x\0").name("a\0"), "event: a\0\ndata: x\0\n\n", "a\0", "x\0", "");
}

#[test]
fn comments_and_retry_are_no_events() {
    let router = Router::new().get("/", async |_| {
        stream(async |mut events| {
            events.comment("").await;
            events.comment("two\nlines\r\ndata: x").await;
            events.retry(Duration::from_secs(3)).await;
            events.send(Event::data("x")).await
        })
    });
    let reply = Client::new(router).get("/").send();
    assert_eq!(reply.text(), ": \n\n: two\n: lines\n: data: x\n\nretry: 3000\n\ndata: x\n\n");
    assert_eq!(read(&reply.text()).len(), 1);
    for (name, value) in [
        ("content-type", Some("text/event-stream")),
        ("cache-control", Some("no-cache, no-transform")),
        ("content-length", None),
    ] {
        assert_eq!(reply.header(name), value, "{name}");
    }
}

#[test]
fn an_injection_breaks_the_stream_off() {
    let router = Router::new().get("/", async |_| {
        stream(async |mut events| {
            events.send(Event::data("x")).await?;
            events.send(Event::data("y").name("\n")).await
        })
    });
    let reply = Client::new(router).get("/").send();
    assert_eq!((reply.text().as_str(), reply.broken().is_some()), ("data: x\n\n", true));
}

#[test]
fn last_event_id() {
    let router = Router::new().get("/", async |req: Request| String::from(req.last_event_id().unwrap_or("none")));
    let client = Client::new(router);
    assert_eq!(client.get("/").send().text(), "none");
    assert_eq!(client.get("/").header("last-event-id", "").send().text(), "none");
    assert_eq!(client.get("/").header("Last-Event-ID", "a 7").send().text(), "a 7");
}

#[test]
fn the_code_ends_when_the_client_leaves() {
    let held = Rc::new(());
    let inside = held.clone();
    let response = stream(async move |mut events| {
        let _held = inside;
        loop {
            events.send(Event::data("again")).await?;
        }
    });
    let (_, _, mut body) = response.into_parts();
    for _ in 0..3 {
        assert_eq!(block_on(body.chunk()).ok().flatten().as_deref(), Some(&b"data: again\n\n"[..]));
    }
    assert_eq!(Rc::strong_count(&held), 2);
    drop(body);
    assert_eq!(Rc::strong_count(&held), 1);
}

#[test]
fn nothing_runs_ahead_of_the_client() {
    let sent = Rc::new(core::cell::Cell::new(0));
    let count = sent.clone();
    let response = stream(async move |mut events| {
        loop {
            events.send(Event::data("x")).await?;
            count.set(count.get() + 1);
        }
    });
    let (_, _, mut body) = response.into_parts();
    let mut cx = Context::from_waker(Waker::noop());
    assert_eq!(sent.get(), 0);
    for chunks in 1..5 {
        assert!(matches!(body.poll_chunk(&mut cx), Poll::Ready(Some(Ok(_)))));
        assert!(sent.get() <= chunks);
    }
}

#[test]
fn any_text_survives_the_way() {
    // Every text of up to six of these characters.
    let alphabet = ["\r", "\n", ":", " ", "data", "\u{e9}"];
    for length in 0..=6u32 {
        for number in 0..alphabet.len().pow(length) {
            let pick = |place: u32| alphabet.get(number / alphabet.len().pow(place) % alphabet.len()).copied().unwrap();
            let text: String = (0..length).map(pick).collect();
            let wire = Event::data(&text).into_text().ok().unwrap();
            let arrived = text.replace("\r\n", "\n").replace('\r', "\n");
            assert_eq!(read(&wire), [("message".to_string(), arrived, String::new())], "{text:?}");
        }
    }
}
