//! JSON nested so deeply that a reader which recurses would run out of stack: an answer, and never a trap.

use e2e::{Server, component};
use tabi_corpus::Request;

fn send(server: &Server, body: &str) -> (u16, String) {
    let length = body.len().to_string();
    let fields = [("host", "localhost"), ("content-type", "application/json"), ("content-length", &*length)];
    let request = Request {
        method: "POST".into(),
        target: "/json".into(),
        headers: fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect(),
        body: body.into(),
    };
    let answer = tabi_corpus::exchange(&server.address, &request);
    let answer = answer.unwrap_or_else(|error| panic!("{length} bytes: {error}"));
    (answer.status, String::from_utf8_lossy(&answer.body).into_owned())
}

/// Sends a list or an object so many levels deep: alone, where a text belongs, and where nothing looks at it; each with
/// and without its end. After each the server answers as ever.
#[track_caller]
fn check(server: &Server, open: &str, close: &str, levels: usize) {
    let (head, tail) = (open.repeat(levels), close.repeat(levels));
    for (before, after) in [("", ""), (r#"{"name":"#, r#","age":36}"#), (r#"{"name":"Ada","age":36,"more":"#, "}")] {
        for body in [format!("{before}{head}"), format!("{before}{head}1{tail}{after}")] {
            // More than that is refused unread.
            if body.len() > 2 << 20 {
                continue;
            }
            let (status, text) = send(server, &body);
            let place = format!("{levels} times `{open}` after `{before}`, {} bytes", body.len());
            assert_eq!(status, 400, "{place}: {text}");
            assert!(text.starts_with("malformed JSON at line 1, column "), "{place}: {text}");
            assert!(text.ends_with(": nested too deeply"), "{place}: {text}");
            let good = send(server, r#"{"name":"Ada","age":36}"#);
            assert_eq!(good, (200, r#"{"greeting":"Hello, Ada!","next_age":37}"#.to_owned()), "after {place}");
        }
    }
}

#[test]
fn deep_json() {
    let server = Server::tabi(&component("json"));
    for levels in [1_000, 10_000, 100_000, 900_000] {
        check(&server, "[", "]", levels);
    }
    for levels in [1_000, 10_000, 100_000, 400_000] {
        check(&server, "{\"a\":", "}", levels);
    }
    for levels in [1_000, 100_000, 300_000] {
        check(&server, "[{\"a\":", "}]", levels);
    }
    // What is not too deep is read to its end.
    for (levels, status) in [(127, 200), (128, 400)] {
        let (head, tail) = ("[".repeat(levels), "]".repeat(levels));
        let body = format!(r#"{{"name":"Ada","age":36,"more":{head}{tail}}}"#);
        assert_eq!(send(&server, &body).0, status, "{levels}");
    }
}
