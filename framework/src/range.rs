//! `Ranges`: parts of a representation (RFC 9110, section 14): 206, 416, or the whole.

use crate::body::{Body, Stream};
use crate::conditional::{Verdict, failed, judge};
use crate::date::Date;
use crate::error::{Error, Result};
use crate::etag::ETag;
use crate::headers::Headers;
use crate::limits;
use crate::method::Method;
use crate::request::Request;
use crate::response::{IntoResponse, Response};
use crate::status::Status;
use crate::text::{concat, decimal};
use alloc::string::String;
use alloc::vec::Vec;
use core::task::{Context, Poll};

/// The parts that a `Range` field asks for, cut to what there is: first and last position, both included.
///
/// ```
/// use tabi::Ranges;
///
/// let ranges = Ranges::parse("bytes=0-4, -3", 1000).unwrap();
/// assert_eq!(ranges.as_slice(), [(0, 4), (997, 999)]);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ranges<'a> {
    unit: &'a str,
    list: Vec<(u64, u64)>,
}

/// Why a `Range` field gives no parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RangeFault {
    /// It is no list of ranges, or one of more than [`limits::RANGES`]: it is to be ignored.
    Malformed,
    /// It is one, but nothing of it is there: 416.
    Unsatisfiable,
}

impl<'a> Ranges<'a> {
    /// Reads the value of a `Range` field for a representation of this length.
    ///
    /// A member of the list that makes no sense is left out as long as another makes some; RFC 9110 leaves open what
    /// to do with it. A number too large to count with is beyond every end.
    ///
    /// # Errors
    /// [`RangeFault`] says which.
    pub fn parse(field: &'a str, length: u64) -> Result<Ranges<'a>, RangeFault> {
        let bytes = field.as_bytes();
        let equals = bytes.iter().position(|byte| *byte == b'=').ok_or(RangeFault::Malformed)?;
        let (Some(unit), Some(set)) = (field.get(..equals), bytes.get(equals + 1..)) else {
            return Err(RangeFault::Malformed);
        };
        let mut list = Vec::new();
        let mut well_formed = 0;
        let members = set.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|member| !member.is_empty());
        for (count, member) in members.enumerate() {
            if count == limits::RANGES {
                return Err(RangeFault::Malformed);
            }
            let Some((first, last)) = positions(member, length) else { continue };
            well_formed += 1;
            if first <= last && first < length {
                list.push((first, last.min(length - 1)));
            }
        }
        match (list.is_empty(), well_formed) {
            (false, _) => Ok(Ranges { unit: unit.trim_ascii(), list }),
            (true, 0) => Err(RangeFault::Malformed),
            (true, _) => Err(RangeFault::Unsatisfiable),
        }
    }

    /// Returns the unit, mostly `bytes`.
    pub fn unit(&self) -> &str {
        self.unit
    }

    /// Returns the parts in the order in which they were asked for. There is at least one.
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.list
    }

    /// Returns it with parts that overlap or touch made one, in the place of the one that was asked for first.
    #[must_use]
    pub fn combined(mut self) -> Ranges<'a> {
        let mut kept: Vec<(u64, u64)> = Vec::new();
        for mut part in core::mem::take(&mut self.list) {
            // What grows may touch others that it did not touch before. The list is short: see the limit.
            let mut place = kept.len();
            while let Some(at) = kept.iter().position(|known| touches(*known, part)) {
                let known = kept.remove(at);
                part = (known.0.min(part.0), known.1.max(part.1));
                place = place.min(at);
            }
            kept.insert(place.min(kept.len()), part);
        }
        self.list = kept;
        self
    }

    fn overlaps(&self) -> bool {
        let mut rest = self.list.as_slice();
        while let [part, others @ ..] = rest {
            if others.iter().any(|other| part.0 <= other.1 && other.0 <= part.1) {
                return true;
            }
            rest = others;
        }
        false
    }
}

fn touches(one: (u64, u64), two: (u64, u64)) -> bool {
    one.0 <= two.1.saturating_add(1) && two.0 <= one.1.saturating_add(1)
}

/// Reads `5-9`, `5-` or `-5`. The last position may be beyond the end.
fn positions(member: &[u8], length: u64) -> Option<(u64, u64)> {
    let mut ends = member.splitn(2, |byte| *byte == b'-');
    let (first, last) = (ends.next()?.trim_ascii(), ends.next()?.trim_ascii());
    match (first, last) {
        ([], suffix) => {
            let suffix = number(suffix)?;
            // A suffix of nothing is nowhere; one that is too long is everything.
            Some(if suffix == 0 { (u64::MAX, u64::MAX) } else { (length.saturating_sub(suffix), u64::MAX) })
        }
        (first, []) => Some((number(first)?, u64::MAX)),
        (first, last) => Some((number(first)?, number(last)?)),
    }
}

