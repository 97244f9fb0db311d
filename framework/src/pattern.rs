//! `Pattern`: `/users/{id}/{*rest}` as text, what it matches, and which of two is more specific.

use alloc::borrow::Cow;
use alloc::string::String;
use core::cmp::Ordering;

/// The pattern of a route. It is kept as text and read while matching: an instance often serves one request only, so
/// building has to cost next to nothing.
pub(crate) struct Pattern {
    text: Cow<'static, str>,
    /// How many bytes at the start are literal: a comparison of these decides most routes.
    literal: usize,
    /// The same for patterns that match the same paths, and seldom for others.
    shape: u32,
}

/// A piece of a pattern.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Segment<'a> {
    Literal(&'a [u8]),
    Param(&'a [u8]),
    Rest(&'a [u8]),
}

impl Pattern {
    /// Reads a pattern, or says what is wrong with it.
    pub(crate) fn new(text: Cow<'static, str>) -> Result<Pattern, &'static str> {
        let bytes = text.as_bytes();
        if bytes.first() != Some(&b'/') {
            return Err("must start with `/`");
        }
        let mut shape = START;
        let mut rest_seen = false;
        for piece in pieces(bytes) {
            if rest_seen {
                return Err("has something after `{*…}`, which takes all the rest");
            }
            let segment = parse(piece)?;
            rest_seen = matches!(segment, Segment::Rest(_));
            shape = mix(shape, segment);
        }
        let literal = bytes.iter().position(|byte| *byte == b'{').unwrap_or(bytes.len());
        if literal < bytes.len() && has_twins(bytes) {
            return Err("names two parameters alike");
        }
        Ok(Pattern { literal, shape, text })
    }

    /// Returns it as it was written, with the prefixes of the routers around it.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the pattern with a prefix before it; `/` alone stands for the prefix itself.
    pub(crate) fn nested(self, prefix: &str) -> Result<Pattern, &'static str> {
        match (prefix, &*self.text) {
            ("", _) => Ok(self),
            (_, "/") => Pattern::new(Cow::Owned(String::from(prefix))),
            (_, text) => Pattern::new(Cow::Owned([prefix, text].concat())),
        }
    }

    /// Tells whether a path can't match, by its literal start; `path` is the path as it came, free of escapes.
    pub(crate) fn excludes(&self, path: &str) -> bool {
        match (self.text.as_bytes().get(..self.literal), path.as_bytes().get(..self.literal)) {
            (Some(mine), Some(its)) => mine != its,
            _ => true,
        }
    }

    /// Tells whether the decoded segments of a path match.
    pub(crate) fn matches(&self, path: &[Cow<'_, str>]) -> bool {
        self.walk(path, false)
    }

    /// Tells whether the decoded segments of a path begin with this pattern.
    pub(crate) fn is_prefix_of(&self, path: &[Cow<'_, str>]) -> bool {
        self.walk(path, true)
    }

    fn walk(&self, mut path: &[Cow<'_, str>], prefix: bool) -> bool {
        for segment in self.segments() {
            let [first, tail @ ..] = path else { return false };
            match segment {
                Segment::Literal(text) if text != first.as_bytes() => return false,
                Segment::Param(_) if first.is_empty() => return false,
                Segment::Rest(_) => return true,
                _ => path = tail,
            }
        }
        prefix || path.is_empty()
    }

    /// Calls back with the name and value of each parameter of a path that matches.
    pub(crate) fn params(&self, path: &[Cow<'_, str>], mut each: impl FnMut(&str, String)) {
        for (at, segment) in self.segments().enumerate() {
            match (segment, path.get(at..)) {
                (Segment::Param(name), Some([value, ..])) => each(text(name), String::from(&**value)),
                (Segment::Rest(name), Some(values)) => each(text(name), join(values)),
                _ => {}
            }
        }
    }

    /// Fills the parameters in, or returns `None` where a value is missing or would not match again.
    pub(crate) fn fill(&self, values: &[(&str, &str)]) -> Option<String> {
        let mut path = String::new();
        for segment in self.segments() {
            path.push('/');
            match segment {
                Segment::Literal(literal) => crate::percent::push_segment(&mut path, text(literal)),
                Segment::Param(name) => {
                    let value = value_of(values, name).filter(|value| !value.is_empty())?;
                    crate::percent::push_segment(&mut path, value);
                }
                Segment::Rest(name) => {
                    for (at, piece) in value_of(values, name)?.as_bytes().split(|byte| *byte == b'/').enumerate() {
                        if at > 0 {
                            path.push('/');
                        }
                        crate::percent::push_segment(&mut path, text(piece));
                    }
                }
            }
        }
        Some(path)
    }

    /// Orders by specificity, for patterns that match one and the same path: literal before parameter before rest,
    /// from left to right. What is less comes first.
    pub(crate) fn compare(&self, other: &Pattern) -> Ordering {
        let mut others = other.segments();
        for mine in self.segments() {
            let order = others.next().map_or(0, rank).cmp(&rank(mine));
            if order != Ordering::Equal {
                return order.reverse();
            }
        }
        Ordering::Equal
    }

    /// Tells whether both match exactly the same paths.
    pub(crate) fn is_twin_of(&self, other: &Pattern) -> bool {
        self.shape == other.shape && {
            let mut others = other.segments();
            self.segments().all(|mine| match (mine, others.next()) {
                (Segment::Literal(mine), Some(Segment::Literal(its))) => mine == its,
                (mine, Some(its)) => rank(mine) == rank(its),
                (_, None) => false,
            }) && others.next().is_none()
        }
    }

    /// Returns the number that is the same for twins.
    pub(crate) fn shape(&self) -> u32 {
        self.shape
    }

    fn segments(&self) -> impl Iterator<Item = Segment<'_>> {
        pieces(self.text.as_bytes()).filter_map(|piece| parse(piece).ok())
    }
}

/// Splits a path or a pattern that starts with `/` at its slashes.
pub(crate) fn pieces(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/').skip(1)
}

fn parse(piece: &[u8]) -> Result<Segment<'_>, &'static str> {
    match piece {
        [b'{', b'*', name @ .., b'}'] if is_name(name) => Ok(Segment::Rest(name)),
        [b'{', name @ .., b'}'] if is_name(name) => Ok(Segment::Param(name)),
        _ if piece.iter().any(|byte| matches!(byte, b'{' | b'}')) => {
            Err("may have braces only around a whole segment, as in `{name}` or `{*rest}`")
        }
        _ if piece.iter().any(|byte| matches!(byte, b'?' | b'#')) => {
            Err("can't have `?` or `#`: it is about the path alone")
        }
        _ => Ok(Segment::Literal(piece)),
    }
}

/// Returns the shape that a pattern of exactly this text, all of it literal, has.
pub(crate) fn literal_shape(path: &str) -> u32 {
    pieces(path.as_bytes()).fold(START, |shape, piece| mix(shape, Segment::Literal(piece)))
}

/// Where FNV-1a starts.
const START: u32 = 0x811c_9dc5;

fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte == b'-')
}

fn has_twins(bytes: &[u8]) -> bool {
    let name = |piece| match parse(piece) {
        Ok(Segment::Param(name) | Segment::Rest(name)) => Some(name),
        _ => None,
    };
    let names = || pieces(bytes).filter_map(name);
    names().enumerate().any(|(at, one)| names().skip(at + 1).any(|two| one == two))
}

/// Mixes a segment into a shape (FNV-1a).
fn mix(shape: u32, segment: Segment<'_>) -> u32 {
    let step = |shape: u32, byte: &u8| (shape ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    match segment {
        Segment::Literal(text) => text.iter().fold(step(shape, &b'/'), step),
        Segment::Param(_) => step(shape, &1),
        Segment::Rest(_) => step(shape, &2),
    }
}

fn rank(segment: Segment<'_>) -> u8 {
    match segment {
        Segment::Literal(_) => 1,
        Segment::Param(_) => 2,
        Segment::Rest(_) => 3,
    }
}

/// Joins the segments of a rest. A slash that came encoded stays `%2F`: it was part of its segment.
fn join(values: &[Cow<'_, str>]) -> String {
    let mut rest = String::new();
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            rest.push('/');
        }
        for char in value.chars() {
            match char {
                '/' => rest.push_str("%2F"),
                other => rest.push(other),
            }
        }
    }
    rest
}

fn value_of<'a>(values: &[(&str, &'a str)], name: &[u8]) -> Option<&'a str> {
    values.iter().find(|(known, _)| known.as_bytes() == name).map(|(_, value)| *value)
}

/// Returns a piece of a pattern as text, which it was before it was split at a slash.
fn text(piece: &[u8]) -> &str {
    core::str::from_utf8(piece).unwrap_or_default()
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
