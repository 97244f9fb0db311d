//! `App`: a router that is built, and the way of a request through it.

use crate::error::Error;
use crate::extensions::Extensions;
use crate::handler::{BoxFuture, Handler};
use crate::method::Method;
use crate::middleware::{BoxMiddleware, Next};
use crate::pattern::{Pattern, decode_path};
use crate::request::Request;
use crate::response::{IntoResponse, Response};
use crate::status::Status;
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
        App { routes: Vec::new(), scopes: Vec::from([Scope::default()]) }
    }

    /// Keeps an app for as long as the instance lives, so that handlers and requests can borrow from it.
    pub(crate) fn leak(self) -> &'static App {
        Box::leak(Box::new(self))
    }

    pub(crate) fn scope(&self, index: usize) -> Option<&Scope> {
        self.scopes.get(index)
    }

    /// Returns the route that a new one is in conflict with.
    pub(crate) fn twin(&self, route: &Route) -> Option<&Route> {
        self.routes.iter().find(|known| known.method == route.method && known.pattern.is_twin_of(&route.pattern))
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

    /// Answers a request, through all middleware. The caller knows how to wait for the answer.
    pub(crate) fn respond(
        &'static self,
        mut request: Request,
        wait: impl FnOnce(BoxFuture<Response>) -> Response,
    ) -> Response {
        let head = *request.method() == Method::HEAD;
        let (leaf, endpoint) = self.find(&mut request);
        request.set_app(self, leaf);
        wait(Next::new(self, leaf, endpoint).run(request)).finished(head)
    }

    /// Answers a request that has passed all middleware.
    pub(crate) fn answer(&'static self, endpoint: Endpoint, request: Request) -> BoxFuture<Response> {
        let (status, message, allow) = match endpoint {
            Endpoint::Route(index) => match self.routes.get(index) {
                Some(route) => return route.handler.call(request),
                None => (Status::NOT_FOUND, "not found", None),
            },
            Endpoint::NotFound(scope) => match self.fallback(scope) {
                Some(handler) => return handler.call(request),
                None => (Status::NOT_FOUND, "not found", None),
            },
            Endpoint::WrongMethod(allow) => (Status::METHOD_NOT_ALLOWED, "method not allowed", Some(allow)),
            Endpoint::Options(allow) => (Status::NO_CONTENT, "", Some(allow)),
            Endpoint::BadPath => (Status::BAD_REQUEST, "malformed path", None),
        };
        let mut response = match message {
            "" => Response::default().with_status(status),
            message => Error::new(status, message).into_response(),
        };
        if let Some(allow) = allow {
            response.headers_mut().push("allow", &allow);
        }
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
        let options = *request.method() == Method::OPTIONS;
        // RFC 9110, section 9.3.7: `*` asks about the server as a whole.
        if options && request.path() == "*" {
            return (0, Endpoint::Options(self.allow(None)));
        }
        let Some(path) = decode_path(request.path()) else { return (0, Endpoint::BadPath) };
        if let Some((index, route)) = self.best(request.method(), &path) {
            request.set_route(index, path);
            return (route.scope, Endpoint::Route(index));
        }
        let scope = self.nearest(&path);
        let allow = self.allow(Some(&path));
        let endpoint = match (allow.is_empty(), options) {
            (true, _) => Endpoint::NotFound(scope),
            (false, true) => Endpoint::Options(allow),
            (false, false) => Endpoint::WrongMethod(allow),
        };
        (scope, endpoint)
    }

    /// Returns the most specific route for a path and a method.
    fn best(&self, method: &Method, path: &str) -> Option<(usize, &Route)> {
        let mut best: Option<(usize, &Route)> = None;
        for (index, route) in self.routes.iter().enumerate() {
            let fits = route.pattern.matches(path) && route.serves(method) > 0;
            if fits && best.is_none_or(|(_, known)| route.compare(known, method) == Ordering::Less) {
                best = Some((index, route));
            }
        }
        best
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

    /// Lists the methods of the routes for a path, or of all, for `Allow`; nothing where there is no route.
    fn allow(&self, path: Option<&str>) -> String {
        let mut list = String::new();
        // The usual ones in the same order whatever the order of the routes, so that answers can be compared.
        for name in USUAL {
            let implied = if name == "HEAD" { "GET" } else { name };
            if self.methods(path).any(|method| method == name || method == implied) {
                enlist(&mut list, name);
            }
        }
        for method in self.methods(path).filter(|method| !USUAL.contains(method)) {
            enlist(&mut list, method);
        }
        if !list.is_empty() {
            enlist(&mut list, "OPTIONS");
        }
        list
    }

    fn methods(&self, path: Option<&str>) -> impl Iterator<Item = &str> {
        let fits = move |route: &&Route| path.is_none_or(|path| route.pattern.matches(path));
        self.routes.iter().filter(fits).filter_map(|route| route.method.as_ref()).map(Method::as_str)
    }
}

const USUAL: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

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

/// Adds a name to a list with commas.
fn enlist(list: &mut String, name: &str) {
    if !list.is_empty() {
        list.push_str(", ");
    }
    list.push_str(name);
}
