//! `Cors`: which other sites' pages may read the answers (Fetch, section 3.2, the CORS protocol).

use crate::handler::BoxFuture;
use crate::headers::{Headers, is_token};
use crate::method::Method;
use crate::middleware::{Middleware, Next};
use crate::request::Request;
use crate::response::{IntoResponse, Response};
use crate::status::Status;
use crate::text::{concat, decimal};
use crate::vary;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

/// Middleware that lets pages of other origins read answers, and answers the preflights by which browsers ask.
///
/// Without it browsers keep the answers from such pages. It does not keep requests away from handlers: who is allowed
/// to do what is for them to say. Put it outside of middleware that asks who somebody is, since a preflight never
/// tells. It sees errors, 404 and 405 included. It goes to the outermost router, or to one that is nested under a prefix:
/// a router that is merged has no paths of its own, so preflights go past it.
///
/// What is not said is not allowed, but for what a JSON API can't do without: the methods that the router has handlers
/// for at the path, and `Content-Type` as a field of the request.
///
/// ```
/// use tabi::{Cors, Router};
///
/// let cors = Cors::origins(&["https://app.example"]).credentials().headers(&["content-type", "x-csrf-token"]);
/// let router = Router::new().with(cors).get("/", async |_| "hello").delete("/", async |_| ());
/// # let client = tabi::testing::Client::new(router);
/// # let preflight = client.options("/").header("origin", "https://app.example").header("access-control-request-method", "DELETE").send();
/// # assert_eq!(preflight.header("access-control-allow-methods"), Some("GET, HEAD, DELETE, OPTIONS"));
/// ```
pub struct Cors {
    origins: Origins,
    methods: Option<String>,
    headers: String,
    exposed: Option<String>,
    max_age: Option<String>,
    credentials: bool,
    private_network: bool,
}

enum Origins {
    Any,
    Listed(Vec<String>),
    Matching(Box<dyn Fn(&str) -> bool>),
}

impl Cors {
    /// Allows every origin to read what anybody can read: answers without credentials.
    pub fn any() -> Cors {
        Cors::new(Origins::Any)
    }

    /// Allows these origins, such as `https://app.example` or `http://localhost:3000`, compared byte by byte.
    ///
    /// `null` allows sandboxed pages and files: anybody can make one.
    ///
    /// # Panics
    /// Where one is not written as browsers send it: scheme, host and a port that is not the default one, in lower
    /// case, without a slash at the end.
    #[track_caller]
    pub fn origins(origins: &[&str]) -> Cors {
        for origin in origins {
            if crate::wasi::CHECKED && !is_origin(origin) {
                crate::wasi::fail(&concat(["`", origin, "` is no origin as browsers send it"]));
            }
        }
        Cors::new(Origins::Listed(origins.iter().map(|origin| String::from(*origin)).collect()))
    }

    /// Allows the origins for which a function says so. It is never asked about `null`.
    pub fn matching(allowed: impl Fn(&str) -> bool + 'static) -> Cors {
        Cors::new(Origins::Matching(Box::new(allowed)))
    }

    /// Allows these methods, whatever the router has handlers for.
    ///
    /// # Panics
    /// Where one is not a token.
    #[track_caller]
    #[must_use]
    pub fn methods(mut self, methods: &[&str]) -> Cors {
        self.methods = Some(list(methods));
        self
    }

    /// Allows these fields in requests, instead of `content-type`. `*` is all but `Authorization`.
    ///
    /// # Panics
    /// Where one is not a token, or for `*` with [`Cors::credentials`], where it means nothing.
    #[track_caller]
    #[must_use]
    pub fn headers(mut self, names: &[&str]) -> Cors {
        self.headers = list(names);
        self.checked()
    }

    /// Lets pages read these fields of answers, beside the few that they always can.
    ///
    /// # Panics
    /// As [`Cors::headers`].
    #[track_caller]
    #[must_use]
    pub fn expose(mut self, names: &[&str]) -> Cors {
        self.exposed = Some(list(names));
        self.checked()
    }

    /// Lets browsers remember what a preflight said, for this long; without it they do for five seconds.
    #[must_use]
    pub fn max_age(mut self, age: Duration) -> Cors {
        self.max_age = Some(decimal(age.as_secs()));
        self
    }

    /// Lets pages send cookies, and read what comes back for these.
    ///
    /// # Panics
    /// With [`Cors::any`]: every page on the web could act for every user. Neither do browsers allow it.
    #[track_caller]
    #[must_use]
    pub fn credentials(mut self) -> Cors {
        let any = matches!(self.origins, Origins::Any);
        if crate::wasi::CHECKED && any {
            crate::wasi::fail("credentials for any origin would let every page act for every user; list the origins");
        }
        self.credentials = !any;
        self.checked()
    }

    /// Lets pages on the public net reach a server on a private one (Private Network Access).
    #[must_use]
    pub fn private_network(mut self) -> Cors {
        self.private_network = true;
        self
    }

