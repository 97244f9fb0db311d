//! Hosts and paths against a table of places.

use super::*;

/// Makes a table of `hosts path`, where the path ends with `$` for itself alone and with `/+` for what is below it.
fn routes(places: &[&str]) -> Result<Routes<usize>, String> {
    let split = |place: &&str| {
        let (hosts, path) = place.split_once(' ').expect("hosts and a path");
        let hosts: Vec<String> = hosts.split(',').filter(|host| !host.is_empty()).map(str::to_owned).collect();
        (hosts, path.to_owned())
    };
    let owned: Vec<_> = places.iter().map(split).collect();
    let places = owned.iter().enumerate().map(|(number, (hosts, path))| {
        let paths = match (path.strip_suffix('$'), path.strip_suffix("/+")) {
            (Some(path), _) => Paths::Exact(path),
            (_, Some(path)) => Paths::Below(if path.is_empty() { "/" } else { path }),
            _ => Paths::Prefix(path),
        };
        (Place { hosts, paths, title: format!("number {number}") }, number)
    });
    Routes::new(places).map_err(|error| error.to_string())
}

/// `wanted` is the number of the place and what follows its prefix.
#[track_caller]
fn check(places: &[&str], host: &str, path: &str, wanted: Result<(usize, &str), Miss>) {
    let routes = routes(places).expect("a table");
    let got = routes.find(host, path).map(|found| (*found.target, &path[found.rest..]));
    assert_eq!(got, wanted, "{host} {path}");
}

#[test]
fn the_most_specific_host_wins() {
    let places = &[" /", "a.org,B.org /", "*.a.org /", "*.x.a.org /", "x.a.org /", "[::1] /", "127.0.0.1 /"];
    let host = |host: &str, wanted: usize| check(places, host, "/p", Ok((wanted, "/p")));
    host("a.org", 1);
    host("A.ORG", 1);
    host("a.org.", 1);
    host("b.org", 1);
    host("y.a.org", 2);
    host("z.y.a.org", 2);
    host("x.a.org", 4);
    host("X.a.org.", 4);
    host("y.x.a.org", 3);
    host("aa.org", 0);
    host("org", 0);
    host("a.org.evil.org", 0);
    host("", 0);
    host(".", 0);
    host("..a.org", 2);
    host("[::1]", 5);
    host("127.0.0.1", 6);
}

#[test]
fn the_longest_prefix_wins() {
    let places = &[" /", " /api", " /api/v1", " /über", " /a%20b/", " /api$", " /old/+", " /old$", " /x/y/z/+"];
    let path = |path: &str, number: usize, rest: &str| check(places, "h", path, Ok((number, rest)));
    path("/", 0, "/");
    path("/ap", 0, "/ap");
    path("/apis", 0, "/apis");
    path("/api", 5, "");
    path("/api/", 1, "/");
    path("/api/v", 1, "/v");
    path("/api/v1", 2, "");
    path("/api/v1/x/y", 2, "/x/y");
    path("/api/v10", 1, "/v10");
    path("/API", 0, "/API");
    path("/%61pi", 5, "");
    path("/%61pi/%76%31/%78", 2, "/%78");
    path("/%2561pi", 0, "/%2561pi");
    path("//api", 0, "//api");
    path("//api/v1", 0, "//api/v1");
    path("/api//v1", 1, "//v1");
    path("/api%2Fv1", 0, "/api%2Fv1");
    path("/api%2fv1/x", 0, "/api%2fv1/x");
    path("/api;x", 0, "/api;x");
    path("/api%00", 0, "/api%00");
    path("/api%", 0, "/api%");
    path("/api/%zz", 1, "/%zz");
    path("/%C3%BCber/x", 3, "/x");
    path("/%c3%bcber", 3, "");
    path("/a%20b", 4, "");
    path("/a+b", 0, "/a+b");
    path("/old", 7, "");
    path("/old/", 6, "/");
    path("/old/x", 6, "/x");
    path("/x/y/z", 0, "/x/y/z");
    path("/x/y/z/1", 8, "/1");
    path("/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18", 0, "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18");
}

#[test]
fn paths_that_lead_back_are_refused() {
    for path in ["/..", "/.", "/api/../x", "/api/./x", "/api/..", "/%2e%2e/x", "/%2E./x", "/.%2e", "/%2e", "/x/%2E%2e"]
    {
        check(&[" /", " /api"], "h", path, Err(Miss::Dots));
    }
    for path in ["/...", "/..x", "/x..", "/%2e%2e%2e", "/.x/", "/%252e%252e"] {
        check(&[" /"], "h", path, Ok((0, path)));
    }
}

#[test]
fn what_no_host_or_no_path_is_for() {
    let places = &["a.org /api", "*.b.org /", "c.org,a.org /c"];
    check(places, "a.org", "/", Err(Miss::Path));
    check(places, "a.org", "/c/d", Ok((2, "/d")));
    check(places, "b.org", "/", Err(Miss::Host));
    check(places, "x.b.org", "/", Ok((1, "/")));
    check(places, "x.org", "/api", Err(Miss::Host));
    check(places, "x.org", "/..", Err(Miss::Dots));
    // What a host does not have, a less specific one may.
    let both = &["a.org /api", "*.org /x", " /y", " /api"];
    check(both, "a.org", "/api", Ok((0, "")));
    check(both, "a.org", "/x", Ok((1, "")));
    check(both, "a.org", "/y", Ok((2, "")));
    check(both, "a.org", "/z", Err(Miss::Path));
    check(both, "b.org", "/api", Ok((3, "")));
    check(&[], "a.org", "/", Err(Miss::Host));
}

#[test]
fn mistakes_are_named() {
    #[track_caller]
    fn err(places: &[&str], part: &str) {
        let error = routes(places).err().expect("an error");
        assert!(error.contains(part), "{error}");
    }
    err(&[" /a", " /a/"], "number 0 and number 1 are both for /a on any host");
    err(&[" /", " /"], "are both for / on any host");
    err(&["a.org,b.org /a", "c.org,B.org. /%61"], "number 0 and number 1 are both for /a on b.org");
    err(&["*.b.org /", "*.b.org /"], "on *.b.org");
    err(&["a.org,a.org /"], "number 0 and number 0 are both for / on a.org");
    err(&[" /a", " /a/+"], "are both for /a");
    err(&[" /a$", " /a$"], "are both for /a");
    err(&["* /"], "leave hosts out");
    err(&["a.*.org /"], "star that is not at its start");
    err(&["*a.org /"], "star that is not at its start");
    err(&["*. /"], "leave hosts out");
    err(&["a..org /"], "is no host name");
    err(&["http://a.org /"], "has a port");
    err(&["a.org:80 /"], "has a port");
    err(&["a.org/x /"], "is no host name");
    err(&["straße.de /"], "xn--");
    err(&["[::g] /"], "no IPv6 address");
    err(&[" a"], "number 0: the path \"a\" does not begin with a slash");
    err(&[" /a//b"], "empty part");
    err(&[" /a/../b"], "empty part, or . or ..");
    err(&[" /a/{b}"], "has a character");
    err(&[" /a?b"], "has a character");
    err(&[" /1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17"], "more than 16 parts");
    for fine in [&[" /a", " /a$"][..], &["a.org /", " /"], &["a.org /", "*.a.org /"], &["a_b.xn--strae-oqa.de /"]] {
        assert!(routes(fine).is_ok(), "{fine:?}");
    }
}
