//! `Directory`: files of a folder that the runtime lets the app see, with what HTTP has to say about them.

use crate::assets::{add_slash, name, not_found};
use crate::body::Body;
use crate::conditional::{Verdict, failed, judge};
use crate::date::Date;
use crate::encoding::liking;
use crate::error::{Error, Result};
use crate::etag::ETag;
use crate::handler::{BoxFuture, Handler};
use crate::method::Method;
use crate::mime::content_type;
use crate::range::{Wanted, unsatisfiable, wanted};
use crate::request::Request;
use crate::response::{IntoResponse, Response};
use crate::status::Status;
use crate::text::{concat, decimal};
use crate::wasi::files::{self, Entry, File};
use alloc::boxed::Box;

/// Files of a folder on the host, as a handler: for what changes while the app runs, such as uploads.
///
/// A component sees no files unless the runtime grants them, as `wasmtime serve -Scli --dir public app.wasm` does;
/// without `--dir` each is 404. Only an app with this in it asks for `wasi:filesystem`. For files that belong to the app,
/// [`Assets`](crate::Assets) needs no grant and no look at a disk.
///
/// At `/files/{*path}` it answers with the file of that name; what is said of [`Assets`](crate::Assets) holds here:
/// content types, 304, ranges (one part at a time), HEAD, `index.html`, 404 for whatever isn't exactly a name. Content
/// is streamed. The tag is made of length and time to the nanosecond; there is `Last-Modified`, too. Names that start
/// with a dot are not served, except `.well-known`.
///
/// In a request of WASI 0.3 files come through the interfaces of 0.2, so that the others of the instance wait for each read.
///
/// ```
/// use tabi::{Directory, Router};
///
/// let router = Router::new().get("/files/{*path}", Directory::new("src"));
/// # let page = tabi::testing::Client::new(router).get("/files/none").send();
/// # assert_eq!(page.status().code(), 404);
/// ```
pub struct Directory {
    folder: &'static str,
    cache_control: &'static str,
    precompressed: bool,
}

impl Directory {
    /// Returns the handler of a folder, by its name for the app: what the runtime calls the granted folder, or a
    /// folder in it. Natively it is a path.
    pub const fn new(folder: &'static str) -> Directory {
        Directory { folder, cache_control: "no-cache", precompressed: false }
    }

    /// Sets `Cache-Control`. The default, `no-cache`, lets browsers keep files but ask whether they are current.
    ///
    /// A value that no field can have is left out.
    #[must_use]
    pub const fn with_cache_control(mut self, value: &'static str) -> Directory {
        self.cache_control = value;
        self
    }

    /// Sends `app.css.br` or `app.css.gz` for `app.css` where it is there and the client takes it.
    #[must_use]
    pub const fn precompressed(mut self) -> Directory {
        self.precompressed = true;
        self
    }

    fn find(&self, request: &Request) -> Result<Response> {
        let mut name = name(request).ok_or_else(not_found)?;
        if name.is_empty() || name.ends_with('/') {
            name.push_str("index.html");
        }
        if !is_served(&name) {
            return Err(not_found());
        }
        match files::find(self.folder, &name) {
            Some(Entry::File(file)) => self.answer(&name, file, request),
            Some(Entry::Folder) if self.has_index(&name) => Ok(add_slash(request)),
            _ => Err(not_found()),
        }
    }

    fn has_index(&self, name: &str) -> bool {
        matches!(files::find(self.folder, &concat([name, "/index.html"])), Some(Entry::File(_)))
    }

    fn answer(&self, name: &str, mut file: File, request: &Request) -> Result<Response> {
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return Err(Error::new(Status::METHOD_NOT_ALLOWED, "method not allowed").with_header("allow", "GET, HEAD"));
        }
        let mut response = Response::of(content_type(name), Body::empty());
        let headers = response.headers_mut();
        let _ = headers.append("cache-control", self.cache_control);
        if self.precompressed {
            headers.push("vary", "accept-encoding");
            if let Some((coding, compressed)) = self.variant(name, request) {
                headers.push("content-encoding", coding);
                file = compressed;
            }
        }
        let length = file.length();
        let time = file.modified();
        let etag = time.and_then(|time| tag(length, time));
        let modified = time.map(|(seconds, _)| Date::from_unix(seconds));
        if let (Some(etag), Some(modified)) = (&etag, modified) {
            headers.push("etag", etag.as_str());
            headers.push("last-modified", &modified.to_http());
        }
        match judge(request, true, etag.as_ref(), modified) {
            Verdict::Go => {}
            Verdict::Failed => return Ok(failed()),
            Verdict::NotModified => return Ok(response.not_modified()),
        }
        response.headers_mut().push("accept-ranges", "bytes");
        let is_gone = |_| not_found();
        Ok(match wanted(request, length, etag.as_ref(), modified) {
            Wanted::Nothing => unsatisfiable(length),
            Wanted::One(first, last) => {
                response.with_body(file.read(first, last - first + 1).map_err(is_gone)?).partial(first, last, length)
            }
            // Several parts of a stream would need a look back.
            Wanted::Many(_) | Wanted::Whole => response.with_body(file.read(0, length).map_err(is_gone)?),
        })
    }

    /// Returns the variant that the client likes best, and not less than the file as it is.
    fn variant(&self, name: &str, request: &Request) -> Option<(&'static str, File)> {
        let mut liked = liking(request, "identity");
        let mut best = None;
        for (coding, extension) in [("gzip", ".gz"), ("br", ".br")] {
            let weight = liking(request, coding);
            if weight > 0
                && weight >= liked
                && let Some(Entry::File(file)) = files::find(self.folder, &concat([name, extension]))
            {
                (best, liked) = (Some((coding, file)), weight);
            }
        }
        best
    }
}

impl Handler for Directory {
    fn call(&'static self, request: Request) -> BoxFuture<Response> {
        Box::pin(core::future::ready(self.find(&request).into_response()))
    }
}

/// Returns the tag of a version of a file. It is strong: a file that changes twice within the nanosecond that its
/// system counts, and keeps its length, is not expected.
fn tag(length: u64, (seconds, nanoseconds): (i64, u32)) -> Option<ETag> {
    let (length, seconds) = (decimal(length), decimal(seconds.unsigned_abs()));
    ETag::strong(&concat([&length, "-", &seconds, ".", &decimal(nanoseconds.into())]))
}

/// Tells whether a name may be that of a file here. There is one name for each file: no `.`, `..`, empty segments,
/// backslashes, encoded slashes or control characters, whatever the system makes of them.
fn is_served(name: &str) -> bool {
    let is_plain = |segment: &[u8]| match segment {
        b".well-known" => true,
        [] | [b'.', ..] => false,
        _ => !segment.iter().any(|byte| byte.is_ascii_control() || *byte == b'\\' || *byte == b':'),
    };
    let has_slash = name.as_bytes().windows(3).any(|three| three.eq_ignore_ascii_case(b"%2f"));
    !has_slash && name.as_bytes().split(|byte| *byte == b'/').all(is_plain)
}

#[cfg(test)]
#[path = "directory_tests.rs"]
mod tests;
