//! One file: a request and what has to come back.

use crate::message::{Answer, Request, escape, unescape};
use std::path::{Path, PathBuf};

/// An exchange.
#[derive(Debug)]
pub struct Case {
    /// Where it stands.
    pub file: PathBuf,
    /// What is sent.
    pub request: Request,
    lanes: Option<Vec<String>>,
    status: u16,
    /// Name and pattern; without a pattern the field must not be there.
    fields: Vec<(String, Option<String>)>,
    body: Option<Vec<u8>>,
    /// The file up to and with the line `---`.
    head: String,
}

impl Case {
    /// Reads a file.
    ///
    /// # Errors
    /// Where it is not well-formed.
    pub fn read(file: &Path) -> Result<Case, String> {
        let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
        let (head, expected) = text.split_once("\n---\n").ok_or("there is no line `---`")?;
        let mut lines = head.lines().peekable();
        let mut lanes: Option<Vec<String>> = None;
        let mut comments = 0;
        while let Some(line) = lines.next_if(|line| line.starts_with('#') || line.starts_with("lanes:")) {
            match line.strip_prefix("lanes:") {
                Some(names) => lanes = Some(names.split(',').map(|name| name.trim().to_owned()).collect()),
                None => comments += 1,
            }
        }
        if comments == 0 {
            return Err(String::from("it begins with no comment: say what it shows"));
        }
        let request = request(&lines.collect::<Vec<_>>().join("\n"))?;
        let (fields, body) = split(expected);
        let mut fields = fields.lines();
        let status =
            fields.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")).ok_or("no status line after `---`")?;
        let status = status.split(' ').next().unwrap_or_default().parse().map_err(|_| "a status that is no number")?;
        let fields = fields.map(field).collect::<Result<_, String>>()?;
        let body = body.map(|body| unescape(body.strip_suffix('\n').unwrap_or(body))).transpose()?;
        Ok(Case { file: file.to_owned(), request, lanes, status, fields, body, head: format!("{head}\n---\n") })
    }

    /// Tells whether a lane runs it.
    #[must_use]
    pub fn runs_in(&self, lane: &str) -> bool {
        self.lanes.as_ref().is_none_or(|lanes| lanes.iter().any(|name| name == lane))
    }

    /// Says what is wrong with an answer.
    #[must_use]
    pub fn fault(&self, answer: &Answer) -> Option<String> {
        let mut faults = Vec::new();
        if answer.status != self.status {
            faults.push(format!("status {} instead of {}", answer.status, self.status));
        }
        for (name, pattern) in &self.fields {
            let values: Vec<String> = answer.values(name).collect();
            match pattern {
                Some(pattern) if !values.iter().any(|value| matches(pattern, value)) => {
                    faults.push(format!("{name}: {values:?} instead of {pattern:?}"));
                }
                None if !values.is_empty() => faults.push(format!("{name}: {values:?} where there should be none")),
                _ => {}
            }
        }
        if let Some(body) = self.body.as_ref().filter(|body| **body != answer.body) {
            faults.push(format!("body {:?} instead of {:?}", escape(&answer.body), escape(body)));
        }
        if !answer.values("x-content-type-options").any(|value| value == "nosniff") {
            faults.push(String::from("no `x-content-type-options: nosniff`"));
        }
        (!faults.is_empty()).then(|| faults.join("\n"))
    }

    /// Writes what came back into the file: the status, the body, and the values of the fields that are listed.
    pub(crate) fn bless(&self, answer: &Answer) -> Result<(), String> {
        let mut text = format!("{}HTTP/1.1 {}\n", self.head, answer.status);
        for (name, pattern) in &self.fields {
            match (pattern, answer.values(name).next()) {
                (None, None) => text.push_str(&format!("!{name}\n")),
                (Some(pattern), Some(value)) if matches(pattern, &value) => {
                    text.push_str(&format!("{name}: {pattern}\n"))
                }
                (_, Some(value)) => text.push_str(&format!("{name}: {value}\n")),
                (Some(_), None) => text.push_str(&format!("!{name}\n")),
            }
        }
        if self.body.is_some() {
            text.push_str(&format!("\n{}\n", escape(&answer.body)));
        }
        std::fs::write(&self.file, text).map_err(|error| error.to_string())
    }
}

