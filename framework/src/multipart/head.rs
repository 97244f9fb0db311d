//! The head of a part: its header fields and what its Content-Disposition says (RFC 7578, section 4.2).

use super::parser::Fault;
use crate::disposition::{next, unescaped};
use crate::headers::{Headers, is_token};
use crate::parameter::take;
use alloc::string::String;
use alloc::vec::Vec;

/// What stands before the content of a part.
pub(crate) struct Head {
    pub(crate) headers: Headers,
    pub(crate) name: String,
    pub(crate) file_name: Option<String>,
}

impl Head {
    /// Reads the header fields, without the empty line that ends them.
    pub(crate) fn parse(block: &[u8]) -> Result<Head, Fault> {
        let headers = Headers::from_raw(fields(block)?);
        let mut dispositions = headers.get_all_bytes("content-disposition");
        let mut rest = dispositions.next().ok_or(Fault::Malformed)?;
        if dispositions.next().is_some() {
            return Err(Fault::Malformed);
        }
        if !take(&mut rest, b';').eq_ignore_ascii_case(b"form-data") {
            return Err(Fault::Malformed);
        }
        let (mut name, mut file_name) = (None, None);
        while let Some(parameter) = next(&mut rest) {
            // `filename*` is left alone: RFC 7578, section 4.2, forbids it here.
            let place = match () {
                () if parameter.is("name") => &mut name,
                () if parameter.is("filename") => &mut file_name,
                () => continue,
            };
            // What others may read in another way is refused, so that nobody is told two names.
            if parameter.is_broken || place.is_some() {
                return Err(Fault::Malformed);
            }
            // Other backslashes than these are kept: browsers quote nothing with them, so that they belong to the name.
            *place = Some(unescaped(&parameter.value(|next| matches!(next, b'"' | b'\\'))));
        }
        let name = name.ok_or(Fault::Malformed)?;
        drop(dispositions);
        Ok(Head { headers, name, file_name })
    }
}

/// Reads header fields. A line that begins with a space continues the one before it (RFC 2045 has this from RFC 822).
fn fields(block: &[u8]) -> Result<Vec<(String, Vec<u8>)>, Fault> {
    let mut fields: Vec<(String, Vec<u8>)> = Vec::new();
    let mut rest = block;
    while !rest.is_empty() {
        let end = super::parser::find(rest, b"\r\n").unwrap_or(rest.len());
        let (line, more) = rest.split_at_checked(end).ok_or(Fault::Malformed)?;
        rest = more.get(2..).unwrap_or_default();
        // A lone CR or LF, or a NUL: whoever reads it as the end of something sees other fields.
        if line.iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
            return Err(Fault::Malformed);
        }
        if let [b' ' | b'\t', ..] = line {
            let (_, value) = fields.last_mut().ok_or(Fault::Malformed)?;
            if !value.is_empty() {
                value.push(b' ');
            }
            value.extend_from_slice(line.trim_ascii());
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':').ok_or(Fault::Malformed)?;
        let (name, value) = line.split_at_checked(colon).ok_or(Fault::Malformed)?;
        let name = core::str::from_utf8(name).ok().filter(|name| is_token(name)).ok_or(Fault::Malformed)?;
        fields.push((name.to_ascii_lowercase(), value.get(1..).unwrap_or_default().trim_ascii().to_vec()));
    }
    Ok(fields)
}
