//! `Field`: a field or a file of a form, and `Fields`, those that were read into memory.

use super::Form;
use super::head::Head;
use super::parser::{Event, Fault};
use crate::body::Body;
use crate::disposition::{last_segment, latin1, next};
use crate::error::Result;
use crate::headers::Headers;
use crate::limits;
use crate::parameter::take;
use alloc::string::String;
use alloc::vec::Vec;

/// One part of a [`Multipart`](crate::Multipart) form, which it borrows.
pub struct Field<'a> {
    body: &'a mut Body,
    form: &'a mut Form,
    head: Head,
}

impl<'a> Field<'a> {
    pub(super) fn new(body: &'a mut Body, form: &'a mut Form, head: Head) -> Field<'a> {
        Field { body, form, head }
    }

    /// Returns the name that the form gives it.
    pub fn name(&self) -> &str {
        &self.head.name
    }

    /// Tells whether it is a file: whether it came with a file name, be it an empty one. A browser sends an empty
    /// name with no content where nobody chose a file.
    pub fn is_file(&self) -> bool {
        self.head.file_name.is_some()
    }

    /// Returns the name of the file without its folders, or `None` where there is none.
    ///
    /// It is what follows the last `/` or `\`, and never empty, `.` or `..` (RFC 7578, section 4.2).
    pub fn file_name(&self) -> Option<&str> {
        last_segment(self.full_file_name()?)
    }

    /// Returns the name of the file as the client sent it, which may be a path into somebody else's folder. Not to
    /// be used as a path.
    pub fn full_file_name(&self) -> Option<&str> {
        self.head.file_name.as_deref()
    }

    /// Returns its content type with the parameters, as the client gave it, or `None` where it gave none.
    pub fn content_type(&self) -> Option<&str> {
        self.headers().get("content-type").filter(|kind| !kind.is_empty())
    }

    /// Returns all its header fields.
    pub fn headers(&self) -> &Headers {
        &self.head.headers
    }

    /// Returns the next piece of its content, or `None` at the end.
    ///
    /// # Errors
    /// As [`Multipart::next_field`](crate::Multipart::next_field). A file is only complete once `None` was returned.
    pub async fn chunk(&mut self) -> Result<Option<Vec<u8>>> {
        if !self.form.is_in_part {
            return Ok(None);
        }
        match self.form.event(self.body).await? {
            Event::Data(data) => Ok(Some(data)),
            _ => Ok(None),
        }
    }

    /// Reads the rest of its content.
    ///
    /// # Errors
    /// 413 where that is more than `limit` bytes; as [`Field::chunk`] otherwise.
    pub async fn bytes(&mut self, limit: usize) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if chunk.len() > limit - all.len() {
                return Err(Fault::FieldLimit.into());
            }
            if all.is_empty() {
                all = chunk;
            } else {
                all.extend_from_slice(&chunk);
            }
        }
        Ok(all)
    }

    /// Reads the rest of its content as text: UTF-8, or ISO-8859-1 where its content type says so.
    ///
    /// # Errors
    /// 413 where that is more than [`limits::FIELD`] bytes, or what
    /// [`Multipart::field_limit`](crate::Multipart::field_limit) says; 415 where it is in another charset; 400 where
    /// it is not UTF-8; as [`Field::chunk`] otherwise.
    pub async fn text(&mut self) -> Result<String> {
        self.text_within(self.form.field_limit).await
    }

    async fn text_within(&mut self, limit: usize) -> Result<String> {
        let bytes = self.bytes(limit).await?;
        Ok(decoded(bytes, self.headers().get_bytes("content-type").unwrap_or_default())?)
    }
}

/// Reads text in the charset that a content type names; without one it is UTF-8 (RFC 7578, section 5.1.2).
fn decoded(bytes: Vec<u8>, mut content_type: &[u8]) -> Result<String, Fault> {
    take(&mut content_type, b';');
    let mut charset = Vec::new();
    while let Some(parameter) = next(&mut content_type) {
        if parameter.is("charset") {
            charset = parameter.value(|_| true);
        }
    }
    let is = |name: &str| charset.eq_ignore_ascii_case(name.as_bytes());
    if charset.is_empty() || is("utf-8") || is("utf8") || is("us-ascii") {
        return String::from_utf8(bytes).map_err(|_| Fault::NotText);
    }
    if is("iso-8859-1") || is("latin1") {
        return Ok(latin1(bytes));
    }
    Err(Fault::Charset)
}

/// Names and texts of the fields that [`Multipart::next_file`](crate::Multipart::next_file) has read, in the order
/// of the form.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Fields {
    fields: Vec<(String, String)>,
    bytes: usize,
}

impl Fields {
    /// Returns an empty list.
    pub const fn new() -> Fields {
        Fields { fields: Vec::new(), bytes: 0 }
    }

    /// Returns the first value of a field.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Returns all values of a field, in their order.
    pub fn get_all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.iter().filter(move |(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Returns all names and values, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Reads one more, as long as all of them are not too large together.
    pub(super) async fn read(&mut self, mut field: Field<'_>) -> Result<()> {
        let left = limits::FIELDS.saturating_sub(self.bytes).saturating_sub(field.head.name.len());
        let text = field.text_within(field.form.field_limit.min(left)).await?;
        self.bytes += field.head.name.len() + text.len();
        self.fields.push((field.head.name, text));
        Ok(())
    }
}
