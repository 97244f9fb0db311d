//! `Router`: patterns → handlers, with middleware, state and nested routers.

use crate::app::{App, Route, Scope};
use crate::handler::Handler;
use crate::method::Method;
use crate::middleware::Middleware;
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
/// state of a type that is already there. So a native test that calls the function that builds the router finds them.
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
pub struct Router(App);

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
        self.add(Some(Method::GET), pattern.into(), Box::new(handler))
    }

    /// Answers POST.
    #[track_caller]
    pub fn post(self, pattern: impl Into<Cow<'static, str>>, handler: impl Handler) -> Router {
        self.add(Some(Method::POST), pattern.into(), Box::new(handler))
    }

    /// Answers PUT.
    #[track_caller]
    pub fn put(self, pattern: impl Into<Cow<'static, str>>, handler: impl Handler) -> Router {
        self.add(Some(Method::PUT), pattern.into(), Box::new(handler))
    }

    /// Answers PATCH.
    #[track_caller]
    pub fn patch(self, pattern: impl Into<Cow<'static, str>>, handler: impl Handler) -> Router {
        self.add(Some(Method::PATCH), pattern.into(), Box::new(handler))
    }

    /// Answers DELETE.
    #[track_caller]
    pub fn delete(self, pattern: impl Into<Cow<'static, str>>, handler: impl Handler) -> Router {
        self.add(Some(Method::DELETE), pattern.into(), Box::new(handler))
    }

    /// Answers HEAD instead of what GET would say.
    #[track_caller]
    pub fn head(self, pattern: impl Into<Cow<'static, str>>, handler: impl Handler) -> Router {
        self.add(Some(Method::HEAD), pattern.into(), Box::new(handler))
    }

    /// Answers OPTIONS instead of the automatic 204.
    #[track_caller]
    pub fn options(self, pattern: impl Into<Cow<'static, str>>, handler: impl Handler) -> Router {
        self.add(Some(Method::OPTIONS), pattern.into(), Box::new(handler))
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
        if self.0.routes.iter().any(|route| route.name == Some(name)) {
            fail(&["the name `", name, "` is already taken"]);
        }
        match self.0.routes.last_mut() {
            Some(route) => route.name = Some(name),
            None => fail(&["there is no route yet to be named `", name, "`"]),
        }
        self
    }

    /// Puts middleware around all routes of this router and those nested in it, added before or after, and around
    /// its 404 and 405. What is added first is outermost.
    pub fn with(mut self, middleware: impl Middleware) -> Router {
        if let Some(scope) = self.0.scopes.first_mut() {
            scope.layers.push(Box::new(middleware));
        }
        self
    }

    /// Adds a value that handlers get with [`Request::state`](crate::Request::state).
    ///
    /// It lives as long as the instance: on WASI 0.2 mostly for one request, on 0.3 for many at a time.
    #[track_caller]
    pub fn state<T: 'static>(mut self, value: T) -> Router {
        let twice = self.0.scopes.first_mut().is_some_and(|scope| scope.state.insert(value).is_some());
        if twice {
            fail(&["there is state of type `", core::any::type_name::<T>(), "` already"]);
        }
        self
    }

    /// Answers what finds no route in this router, instead of the automatic 404.
    #[track_caller]
    pub fn fallback(mut self, handler: impl Handler) -> Router {
        let twice = self.0.scopes.first_mut().is_some_and(|scope| scope.fallback.replace(Box::new(handler)).is_some());
        if twice {
            fail(&["there is a fallback already"]);
        }
        self
    }

    /// Puts another router, with its middleware, state and fallback, under a prefix.
    ///
    /// Its route `/` is the prefix itself, without a slash after it. The prefix may have parameters.
    #[track_caller]
    pub fn nest(mut self, prefix: impl Into<Cow<'static, str>>, router: Router) -> Router {
        self.include(&prefix.into(), router.0);
        self
    }

    /// Adds the routes of another router, inside its own middleware.
    #[track_caller]
    pub fn merge(mut self, router: Router) -> Router {
        if router.0.scopes.first().is_some_and(|scope| scope.fallback.is_some()) {
            fail(&["a merged router can't have a fallback: whose 404 would it be?"]);
        }
        self.include("", router.0);
        self
    }

    pub(crate) fn into_app(self) -> App {
        self.0
    }

    #[track_caller]
    fn add(mut self, method: Option<Method>, pattern: Cow<'static, str>, handler: Box<dyn Handler>) -> Router {
        let at = Location::caller();
        // The text is needed for the message only; a pattern that is borrowed is not copied.
        match Pattern::new(pattern.clone()) {
            Ok(pattern) => self.insert(Route { method, pattern, handler, scope: 0, name: None, at }),
            Err(fault) => fail(&["route `", &pattern, "` ", fault]),
        }
        self
    }

    #[track_caller]
    fn insert(&mut self, route: Route) {
        if let Some(taken) = self.0.twin(&route) {
            let by = place(taken.at);
            let method = |route: &Route| String::from(route.method.as_ref().map_or("ANY", Method::as_str));
            let texts = [
                "route `",
                &method(&route),
                " ",
                route.pattern.as_str(),
                "` is already taken by `",
                &method(taken),
                " ",
                taken.pattern.as_str(),
                "` (",
                &by,
                ")",
            ];
            fail(&texts);
        }
        self.0.push(route);
    }

    #[track_caller]
    fn include(&mut self, prefix: &str, inner: App) {
        let offset = self.0.scopes.len();
        match Pattern::new(text::concat([prefix, "/"]).into()) {
            Ok(_) if prefix.ends_with('/') => fail(&["prefix `", prefix, "` must not end with `/`"]),
            Err(fault) => fail(&["prefix `", prefix, "` ", fault]),
            Ok(_) => {}
        }
        for (index, mut scope) in inner.scopes.into_iter().enumerate() {
            if index == 0 {
                scope.parent = 0;
                scope.prefix = Scope::prefix(prefix);
            } else {
                let inner = scope.prefix.as_ref().map_or("", Pattern::as_str);
                scope.parent += offset;
                scope.prefix = Scope::prefix(&text::concat([prefix, inner]));
            }
            self.0.scopes.push(scope);
        }
        for mut route in inner.routes {
            route.scope += offset;
            let text = String::from(route.pattern.as_str());
            match route.pattern.nested(prefix) {
                Ok(pattern) => self.insert(Route { pattern, ..route }),
                Err(fault) => fail(&["route `", prefix, &text, "` ", fault]),
            }
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

fn place(at: &Location<'_>) -> String {
    text::concat([at.file(), ":", &text::decimal(at.line().into())])
}
