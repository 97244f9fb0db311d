//! `Assets`: files that are compiled into the component, and everything that HTTP has to say about them.

use crate::body::Body;
use crate::encoding::liking;
use crate::error::{Error, Result};
use crate::etag::ETag;
use crate::handler::{BoxFuture, Handler};
use crate::method::Method;
use crate::percent;
use crate::request::Request;
use crate::response::{IntoResponse, Response};
use crate::status::Status;
use crate::text::concat;
use alloc::boxed::Box;
use alloc::string::String;

/// Files that are compiled into the component by [`assets!`](crate::assets!), as a handler.
///
/// At `/static/{*path}` it answers with the file of that name: content type, `ETag` from the content, 304, ranges,
/// HEAD, and the brotli or gzip variant where the client takes it and it is smaller. At a pattern without a rest, and
/// as a fallback, the whole path is the name. `…/` is `…/index.html`; a folder without the slash redirects to the one
/// with it. What is not exactly the name of a file is 404: nothing is repaired.
///
/// Each file has a second URL, [`Assets::url`], that changes with the content. What is asked for by it is kept by
/// browsers for a year; what is asked for by its plain name is asked for again each time, and answered with 304.
///
/// ```ignore
/// // In a crate whose build.rs says `tabi_assets::embed("static")`:
/// static FILES: tabi::Assets = tabi::assets!("static");
///
/// pub fn router() -> Router {
///     Router::new()
///         .get("/", async |_| page(&FILES.url("css/app.css")))
///         .get("/robots.txt", FILES.file("robots.txt"))
///         .get("/static/{*path}", &FILES)
/// }
/// ```
pub struct Assets {
    base: &'static str,
    cache_control: &'static str,
    files: &'static [File],
}

/// A file that was compiled in.
pub struct File {
    #[doc(hidden)]
    pub name: &'static str,
    /// The name with the hash of the content before the extension.
    #[doc(hidden)]
    pub fingerprinted: &'static str,
    #[doc(hidden)]
    pub content_type: &'static str,
    #[doc(hidden)]
    pub plain: Variant,
    #[doc(hidden)]
    pub br: Option<Variant>,
    #[doc(hidden)]
    pub gzip: Option<Variant>,
}

/// One encoding of a file.
#[doc(hidden)]
pub struct Variant {
    pub etag: &'static str,
    pub bytes: &'static [u8],
}

/// One file as a handler: see [`Assets::file`].
pub struct AssetFile {
    assets: &'static Assets,
    file: &'static File,
}

/// Includes the files of a folder: `static FILES: Assets = tabi::assets!("static");`.
///
/// The folder is named from the crate's own. What is included is prepared by the build script, in which
/// `tabi_assets::embed("static")` has to stand, with `tabi-assets` among the build dependencies.
#[macro_export]
macro_rules! assets {
    ($folder:literal) => {{
        #[allow(unused_imports, reason = "a folder may be empty")]
        use $crate::__private::assets as tabi_assets_room;
        include!(concat!(env!("OUT_DIR"), "/tabi-assets/", $folder, ".rs"))
    }};
}

impl Assets {
    #[doc(hidden)]
    pub const fn new(base: &'static str, files: &'static [File]) -> Assets {
        Assets { base, cache_control: "no-cache", files }
    }

    /// Sets where the files are served, for [`Assets::url`]: `/static` for the pattern `/static/{*path}`, with the
    /// prefixes of routers around it. The default is the name of the folder.
    #[must_use]
    pub const fn with_base(mut self, base: &'static str) -> Assets {
        self.base = base;
        self
    }

    /// Sets `Cache-Control` for files that are asked for by their plain names, such as `public, max-age=3600`.
    /// The default, `no-cache`, lets browsers keep them but ask whether they are current.
    ///
    /// # Panics
    /// Where it can't be a field's value; in a `static` that ends the build.
    #[must_use]
    #[track_caller]
    pub const fn with_cache_control(mut self, value: &'static str) -> Assets {
        let mut rest = value.as_bytes();
        while let [byte, tail @ ..] = rest {
            assert!(*byte == b'\t' || (*byte >= b' ' && *byte < 0x7f), "malformed Cache-Control");
            rest = tail;
        }
        self.cache_control = value;
        self
    }

    /// Returns the URL of a file that changes with its content: `/static/css/app.5d41402abc4b2a76.css`.
    ///
    /// Without a file of this name it is the plain URL, which is a 404.
    pub fn url(&self, name: &str) -> String {
        let mut url = concat([self.base, "/"]);
        let name = self.get(name).map_or(name, |file| file.fingerprinted);
        percent::push_path(&mut url, name.as_bytes());
        url
    }

