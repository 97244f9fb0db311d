//! What holds for any input of each parser: functions that take bytes, and panic where it does not hold.
//!
//! The same functions run three ways: on the rows of the public cases and on mutations of them in `cargo test`, for as long
//! as one likes with `cargo run -p tabi-fuzz`, and led by coverage with `cargo xtask fuzz`.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a panic here is a finding")]

mod cookies;
mod forms;
mod json;
mod mutate;
mod negotiation;
mod parts;
mod paths;
mod representations;
mod seeds;
mod text;

pub use mutate::{Mutator, Random};
pub use seeds::seeds;

/// A parser, what holds for it, and where inputs for it come from.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// Panics where something does not hold for an input.
    pub check: fn(&[u8]),
    /// The beginning of the names of the case files whose texts are seeds.
    pub cases: &'static str,
    /// What inputs are likely to have in them.
    pub words: &'static [&'static str],
}

/// Every parser.
pub const TARGETS: [Target; 18] = [
    Target { name: "path", check: paths::path, cases: "reports-assets", words: PATH },
    Target { name: "pattern", check: paths::pattern, cases: "", words: PATH },
    Target { name: "pairs", check: forms::pairs, cases: "urlencoded", words: FORM },
    Target { name: "form", check: forms::form, cases: "urlencoded", words: FORM },
    Target { name: "multipart", check: parts::multipart, cases: "multipart", words: PARTS },
    Target { name: "boundary", check: parts::boundary, cases: "reports-multipart", words: PARAMETER },
    Target { name: "disposition", check: parts::disposition, cases: "content-disposition", words: PARAMETER },
    Target { name: "cookie", check: cookies::cookie, cases: "reports-cookies", words: COOKIE },
    Target { name: "set-cookie", check: cookies::set_cookie, cases: "cookie-", words: COOKIE },
    Target { name: "json", check: json::read, cases: "json-parse", words: JSON },
    Target { name: "accept", check: negotiation::accept, cases: "negotiate", words: ACCEPT },
    Target { name: "conditional", check: representations::conditional, cases: "freshness", words: CONDITION },
    Target { name: "range", check: representations::range, cases: "range-parse", words: CONDITION },
    Target { name: "etag", check: representations::etag, cases: "freshness", words: CONDITION },
    Target { name: "date", check: representations::date, cases: "cookie-dates", words: DATE },
    Target { name: "field", check: text::field, cases: "reports-cors", words: PARAMETER },
    Target { name: "events", check: text::events, cases: "", words: EVENTS },
    Target { name: "quote", check: text::quote, cases: "json-parse", words: JSON },
];

const PATH: &[&str] =
    &["/", "//", "a", "b", "files", "%2F", "%2f", "%", "%00", "%C3%A9", "%ff", "é", ".", "..", "{x}", "{*r}"];
const FORM: &[&str] =
    &["&", "=", "+", "%", "%26", "%C3%A9", "%ff", "a", "n=1", "b=true", "list=", "kind=one", ";", "\n"];
const PARTS: &[&str] = &[
    "--XX",
    "--XX\r\n",
    "--XX--",
    "\r\n",
    "\r",
    "\n",
    "--",
    " \t",
    "Content-Disposition: form-data; name=a\r\n\r\n",
    "Content-Disposition: form-data; name=\"b\"; filename=\"c%22\\\"",
    "Content-Type: text/plain; charset=",
];
const PARAMETER: &[&str] = &[
    "multipart/form-data",
    ";",
    "=",
    "\"",
    "\\",
    "boundary",
    "filename",
    "filename*",
    "UTF-8''",
    "%E2%82%AC",
    "form-data",
    "attachment",
    "/",
    "..",
    "\n",
];
const COOKIE: &[&str] = &[
    "=",
    ";",
    "; ",
    "\"",
    ",",
    "Path=/",
    "Domain=",
    "example.com",
    "Max-Age=",
    "Expires=",
    "Sun, 06 Nov 1994 08:49:37 GMT",
    "Secure",
    "SameSite=None",
    "__Host-",
    "\n",
];
const JSON: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"",
    "\\u",
    "\\ud83d\\ude00",
    "\\n",
    "1e",
    "-0",
    "0.1",
    "18446744073709551616",
    "null",
    "true",
    "\u{feff}",
];
const ACCEPT: &[&str] = &[
    ",",
    ";",
    "q=",
    "0",
    "1",
    "0.5",
    "*",
    "/",
    "*/*",
    "text/html",
    "application/json",
    "en-GB",
    "de",
    "gzip",
    "identity",
    "\"",
    ";q=0",
    "charset=utf-8",
];
const CONDITION: &[&str] = &[
    "\n",
    "\"v1\"",
    "W/",
    "\"",
    ",",
    "*",
    "bytes=",
    "\n\nbytes=0-1,5-9,-3",
    "0-",
    "-5",
    "2-4",
    "18446744073709551615",
    "Sun, 06 Nov 1994 08:49:37 GMT",
];
const DATE: &[&str] = &[
    "Sun, 06 Nov 1994 08:49:37 GMT",
    "Sunday, 06-Nov-94 08:49:37 GMT",
    "Sun Nov  6 08:49:37 1994",
    "29 Feb",
    "2000",
    "9999",
    "60",
    " ",
];
const EVENTS: &[&str] = &["\n", "\r", "\r\n", "\0", "data", "data:", ":", " ", "id: 1", "é"];

/// Returns the parser of this name.
#[must_use]
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}

/// Runs a parser on what comes of mutating its seeds until `enough` says so; returns how many inputs that were.
///
/// # Panics
/// Where something does not hold. The input is printed before.
pub fn run(target: &Target, seed: u64, mut enough: impl FnMut(u64) -> bool) -> u64 {
    let mut mutator = Mutator::new(seed, seeds(target), target.words);
    let mut count = 0;
    while !enough(count) {
        let input = mutator.next_input();
        let check = std::panic::AssertUnwindSafe(|| (target.check)(&input));
        if let Err(panic) = std::panic::catch_unwind(check) {
            eprintln!("{} with seed {seed}, input {count}: b\"{}\"", target.name, input.escape_ascii());
            std::panic::resume_unwind(panic);
        }
        count += 1;
    }
    count
}

/// Returns the pieces of an input, which line feeds part: always as many as asked for.
fn pieces<const N: usize>(data: &[u8]) -> [&[u8]; N] {
    let mut parts = data.splitn(N, |byte| *byte == b'\n');
    core::array::from_fn(|_| parts.next().unwrap_or_default())
}

/// Returns what of an input can stand in a header field.
fn field_value(data: &[u8]) -> Vec<u8> {
    data.iter().copied().filter(|byte| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f)).collect()
}