/// Reads digits; what is too large to count with is the largest number.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, byte| match byte {
        b'0'..=b'9' if number < 1 << 60 => Some(number * 10 + u64::from(byte - b'0')),
        b'0'..=b'9' => Some(u64::MAX),
        _ => None,
    })
}

/// What of a representation is to be sent.
pub(crate) enum Wanted {
    Whole,
    One(u64, u64),
    Many(Vec<(u64, u64)>),
    Nothing,
}

/// Says what a request wants of a representation of this length.
pub(crate) fn wanted(request: &Request, length: u64, etag: Option<&ETag>, modified: Option<Date>) -> Wanted {
    // RFC 9110, section 14.2: GET is the only method with ranges.
    if *request.method() != Method::GET || !if_range(request, etag, modified) {
        return Wanted::Whole;
    }
    let mut fields = request.headers().get_all_bytes("range");
    let (Some(field), None) = (fields.next(), fields.next()) else { return Wanted::Whole };
    let Ok(field) = core::str::from_utf8(field) else { return Wanted::Whole };
    if !field.as_bytes().get(..6).is_some_and(|unit| unit.eq_ignore_ascii_case(b"bytes=")) {
        return Wanted::Whole;
    }
    let ranges = match Ranges::parse(field, length) {
        Ok(ranges) if ranges.overlaps() => ranges.combined(),
        Ok(ranges) => ranges,
        Err(RangeFault::Malformed) => return Wanted::Whole,
        Err(RangeFault::Unsatisfiable) => return Wanted::Nothing,
    };
    match ranges.list.as_slice() {
        [(first, last)] => Wanted::One(*first, *last),
        _ => Wanted::Many(ranges.list),
    }
}

/// Tells whether `If-Range` lets ranges through (RFC 9110, section 13.1.5): a strong tag that is the current one, or
/// exactly the date of the current version.
fn if_range(request: &Request, etag: Option<&ETag>, modified: Option<Date>) -> bool {
    let Some(field) = request.headers().get_bytes("if-range") else { return true };
    let Ok(field) = core::str::from_utf8(field) else { return false };
    match ETag::parse(field.trim_ascii()) {
        Some(tag) => etag.is_some_and(|etag| etag.strong_eq(&tag)),
        // Not parsed where nothing is known to compare it with: such an app has no code for dates.
        None => modified.is_some_and(|modified| Date::parse(field) == Some(modified)),
    }
}

impl Response {
    /// Returns the parts that the request wants of it: 206 with one, or with several as `multipart/byteranges`; 416
    /// where nothing of them is there. `If-Range` is compared with the `ETag` and `Last-Modified` that are set.
    ///
    /// Everything but a 200 to a GET stays as it is, and so does what is asked for with a malformed `Range` or in
    /// another unit than bytes, and a stream: see [`Response::ranged_stream`].
    ///
    /// ```
    /// use tabi::{Request, Response, Router};
    ///
    /// let router = Router::new().get("/", async |req: Request| Response::text("0123456789").ranged(&req));
    /// # let client = tabi::testing::Client::new(router);
    /// # let page = client.get("/").header("range", "bytes=-3").send();
    /// # assert_eq!((page.status().code(), page.text().as_str()), (206, "789"));
    /// # assert_eq!(page.header("content-range"), Some("bytes 7-9/10"));
    /// ```
    #[must_use]
    pub fn ranged(mut self, request: &Request) -> Response {
        let body = self.body().take();
        let Some(bytes) = body.as_bytes() else { return self.with_body(body) };
        let length = bytes.len() as u64;
        match self.wanted(request, length) {
            Wanted::Nothing => unsatisfiable(length),
            Wanted::One(first, last) => {
                let part = slice(bytes, (first, last)).to_vec();
                self.with_body(part).partial(first, last, length)
            }
            Wanted::Many(parts) => self.multipart(&parts, bytes),
            Wanted::Whole => self.with_body(body),
        }
    }

    /// Returns the part that the request wants of a stream whose length is known, as [`Response::ranged`] does: one
    /// part at a time, and the whole where several are asked for. What comes before it is read and dropped.
    #[must_use]
    pub fn ranged_stream(mut self, request: &Request) -> Response {
        let Some(length) = self.body().len() else { return self };
        match self.wanted(request, length) {
            Wanted::Nothing => unsatisfiable(length),
            Wanted::One(first, last) => {
                let window = Window { body: self.body().take(), skip: first, left: last - first + 1 };
                self.with_body(Body::from_stream(window)).partial(first, last, length)
            }
            Wanted::Many(_) | Wanted::Whole => self,
        }
    }

