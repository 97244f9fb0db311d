//! `Multipart`: the fields and files of a `multipart/form-data` body, one after the other (RFC 7578).

mod field;
mod head;
pub(crate) mod parser;

pub use field::{Field, Fields};

use crate::body::Body;
use crate::disposition::next;
use crate::error::{Error, Result};
use crate::limits;
use crate::parameter::take;
use crate::request::Request;
use crate::status::Status;
use alloc::vec::Vec;
use parser::{Event, Fault, Parser};

/// A form that comes in over time: never more of it in memory than what is asked for.
///
/// Fields come in the order of the body. Each borrows the form, so that there is one at a time; what is not read of
/// it is passed over when the next one is asked for.
///
/// ```
/// use tabi::{Request, Result};
///
/// async fn upload(mut req: Request) -> Result<String> {
///     let mut total = 0;
///     let mut form = req.multipart()?;
///     while let Some(mut field) = form.next_field().await? {
///         while let Some(chunk) = field.chunk().await? {
///             total += chunk.len() as u64;
///         }
///     }
///     Ok(tabi::decimal(total))
/// }
/// # let router = tabi::Router::new().post("/", upload);
/// # let body = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n12345\r\n--x--\r\n";
/// # let call = tabi::testing::Client::new(router).post("/").header("content-type", "multipart/form-data; boundary=x");
/// # assert_eq!(call.body(body).send().text(), "5");
/// ```
///
/// Two fields at once don't compile:
///
/// ```compile_fail,E0499
/// # async fn upload(mut req: tabi::Request) -> tabi::Result<()> {
/// let mut form = req.multipart()?;
/// let first = form.next_field().await?;
/// let second = form.next_field().await?;
/// drop(first);
/// # Ok(())
/// # }
/// ```
///
/// # Limits
/// They are on by default, and passing one is a 413: [`limits::PARTS`] parts, [`limits::PART_HEAD`] bytes of header
/// fields in each, [`limits::FIELD`] bytes of a field that is read as text, and [`limits::MULTIPART`] bytes in all,
/// or what [`BodyLimit`](crate::BodyLimit) says for the route.
///
/// # What it takes
/// Names and file names are UTF-8, with quotes and line breaks escaped as browsers do it (`%22`, `%0D`, `%0A`).
/// `filename*` is ignored (RFC 7578, section 4.2), Content-Transfer-Encoding not applied (section 4.7), and a field
/// `_charset_` is a field like others (section 4.6): the pages that browsers send UTF-8 from have no need of it, and
/// what a field means should not depend on another. A body without its closing delimiter is a 400.
pub struct Multipart<'a> {
    body: &'a mut Body,
    form: Form,
}

/// What a form is but for its bytes.
struct Form {
    parser: Parser,
    /// How many bytes may still come.
    left: u64,
    /// Whether more came.
    is_over: bool,
    /// How many bytes there are, where the client says so, until that was looked at.
    announced: Option<u64>,
    field_limit: usize,
    is_in_part: bool,
}

impl Request {
    /// Returns the body as a form that is read field by field.
    ///
    /// # Errors
    /// 415 where the content type is not `multipart/form-data`; 400 where its boundary is missing, given twice,
    /// longer than 70 bytes or has characters that no boundary can have.
    pub fn multipart(&mut self) -> Result<Multipart<'_>> {
        let content_type = self.headers().get_bytes("content-type").unwrap_or_default();
        let parser = Parser::new(&boundary(content_type)?, limits::PARTS, limits::PART_HEAD);
        // Who set a limit for the route meant it; the default one is for what is read into memory.
        let limit = match self.body_limit() {
            limits::BODY => limits::MULTIPART,
            limit => limit as u64,
        };
        let announced = self.header("content-length").and_then(|length| length.parse().ok());
        let field_limit = limits::FIELD;
        let form = Form { parser, left: limit, is_over: false, announced, field_limit, is_in_part: false };
        Ok(Multipart { body: self.body(), form })
    }
}

