//! `Pattern`: `/users/{id}/{*rest}` as text, what it matches, and which of two is more specific.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;

/// The pattern of a route. It is kept as text and read while matching: an instance often serves one request only, so
/// building has to cost next to nothing.
pub(crate) struct Pattern {
    text: Cow<'static, str>,
    /// How many bytes at the start are literal: a comparison of these decides about most routes.
    literal: usize,
}

/// Stands for a slash that came encoded, in a decoded path. A NUL of the client's own is malformed.
const ENCODED_SLASH: u8 = 0;

/// Decodes a path, once, so that an encoded slash stays inside its segment. Returns `None` where an escape is
/// malformed or the result is not UTF-8.
pub(crate) fn decode_path(path: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [byte, tail @ ..] = rest {
        rest = tail;
        let mut byte = *byte;
        if byte == b'%' {
            (byte, rest) = crate::percent::escape(rest)?;
            byte = match byte {
                b'/' => ENCODED_SLASH,
                0 => return None,
                other => other,
            };
        }
        decoded.push(byte);
    }
    String::from_utf8(decoded).ok()
}

impl Pattern {
    /// Takes a pattern as it is; [`Pattern::fault`] checks it.
    pub(crate) fn new(text: Cow<'static, str>) -> Pattern {
        let literal = text.bytes().position(|byte| byte == b'{').unwrap_or(text.len());
        Pattern { text, literal }
    }

    /// Returns it as it was written, with the prefixes of the routers around it.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the pattern with a prefix before it; `/` alone stands for the prefix itself.
    pub(crate) fn nested(self, prefix: &str) -> Pattern {
        match (prefix, &*self.text) {
            ("", _) => self,
            (_, "/") => Pattern::new(Cow::Owned(String::from(prefix))),
            (_, text) => Pattern::new(Cow::Owned(crate::text::concat([prefix, text]))),
        }
    }

    /// Tells whether a decoded path matches.
    pub(crate) fn matches(&self, path: &str) -> bool {
        self.walk(path, false, &mut |_, _, _| {})
    }

    /// Tells whether a decoded path begins with this pattern and goes on with another segment, or ends.
    pub(crate) fn is_prefix_of(&self, path: &str) -> bool {
        self.walk(path, true, &mut |_, _, _| {})
    }

