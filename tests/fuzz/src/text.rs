//! What is written: header fields, events, texts in JSON.

use crate::{field_value, pieces};
use tabi::sse::{self, Event};
use tabi::testing::block_on;
use tabi::{Headers, Response};

/// A field that is taken can't split a message, and comes back as it was.
pub(crate) fn field(data: &[u8]) {
    let [name, value] = pieces(data);
    let name = String::from_utf8_lossy(name).into_owned();
    let mut headers = Headers::new();
    if headers.append(&name, value).is_ok() {
        assert!(!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':'), "{name}");
        assert_eq!(value, field_value(value));
        for (known, kept) in headers.iter() {
            assert!(known == name.to_ascii_lowercase() && kept == value);
        }
    }
    let text = String::from_utf8_lossy(value);
    let answer = Response::text("").with_header(&name, &text);
    assert_eq!(answer.status().code() == 500, Headers::new().append(&name, text.as_bytes()).is_err());
    // Names of fields have no quotes, and the app writes them itself.
    let names: Vec<u8> = field_value(value).into_iter().filter(|byte| *byte != b'"').collect();
    let vary = Response::text("").with_header("vary", &String::from_utf8_lossy(&names));
    let once = vary.with_vary("x-a");
    let before = once.header("vary").map(str::to_owned);
    assert_eq!(once.with_vary("X-A").header("vary").map(str::to_owned), before);
}

/// A browser gets the event that was meant, and no other.
pub(crate) fn events(data: &[u8]) {
    let mut parts = data.splitn(3, |byte| *byte == 0xff);
    let mut next = || String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let (name, id, text) = (next(), next(), next());
    let event = Event::data(&text).name(&name).id(&id);
    let mut response = sse::stream(async move |mut events| {
        events.comment(&text.clone()).await;
        events.send(event).await
    });
    let (name_fits, id_fits) = (!name.contains(['\r', '\n']), !id.contains(['\r', '\n', '\0']));
    let mut wire = String::new();
    let mut end = Ok(());
    block_on(async {
        loop {
            match response.body().chunk().await {
                Ok(Some(chunk)) => wire.push_str(std::str::from_utf8(&chunk).unwrap()),
                Ok(None) => break,
                Err(error) => {
                    end = Err(error.status().code());
                    break;
                }
            }
        }
    });
    assert_eq!(end.is_ok(), name_fits && id_fits, "{name:?} {id:?}");
    let seen = received(&wire);
    if end.is_err() {
        assert!(seen.is_empty(), "{wire}");
        return;
    }
    let text = String::from_utf8_lossy(data.splitn(3, |byte| *byte == 0xff).nth(2).unwrap_or_default())
        .replace("\r\n", "\n")
        .replace('\r', "\n");
    // A browser dispatches nothing where all of the data is one empty line.
    let expected = if text.is_empty() { Vec::new() } else { vec![(name, id, text)] };
    assert_eq!(seen, expected, "{wire}");
}

/// What a browser makes of a stream: name, id and data of each event (WHATWG HTML, section 9.2.6).
fn received(wire: &str) -> Vec<(String, String, String)> {
    let (mut seen, mut name, mut id, mut data) = (Vec::new(), String::new(), String::new(), String::new());
    let wire = wire.replace("\r\n", "\n").replace('\r', "\n");
    for line in wire.split('\n') {
        if line.is_empty() {
            let (name, data) = (std::mem::take(&mut name), std::mem::take(&mut data));
            if let Some(data) = data.strip_suffix('\n').filter(|data| !data.is_empty()) {
                seen.push((name, id.clone(), data.to_owned()));
            }
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => name = value.to_owned(),
            "data" => data.extend([value, "\n"]),
            "id" if !value.contains('\0') => id = value.to_owned(),
            _ => {}
        }
    }
    seen
}

/// A text in JSON is one for others, too.
pub(crate) fn quote(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let quoted = tabi::json_string(&text);
    assert!(!quoted.contains(|char| char < ' '), "{quoted}");
    assert_eq!(serde_json::from_str::<String>(&quoted).ok().as_deref(), Some(&*text), "{quoted}");
}
