//! `App`: a router that is built, and the way of a request through it.

use crate::extensions::Extensions;
use crate::handler::{BoxFuture, Handler};
#[cfg(feature = "ahead")]
use crate::index::{Index, Walk};
use crate::method::Method;
use crate::middleware::BoxMiddleware;
use crate::pattern::Pattern;
use crate::percent::decode;
use crate::request::Request;
use crate::response::{IntoResponse, Response};
use crate::status::Status;
use crate::text::append;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::future::Future;
use core::panic::Location;
use core::pin::Pin;
use core::task::{Context, Poll};

/// All routes of an app in one flat list, and the routers that they came in.
pub(crate) struct App {
    pub(crate) routes: Vec<Route>,
    /// The routers; the first is the outermost. Empty where it has nothing beside its routes.
    pub(crate) scopes: Vec<Scope>,
    /// Where routes are found, if it was worth the work.
    #[cfg(feature = "ahead")]
    index: Option<Index>,
    /// How a request gets to its endpoint: straight, or through routers and their middleware. A pointer, so that an
    /// app without them is spared the code.
    pub(crate) enter: fn(&'static App, Endpoint, Request) -> BoxFuture<Response>,
}

/// A pattern with its handler.
pub(crate) struct Route {
    /// `None` is any.
    pub(crate) method: Option<Method>,
    pub(crate) pattern: Pattern,
    pub(crate) handler: Box<dyn Handler>,
    pub(crate) scope: usize,
    pub(crate) name: Option<&'static str>,
    /// Where it was added, where mistakes are looked for.
    pub(crate) at: Option<&'static Location<'static>>,
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
    Route(&'static Route),
    /// No route: the fallback or the 404 of a router.
    NotFound,
    /// A route, but not for this method; with the methods that there are.
    WrongMethod(String),
    /// OPTIONS, which nobody wrote a handler for.
    Options(String),
    /// A path that can't be read.
    BadPath,
}

impl App {
    pub(crate) fn new() -> Box<App> {
        Box::new(App {
            routes: Vec::new(),
            scopes: Vec::new(),
            #[cfg(feature = "ahead")]
            index: None,
            enter: App::answer,
        })
    }

    /// Makes routes quick to find, for an app that answers more than one request. After it, no routes are added.
    #[allow(dead_code, reason = "in a component that is for one request it is not worth it")]
    pub(crate) fn index(&mut self) {
        #[cfg(feature = "ahead")]
        {
            self.index = Index::new(&self.routes);
        }
    }

    /// Keeps an app for as long as the instance lives, so that handlers and requests can borrow from it.
    pub(crate) fn leak(self: Box<App>) -> &'static App {
        Box::leak(self)
    }

    pub(crate) fn scope(&self, index: usize) -> Option<&Scope> {
        self.scopes.get(index)
    }

