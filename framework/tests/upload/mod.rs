//! An app that reads forms and remembers what it got, and a client that sends each form in all kinds of pieces.

use std::cell::RefCell;
use std::rc::Rc;
use tabi::testing::Client;
use tabi::{BodyLimit, Field, Request, Result, Router};

/// What the app saw of a part.
#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) file_name: Option<String>,
    pub(crate) full_file_name: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) data: Vec<u8>,
}

/// The status of the answer, and the parts that were complete before it.
pub(crate) type Outcome = (u16, Vec<Part>);

/// Limits that a case may set.
#[derive(Clone, Copy, Default)]
pub(crate) struct Limits {
    pub(crate) parts: Option<usize>,
    pub(crate) head: Option<usize>,
    pub(crate) total: Option<u64>,
    pub(crate) route: Option<usize>,
}

pub(crate) type Seen = Rc<RefCell<Vec<Part>>>;

/// An app that remembers what it gets.
pub(crate) fn reader(limits: Limits) -> (Client, Seen) {
    let seen = Seen::default();
    let log = seen.clone();
    let read = move |req: Request| read(req, limits, log.clone());
    let mut router = Router::new().post("/", read);
    if let Some(route) = limits.route {
        router = router.with(BodyLimit(route));
    }
    (Client::new(router), seen)
}

async fn read(mut req: Request, limits: Limits, seen: Seen) -> Result<()> {
    let mut form = req.multipart()?;
    if let Some(parts) = limits.parts {
        form = form.part_limit(parts);
    }
    if let Some(head) = limits.head {
        form = form.head_limit(head);
    }
    if let Some(total) = limits.total {
        form = form.total_limit(total);
    }
    while let Some(mut field) = form.next_field().await? {
        let mut part = described(&field);
        while let Some(chunk) = field.chunk().await? {
            assert!(!chunk.is_empty());
            part.data.extend(chunk);
        }
        assert_eq!(field.chunk().await?, None, "the end stays the end");
        seen.borrow_mut().push(part);
    }
    assert!(form.next_field().await?.is_none(), "the end stays the end");
    Ok(())
}

fn described(field: &Field<'_>) -> Part {
    let own = |text: &str| text.to_owned();
    assert_eq!(field.is_file(), field.full_file_name().is_some());
    let headers = field.headers().iter();
    Part {
        name: field.name().into(),
        file_name: field.file_name().map(own),
        full_file_name: field.full_file_name().map(own),
        content_type: field.content_type().map(own),
        headers: headers.map(|(name, value)| (own(name), String::from_utf8_lossy(value).into_owned())).collect(),
        data: Vec::new(),
    }
}

/// Sends a body whole, byte by byte and in every two pieces (of a long body in a debug build, those around what delimiters
/// are made of), and returns the one outcome of all.
#[track_caller]
pub(crate) fn outcome(content_type: &str, body: &[u8], limits: Limits) -> Outcome {
    let (client, seen) = reader(limits);
    let send = |chunks: Vec<Vec<u8>>| {
        seen.borrow_mut().clear();
        let reply = client.post("/").header("content-type", content_type).chunks(chunks).send();
        (reply.status().code(), seen.borrow().clone())
    };
    let whole = send(vec![body.to_vec()]);
    assert_eq!(send(body.iter().map(|byte| vec![*byte]).collect()), whole, "byte by byte");
    for at in 0..=body.len() {
        let around = &body[at.saturating_sub(2)..(at + 2).min(body.len())];
        if body.len() < 2000 || !cfg!(debug_assertions) || around.iter().any(|byte| b"\r\n-".contains(byte)) {
            assert_eq!(send(vec![body[..at].to_vec(), body[at..].to_vec()]), whole, "in two pieces, at {at}");
        }
    }
    whole
}
