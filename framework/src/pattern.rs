//! `Pattern`: `/users/{id}/{*rest}` as text, what it matches, and which of two is more specific.

use crate::percent::{decode, escape_at};
use crate::text::slice;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;

/// The pattern of a route. It is kept as text and read while matching: an instance often serves one request only, so
/// building has to cost nothing.
pub(crate) struct Pattern(Cow<'static, str>);

/// Where following a path along a pattern has ended.
enum End<'a> {
    /// At the parameter that was asked for, with its name and its value as it came.
    Param(&'a str, &'a str),
    Match,
    Mismatch,
}

impl Pattern {
    /// Takes a pattern as it is; [`Pattern::fault`] checks it.
    pub(crate) fn new(text: Cow<'static, str>) -> Pattern {
        Pattern(text)
    }

    /// Returns it as it was written, with the prefixes of the routers around it.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the text before the first parameter.
    #[cfg(feature = "ahead")]
    pub(crate) fn literal(&self) -> &str {
        slice(&self.0, 0, until(self.0.as_bytes(), 0, b'{'))
    }

    /// Returns the pattern with a prefix before it; `/` alone stands for the prefix itself.
    pub(crate) fn nested(self, prefix: &str) -> Pattern {
        match (prefix, &*self.0) {
            ("", _) => self,
            (_, "/") => Pattern::new(Cow::Owned(String::from(prefix))),
            (_, text) => Pattern::new(Cow::Owned(crate::text::concat([prefix, text]))),
        }
    }

    /// Tells whether a path, as it came, matches.
    pub(crate) fn matches(&self, path: &str) -> bool {
        matches!(self.follow(path, false, usize::MAX), End::Match)
    }

    /// Tells whether a path, as it came, begins with this pattern and goes on with another segment, or ends.
    pub(crate) fn is_prefix_of(&self, path: &str) -> bool {
        matches!(self.follow(path, true, usize::MAX), End::Match)
    }

    /// Returns the name and the decoded value of one of the parameters of a path, as it came, that matches.
    pub(crate) fn param<'a>(&'a self, path: &'a str, index: usize) -> Option<(&'a str, Cow<'a, str>)> {
        let End::Param(name, value) = self.follow(path, false, index) else { return None };
        // In a rest an encoded slash stays encoded, since the others are slashes.
        let (name, slash) = match name.strip_prefix('*') {
            Some(name) => (name, "%2F"),
            None => (name, "/"),
        };
        Some((name, decode(value, slash)?))
    }

    /// Follows a path along the pattern, byte by byte, to its end or to a parameter. The path is split before it is
    /// decoded, so that an encoded slash stays in its segment.
    #[inline(never)]
    fn follow<'a>(&'a self, path: &'a str, prefix: bool, mut index: usize) -> End<'a> {
        let (text, bytes) = (self.0.as_bytes(), path.as_bytes());
        let (mut at, mut to) = (0, 0);
        while let Some(byte) = text.get(at) {
            let start = at + 1;
            if *byte != b'{' {
                let (found, next) = read(bytes, to);
                if found != u32::from(*byte) {
                    return End::Mismatch;
                }
                (at, to) = (start, next);
                continue;
            }
            let (end, from) = (until(text, start, b'}'), to);
            let is_rest = text.get(start) == Some(&b'*');
            to = if is_rest { bytes.len() } else { until(bytes, to, b'/') };
            if to == from && !is_rest {
                return End::Mismatch;
            }
            if index == 0 {
                return End::Param(slice(&self.0, start, end), slice(path, from, to));
            }
            index = index.wrapping_sub(1);
            at = end + 1;
        }
        if to == bytes.len() || (prefix && bytes.get(to) == Some(&b'/')) { End::Match } else { End::Mismatch }
    }

    /// Fills the parameters in, or returns `None` where a value is missing or would not match again: an empty segment,
    /// and NUL, which is refused in every path.
    pub(crate) fn fill(&self, values: &[(&str, &str)]) -> Option<String> {
        let value_of = |name: &[u8]| {
            let (_, value) = values.iter().find(|(known, _)| known.as_bytes() == name)?;
            (!value.as_bytes().contains(&0)).then_some(*value)
        };
        let mut path = String::new();
        for piece in pieces(self.0.as_bytes()) {
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
        let (mine, its) = (self.0.as_bytes(), other.0.as_bytes());
        let (mut at, mut to) = (0, 0);
        while at < mine.len() || to < its.len() {
            let (my_rank, its_rank) = (rank(mine, at), rank(its, to));
            if my_rank != its_rank {
                return my_rank.cmp(&its_rank);
            }
            if my_rank > 0 {
                (at, to) = (until(mine, at, b'}'), until(its, to, b'}'));
            }
            (at, to) = (at + 1, to + 1);
        }
        Ordering::Equal
    }

    /// Tells whether both match exactly the same paths.
    pub(crate) fn is_twin_of(&self, other: &Pattern) -> bool {
        let mut others = pieces(other.0.as_bytes());
        let same = |mine: &[u8], its: &[u8]| rank(mine, 0) == rank(its, 0) && (rank(mine, 0) > 0 || mine == its);
        pieces(self.0.as_bytes()).all(|mine| others.next().is_some_and(|its| same(mine, its)))
            && others.next().is_none()
    }

    /// Says what is wrong with the pattern, if anything is.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let bytes = self.0.as_bytes();
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

/// Says how little specific a pattern is at a place: a rest is less so than a parameter, and that than a literal.
#[inline(never)]
fn rank(pattern: &[u8], at: usize) -> u8 {
    match (pattern.get(at), pattern.get(at + 1)) {
        (Some(b'{'), Some(b'*')) => 2,
        (Some(b'{'), _) => 1,
        _ => 0,
    }
}

/// Reads a byte of a path that is well-formed, escaped or not, and tells where the next one is. An encoded slash is
/// not a slash: like the end it is 0, which equals no byte of a pattern.
pub(crate) fn read(path: &[u8], at: usize) -> (u32, usize) {
    const SLASH: u32 = b'/' as u32;
    match path.get(at) {
        Some(b'%') => match escape_at(path, at + 1) {
            SLASH => (0, at),
            byte => (byte, at + 3),
        },
        Some(byte) => (u32::from(*byte), at + 1),
        None => (0, at),
    }
}

/// Returns where the next byte of this kind is, or the end.
#[inline(never)]
fn until(bytes: &[u8], mut at: usize, end: u8) -> usize {
    while bytes.get(at).is_some_and(|byte| *byte != end) {
        at += 1;
    }
    at
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