impl Multipart<'_> {
    /// Sets how many bytes the whole form may have.
    #[must_use]
    pub fn total_limit(mut self, bytes: u64) -> Self {
        self.form.left = bytes;
        self
    }

    /// Sets how many parts the form may have.
    #[must_use]
    pub fn part_limit(mut self, parts: usize) -> Self {
        self.form.parser.parts_left = parts;
        self
    }

    /// Sets how many bytes the header fields of a part may have.
    #[must_use]
    pub fn head_limit(mut self, bytes: usize) -> Self {
        self.form.parser.head_limit = bytes;
        self
    }

    /// Sets how many bytes of a field are read into memory by [`Field::text`] and [`Multipart::next_file`].
    #[must_use]
    pub fn field_limit(mut self, bytes: usize) -> Self {
        self.form.field_limit = bytes;
        self
    }

    /// Returns the next field, or `None` at the end of the form. What was not read of the one before is passed over.
    ///
    /// # Errors
    /// 400 where the body is malformed or ends early, 413 where it is over a limit. After an error there are no
    /// more fields, only the same error.
    pub async fn next_field(&mut self) -> Result<Option<Field<'_>>> {
        loop {
            match self.form.event(self.body).await? {
                Event::Part(head) => return Ok(Some(Field::new(self.body, &mut self.form, head))),
                Event::End => return Ok(None),
                _ => {}
            }
        }
    }

    /// Returns the next file, and reads the fields before it, as text, into `fields`.
    ///
    /// ```
    /// use tabi::{Fields, Request, Result};
    ///
    /// async fn upload(mut req: Request) -> Result<String> {
    ///     let mut form = req.multipart()?;
    ///     let mut fields = Fields::new();
    ///     while let Some(mut file) = form.next_file(&mut fields).await? {
    ///         while let Some(chunk) = file.chunk().await? {
    ///             // Store it.
    ///         }
    ///     }
    ///     Ok(fields.get("title").unwrap_or("untitled").into())
    /// }
    /// # let router = tabi::Router::new().post("/", upload);
    /// # let body = "--x\r\nContent-Disposition: form-data; name=title\r\n\r\nCats\r\n--x--\r\n";
    /// # let call = tabi::testing::Client::new(router).post("/").header("content-type", "multipart/form-data; boundary=x");
    /// # assert_eq!(call.body(body).send().text(), "Cats");
    /// ```
    ///
    /// # Errors
    /// As [`Multipart::next_field`] and [`Field::text`], and 413 where all fields together have more than
    /// [`limits::FIELDS`] bytes.
    pub async fn next_file(&mut self, fields: &mut Fields) -> Result<Option<Field<'_>>> {
        loop {
            match self.form.event(self.body).await? {
                Event::End => return Ok(None),
                Event::Part(head) if head.file_name.is_some() => {
                    return Ok(Some(Field::new(self.body, &mut self.form, head)));
                }
                Event::Part(head) => fields.read(Field::new(self.body, &mut self.form, head)).await?,
                _ => {}
            }
        }
    }
}

impl Form {
    /// Reads until something is there to tell.
    async fn event(&mut self, body: &mut Body) -> Result<Event> {
        // A length that is announced is enough to refuse (RFC 9110, section 15.5.14).
        self.is_over |= self.announced.take().is_some_and(|length| length > self.left);
        loop {
            match self.parser.next()? {
                Event::Wants if self.is_over => return Err(Fault::TotalLimit.into()),
                Event::Wants => match body.chunk().await? {
                    Some(chunk) => self.feed(chunk),
                    None => self.parser.finish(),
                },
                event => {
                    match event {
                        Event::Part(_) => self.is_in_part = true,
                        Event::PartEnd => self.is_in_part = false,
                        _ => {}
                    }
                    return Ok(event);
                }
            }
        }
    }

    fn feed(&mut self, mut chunk: Vec<u8>) {
        // What is within the limit is told first, so that the answer doesn't depend on the size of the chunks.
        self.is_over = chunk.len() as u64 > self.left;
        if self.is_over {
            chunk.truncate(self.left as usize);
        }
        self.left -= chunk.len() as u64;
        self.parser.feed(chunk);
    }
}

/// Returns the boundary that a content type names (RFC 2046, section 5.1.1).
pub(crate) fn boundary(content_type: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut rest = content_type;
    if !take(&mut rest, b';').eq_ignore_ascii_case(b"multipart/form-data") {
        return Err(Fault::NotMultipart);
    }
    let mut found = None;
    while let Some(parameter) = next(&mut rest) {
        if !parameter.is("boundary") {
            continue;
        }
        // Of two boundaries, the next to read this may take the other.
        if parameter.is_broken || found.replace(parameter.value(|_| true)).is_some() {
            return Err(Fault::Boundary);
        }
    }
    let boundary = found.ok_or(Fault::Boundary)?;
    // The RFC has a list of characters. Some clients take others, which do no harm as long as a line can hold them.
    let is_printable = boundary.iter().all(|byte| (b' '..=b'~').contains(byte));
    match boundary.len() {
        1..=70 if is_printable && boundary.last() != Some(&b' ') => Ok(boundary),
        _ => Err(Fault::Boundary),
    }
}

impl From<Fault> for Error {
    #[cold]
    fn from(fault: Fault) -> Error {
        let (status, message) = match fault {
            Fault::NotMultipart => (Status::UNSUPPORTED_MEDIA_TYPE, "expected multipart/form-data"),
            Fault::Charset => (Status::UNSUPPORTED_MEDIA_TYPE, "form field in an unknown charset"),
            Fault::Boundary => (Status::BAD_REQUEST, "multipart body without a valid boundary"),
            Fault::Malformed => (Status::BAD_REQUEST, "malformed multipart body"),
            Fault::Incomplete => (Status::BAD_REQUEST, "multipart body ends early"),
            Fault::NotText => (Status::BAD_REQUEST, "form field is not UTF-8"),
            Fault::PartLimit => (Status::CONTENT_TOO_LARGE, "form has too many parts"),
            Fault::HeadLimit => (Status::CONTENT_TOO_LARGE, "form part has too large header fields"),
            Fault::FieldLimit => (Status::CONTENT_TOO_LARGE, "form field is too large"),
            Fault::TotalLimit => (Status::CONTENT_TOO_LARGE, "form is too large"),
        };
        Error::new(status, message)
    }
}