    /// Calls back with the name and value of each parameter of a decoded path that matches.
    pub(crate) fn params<'a>(&'a self, path: &'a str, each: &mut dyn FnMut(&'a str, Cow<'a, str>)) {
        // In a rest an encoded slash stays encoded, since the others are slashes.
        self.walk(path, false, &mut |name, value, slash| each(name, text(value, slash)));
    }

    /// Follows a path along the pattern and calls back with each parameter: name, value, and how an encoded slash is
    /// to be written.
    fn walk<'a>(&'a self, path: &'a str, prefix: bool, each: &mut dyn FnMut(&'a str, &'a str, &'static str)) -> bool {
        let mut pattern = &*self.text;
        let mut path = path;
        let mut literal = self.literal;
        loop {
            let (mine, pattern_tail) = split(pattern, literal);
            let Some(path_tail) = path.strip_prefix(mine) else { return false };
            let Some(name) = pattern_tail.strip_prefix('{') else {
                return path_tail.is_empty() || (prefix && path_tail.starts_with('/'));
            };
            let (name, tail) = split(name, find(name, b'}'));
            if let Some(name) = name.strip_prefix('*') {
                each(name, path_tail, "%2F");
                return true;
            }
            let (value, path_rest) = split(path_tail, find(path_tail, b'/'));
            if value.is_empty() {
                return false;
            }
            each(name, value, "/");
            (pattern, path) = (tail.strip_prefix('}').unwrap_or_default(), path_rest);
            literal = find(pattern, b'{');
        }
    }

    /// Fills the parameters in, or returns `None` where a value is missing or would not match again.
    pub(crate) fn fill(&self, values: &[(&str, &str)]) -> Option<String> {
        let value_of = |name: &[u8]| values.iter().find(|(known, _)| known.as_bytes() == name).map(|(_, value)| *value);
        let mut path = String::new();
        for piece in pieces(self.text.as_bytes()) {
            path.push('/');
            match piece {
                [b'{', b'*', name @ .., _] => crate::percent::push_path(&mut path, value_of(name)?.as_bytes()),
                [b'{', name @ .., _] => {
                    let value = value_of(name).filter(|value| !value.is_empty())?;
                    crate::percent::push_segment(&mut path, value.as_bytes());
                }
                literal => crate::percent::push_segment(&mut path, literal),
            }
        }
        Some(path)
    }

    /// Orders by specificity, for patterns that match one and the same path: literal before parameter before rest,
    /// from left to right. What is less comes first.
    pub(crate) fn compare(&self, other: &Pattern) -> Ordering {
        let (mut mine, mut its) = (self.text.as_bytes(), other.text.as_bytes());
        loop {
            match (mine, its) {
                ([b'{', b'*', ..], [b'{', b'*', ..]) => return Ordering::Equal,
                ([b'{', b'*', ..], _) => return Ordering::Greater,
                (_, [b'{', b'*', ..]) => return Ordering::Less,
                ([b'{', my_tail @ ..], [b'{', its_tail @ ..]) => {
                    (mine, its) = (after_name(my_tail), after_name(its_tail))
                }
                ([b'{', ..], _) => return Ordering::Greater,
                (_, [b'{', ..]) => return Ordering::Less,
                ([_, my_tail @ ..], [_, its_tail @ ..]) => (mine, its) = (my_tail, its_tail),
                _ => return Ordering::Equal,
            }
        }
    }

    /// Tells whether both match exactly the same paths.
    pub(crate) fn is_twin_of(&self, other: &Pattern) -> bool {
        let mut others = pieces(other.text.as_bytes());
        let same = |mine: &[u8], its: &[u8]| rank(mine) == rank(its) && (rank(mine) > 1 || mine == its);
        pieces(self.text.as_bytes()).all(|mine| others.next().is_some_and(|its| same(mine, its)))
            && others.next().is_none()
    }

    /// Says what is wrong with the pattern, if anything is.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let bytes = self.text.as_bytes();
        if bytes.first() != Some(&b'/') {
            return Some("must start with `/`");
        }
        let mut names: Vec<&[u8]> = Vec::new();
        let mut rest = false;
        for piece in pieces(bytes) {
            let name = match piece {
                _ if rest => return Some("has something after `{*…}`, which takes all the rest"),
                [b'{', b'*', name @ .., b'}'] => {
                    rest = true;
                    name
                }
                [b'{', name @ .., b'}'] => name,
                _ if piece.iter().any(|byte| matches!(byte, b'{' | b'}')) => {
                    return Some("may have braces only around a whole segment, as in `{name}` or `{*rest}`");
                }
                _ if piece.iter().any(|byte| matches!(byte, b'?' | b'#')) => {
                    return Some("can't have `?` or `#`: it is about the path alone");
                }
                _ => continue,
            };
            if name.is_empty() || !name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')) {
                return Some("has a parameter whose name is not made of letters, digits, `_` and `-`");
            }
            if names.contains(&name) {
                return Some("names two parameters alike");
            }
            names.push(name);
        }
        None
    }
}

/// Splits a pattern that starts with `/` at its slashes.
fn pieces(pattern: &[u8]) -> impl Iterator<Item = &[u8]> {
    pattern.split(|byte| *byte == b'/').skip(1)
}

/// Says how little specific a segment of a pattern is.
fn rank(piece: &[u8]) -> u8 {
    match piece {
        [b'{', b'*', ..] => 3,
        [b'{', ..] => 2,
        _ => 1,
    }
}

/// Returns what follows the name of a parameter.
fn after_name(mut pattern: &[u8]) -> &[u8] {
    while let [byte, tail @ ..] = pattern {
        pattern = tail;
        if *byte == b'}' {
            break;
        }
    }
    pattern
}

/// Returns where such a byte is, or the end.
fn find(text: &str, byte: u8) -> usize {
    text.bytes().position(|known| known == byte).unwrap_or(text.len())
}

/// Splits at a place that [`find`] has found.
fn split(text: &str, at: usize) -> (&str, &str) {
    text.split_at_checked(at).unwrap_or_default()
}

/// Returns a piece of a decoded path as it was meant.
fn text<'a>(piece: &'a str, slash: &str) -> Cow<'a, str> {
    let mut whole = Cow::Borrowed(piece);
    loop {
        let at = find(&whole, ENCODED_SLASH);
        if at == whole.len() {
            return whole;
        }
        let (before, after) = split(&whole, at);
        whole = Cow::Owned(crate::text::concat([before, slash, after.get(1..).unwrap_or_default()]));
    }
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
