//! An app with one convenience at a time, chosen by a feature, to see what each costs in a component.

#[cfg(not(feature = "bare"))]
mod pages;

use tabi::Router;

async fn hello(_: tabi::Request) -> tabi::Result {
    Ok(tabi::Response::text("hello"))
}

macro_rules! router {
    ($($feature:literal => $router:expr,)*) => {
        /// Returns the app: without a feature one page that says hello.
        #[allow(unreachable_code, reason = "a feature returns before")]
        pub fn router() -> Router {
            $(
                #[cfg(feature = $feature)]
                return $router;
            )*
            Router::new().get("/", hello)
        }
    };
}

router! {
    "header" => Router::new().get("/", pages::header),
    "param" => Router::new().get("/{n}", pages::param),
    "query" => Router::new().get("/", pages::query),
    "body" => Router::new().post("/", pages::body),
    "cookie" => Router::new().get("/", pages::cookie),
    "set-cookie" => Router::new().get("/", pages::set_cookie),
    "jar" => Router::new().get("/", pages::jar),
    "form" => Router::new().post("/", pages::form),
    "form-typed" => Router::new().post("/", pages::form_typed),
    "query-typed" => Router::new().get("/", pages::query_typed),
    "multipart" => Router::new().post("/", pages::multipart),
    "multipart-fields" => Router::new().post("/", pages::multipart_fields),
    "json-in" => Router::new().post("/", pages::json_in),
    "json-out" => Router::new().get("/", pages::json_out),
    "json" => Router::new().post("/", pages::json),
    "ndjson" => Router::new().get("/", pages::ndjson),
    "accept" => Router::new().get("/", pages::accept),
    "language" => Router::new().get("/", pages::language),
    "conditional" => Router::new().get("/", pages::conditional),
    "validators" => Router::new().put("/", pages::validators),
    "assets" => Router::new().get("/static/{*path}", &pages::FILES),
    "directory" => Router::new().get("/files/{*path}", tabi::Directory::new("files")),
    "download" => Router::new().get("/", pages::download),
    "redirect" => Router::new().get("/", pages::redirect),
    "url" => Router::new().get("/", pages::url).get("/people/{id}", hello).named("person"),
    "middleware" => Router::new().with(pages::middleware).get("/", hello),
    "cors" => Router::new().with(pages::cors()).get("/", hello),
    "security" => Router::new().with(tabi::Security::new()).get("/", hello),
    "problems" => Router::new().with(tabi::Problems).get("/", hello),
    "stream" => Router::new().get("/", pages::stream),
    "events" => Router::new().get("/", pages::events),
    "deflate" => Router::new().get("/", pages::deflate),
    "brotli" => Router::new().get("/", pages::brotli),
}

tabi::serve!(router);
