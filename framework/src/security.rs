//! `Security`: header fields that tell browsers what a page may not do.

use crate::handler::BoxFuture;
use crate::headers::Headers;
use crate::middleware::{Middleware, Next};
use crate::request::Request;
use crate::response::Response;
use crate::text::concat;
use alloc::boxed::Box;

/// Middleware that adds the header fields by which browsers protect a site, errors, 404 and 405 included.
///
/// | field | default |
/// |---|---|
/// | `Content-Security-Policy` | `default-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'; object-src 'none'`: nothing from other sites, no inline scripts or styles |
/// | `X-Frame-Options` | `SAMEORIGIN`, which says `frame-ancestors` to old browsers |
/// | `Referrer-Policy` | `strict-origin-when-cross-origin`: other sites learn where visitors come from, but no paths; not `no-referrer`, which also makes `Origin` of forms `null` |
/// | `Cross-Origin-Opener-Policy` | `same-origin`: windows of other sites can't reach this one's |
/// | `Cross-Origin-Resource-Policy` | `same-origin`: other sites can't embed what is here |
/// | `Permissions-Policy` | no camera, microphone, location, payment, USB |
/// | `Strict-Transport-Security` | `max-age=31536000`: only TLS, for a year; sent over TLS only (RFC 6797, section 7.2) |
///
/// `X-Content-Type-Options: nosniff` is on every response, with this middleware or without. A field that a handler
/// sets itself stays as it is: a page with its own policy says so.
///
/// ```
/// use tabi::{Router, Security};
///
/// let security = Security::new()
///     .set("content-security-policy", "default-src 'self'; img-src *")
///     .without("cross-origin-resource-policy");
/// let router = Router::new().with(security).get("/", async |_| "hello");
/// # let page = tabi::testing::Client::new(router).get("/nowhere").send();
/// # assert_eq!(page.header("content-security-policy"), Some("default-src 'self'; img-src *"));
/// # assert_eq!((page.header("x-frame-options"), page.header("cross-origin-resource-policy")), (Some("SAMEORIGIN"), None));
/// ```
pub struct Security {
    fields: Headers,
    behind_tls: bool,
}

const TRANSPORT: &str = "strict-transport-security";

const DEFAULTS: [(&str, &str); 7] = [
    (
        "content-security-policy",
        "default-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'self'; object-src 'none'",
    ),
    ("x-frame-options", "SAMEORIGIN"),
    ("referrer-policy", "strict-origin-when-cross-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()"),
    (TRANSPORT, "max-age=31536000"),
];

impl Default for Security {
    fn default() -> Security {
        Security::new()
    }
}

impl Security {
    /// Returns the middleware with the fields of the table.
    pub fn new() -> Security {
        let mut fields = Headers::new();
        for (name, value) in DEFAULTS {
            fields.push(name, value);
        }
        Security { fields, behind_tls: false }
    }

    /// Sets a field, of the table or another.
    ///
    /// # Panics
    /// Where name or value can't be those of a field.
    #[must_use]
    #[track_caller]
    pub fn set(mut self, name: &str, value: &str) -> Security {
        if self.fields.insert(name, value).is_err() {
            crate::wasi::fail(&concat(["`", name, "` can't be a header field with this value"]));
        }
        self
    }

    /// Leaves a field out.
    #[must_use]
    pub fn without(mut self, name: &str) -> Security {
        self.fields.remove(name);
        self
    }

    /// Says that browsers come over TLS even where the app sees plain HTTP, because a proxy in front of it ends TLS:
    /// `Strict-Transport-Security` is sent then, too.
    #[must_use]
    pub fn behind_tls(mut self) -> Security {
        self.behind_tls = true;
        self
    }
}

impl Middleware for Security {
    fn call(&'static self, request: Request, next: Next) -> BoxFuture<Response> {
        let is_tls = self.behind_tls || request.scheme().as_deref() == Some("https");
        Box::pin(async move {
            let mut response = next.run(request).await;
            for (name, value) in self.fields.iter() {
                if !response.headers().contains(name) && (is_tls || name != TRANSPORT) {
                    // They were checked when they were set.
                    let _ = response.headers_mut().append(name, value);
                }
            }
            response
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Router;
    use crate::testing::{Client, Reply};

    fn reply(security: Security, target: &str) -> Reply {
        let router = Router::new()
            .with(security)
            .get("/", async |_| "hello")
            .get("/own", async |_| Response::text("own").with_header("Content-Security-Policy", "default-src *"));
        Client::new(router).get(target).send()
    }

    #[track_caller]
    fn check(security: Security, target: &str, expected: &[(&str, Option<&str>)]) {
        let reply = reply(security, target);
        for (name, value) in expected {
            assert_eq!(reply.header(name), *value, "{target}: {name}");
            assert!(reply.headers().get_all(name).count() <= 1, "{name}");
        }
    }

    #[test]
    fn defaults() {
        for target in ["/", "/nowhere"] {
            for (name, value) in DEFAULTS {
                // The test client speaks plain HTTP.
                let value = if name == TRANSPORT { None } else { Some(value) };
                check(Security::new(), target, &[(name, value)]);
            }
            check(Security::new(), target, &[("x-content-type-options", Some("nosniff"))]);
            check(Security::new().behind_tls(), target, &[(TRANSPORT, Some("max-age=31536000"))]);
        }
    }

    #[test]
    fn changes() {
        for (name, _) in DEFAULTS {
            check(Security::new().behind_tls().without(name), "/", &[(name, None)]);
            check(Security::new().behind_tls().set(name, "x"), "/", &[(name, Some("x"))]);
        }
        check(Security::new().set("X-Robots-Tag", "noindex"), "/", &[("x-robots-tag", Some("noindex"))]);
        check(Security::new(), "/own", &[("content-security-policy", Some("default-src *"))]);
    }

    #[test]
    #[should_panic(expected = "`x-a` can't be a header field")]
    fn malformed_fields_are_found_at_the_start() {
        let _ = Security::new().set("x-a", "a\r\nb");
    }
}
