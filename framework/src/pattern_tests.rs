//! What patterns match, refuse and rank.

use super::*;
use alloc::vec::Vec;

fn pattern(text: &'static str) -> Pattern {
    Pattern::new(Cow::Borrowed(text)).unwrap()
}

fn segments(path: &str) -> Vec<Cow<'_, str>> {
    pieces(path.as_bytes()).map(|piece| crate::percent::decode_segment(piece).unwrap()).collect()
}

#[track_caller]
fn check(text: &'static str, path: &str, expected: Option<&[(&str, &str)]>) {
    let (pattern, path) = (pattern(text), segments(path));
    let mut params = Vec::new();
    if pattern.matches(&path) {
        pattern.params(&path, |name, value| params.push((String::from(name), value)));
    }
    let params: Vec<_> = params.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(pattern.matches(&path).then_some(params.as_slice()), expected, "{text}");
}

#[test]
fn matching() {
    check("/", "/", Some(&[]));
    check("/", "/a", None);
    check("/a", "/a", Some(&[]));
    check("/a", "/a/", None);
    check("/a/", "/a", None);
    check("/a/", "/a/", Some(&[]));
    check("/a", "/A", None);
    check("/a.b", "/axb", None);
    check("/caf\u{e9}", "/caf%C3%A9", Some(&[]));
    check("/{id}", "/7", Some(&[("id", "7")]));
    check("/{id}", "/", None);
    check("/{id}", "/a%2Fb", Some(&[("id", "a/b")]));
    check("/{id}", "/a+b%20c", Some(&[("id", "a+b c")]));
    check("/{id}", "/%2541", Some(&[("id", "%41")]));
    check("/{a}/x/{b}", "/1/x/2", Some(&[("a", "1"), ("b", "2")]));
    check("/{a}/x/{b}", "/1/y/2", None);
    check("/f/{*rest}", "/f/a/b%20c", Some(&[("rest", "a/b c")]));
    check("/f/{*rest}", "/f/", Some(&[("rest", "")]));
    check("/f/{*rest}", "/f", None);
    check("/f/{*rest}", "/f/a%2Fb//c", Some(&[("rest", "a%2Fb//c")]));
    check("/{a}//{b}", "/1//2", Some(&[("a", "1"), ("b", "2")]));
}

#[test]
fn refusals() {
    for text in [
        "",
        "a",
        "/{",
        "/}",
        "/{}",
        "/{a",
        "/a{b}",
        "/{a}b",
        "/{a b}",
        "/{*}",
        "/{*a}/b",
        "/{a}/{a}",
        "/{a}/{*a}",
        "/a?b",
        "/a#b",
    ] {
        assert!(Pattern::new(Cow::Borrowed(text)).is_err(), "{text}");
    }
}

#[test]
fn specificity() {
    for (more, less) in [
        ("/a", "/{x}"),
        ("/a", "/{*x}"),
        ("/{x}", "/{*x}"),
        ("/a/{x}", "/{x}/a"),
        ("/{x}/a", "/{x}/{y}"),
        ("/{x}/{y}", "/{x}/{*y}"),
        ("/a/{*x}", "/{x}/b"),
        ("/a/b", "/a/{*x}"),
    ] {
        assert_eq!(pattern(more).compare(&pattern(less)), Ordering::Less, "{more} {less}");
        assert_eq!(pattern(less).compare(&pattern(more)), Ordering::Greater, "{less} {more}");
        assert!(!pattern(more).is_twin_of(&pattern(less)), "{more} {less}");
    }
    for (one, two, twins) in [
        ("/{a}", "/{b}", true),
        ("/{*a}", "/{*b}", true),
        ("/a/{b}", "/a/{c}", true),
        ("/a", "/a/", false),
        ("/a/{b}", "/b/{b}", false),
        ("/{a}", "/{a}/{b}", false),
    ] {
        assert_eq!(pattern(one).is_twin_of(&pattern(two)), twins, "{one} {two}");
    }
}

#[test]
fn filling() {
    for (text, values, path) in [
        ("/", &[][..], Some("/")),
        ("/users/{id}", &[("id", "a/b c")], Some("/users/a%2Fb%20c")),
        ("/users/{id}", &[], None),
        ("/users/{id}", &[("id", "")], None),
        ("/f/{*rest}", &[("rest", "a/b c/")], Some("/f/a/b%20c/")),
        ("/caf\u{e9}/", &[], Some("/caf%C3%A9/")),
    ] {
        assert_eq!(pattern(text).fill(values).as_deref(), path, "{text}");
    }
}
