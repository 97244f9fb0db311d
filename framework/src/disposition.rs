//! `Disposition`: whether a response is to be shown or saved, and under which name (RFC 6266).

use crate::parameter::take;
use crate::percent;
use crate::response::Response;
use alloc::string::String;
use alloc::vec::Vec;

/// A Content-Disposition: a kind such as `attachment`, and parameters such as a file name.
///
/// ```
/// use tabi::{Disposition, Response};
///
/// let page = Response::new("1;2").with_attachment("\u{20ac} rates.csv");
/// let field = page.header("content-disposition").unwrap();
/// assert_eq!(field, "attachment; filename=\"_ rates.csv\"; filename*=UTF-8''%E2%82%AC%20rates.csv");
/// assert_eq!(Disposition::parse(field).file_name(), Some("\u{20ac} rates.csv"));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Disposition {
    kind: String,
    parameters: Vec<(String, String)>,
}

impl Disposition {
    /// Returns one that says: save this under that name.
    ///
    /// Folders are taken off the name, and control characters become `_`: nobody wants them in a file's name.
    pub fn attachment(file_name: &str) -> Disposition {
        Disposition::new("attachment", file_name)
    }

    /// Returns one that says: show this, and if it is saved, then under that name. As [`Disposition::attachment`].
    pub fn inline(file_name: &str) -> Disposition {
        Disposition::new("inline", file_name)
    }

    /// Reads one, as other software sent it. What can't be read is left out.
    ///
    /// A parameter in the notation of RFC 8187, `filename*`, stands for the plain one of its name, too, unless it
    /// can't be decoded. Of several of one name the first counts.
    pub fn parse(value: &str) -> Disposition {
        let mut rest = value.as_bytes();
        let kind = text(take(&mut rest, b';')).to_ascii_lowercase();
        let (mut parameters, mut decoded) = (Vec::new(), Vec::new());
        while let Some(parameter) = next(&mut rest) {
            if parameter.is_broken || parameter.name.is_empty() {
                continue;
            }
            let name = text(parameter.name).to_ascii_lowercase();
            if let [plain @ .., b'*'] = parameter.name
                && let Some(value) = extended(&parameter)
            {
                insert(&mut decoded, text(plain).to_ascii_lowercase(), value);
            }
            insert(&mut parameters, name, text(&parameter.value(|_| true)));
        }
        for (name, value) in decoded {
            parameters.retain(|(known, _)| *known != name);
            parameters.push((name, value));
        }
        if kind == "form-data" {
            // HTML has an escaping of its own here (section 4.10.21.8).
            for (_, value) in parameters.iter_mut().filter(|(name, _)| !name.ends_with('*')) {
                *value = unescaped(value.as_bytes());
            }
        }
        Disposition { kind, parameters }
    }

    /// Returns the kind, in lower case: `attachment`, `inline` or another.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns the value of a parameter, decoded; names are in lower case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Returns all parameters.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the name of the file without its folders, or `None` where there is none.
    pub fn file_name(&self) -> Option<&str> {
        self.get("filename").and_then(last_segment)
    }

    /// Returns the value of the header field.
    ///
    /// A name that is not plain ASCII stands in it twice: for old clients with `_` in the place of other characters,
    /// and in the notation of RFC 8187 for all others (RFC 6266, appendix D).
    pub fn to_http(&self) -> String {
        let mut field = self.kind.clone();
        for (name, value) in &self.parameters {
            field.push_str("; ");
            field.push_str(name);
            field.push_str("=\"");
            // A percent sign would be decoded by some, and a backslash be left by others.
            let is_plain = |char: char| matches!(char, ' '..='~') && !matches!(char, '"' | '\\' | '%');
            field.extend(value.chars().map(|char| if is_plain(char) { char } else { '_' }));
            field.push('"');
            if !value.chars().all(is_plain) {
                field.push_str("; ");
                field.push_str(name);
                field.push_str("*=UTF-8''");
                push_extended(&mut field, value);
            }
        }
        field
    }

    fn new(kind: &str, file_name: &str) -> Disposition {
        let mut parameters = Vec::new();
        if let Some(name) = last_segment(file_name) {
            let name = name.chars().map(|char| if char.is_ascii_control() { '_' } else { char }).collect();
            parameters.push((String::from("filename"), name));
        }
        Disposition { kind: kind.into(), parameters }
    }
}

impl Response {
    /// Returns it as a download: browsers save it under this name.
    #[must_use]
    pub fn with_attachment(self, file_name: &str) -> Response {
        self.with_header("content-disposition", &Disposition::attachment(file_name).to_http())
    }
}

/// A parameter as it came.
pub(crate) struct Parameter<'a> {
    pub(crate) name: &'a [u8],
    /// What is between the quotes, with its backslashes, or the bare value.
    raw: &'a [u8],
    is_quoted: bool,
    /// Whether the quotes don't end, or end too early.
    pub(crate) is_broken: bool,
}

