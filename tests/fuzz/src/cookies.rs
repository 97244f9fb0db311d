//! Cookies of requests and of responses.

use crate::pieces;
use tabi::testing::Cookies;
use tabi::{__fuzz, Cookie};

/// What is read of a `Cookie` field stands in it, in order; what can be set comes back as it was.
pub(crate) fn cookie(data: &[u8]) {
    let cookies = __fuzz::cookies(data);
    assert_eq!(cookies, expected(data));
    let joined: Vec<_> = cookies.iter().map(|(name, value)| [*name, "=", *value].concat()).collect();
    let joined = joined.join("; ");
    assert_eq!(__fuzz::cookies(joined.as_bytes()), cookies);
    let [name, value, path] = pieces(data);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let cookie = Cookie::new(text(name), text(value)).path(text(path));
    let Ok(field) = cookie.to_http() else { return };
    assert!(field.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{field}");
    assert_eq!(field.matches(';').count(), 4, "{field}");
    let mut browser = Cookies::new();
    browser.set("https://example.com/", &field);
    assert_eq!(browser.get(cookie.name()).as_deref(), Some(cookie.value()), "{field}");
    let url = ["https://example.com", cookie_path(path)].concat();
    let sent = browser.sent(&url);
    assert!(sent.len() <= 1, "{sent:?}");
    let back = [cookie.name(), "=", cookie.value()].concat();
    assert!(sent.iter().all(|sent| *sent == back), "{sent:?} instead of {back}");
    assert_eq!(__fuzz::cookies(back.as_bytes()), [(cookie.name(), cookie.value())]);
}

fn cookie_path(path: &[u8]) -> &str {
    std::str::from_utf8(path).ok().filter(|path| !path.contains(['?', '#'])).unwrap_or("/")
}

/// RFC 6265bis reads cookies by `;` and the first `=`, without the white space around.
fn expected(field: &[u8]) -> Vec<(&str, &str)> {
    let pieces = field.split(|byte| *byte == b';');
    let pairs = pieces.filter_map(|piece| {
        let at = piece.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (piece[..at].trim_ascii(), piece[at + 1..].trim_ascii());
        Some((std::str::from_utf8(name).ok().filter(|name| !name.is_empty())?, std::str::from_utf8(value).ok()?))
    });
    pairs.collect()
}

/// A browser keeps one cookie of a field, or none, and sends nothing that would be two.
pub(crate) fn set_cookie(data: &[u8]) {
    let mut browser = Cookies::new();
    for url in ["https://www.example.com/a/b", "http://example.com/"] {
        browser.set(url, data);
        let sent = browser.sent(url);
        assert!(sent.len() <= 2, "{sent:?}");
        assert!(sent.iter().all(|sent| !sent.contains(';') && !sent.contains('\0')), "{sent:?}");
    }
    assert!(browser.sent("https://other.example/").is_empty());
    let [first, second, _] = pieces(data);
    browser.set("https://www.example.com/", [b"a=b; Expires=", first].concat());
    browser.set("https://www.example.com/", [b"a=b; Max-Age=", second].concat());
    // One of the host alone, one of its domain, and what was kept before.
    let sent = browser.sent("https://www.example.com/");
    assert!(sent.iter().filter(|sent| *sent == "a=b").count() <= 4, "{sent:?}");
}
