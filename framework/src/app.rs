//! `App`: a router that is built, and the way of a request through it.

use crate::error::Error;
use crate::extensions::Extensions;
use crate::handler::{BoxFuture, Handler};
use crate::method::Method;
use crate::middleware::{BoxMiddleware, Next};
use crate::pattern::Pattern;
use crate::request::Request;
use crate::response::{IntoResponse, Response};
use crate::status::Status;
use crate::table::Table;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::panic::Location;

/// All routes of an app in one flat list, and the routers that they came in.
pub(crate) struct App {
    pub(crate) routes: Vec<Route>,
    /// The routers; the first is the outermost.
    pub(crate) scopes: Vec<Scope>,
    table: Table,
}

/// A pattern with its handler.
pub(crate) struct Route {
    /// `None` is any.
    pub(crate) method: Option<Method>,
    pub(crate) pattern: Pattern,
    pub(crate) handler: Box<dyn Handler>,
    pub(crate) scope: usize,
    pub(crate) name: Option<&'static str>,
    pub(crate) at: &'static Location<'static>,
}

/// What a router has beside its routes.
#[derive(Default)]
pub(crate) struct Scope {
    pub(crate) parent: usize,
    pub(crate) prefix: Option<Pattern>,
    pub(crate) layers: Vec<BoxMiddleware>,
    pub(crate) fallback: Option<Box<dyn Handler>>,
    pub(crate) state: Extensions,
}

/// Where a request ends up.
pub(crate) enum Endpoint {
    Route(usize),
    /// No route: the fallback or the 404 of a router.
    NotFound(usize),
    /// A route, but not for this method; with the methods that there are.
    WrongMethod(String),
    /// OPTIONS, which nobody wrote a handler for.
    Options(String),
    /// A path that can't be read.
    BadPath,
}

impl App {
    pub(crate) fn new() -> App {
        App { routes: Vec::new(), scopes: Vec::from([Scope::default()]), table: Table::new() }
    }