/// Takes the next parameter; a piece without `=` is passed over.
pub(crate) fn next<'a>(rest: &mut &'a [u8]) -> Option<Parameter<'a>> {
    while !rest.is_empty() {
        let mut piece = take(rest, b';');
        if !piece.contains(&b'=') {
            continue;
        }
        let name = take(&mut piece, b'=');
        return Some(match piece.trim_ascii() {
            [b'"', inside @ ..] => quoted(name, inside),
            raw => Parameter { name, raw, is_quoted: false, is_broken: false },
        });
    }
    None
}

/// Reads what follows the first quote.
fn quoted<'a>(name: &'a [u8], inside: &'a [u8]) -> Parameter<'a> {
    let (raw, is_broken) = match inside {
        // A backslash before the last quote is a part of the name, from who doesn't quote it.
        [raw @ .., b'"'] => (raw, first_quote(raw).is_some()),
        raw => (raw, true),
    };
    Parameter { name, raw, is_quoted: true, is_broken }
}

/// Returns where a quote is that no backslash takes away.
fn first_quote(text: &[u8]) -> Option<usize> {
    let mut bytes = text.iter().enumerate();
    loop {
        match bytes.next()? {
            (at, b'"') => return Some(at),
            (_, b'\\') => _ = bytes.next()?,
            _ => {}
        }
    }
}

impl Parameter<'_> {
    /// Tells whether it has this name, in any case.
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    /// Returns the value without the backslashes that quote what follows them (RFC 9110, section 5.6.4), where
    /// `quotes` says that they do.
    pub(crate) fn value(&self, quotes: fn(u8) -> bool) -> Vec<u8> {
        let mut value = Vec::with_capacity(self.raw.len());
        let mut rest = self.raw;
        loop {
            rest = match rest {
                [b'\\', next, tail @ ..] if self.is_quoted && quotes(*next) => {
                    value.push(*next);
                    tail
                }
                [byte, tail @ ..] => {
                    value.push(*byte);
                    tail
                }
                [] => return value,
            };
        }
    }
}

/// Undoes what browsers do to names in forms: `%22`, `%0D` and `%0A` stand for a quote, CR and LF, and nothing else
/// is escaped (HTML, section 4.10.21.8). Names are UTF-8 (RFC 7578, section 5.1); what is not comes from old clients,
/// and is ISO-8859-1 in all likelihood.
pub(crate) fn unescaped(value: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value;
    loop {
        let (byte, tail) = match rest {
            [b'%', b'2', b'2', tail @ ..] => (b'"', tail),
            [b'%', b'0', b'D', tail @ ..] => (b'\r', tail),
            [b'%', b'0', b'A', tail @ ..] => (b'\n', tail),
            [byte, tail @ ..] => (*byte, tail),
            [] => return String::from_utf8(bytes).unwrap_or_else(|error| latin1(error.into_bytes())),
        };
        bytes.push(byte);
        rest = tail;
    }
}

/// Reads text in ISO-8859-1, whose characters are the first of Unicode.
pub(crate) fn latin1(bytes: Vec<u8>) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        text.push(char::from(byte));
    }
    text
}

/// Returns the name of a file without its folders, or `None` where nothing is left that could be one.
pub(crate) fn last_segment(path: &str) -> Option<&str> {
    let start = path.bytes().rposition(|byte| matches!(byte, b'/' | b'\\')).map_or(0, |at| at + 1);
    path.get(start..).filter(|name| !matches!(*name, "" | "." | ".."))
}

/// Decodes a value in the notation of RFC 8187, section 3.2.1: `charset'language'percent-encoded`.
fn extended(parameter: &Parameter<'_>) -> Option<String> {
    let mut rest = parameter.raw;
    let charset = take(&mut rest, b'\'');
    // The language is of no use here, but its quote has to be there, and no quotes around all of it.
    if parameter.is_quoted || !rest.contains(&b'\'') {
        return None;
    }
    take(&mut rest, b'\'');
    let mut bytes = Vec::with_capacity(rest.len());
    while let [byte, tail @ ..] = rest {
        let (byte, tail) = if *byte == b'%' { percent::escape(tail)? } else { (*byte, tail) };
        bytes.push(byte);
        rest = tail;
    }
    let is = |name: &str| charset.eq_ignore_ascii_case(name.as_bytes());
    if is("utf-8") || is("utf8") {
        return String::from_utf8(bytes).ok();
    }
    if is("iso-8859-1") { Some(latin1(bytes)) } else { None }
}

/// Adds a value in the notation of RFC 8187.
fn push_extended(out: &mut String, value: &str) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            percent::push_escape(out, byte);
        }
    }
}

/// Adds a parameter, unless there is one of this name.
fn insert(parameters: &mut Vec<(String, String)>, name: String, value: String) {
    if !parameters.iter().any(|(known, _)| *known == name) {
        parameters.push((name, value));
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
