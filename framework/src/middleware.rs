//! `Middleware`: what stands around handlers, and `Next`, the way on.

use crate::app::{App, Endpoint, Route};
use crate::handler::{BoxFuture, Handler};
use crate::request::Request;
use crate::response::{IntoResponse, Response};
use crate::wasi::Answer;
use alloc::boxed::Box;
use core::cmp::Ordering;
use core::future::Future;

/// Wraps the handlers of a router. Every `async fn(Request, Next) -> impl IntoResponse` is one; types of yours can
/// be, too. It sees what finds no route (404, 405) as well.
///
/// ```
/// use tabi::{Next, Request, Response, Router};
///
/// async fn stamp(req: Request, next: Next) -> Response {
///     next.run(req).await.with_header("x-app", "demo")
/// }
///
/// let router = Router::new().with(stamp).get("/", async |_| "hello");
/// # let page = tabi::testing::Client::new(router).get("/nowhere").send();
/// # assert_eq!((page.status().code(), page.header("x-app")), (404, Some("demo")));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no middleware",
    label = "expected an `async fn(Request, Next) -> impl IntoResponse`"
)]
pub trait Middleware: 'static {
    /// Answers a request, mostly with what `next.run(request)` gives.
    fn call(&'static self, request: Request, next: Next) -> BoxFuture<Response>;
}

impl<F, Fut> Middleware for F
where
    F: Fn(Request, Next) -> Fut + 'static,
    Fut: Future<Output: IntoResponse> + 'static,
{
    fn call(&'static self, request: Request, next: Next) -> BoxFuture<Response> {
        Box::pin(Answer(self(request, next)))
    }
}

/// The rest of the chain: the middleware inside this one, and the handler.
pub struct Next {
    app: &'static App,
    endpoint: Endpoint,
    /// The router that the endpoint belongs to.
    leaf: usize,
    /// The router whose middleware comes next, and which of it.
    scope: usize,
    layer: usize,
}

impl Next {
    /// Returns the methods that the router allows, where the request asks for nothing else.
    pub(crate) fn allow(&self) -> Option<&str> {
        match &self.endpoint {
            Endpoint::Options(allow) => Some(allow),
            _ => None,
        }
    }

    /// Passes the request on and returns the answer.
    pub fn run(mut self, request: Request) -> BoxFuture<Response> {
        let app = self.app;
        loop {
            if let Some(layer) = app.scope(self.scope).and_then(|scope| scope.layers.get(self.layer)) {
                self.layer += 1;
                return layer.call(request, self);
            }
            if self.scope == self.leaf {
                break;
            }
            self.scope = app.step(self.scope, self.leaf);
            self.layer = 0;
        }
        match (&self.endpoint, app.fallback(self.leaf)) {
            (Endpoint::NotFound, Some(handler)) => handler.call(request),
            _ => app.answer(self.endpoint, request),
        }
    }
}

/// What an app needs that has more than one router, or middleware or a fallback.
impl App {
    /// Answers a request through the middleware of the routers on its way.
    pub(crate) fn enter_scopes(&'static self, endpoint: Endpoint, mut request: Request) -> BoxFuture<Response> {
        let leaf = match &endpoint {
            Endpoint::Route(route) => route.scope,
            Endpoint::BadPath => 0,
            Endpoint::NotFound => self.nearest(request.path()),
            Endpoint::WrongMethod(_) | Endpoint::Options(_) => self.owner(request.path()),
        };
        request.set_scope(leaf);
        Next { app: self, endpoint, leaf, scope: 0, layer: 0 }.run(request)
    }

    /// Returns the router of the most specific pattern that the path matches, whatever the method.
    fn owner(&self, path: &str) -> usize {
        let mut best: Option<&Route> = None;
        for route in &self.routes {
            let is_better = best.is_none_or(|known| route.pattern.compare(&known.pattern) == Ordering::Less);
            if is_better && route.pattern.matches(path) {
                best = Some(route);
            }
        }
        best.map_or(0, |route| route.scope)
    }

    /// Returns the innermost router whose prefix the path begins with.
    fn nearest(&self, path: &str) -> usize {
        let mut best = 0;
        let mut length = 0;
        for (index, scope) in self.scopes.iter().enumerate() {
            let Some(prefix) = &scope.prefix else { continue };
            if prefix.as_str().len() > length && prefix.is_prefix_of(path) {
                (best, length) = (index, prefix.as_str().len());
            }
        }
        best
    }

    /// Returns the router inside `scope` on the way to `leaf`.
    fn step(&self, scope: usize, leaf: usize) -> usize {
        let mut inner = leaf;
        while let Some(router) = self.scope(inner) {
            if router.parent == scope {
                break;
            }
            inner = router.parent;
        }
        inner
    }

    /// Returns the fallback of a router or of the nearest one around it.
    fn fallback(&self, mut scope: usize) -> Option<&dyn Handler> {
        loop {
            let router = self.scope(scope)?;
            match &router.fallback {
                None if scope != 0 => scope = router.parent,
                found => return found.as_deref(),
            }
        }
    }
}

/// Sets how many bytes of a body may be read into memory, for a router or, by nesting, a route.
///
/// The default is 2 MiB ([`limits::BODY`](crate::limits::BODY)). More is answered with 413 and not read. Streams
/// ([`Request::body`]) have no limit but their reader's.
///
/// ```
/// use tabi::{BodyLimit, Request, Result, Router};
///
/// async fn upload(mut req: Request) -> Result<String> {
///     Ok(tabi::decimal(req.bytes().await?.len() as u64))
/// }
///
/// let router = Router::new().merge(Router::new().with(BodyLimit(10)).post("/small", upload)).post("/large", upload);
/// # let client = tabi::testing::Client::new(router);
/// # assert_eq!(client.post("/small").body("12345678901").send().status().code(), 413);
/// # assert_eq!(client.post("/large").body("12345678901").send().text(), "11");
/// ```
pub struct BodyLimit(pub usize);

impl Middleware for BodyLimit {
    fn call(&'static self, mut request: Request, next: Next) -> BoxFuture<Response> {
        request.set_body_limit(self.0);
        next.run(request)
    }
}

/// Middleware on the heap, as a router keeps it.
pub(crate) type BoxMiddleware = Box<dyn Middleware>;