    fn wanted(&mut self, request: &Request, length: u64) -> Wanted {
        if self.status() != Status::OK || self.headers().contains("content-range") {
            return Wanted::Whole;
        }
        let etag = self.header("etag").and_then(ETag::parse);
        let modified = self.header("last-modified").and_then(Date::parse);
        self.headers_mut().set("accept-ranges", String::from("bytes"));
        wanted(request, length, etag.as_ref(), modified)
    }

    /// Gives it a content that is part of the program, or what the request wants of it, without a copy; or makes it a
    /// 304 or 412.
    pub(crate) fn embedded(mut self, request: &Request, bytes: &'static [u8], etag: &ETag) -> Response {
        self.headers_mut().push("etag", etag.as_str());
        match judge(request, true, Some(etag), None) {
            Verdict::Go => {}
            Verdict::Failed => return failed(),
            Verdict::NotModified => return self.not_modified(),
        }
        self.headers_mut().push("accept-ranges", "bytes");
        let length = bytes.len() as u64;
        match wanted(request, length, Some(etag), None) {
            Wanted::Whole => self.with_body(bytes),
            Wanted::One(first, last) => self.with_body(slice(bytes, (first, last))).partial(first, last, length),
            Wanted::Many(parts) => self.multipart(&parts, bytes),
            Wanted::Nothing => unsatisfiable(length),
        }
    }

    /// Makes it a 206 with one part, which is its body already.
    pub(crate) fn partial(mut self, first: u64, last: u64, length: u64) -> Response {
        self.headers_mut().set("content-range", content_range(first, last, length));
        self.with_status(Status::PARTIAL_CONTENT)
    }

    /// Makes it a 206 with several parts.
    fn multipart(mut self, parts: &[(u64, u64)], bytes: &[u8]) -> Response {
        let boundary = boundary(bytes);
        let mut body = Vec::new();
        let content_type = self.header("content-type").map(|kind| concat(["Content-Type: ", kind, "\r\n"]));
        let content_type = content_type.unwrap_or_default();
        for part in parts {
            let range = content_range(part.0, part.1, bytes.len() as u64);
            for text in ["\r\n--", &boundary, "\r\n", &content_type, "Content-Range: ", &range, "\r\n\r\n"] {
                body.extend_from_slice(text.as_bytes());
            }
            body.extend_from_slice(slice(bytes, *part));
        }
        for text in ["\r\n--", &boundary, "--\r\n"] {
            body.extend_from_slice(text.as_bytes());
        }
        self.headers_mut().set("content-type", concat(["multipart/byteranges; boundary=", &boundary]));
        self.with_body(body).with_status(Status::PARTIAL_CONTENT)
    }
}

/// Returns the 416, with the length that there is.
#[cold]
pub(crate) fn unsatisfiable(length: u64) -> Response {
    let mut response = Error::new(Status::RANGE_NOT_SATISFIABLE, "range not satisfiable").into_response();
    response.headers_mut().set("content-range", concat(["bytes */", &decimal(length)]));
    response
}

/// Returns the bytes from one position to another, both included.
fn slice(bytes: &[u8], (first, last): (u64, u64)) -> &[u8] {
    bytes.get(first as usize..=last as usize).unwrap_or_default()
}

fn content_range(first: u64, last: u64, length: u64) -> String {
    concat(["bytes ", &decimal(first), "-", &decimal(last), "/", &decimal(length)])
}

/// Returns a boundary that does not stand in the content (RFC 2046, section 5.1.1).
fn boundary(bytes: &[u8]) -> String {
    let mut number = bytes.len() as u64;
    loop {
        let boundary = concat(["tabi-part-", &decimal(number)]);
        if !bytes.windows(boundary.len()).any(|window| window == boundary.as_bytes()) {
            return boundary;
        }
        number = number.wrapping_add(1);
    }
}

/// A part of a stream.
struct Window {
    body: Body,
    skip: u64,
    left: u64,
}

impl Stream for Window {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>>>> {
        while self.left > 0 {
            let mut chunk = match self.body.poll_chunk(cx) {
                Poll::Ready(Some(Ok(chunk))) => chunk,
                other => return other,
            };
            let skipped = self.skip.min(chunk.len() as u64);
            self.skip -= skipped;
            if skipped > 0 {
                chunk = chunk.get(skipped as usize..).unwrap_or_default().to_vec();
            }
            chunk.truncate(usize::try_from(self.left).unwrap_or(usize::MAX));
            self.left -= chunk.len() as u64;
            if !chunk.is_empty() {
                return Poll::Ready(Some(Ok(chunk)));
            }
        }
        Poll::Ready(None)
    }

    fn len(&self) -> Option<u64> {
        Some(self.left)
    }

    fn poll_trailers(&mut self, _: &mut Context<'_>) -> Poll<Result<Option<Headers>>> {
        // They are about the whole.
        Poll::Ready(Ok(None))
    }
}

#[cfg(test)]
#[path = "range_tests.rs"]
mod tests;
