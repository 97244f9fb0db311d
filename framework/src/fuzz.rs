//! What the fuzz targets call: parsers without a request around them. No part of the API, and free to change.

use crate::multipart::parser::{Event, Fault, Parser};
use crate::pattern::Pattern;
use crate::{cookie, error::Error, limits, multipart, percent};
use alloc::string::String;
use alloc::vec::Vec;

/// What a multipart parser says of some bytes.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Multipart {
    /// Name, file name and content of each part that is complete.
    pub parts: Vec<(String, Option<String>, Vec<u8>)>,
    /// The status, where it is an error.
    pub fault: Option<u16>,
}

/// Parses a multipart body that comes in these pieces. The second value is how many bytes were kept at most, apart
/// from the piece that was just handed over.
pub fn multipart(boundary: &[u8], chunks: impl IntoIterator<Item = Vec<u8>>) -> (Multipart, usize) {
    let mut parser = Parser::new(boundary, limits::PARTS, limits::PART_HEAD);
    let (mut seen, mut kept) = (Multipart::default(), 0);
    let mut open: Option<(String, Option<String>, Vec<u8>)> = None;
    let mut chunks = chunks.into_iter();
    loop {
        match parser.next() {
            Ok(Event::Wants) => {
                kept = kept.max(parser.kept());
                match chunks.next() {
                    Some(chunk) => parser.feed(chunk),
                    None => parser.finish(),
                }
            }
            Ok(Event::Part(head)) => open = Some((head.name, head.file_name, Vec::new())),
            Ok(Event::Data(data)) => {
                if let Some((_, _, content)) = &mut open {
                    content.extend_from_slice(&data);
                }
            }
            Ok(Event::PartEnd) => seen.parts.extend(open.take()),
            Ok(Event::End) => return (seen, kept),
            Err(fault) => {
                seen.fault = Some(status(fault));
                return (seen, kept);
            }
        }
    }
}

/// Returns the boundary that a content type names.
pub fn boundary(content_type: &[u8]) -> Result<Vec<u8>, u16> {
    multipart::boundary(content_type).map_err(status)
}

/// Returns the cookies of one `Cookie` field.
pub fn cookies(field: &[u8]) -> Vec<(&str, &str)> {
    cookie::pairs(core::iter::once(field)).collect()
}

/// Says what is wrong with the pattern of a route, if anything is.
pub fn pattern_fault(pattern: &str) -> Option<&'static str> {
    Pattern::new(String::from(pattern).into()).fault()
}

/// Returns a segment of a path with everything escaped that needs it.
pub fn segment(text: &str) -> String {
    let mut out = String::new();
    percent::push_segment(&mut out, text.as_bytes());
    out
}

/// Reads JSON, or returns the status that it is refused with.
#[cfg(feature = "json")]
pub fn json<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, u16> {
    crate::json::read(bytes).map_err(|error| error.status().code())
}

/// Writes JSON.
#[cfg(feature = "json")]
pub fn to_json<T: serde::Serialize>(value: &T) -> Result<String, u16> {
    crate::json_write::write(value).map_err(|fault| Error::from(fault).status().code())
}

fn status(fault: Fault) -> u16 {
    Error::from(fault).status().code()
}
