//! `Pattern`: `/users/{id}/{*rest}` as text, what it matches, and which of two is more specific.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::ops::Range;

/// The pattern of a route. It is kept as text and read while matching: an instance often serves one request only, so
/// building has to cost nothing.
pub(crate) struct Pattern(Cow<'static, str>);

/// What is told of a parameter that was found in a path: its name, its value as it came, and how a slash that came
/// encoded is to be written.
pub(crate) type Found<'f, 'a> = &'f mut dyn FnMut(&'a str, &'a str, &'static str);

impl Pattern {
    /// Takes a pattern as it is; [`Pattern::fault`] checks it.
    pub(crate) fn new(text: Cow<'static, str>) -> Pattern {
        Pattern(text)
    }

    /// Returns it as it was written, with the prefixes of the routers around it.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
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
        self.walk(path, false, &mut |_, _| {})
    }

    /// Tells whether a path, as it came, begins with this pattern and goes on with another segment, or ends.
    pub(crate) fn is_prefix_of(&self, path: &str) -> bool {
        self.walk(path, true, &mut |_, _| {})
    }

    /// Calls back with each parameter of a path, as it came, that matches.
    pub(crate) fn params<'a>(&'a self, path: &'a str, each: Found<'_, 'a>) {
        self.walk(path, false, &mut |name, value| {
            let name = self.0.get(name).unwrap_or_default();
            let value = path.get(value).unwrap_or_default();
            // In a rest an encoded slash stays encoded, since the others are slashes.
            match name.strip_prefix('*') {
                Some(name) => each(name, value, "%2F"),
                None => each(name, value, "/"),
            }
        });
    }

    /// Follows a path along the pattern, byte by byte, and calls back with where the name and the value of each
    /// parameter are. The path is split before it is decoded, so that an encoded slash stays in its segment.
    #[inline(never)]
    fn walk(&self, path: &str, prefix: bool, each: &mut dyn FnMut(Range<usize>, Range<usize>)) -> bool {
        let (text, path) = (self.0.as_bytes(), path.as_bytes());
        let (mut mine, mut its) = (text, path);
        while let Some((&byte, tail)) = mine.split_first() {
            if byte != b'{' {
                match next(its) {
                    Some((other, rest)) if other == byte => (mine, its) = (tail, rest),
                    _ => return false,
                }
                continue;
            }
            let is_rest = tail.first() == Some(&b'*');
            let name = length(tail, b'}');
            let value = if is_rest { its.len() } else { length(its, b'/') };
            if value == 0 && !is_rest {
                return false;
            }
            let (name_at, value_at) = (text.len() - tail.len(), path.len() - its.len());
            each(name_at..name_at + name, value_at..value_at + value);
            if is_rest {
                return true;
            }
            (mine, its) = (after(tail, name + 1), after(its, value));
        }
        its.is_empty() || (prefix && its.first() == Some(&b'/'))
    }

    /// Fills the parameters in, or returns `None` where a value is missing or would not match again.
    pub(crate) fn fill(&self, values: &[(&str, &str)]) -> Option<String> {
        let value_of = |name: &[u8]| values.iter().find(|(known, _)| known.as_bytes() == name).map(|(_, value)| *value);
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
        let (mut mine, mut its) = (self.0.as_bytes(), other.0.as_bytes());
        while !mine.is_empty() {
            let order = rank(mine).cmp(&rank(its));
            if order != Ordering::Equal {
                return order;
            }
            (mine, its) = (after_piece(mine), after_piece(its));
        }
        // Whatever is left of the other is a rest: it matches nothing at all.
        rank(mine).cmp(&rank(its))
    }

    /// Tells whether both match exactly the same paths.
    pub(crate) fn is_twin_of(&self, other: &Pattern) -> bool {
        let mut others = pieces(other.0.as_bytes());
        let same = |mine: &[u8], its: &[u8]| rank(mine) == rank(its) && (rank(mine) > 1 || mine == its);
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

/// Says how little specific a segment of a pattern is.
fn rank(piece: &[u8]) -> u8 {
    match piece {
        [b'{', b'*', ..] => 3,
        [b'{', ..] => 2,
        _ => 1,
    }
}

/// Returns what follows the literal byte or the parameter that a pattern begins with.
fn after_piece(pattern: &[u8]) -> &[u8] {
    let piece = if pattern.first() == Some(&b'{') { length(pattern, b'}') } else { 0 };
    after(pattern, piece + 1)
}

/// Reads a byte of a path, escaped or not. An encoded slash is not a slash, and equals no byte of a pattern.
fn next(path: &[u8]) -> Option<(u8, &[u8])> {
    match path {
        [b'%', tail @ ..] => match crate::percent::escape(tail)? {
            (b'/', rest) => Some((0, rest)),
            other => Some(other),
        },
        [byte, tail @ ..] => Some((*byte, tail)),
        [] => None,
    }
}

/// Returns how many bytes are before the first of this kind, or in all.
fn length(bytes: &[u8], end: u8) -> usize {
    bytes.iter().position(|byte| *byte == end).unwrap_or(bytes.len())
}

/// Returns what is left after so many bytes.
fn after(bytes: &[u8], count: usize) -> &[u8] {
    bytes.get(count..).unwrap_or_default()
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