    /// Returns a file by its name, such as `css/app.css`.
    pub fn get(&self, name: &str) -> Option<&'static File> {
        self.files.iter().find(|file| file.name == name)
    }

    /// Returns all files, in the order of their names.
    pub fn files(&self) -> &'static [File] {
        self.files
    }

    /// Returns a handler of one file, for URLs such as `/robots.txt`.
    ///
    /// # Panics
    /// Where there is no such file, while the router is built.
    #[track_caller]
    pub fn file(&'static self, name: &str) -> AssetFile {
        match self.get(name) {
            Some(file) => AssetFile { assets: self, file },
            None => crate::wasi::fail(&concat(["there is no asset `", name, "`"])),
        }
    }

    /// Answers a request with a file, whatever the request's path: for handlers that choose it themselves.
    ///
    /// # Errors
    /// 404 where there is no such file, 405 where the method is neither GET nor HEAD.
    pub fn respond(&self, request: &Request, name: &str) -> Result<Response> {
        match self.get(name) {
            Some(file) => self.answer(file, self.cache_control, request),
            None => Err(not_found()),
        }
    }

    fn find(&self, request: &Request) -> Result<Response> {
        let mut name = name(request).ok_or_else(not_found)?;
        if name.is_empty() || name.ends_with('/') {
            name.push_str("index.html");
        }
        let named = |file: &&File| file.name == name || file.fingerprinted == name;
        if let Some(file) = self.files.iter().find(named) {
            let control = if file.name == name { self.cache_control } else { "public, max-age=31536000, immutable" };
            return self.answer(file, control, request);
        }
        match self.get(&concat([&name, "/index.html"])) {
            Some(_) => Ok(add_slash(request)),
            None => Err(not_found()),
        }
    }

    fn answer(&self, file: &File, cache_control: &str, request: &Request) -> Result<Response> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Err(Error::new(Status::METHOD_NOT_ALLOWED, "method not allowed").with_header("allow", "GET, HEAD"));
        }
        let (coding, variant) = file.choose(request);
        let mut response = Response::of(file.content_type, Body::empty());
        let headers = response.headers_mut();
        headers.push("cache-control", cache_control);
        if file.br.is_some() || file.gzip.is_some() {
            headers.push("vary", "accept-encoding");
        }
        if let Some(coding) = coding {
            headers.push("content-encoding", coding);
        }
        Ok(response.embedded(request, variant.bytes, &ETag::from_static(variant.etag)))
    }
}

impl File {
    /// Returns the name, with `/` between folders.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the content.
    pub fn bytes(&self) -> &'static [u8] {
        self.plain.bytes
    }

    /// Returns the content type.
    pub fn content_type(&self) -> &'static str {
        self.content_type
    }

    /// Returns the tag that changes with the content.
    pub fn etag(&self) -> ETag {
        ETag::from_static(self.plain.etag)
    }

    /// Chooses the variant with the coding that the client likes best; of those that it likes equally brotli, whatever
    /// their order: browsers name it last. Where it takes nothing, the file goes out as it is.
    fn choose(&self, request: &Request) -> (Option<&'static str>, &Variant) {
        let mut best = (None, &self.plain);
        let mut liked = liking(request, "identity");
        for (coding, variant) in [("gzip", &self.gzip), ("br", &self.br)] {
            let weight = liking(request, coding);
            if let Some(variant) = variant
                && weight > 0
                && weight >= liked
            {
                (best, liked) = ((Some(coding), variant), weight);
            }
        }
        best
    }
}

impl Handler for &'static Assets {
    fn call(&'static self, request: Request) -> BoxFuture<Response> {
        Box::pin(core::future::ready(self.find(&request).into_response()))
    }
}

impl Handler for AssetFile {
    fn call(&'static self, request: Request) -> BoxFuture<Response> {
        let answer = self.assets.answer(self.file, self.assets.cache_control, &request);
        Box::pin(core::future::ready(answer.into_response()))
    }
}

/// Returns what a request's path says about the name of a file: the rest of the pattern, or else the whole path.
/// `None` is a path that can't be the name of a file.
pub(crate) fn name(request: &Request) -> Option<String> {
    let pattern = request.route().unwrap_or_default().as_bytes();
    if let Some(at) = pattern.windows(2).position(|pair| pair == b"{*") {
        let rest = pattern.get(at + 2..).and_then(|rest| rest.strip_suffix(b"}"))?;
        return request.raw_param(core::str::from_utf8(rest).ok()?).ok().map(String::from);
    }
    let mut name = alloc::vec::Vec::new();
    let mut rest = request.path().as_bytes().strip_prefix(b"/")?;
    while let [byte, tail @ ..] = rest {
        rest = tail;
        match byte {
            b'%' => {
                let (byte, tail) = percent::escape(rest)?;
                // It was part of its segment, and no file has it in its name.
                if byte == b'/' {
                    return None;
                }
                name.push(byte);
                rest = tail;
            }
            other => name.push(*other),
        }
    }
    String::from_utf8(name).ok()
}

/// Sends the client to the same path with a slash at its end, so that relative links in the page are right.
pub(crate) fn add_slash(request: &Request) -> Response {
    // Relative, because nobody here knows the path's start as the client sees it; `./` keeps a colon in the name from
    // looking like a scheme (RFC 3986, section 4.2).
    let segment = request.path().as_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let segment = core::str::from_utf8(segment).unwrap_or_default();
    let query = request.query_string();
    let location = concat(["./", segment, "/", query.map_or("", |_| "?"), query.unwrap_or_default()]);
    Response::redirect_permanent(&location)
}

#[cold]
pub(crate) fn not_found() -> Error {
    Error::new(Status::NOT_FOUND, "not found")
}