    /// Returns the outermost router, to change it.
    pub(crate) fn root(&mut self) -> Option<&mut Scope> {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        self.scopes.first_mut()
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

    /// Answers a request, through all middleware. The caller knows how to wait for the answer.
    #[allow(dead_code, reason = "0.3 does not wait")]
    pub(crate) fn respond(
        &'static self,
        request: Request,
        wait: impl FnOnce(BoxFuture<Response>) -> Response,
    ) -> Response {
        let (head, answer) = self.start(request);
        let mut response = wait(answer);
        response.finish(head);
        response
    }

    /// Starts to answer a request, and tells whether only the head of the answer is wanted, which is for
    /// [`Response::finish`] to know.
    pub(crate) fn start(&'static self, mut request: Request) -> (bool, BoxFuture<Response>) {
        let head = *request.method() == Method::HEAD;
        let endpoint = self.find(&request);
        let route = if let Endpoint::Route(route) = endpoint { Some(route) } else { None };
        request.set_app(self, route);
        (head, (self.enter)(self, endpoint, request))
    }

    /// Answers a request that has passed all middleware.
    pub(crate) fn answer(&'static self, endpoint: Endpoint, request: Request) -> BoxFuture<Response> {
        let (status, message, allow) = match endpoint {
            Endpoint::Route(route) => return route.handler.call(request),
            Endpoint::NotFound => (Status::NOT_FOUND, "not found", None),
            Endpoint::WrongMethod(allow) => (Status::METHOD_NOT_ALLOWED, "method not allowed", Some(allow)),
            Endpoint::Options(allow) => (Status::NO_CONTENT, "", Some(allow)),
            Endpoint::BadPath => (Status::BAD_REQUEST, "malformed path", None),
        };
        let mut response = match message {
            "" => status.into_response(),
            message => Response::refusal(status, message),
        };
        if let Some(allow) = allow {
            response.headers_mut().set("allow", allow);
        }
        Box::pin(Ready(Some(response)))
    }

    /// Finds the endpoint.
    fn find(&'static self, request: &Request) -> Endpoint {
        let options = *request.method() == Method::OPTIONS;
        let path = request.path();
        // RFC 9110, section 9.3.7: `*` asks about the server as a whole.
        if options && path == "*" {
            return Endpoint::Options(self.allow(None));
        }
        if decode(path, "/").is_none() {
            return Endpoint::BadPath;
        }
        if let Some(route) = self.best(request.method(), path) {
            return Endpoint::Route(route);
        }
        let allow = self.allow(Some(path));
        match options {
            _ if allow.is_empty() => Endpoint::NotFound,
            true => Endpoint::Options(allow),
            false => Endpoint::WrongMethod(allow),
        }
    }

    /// Returns the most specific route for a path and a method.
    fn best(&self, method: &Method, path: &str) -> Option<&Route> {
        let mut best: Option<&Route> = None;
        for route in self.candidates(path) {
            if route.serves(method) > 0
                && route.pattern.matches(path)
                && best.is_none_or(|known| route.compare(known, method) == Ordering::Less)
            {
                best = Some(route);
            }
        }
        best
    }

    /// Returns the routes that may match a path, and perhaps others.
    #[cfg(not(feature = "ahead"))]
    fn candidates(&self, _: &str) -> core::slice::Iter<'_, Route> {
        self.routes.iter()
    }

    /// Returns the routes that may match a path, and perhaps others.
    #[cfg(feature = "ahead")]
    fn candidates<'a>(&'a self, path: &str) -> impl Iterator<Item = &'a Route> {
        let (mut number, mut walk) = (0, Walk::new());
        core::iter::from_fn(move || {
            let next = match &self.index {
                Some(index) => index.next(path.as_bytes(), &mut walk)?,
                None => number,
            };
            number += 1;
            self.routes.get(next)
        })
    }

    /// Lists the methods of the routes for a path, or of all, for `Allow`; nothing where there is no route.
    #[cold]
    #[inline(never)]
    fn allow(&self, path: Option<&str>) -> String {
        let mut known = 0u16;
        let mut list = String::new();
        for route in &self.routes {
            if path.is_some_and(|path| !route.pattern.matches(path)) {
                continue;
            }
            let Some(method) = &route.method else { continue };
            // Whoever answers anything answers OPTIONS, and who answers GET answers HEAD, too.
            known |= 1 << 8;
            match method.number() {
                Some(0) => known |= 3,
                Some(number) => known |= 1 << number,
                None => enlist(&mut list, method.as_str()),
            }
        }
        // The usual ones in the same order whatever the order of the routes, so that answers can be compared.
        for number in 0..9 {
            if known >> number & 1 == 1 {
                enlist(&mut list, Method::name(number));
            }
        }
        list
    }
}

impl Route {
    /// Says how well the route serves a method: 0 is not at all.
    fn serves(&self, method: &Method) -> u8 {
        match &self.method {
            None => 1,
            Some(mine) if mine == method => 3,
            Some(mine) if *mine == Method::GET && *method == Method::HEAD => 2,
            Some(_) => 0,
        }
    }

    /// Orders two routes that match a path: what is less is to be preferred.
    #[inline(never)]
    fn compare(&self, other: &Route, method: &Method) -> Ordering {
        self.pattern.compare(&other.pattern).then(other.serves(method).cmp(&self.serves(method)))
    }
}

/// A response that is there at once. The library's own future of this kind brings a text for who polls it twice.
struct Ready(Option<Response>);

impl Future for Ready {
    type Output = Response;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Response> {
        self.0.take().map_or(Poll::Pending, Poll::Ready)
    }
}

/// Adds a name to a list with commas.
fn enlist(list: &mut String, name: &str) {
    if !list.is_empty() {
        append(list, ", ");
    }
    append(list, name);
}

#[cfg(all(test, feature = "ahead"))]
#[path = "app_tests.rs"]
mod tests;