fn request(text: &str) -> Result<Request, String> {
    let (head, body) = split(text);
    let mut lines = head.lines();
    let line = lines.next().and_then(|line| line.strip_suffix(" HTTP/1.1")).ok_or("no request line")?;
    let (method, target) = line.split_once(' ').ok_or("a request line without a target")?;
    let mut headers = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(':').ok_or_else(|| format!("`{line}` is no header field"))?;
        headers.push((name.to_owned(), unescape(value.trim())?));
    }
    let body = unescape(body.unwrap_or_default())?;
    let has =
        |headers: &[(String, Vec<u8>)], name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    if !has(&headers, "host") {
        headers.insert(0, (String::from("host"), b"localhost".to_vec()));
    }
    if !body.is_empty() && !has(&headers, "content-length") {
        headers.push((String::from("content-length"), body.len().to_string().into_bytes()));
    }
    Ok(Request { method: unescape(method)?, target: unescape(target)?, headers, body })
}

/// Splits at the first empty line.
fn split(text: &str) -> (&str, Option<&str>) {
    text.split_once("\n\n").map_or((text, None), |(head, body)| (head, Some(body)))
}

fn field(line: &str) -> Result<(String, Option<String>), String> {
    match (line.strip_prefix('!'), line.split_once(':')) {
        (Some(name), _) => Ok((name.trim().to_owned(), None)),
        (None, Some((name, pattern))) => Ok((name.to_owned(), Some(pattern.trim().to_owned()))),
        (None, None) => Err(format!("`{line}` is no header field")),
    }
}

/// Tells whether a value is as the pattern says, in which `*` stands for anything.
fn matches(pattern: &str, value: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == value,
        Some((start, rest)) => value.strip_prefix(start).is_some_and(|value| {
            let ends = value.char_indices().map(|(at, _)| at).chain([value.len()]);
            ends.into_iter().any(|at| matches(rest, &value[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, value, fits) in [
            ("a", "a", true),
            ("a", "b", false),
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c*", "abcb", true),
            ("a*c", "abcb", false),
            ("\"*\"", "\"x\"", true),
        ] {
            assert_eq!(matches(pattern, value), fits, "{pattern} {value}");
        }
    }

    #[test]
    fn escapes_are_read_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(unescape(&escape(&bytes)).as_deref(), Ok(&bytes[..]));
        assert!(unescape("\\q").is_err() && unescape("\\x4").is_err() && unescape("\\xzz").is_err());
    }

    #[test]
    fn each_difference_is_a_fault() {
        let folder = std::env::temp_dir().join(format!("tabi-corpus-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("case.http");
        std::fs::write(&file, "# A test.\nPOST /a HTTP/1.1\nx: \\xe9\n\nbody\n---\nHTTP/1.1 200\nx: 1*\n!y\n\nyes\n")
            .unwrap();
        let case = Case::read(&file).unwrap();
        assert_eq!(case.request.body, b"body");
        let header = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
        let right = Answer {
            status: 200,
            headers: vec![header("X", "12"), header("x-content-type-options", "nosniff")],
            body: b"yes".to_vec(),
        };
        assert_eq!(case.fault(&right), None);
        for wrong in [
            Answer { status: 201, ..right.clone() },
            Answer { body: b"no".to_vec(), ..right.clone() },
            Answer { headers: right.headers[..1].to_vec(), ..right.clone() },
            Answer { headers: right.headers[1..].to_vec(), ..right.clone() },
            Answer { headers: [&right.headers[..], &[header("y", "")]].concat(), ..right.clone() },
        ] {
            assert!(case.fault(&wrong).is_some(), "{wrong:?}");
            case.bless(&wrong).unwrap();
            assert!(Case::read(&file).unwrap().fault(&wrong).is_none() || wrong.headers.len() == 1, "{wrong:?}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