    /// Keeps an app for as long as the instance lives, so that handlers and requests can borrow from it.
    pub(crate) fn leak(self) -> &'static App {
        Box::leak(Box::new(self))
    }

    pub(crate) fn scope(&self, index: usize) -> Option<&Scope> {
        self.scopes.get(index)
    }

    pub(crate) fn push(&mut self, route: Route) {
        self.table.insert(route.pattern.shape(), self.routes.len());
        self.routes.push(route);
    }

    /// Returns the route that a new one is in conflict with.
    pub(crate) fn twin(&self, route: &Route) -> Option<&Route> {
        let mut candidates = self.table.find(route.pattern.shape()).filter_map(|index| self.routes.get(index));
        candidates.find(|known| known.method == route.method && known.pattern.is_twin_of(&route.pattern))
    }

    /// Returns the route of this name.
    pub(crate) fn named(&self, name: &str) -> Option<&Route> {
        self.routes.iter().find(|route| route.name == Some(name))
    }

    /// Returns the value of a type from the router of the request or one around it.
    pub(crate) fn state<T: 'static>(&self, mut scope: usize) -> Option<&T> {
        loop {
            let router = self.scope(scope)?;
            match router.state.get() {
                None if scope != 0 => scope = router.parent,
                found => return found,
            }
        }
    }

    /// Returns the router inside `scope` on the way to `leaf`.
    pub(crate) fn step(&self, scope: usize, leaf: usize) -> usize {
        let mut inner = leaf;
        while let Some(router) = self.scope(inner) {
            if router.parent == scope {
                break;
            }
            inner = router.parent;
        }
        inner
    }

    /// Answers a request, through all middleware.
    pub(crate) async fn respond(&'static self, mut request: Request) -> Response {
        let method = request.method().clone();
        let (leaf, endpoint) = self.find(&mut request);
        request.set_route(self, leaf);
        let response = Next::new(self, leaf, endpoint).run(request).await;
        response.finished(method == Method::HEAD)
    }

    /// Answers a request that has passed all middleware.
    pub(crate) fn answer(&'static self, endpoint: Endpoint, request: Request) -> BoxFuture<Response> {
        let response = match endpoint {
            Endpoint::Route(index) => match self.routes.get(index) {
                Some(route) => return route.handler.call(request),
                None => Error::internal("no such route").into_response(),
            },
            Endpoint::NotFound(scope) => match self.fallback(scope) {
                Some(handler) => return handler.call(request),
                None => Error::new(Status::NOT_FOUND, "not found").into_response(),
            },
            Endpoint::WrongMethod(allow) => Error::new(Status::METHOD_NOT_ALLOWED, "method not allowed")
                .with_header("allow", &allow)
                .into_response(),
            Endpoint::Options(allow) => Status::NO_CONTENT.into_response().with_header("allow", &allow),
            Endpoint::BadPath => Error::new(Status::BAD_REQUEST, "malformed path").into_response(),
        };
        Box::pin(core::future::ready(response))
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

    /// Finds the endpoint, and puts the parameters into the request.
    fn find(&self, request: &mut Request) -> (usize, Endpoint) {
        // RFC 9110, section 9.3.7: `*` asks about the server as a whole.
        if request.path() == "*" && *request.method() == Method::OPTIONS {
            return (0, Endpoint::Options(self.allow(|_| true)));
        }
        let Some(segments) = segments(request.path()) else { return (0, Endpoint::BadPath) };
        let plain = if request.path().contains('%') { None } else { Some(request.path()) };
        if let Some(index) = self.best(request.method(), plain, &segments) {
            let Some(route) = self.routes.get(index) else { return (0, Endpoint::NotFound(0)) };
            let mut params = Vec::new();
            route.pattern.params(&segments, |name, value| params.push((String::from(name), value)));
            request.set_params(index, params);
            return (route.scope, Endpoint::Route(index));
        }
        let scope = self.nearest(&segments);
        let allow = self
            .allow(|route| !plain.is_some_and(|path| route.pattern.excludes(path)) && route.pattern.matches(&segments));
        match (allow.is_empty(), *request.method() == Method::OPTIONS) {
            (true, _) => (scope, Endpoint::NotFound(scope)),
            (false, true) => (scope, Endpoint::Options(allow)),
            (false, false) => (scope, Endpoint::WrongMethod(allow)),
        }
    }

    /// Returns the most specific route for a path and a method.
    fn best(&self, method: &Method, plain: Option<&str>, segments: &[Cow<'_, str>]) -> Option<usize> {
        let fits = |index: &usize| {
            self.routes.get(*index).is_some_and(|route| route.serves(method) > 0 && route.pattern.matches(segments))
        };
        let better = |one: usize, two: usize| match (self.routes.get(one), self.routes.get(two)) {
            (Some(a), Some(b)) if a.compare(b, method) == Ordering::Greater => two,
            _ => one,
        };
        if let Some(path) = plain {
            // A pattern without parameters that equals the path can't be beaten, and is found without a search.
            let exact = self.table.find(crate::pattern::literal_shape(path)).filter(fits);
            let literal =
                exact.filter(|index| self.routes.get(*index).is_some_and(|route| route.pattern.as_str() == path));
            if let Some(index) = literal.reduce(better) {
                return Some(index);
            }
        }
        let possible =
            self.routes.iter().enumerate().filter(|(_, route)| !plain.is_some_and(|path| route.pattern.excludes(path)));
        possible.map(|(index, _)| index).filter(fits).reduce(better)
    }

    /// Returns the innermost router whose prefix the path begins with.
    fn nearest(&self, segments: &[Cow<'_, str>]) -> usize {
        let mut best = 0;
        let mut length = 0;
        for (index, scope) in self.scopes.iter().enumerate() {
            let Some(prefix) = &scope.prefix else { continue };
            if prefix.as_str().len() > length && prefix.is_prefix_of(segments) {
                (best, length) = (index, prefix.as_str().len());
            }
        }
        best
    }

    /// Lists the methods of some routes, for `Allow`.
    fn allow(&self, some: impl Fn(&Route) -> bool) -> String {
        let mut methods = Vec::new();
        for route in self.routes.iter().filter(|route| some(route)) {
            let Some(method) = &route.method else { continue };
            if !methods.contains(&method.as_str()) {
                methods.push(method.as_str());
            }
        }
        let mut list = String::new();
        if methods.is_empty() {
            return list;
        }
        // The usual ones in the same order whatever the order of the routes, so that answers can be compared.
        for name in USUAL {
            if methods.contains(&name) || name == "OPTIONS" || (name == "HEAD" && methods.contains(&"GET")) {
                enlist(&mut list, name);
            }
        }
        for name in methods.into_iter().filter(|name| !USUAL.contains(name)) {
            enlist(&mut list, name);
        }
        list
    }
}

const USUAL: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

impl Route {
    /// Says how well the route serves a method: 0 is not at all.
    fn serves(&self, method: &Method) -> u8 {
        match &self.method {
            Some(mine) if mine == method => 3,
            Some(mine) if *mine == Method::GET && *method == Method::HEAD => 2,
            Some(_) => 0,
            None => 1,
        }
    }

    /// Orders two routes that match a path: what is less is to be preferred.
    fn compare(&self, other: &Route, method: &Method) -> Ordering {
        self.pattern.compare(&other.pattern).then(other.serves(method).cmp(&self.serves(method)))
    }
}

impl Scope {
    /// Returns the prefix of a router as a pattern; its text was checked where it was given.
    pub(crate) fn prefix(text: &str) -> Option<Pattern> {
        Pattern::new(Cow::Owned(String::from(text))).ok()
    }
}

/// Adds a name to a list with commas.
fn enlist(list: &mut String, name: &str) {
    if !list.is_empty() {
        list.push_str(", ");
    }
    list.push_str(name);
}

/// Splits a path and decodes each segment once, or returns `None` where an escape is malformed.
fn segments(path: &str) -> Option<Vec<Cow<'_, str>>> {
    let mut segments = Vec::new();
    for piece in crate::pattern::pieces(path.as_bytes()) {
        segments.push(crate::percent::decode_segment(piece)?);
    }
    Some(segments)
}
