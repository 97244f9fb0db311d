//! What patterns match, refuse and rank.

use super::*;

fn pattern(text: &'static str) -> Pattern {
    Pattern::new(Cow::Borrowed(text))
}

#[track_caller]
fn check(text: &'static str, path: &str, expected: Option<&[(&str, &str)]>) {
    let pattern = pattern(text);
    let params: Vec<_> = (0..).map_while(|index| pattern.param(path, index)).collect();
    let found = pattern.matches(path).then(|| params.iter().map(|(name, value)| (*name, &**value)).collect::<Vec<_>>());
    assert_eq!(found.as_deref(), expected, "{text}");
    assert_eq!(pattern.fault(), None);
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
    check("/a/b", "/a%2Fb", None);
    check("/caf\u{e9}", "/caf%C3%A9", Some(&[]));
    check("/{id}", "/7", Some(&[("id", "7")]));
    check("/{id}", "/", None);
    check("/{id}", "/a%2Fb", Some(&[("id", "a/b")]));
    check("/{id}", "/%2f", Some(&[("id", "/")]));
    check("/{id}", "/a+b%20c", Some(&[("id", "a+b c")]));
    check("/{id}", "/%2541", Some(&[("id", "%41")]));
    check("/{id}", "/\u{e9}", Some(&[("id", "\u{e9}")]));
    check("/{id}", "/..", Some(&[("id", "..")]));
    check("/{a}/x/{b}", "/1/x/2", Some(&[("a", "1"), ("b", "2")]));
    check("/{a}/x/{b}", "/1/y/2", None);
    check("/{a}/x/{b}", "/1/x/", None);
    check("/{a}/x/{b}", "/1/x", None);
    check("/{a}/", "/1/", Some(&[("a", "1")]));
    check("/{a}/", "/1", None);
    check("/f/{*rest}", "/f/a/b%20c", Some(&[("rest", "a/b c")]));
    check("/f/{*rest}", "/f/", Some(&[("rest", "")]));
    check("/f/{*rest}", "/f", None);
    check("/f/{*rest}", "/f/a%2Fb//c", Some(&[("rest", "a%2Fb//c")]));
    check("/{a}/f/{*b}", "/1/f/2/3", Some(&[("a", "1"), ("b", "2/3")]));
    check("/{a}//{b}", "/1//2", Some(&[("a", "1"), ("b", "2")]));
    check("/{*all}", "/", Some(&[("all", "")]));
}

#[test]
fn prefixes() {
    for (text, path, is_prefix) in [
        ("/a", "/a", true),
        ("/a", "/a/", true),
        ("/a", "/a/b", true),
        ("/a", "/ab", false),
        ("/a/{x}", "/a/1/b", true),
        ("/a/{x}", "/a/", false),
        ("/a", "/", false),
    ] {
        assert_eq!(pattern(text).is_prefix_of(path), is_prefix, "{text} {path}");
    }
}

#[test]
fn malformed_paths() {
    for path in ["/%", "/%4", "/%4x", "/a%zz/b", "/%ff", "/%c3", "/%c3/%a9", "/%c3%2f%a9", "/%00", "/%+1", "/%\u{e9}"] {
        assert!(crate::percent::decode(path, "/").is_none(), "{path}");
    }
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
        "/{{a}}",
        "/{a/b}",
    ] {
        assert!(pattern(text).fault().is_some(), "{text}");
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
        ("/a/", "/a/{*x}"),
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
        assert_eq!(pattern(two).is_twin_of(&pattern(one)), twins, "{two} {one}");
    }
}

#[test]
fn filling() {
    for (text, values, path) in [
        ("/", &[][..], Some("/")),
        ("/users/{id}", &[("id", "a/b c")], Some("/users/a%2Fb%20c")),
        ("/users/{id}", &[], None),
        ("/users/{id}", &[("id", "")], None),
        ("/users/{id}", &[("id", "a\0b")], None),
        ("/users/{id}", &[("id", "7"), ("other", "\0")], Some("/users/7")),
        ("/users/{id}", &[("id", "\u{1}%00")], Some("/users/%01%2500")),
        ("/f/{*rest}", &[("rest", "a/b c/")], Some("/f/a/b%20c/")),
        ("/f/{*rest}", &[("rest", "")], Some("/f/")),
        ("/f/{*rest}", &[("rest", "a/\0")], None),
        ("/caf\u{e9}/", &[], Some("/caf%C3%A9/")),
    ] {
        assert_eq!(pattern(text).fill(values).as_deref(), path, "{text}");
    }
}
