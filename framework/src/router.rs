//! `Router`: patterns → handlers, with middleware, state and nested routers.

use crate::app::{App, Route};
use crate::handler::Handler;
use crate::method::Method;
use crate::middleware::{BoxMiddleware, Middleware};
use crate::pattern::Pattern;
use crate::text;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::string::String;
use core::panic::Location;

/// Patterns with their handlers.
///
/// A pattern is a path in which a whole segment may be `{name}` (one segment, not empty) or, at the end, `{*rest}`
/// (all that is left, maybe nothing). Literal text beats a parameter, a parameter beats a rest, from left to right,
/// whatever the order in which routes are added. Matching is exact: case counts, and `/a/` is not `/a`. Each segment
/// is percent-decoded once, after the path was split, so an encoded slash stays inside its segment.
///
/// What nobody wrote a handler for is answered by itself: an unknown path with 404, a known path with another method
/// with 405 and `Allow`, HEAD with what GET says but the content, OPTIONS with 204 and `Allow`, a malformed escape
/// with 400.
///
/// # Panics
/// Mistakes in building panic, at the line that makes them: a malformed pattern, a pattern that is already taken,
/// state of a type that is already there. So a native test that calls the function that builds the router finds them,
/// and so does a debug build of the component. A release build leaves the checks out: an instance may live for one
/// request only, and would make them again for each.
///
/// ```
/// use tabi::{Request, Result, Router};
///
/// async fn user(req: Request) -> Result<String> {
///     let id: u32 = req.param("id")?;
///     Ok(tabi::concat(["user ", &tabi::decimal(id.into())]))
/// }
///
/// let router = Router::new().get("/", async |_| "hello").get("/users/{id}", user);
/// # let client = tabi::testing::Client::new(router);
/// # assert_eq!(client.get("/users/7").send().text(), "user 7");
/// # assert_eq!(client.get("/users/x").send().status().code(), 400);
/// ```
pub struct Router(Box<App>);

impl Default for Router {
    fn default() -> Router {
        Router::new()
    }
}

impl Router {
    /// Returns a router without routes.
    pub fn new() -> Router {
        Router(App::new())
    }

    /// Answers GET, and HEAD with the same but the content.
    #[track_caller]
    pub fn get(self, pattern: impl Into<Cow<'static, str>>, handler: impl Handler) -> Router {
        self.add_known(0, pattern.into(), Box::new(handler))
    }

    /// Answers POST.
    #[track_caller]
    pub fn post(self, pattern: impl Into<Cow<'static, str>>, handler: impl Handler) -> Router {
        self.add_known(2, pattern.into(), Box::new(handler))
    }

    /// Answers PUT.
    #[track_caller]
    pub fn put(self, pattern: impl Into<Cow<'static, str>>, handler: impl Handler) -> Router {
        self.add_known(3, pattern.into(), Box::new(handler))
    }

    /// Answers PATCH.
    #[track_caller]
    pub fn patch(self, pattern: impl Into<Cow<'static, str>>, handler: impl Handler) -> Router {
        self.add_known(4, pattern.into(), Box::new(handler))
    }

    /// Answers DELETE.
    #[track_caller]
    pub fn delete(self, pattern: impl Into<Cow<'static, str>>, handler: impl Handler) -> Router {
        self.add_known(5, pattern.into(), Box::new(handler))
    }

    /// Answers HEAD instead of what GET would say.
    #[track_caller]
    pub fn head(self, pattern: impl Into<Cow<'static, str>>, handler: impl Handler) -> Router {
        self.add_known(1, pattern.into(), Box::new(handler))
    }

    /// Answers OPTIONS instead of the automatic 204.
    #[track_caller]
    pub fn options(self, pattern: impl Into<Cow<'static, str>>, handler: impl Handler) -> Router {
        self.add_known(8, pattern.into(), Box::new(handler))
    }

    /// Answers any method of one's own choice, such as PROPFIND.
    #[track_caller]
    pub fn method(self, method: Method, pattern: impl Into<Cow<'static, str>>, handler: impl Handler) -> Router {
        self.add(Some(method), pattern.into(), Box::new(handler))
    }

    /// Answers every method that has no handler of its own at the same pattern.
    #[track_caller]
    pub fn any(self, pattern: impl Into<Cow<'static, str>>, handler: impl Handler) -> Router {
        self.add(None, pattern.into(), Box::new(handler))
    }

    /// Gives the route that was added last a name, for [`Request::url`](crate::Request::url).
    #[track_caller]
    pub fn named(mut self, name: &'static str) -> Router {
        if crate::wasi::CHECKED && self.0.named(name).is_some() {
            fail(&["the name `", name, "` is already taken"]);
        }
        match self.0.routes.last_mut() {
            Some(route) => route.name = Some(name),
            None if crate::wasi::CHECKED => fail(&["there is no route yet to be named `", name, "`"]),
            None => {}
        }
        self
    }

    /// Puts middleware around all routes of this router and those nested in it, added before or after, and around
    /// its 404 and 405. What is added first is outermost.
    pub fn with(mut self, middleware: impl Middleware) -> Router {
        self.add_layer(Box::new(middleware));
        self
    }

