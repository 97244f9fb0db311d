//! `Jar`: the cookies of a request with the changes that the response makes to them.

use crate::cookie::Cookie;
use crate::request::Request;
use crate::response::Response;
use alloc::string::String;
use alloc::vec::Vec;

/// Cookies that can be read and changed; only the changes become `Set-Cookie` fields.
///
/// ```
/// use tabi::{Cookie, Request, Response};
///
/// async fn visits(req: Request) -> Response {
///     let mut jar = req.jar();
///     let visits = jar.get("visits").and_then(|text| text.parse().ok()).unwrap_or(0) + 1;
///     jar.insert(Cookie::new("visits", tabi::decimal(visits)));
///     jar.remove("old");
///     Response::text(tabi::decimal(visits)).with_jar(jar)
/// }
/// # let client = tabi::testing::Client::new(tabi::Router::new().get("/", visits));
/// # let reply = client.get("/").header("cookie", "visits=6; old=1").send();
/// # assert_eq!((reply.text().as_str(), reply.headers().get_all("set-cookie").count()), ("7", 2));
/// ```
#[derive(Clone, Default, Debug)]
pub struct Jar {
    came: Vec<(String, String)>,
    changes: Vec<Cookie>,
}

impl Request {
    /// Returns a copy of the cookies that came in, to be changed.
    pub fn jar(&self) -> Jar {
        let came = self.cookies().map(|(name, value)| (name.into(), value.into())).collect();
        Jar { came, changes: Vec::new() }
    }
}

impl Jar {
    /// Returns the value of a cookie, with the changes so far: `None` where it was removed.
    pub fn get(&self, name: &str) -> Option<&str> {
        match self.changes.iter().rev().find(|cookie| cookie.name() == name) {
            Some(cookie) if cookie.is_removal() => None,
            Some(cookie) => Some(cookie.value()),
            None => self.came.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str()),
        }
    }

    /// Sets a cookie, in the place of one of the same name, path and domain.
    pub fn insert(&mut self, cookie: Cookie) {
        self.changes.retain(|known| !known.is_same(&cookie));
        self.changes.push(cookie);
    }

    /// Removes a cookie that was set for the whole site, as [`Cookie::new`] does it.
    ///
    /// One with another path or a domain takes `jar.insert(Cookie::removal("sid").domain("example.com"))`: the
    /// browser would keep it otherwise.
    pub fn remove(&mut self, name: &str) {
        self.insert(Cookie::removal(name));
    }

    /// Returns the changes, in their order.
    pub fn changes(&self) -> &[Cookie] {
        &self.changes
    }
}

impl Response {
    /// Returns it with the changes of a jar. As [`Response::with_cookie`] for each of them.
    #[must_use]
    pub fn with_jar(mut self, jar: Jar) -> Response {
        for cookie in jar.changes {
            self = self.with_cookie(cookie);
        }
        self
    }
}