    fn new(origins: Origins) -> Cors {
        let headers = String::from("content-type");
        Cors {
            origins,
            methods: None,
            headers,
            exposed: None,
            max_age: None,
            credentials: false,
            private_network: false,
        }
    }

    #[track_caller]
    fn checked(self) -> Cors {
        let star = |list: &str| list == "*";
        let stars = star(&self.headers) || self.exposed.as_deref().is_some_and(star);
        if crate::wasi::CHECKED && self.credentials && stars {
            crate::wasi::fail("`*` is no wildcard where there are credentials; list the names");
        }
        self
    }

    /// Returns what to tell a client whose origin is allowed.
    fn allowed(&self, headers: &Headers) -> Option<String> {
        if let Origins::Any = self.origins {
            return Some(String::from("*"));
        }
        let mut origins = headers.get_all("origin");
        // A browser sends one.
        let (Some(origin), None) = (origins.next(), origins.next()) else { return None };
        let allowed = match &self.origins {
            Origins::Listed(listed) => listed.iter().any(|known| known == origin),
            Origins::Matching(allowed) => origin != "null" && allowed(origin),
            Origins::Any => false,
        };
        allowed.then(|| String::from(origin))
    }

    /// Answers the question of a browser whether it may send a request.
    fn preflight(&self, request: &Headers, next: &Next) -> Response {
        let mut response = Status::NO_CONTENT.into_response();
        let headers = response.headers_mut();
        let origin = self.allowed(request);
        self.mark(headers, origin.as_deref());
        vary::add(headers, "access-control-request-method");
        vary::add(headers, "access-control-request-headers");
        if self.private_network {
            vary::add(headers, "access-control-request-private-network");
        }
        if origin.is_none() {
            return response;
        }
        // What is allowed comes from the app, never from the question: a browser compares.
        let methods = self.methods.as_deref().or(next.allow()).unwrap_or("GET, HEAD, POST, PUT, PATCH, DELETE");
        set(headers, "access-control-allow-methods", methods);
        if !self.headers.is_empty() {
            set(headers, "access-control-allow-headers", &self.headers);
        }
        if let Some(age) = &self.max_age {
            set(headers, "access-control-max-age", age);
        }
        if self.private_network && request.get("access-control-request-private-network") == Some("true") {
            set(headers, "access-control-allow-private-network", "true");
        }
        response
    }

    /// Says in an answer who may read it.
    fn mark(&self, headers: &mut Headers, origin: Option<&str>) {
        if !matches!(self.origins, Origins::Any) {
            // Fetch, section 3.2.5: also where the answer is no, or nobody asked; a cache would keep it for others.
            vary::add(headers, "origin");
        }
        if let Some(origin) = origin {
            set(headers, "access-control-allow-origin", origin);
            if self.credentials {
                set(headers, "access-control-allow-credentials", "true");
            }
        }
    }
}

impl Middleware for Cors {
    fn call(&'static self, request: Request, next: Next) -> BoxFuture<Response> {
        let headers = request.headers();
        let asks = headers.contains("origin") && headers.contains("access-control-request-method");
        if asks && *request.method() == Method::OPTIONS {
            return Box::pin(core::future::ready(self.preflight(headers, &next)));
        }
        let origin = self.allowed(headers);
        Box::pin(async move {
            let mut response = next.run(request).await;
            let headers = response.headers_mut();
            self.mark(headers, origin.as_deref());
            if let (Some(exposed), Some(_)) = (&self.exposed, origin) {
                set(headers, "access-control-expose-headers", exposed);
            }
            response
        })
    }
}

fn set(headers: &mut Headers, name: &str, value: &str) {
    let _ = headers.insert(name, value);
}

/// Joins names with commas.
#[track_caller]
fn list(names: &[&str]) -> String {
    let mut list = String::new();
    for name in names {
        if crate::wasi::CHECKED && !is_token(name) {
            crate::wasi::fail(&concat(["`", name, "` is no name of a method or a field"]));
        }
        if !list.is_empty() {
            list.push_str(", ");
        }
        list.push_str(name);
    }
    list
}

/// Tells whether it is an origin, serialised (HTML, section 7.1.1).
fn is_origin(text: &str) -> bool {
    let bytes = text.as_bytes();
    let Some(colon) = bytes.windows(3).position(|window| window == b"://") else { return text == "null" };
    let (scheme, host) = (bytes.get(..colon).unwrap_or_default(), bytes.get(colon + 3..).unwrap_or_default());
    let default_port: &[u8] = match scheme {
        b"http" => b":80",
        b"https" => b":443",
        _ => b":",
    };
    !scheme.is_empty()
        && !host.is_empty()
        && !host.ends_with(default_port)
        && !bytes.iter().any(u8::is_ascii_uppercase)
        && !host.iter().any(|byte| b"/?#@*, \\".contains(byte) || !byte.is_ascii_graphic())
}