    /// Adds a value that handlers get with [`Request::state`](crate::Request::state).
    ///
    /// It lives as long as the instance: on WASI 0.2 mostly for one request, on 0.3 for many at a time.
    #[track_caller]
    pub fn state<T: 'static>(mut self, value: T) -> Router {
        let twice = self.0.root().is_some_and(|scope| scope.state.insert(value).is_some());
        if crate::wasi::CHECKED && twice {
            fail(&["there is state of type `", core::any::type_name::<T>(), "` already"]);
        }
        self
    }

    /// Answers what finds no route in this router, instead of the automatic 404.
    #[track_caller]
    pub fn fallback(mut self, handler: impl Handler) -> Router {
        self.0.enter = App::enter_scopes;
        let twice = self.0.root().is_some_and(|scope| scope.fallback.replace(Box::new(handler)).is_some());
        if crate::wasi::CHECKED && twice {
            fail(&["there is a fallback already"]);
        }
        self
    }

    /// Puts another router, with its middleware, state and fallback, under a prefix.
    ///
    /// Its route `/` is the prefix itself, without a slash after it. The prefix may have parameters.
    #[track_caller]
    pub fn nest(mut self, prefix: impl Into<Cow<'static, str>>, router: Router) -> Router {
        self.include(&prefix.into(), *router.0);
        self
    }

    /// Adds the routes of another router, inside its own middleware.
    #[track_caller]
    pub fn merge(mut self, router: Router) -> Router {
        if crate::wasi::CHECKED && router.0.scopes.first().is_some_and(|scope| scope.fallback.is_some()) {
            fail(&["a merged router can't have a fallback: whose 404 would it be?"]);
        }
        self.include("", *router.0);
        self
    }

    pub(crate) fn into_app(self) -> Box<App> {
        self.0
    }

    /// As [`Router::add`] for a method with a number: a route is cheaper that has no more to hand over.
    #[track_caller]
    #[inline(never)]
    fn add_known(self, method: u8, pattern: Cow<'static, str>, handler: Box<dyn Handler>) -> Router {
        self.add(Some(Method::known(method)), pattern, handler)
    }

    #[track_caller]
    fn add(mut self, method: Option<Method>, pattern: Cow<'static, str>, handler: Box<dyn Handler>) -> Router {
        let at = if crate::wasi::CHECKED { Some(Location::caller()) } else { None };
        self.insert(Route { method, pattern: Pattern::new(pattern), handler, scope: 0, name: None, at });
        self
    }

    fn add_layer(&mut self, layer: BoxMiddleware) {
        self.0.enter = App::enter_scopes;
        if let Some(scope) = self.0.root() {
            scope.layers.push(layer);
        }
    }

    #[track_caller]
    fn insert(&mut self, route: Route) {
        if crate::wasi::CHECKED {
            self.check(&route);
        }
        self.0.routes.push(route);
    }

    #[track_caller]
    fn check(&self, route: &Route) {
        if let Some(fault) = route.pattern.fault() {
            fail(&["route `", route.pattern.as_str(), "` ", fault]);
        }
        if let Some(taken) = self.0.twin(route) {
            let method = |route: &Route| String::from(route.method.as_ref().map_or("ANY", Method::as_str));
            let place = taken.at.map(|at| text::concat([at.file(), ":", &text::decimal(at.line().into())]));
            let (mine, its) = (route.pattern.as_str(), taken.pattern.as_str());
            fail(&[
                "route `",
                &method(route),
                " ",
                mine,
                "` is already taken by `",
                &method(taken),
                " ",
                its,
                "` (",
                place.as_deref().unwrap_or_default(),
                ")",
            ]);
        }
    }

    #[track_caller]
    fn include(&mut self, prefix: &str, mut inner: App) {
        self.0.enter = App::enter_scopes;
        self.0.root();
        inner.root();
        let offset = self.0.scopes.len();
        if crate::wasi::CHECKED && !prefix.is_empty() {
            match Pattern::new(text::concat([prefix, "/"]).into()).fault() {
                Some(fault) => fail(&["prefix `", prefix, "` ", fault]),
                None if prefix.ends_with('/') => fail(&["prefix `", prefix, "` must not end with `/`"]),
                None => {}
            }
        }
        for (index, mut scope) in inner.scopes.into_iter().enumerate() {
            if index > 0 {
                scope.parent += offset;
            }
            let inner = scope.prefix.as_ref().map_or("", Pattern::as_str);
            scope.prefix = Some(Pattern::new(Cow::Owned(text::concat([prefix, inner]))));
            self.0.scopes.push(scope);
        }
        for mut route in inner.routes {
            route.scope += offset;
            route.pattern = route.pattern.nested(prefix);
            self.insert(route);
        }
    }
}

/// Says what is wrong with the program, and where, and ends it.
#[cold]
#[track_caller]
fn fail(texts: &[&str]) -> ! {
    let mut message = String::new();
    for text in texts {
        message.push_str(text);
    }
    crate::wasi::fail(&message)
}
