//! Which entries allow which destinations.

use super::*;

fn leave(entries: &[&str], uri: &str) -> Option<Leave> {
    let rules: Vec<_> = entries.iter().map(|entry| Rule::parse(entry).expect("an entry")).collect();
    let uri: Uri = uri.parse().ok()?;
    let target = Target::of(&uri)?;
    find(&rules, &target, uri.path())
}

#[track_caller]
fn allowed(entry: &str, uris: &[&str], wanted: Leave) {
    for uri in uris {
        assert_eq!(leave(&[entry], uri), Some(wanted), "{entry} {uri}");
    }
}

#[track_caller]
fn refused(entry: &str, uris: &[&str]) {
    for uri in uris {
        assert_eq!(leave(&[entry], uri), None, "{entry} {uri}");
    }
}

#[test]
fn scheme_host_and_port_have_to_match() {
    let same = ["https://api.example.org", "https://API.Example.ORG:443/x?y", "https://api.example.org./"];
    allowed("https://api.example.org", &same, Leave::Public);
    allowed("https://API.example.org.:443", &same, Leave::Public);
    refused(
        "https://api.example.org",
        &["http://api.example.org", "https://api.example.org:444", "https://example.org"],
    );
    refused("https://api.example.org", &["https://x.api.example.org", "https://api.example.org.evil.example"]);
    refused("https://api.example.org", &["https://xapi.example.org", "http://api.example.org:443"]);
    allowed("http://api.example.org", &["http://api.example.org:80/", "http://api.example.org:/"], Leave::Public);
    allowed("http://a.example:8080", &["http://a.example:8080/"], Leave::Public);
    refused("http://a.example:8080", &["http://a.example/", "http://a.example:80/"]);
    allowed("http://a.example:*", &["http://a.example/", "http://a.example:9000/"], Leave::Public);
    assert_eq!(leave(&[], "http://a.example/"), None);
    assert_eq!(leave(&["http://b.example", "http://a.example"], "http://a.example/"), Some(Leave::Public));
}

#[test]
fn a_star_stands_for_labels_or_for_everything() {
    allowed("https://*.example.org", &["https://a.example.org", "https://a.b.example.org"], Leave::Public);
    refused("https://*.example.org", &["https://example.org", "https://aexample.org", "https://a.example.com"]);
    refused("https://*.example.org", &["http://a.example.org", "https://a.example.org:8443"]);
    allowed("https://*", &["https://a.example", "https://10.0.0.1"], Leave::Public);
    refused("https://*", &["http://a.example", "https://a.example:8443"]);
    allowed("*", &["http://a.example:81/", "https://b.example", "http://[::1]/", "http://127.0.0.1:1"], Leave::Public);
}

#[test]
fn addresses_are_compared_as_addresses() {
    allowed("http://127.0.0.1:9000", &["http://127.0.0.1:9000/", "http://[::ffff:127.0.0.1]:9000/"], Leave::Literal);
    allowed("http://[::ffff:7f00:1]:9000", &["http://127.0.0.1:9000/"], Leave::Literal);
    allowed("http://[::1]", &["http://[0:0:0:0:0:0:0:1]:80/"], Leave::Literal);
    refused("http://127.0.0.1:9000", &["http://127.0.0.2:9000/", "http://localhost:9000", "http://[::1]:9000"]);
    allowed("http://localhost:9000", &["http://LOCALHOST:9000/"], Leave::Localhost);
    allowed("http://db.localhost", &["http://db.localhost/"], Leave::Localhost);
    refused("http://localhost:9000", &["http://127.0.0.1:9000/"]);
    // The entry that names the address counts, wherever it stands.
    assert_eq!(leave(&["*", "http://10.0.0.1"], "http://10.0.0.1/"), Some(Leave::Literal));
    assert_eq!(leave(&["http://*.localhost"], "http://db.localhost/"), Some(Leave::Public));
}

#[test]
fn paths_begin_as_they_should() {
    let inside =
        ["https://a.example/v1", "https://a.example/v1/", "https://a.example/v1/x?y=../", "https://a.example/v1/%20"];
    allowed("https://a.example/v1/", &inside, Leave::Public);
    allowed("https://a.example/v1", &inside, Leave::Public);
    allowed("https://a.example/", &["https://a.example/any/../thing", "https://a.example"], Leave::Public);
    refused("https://a.example/v1/", &["https://a.example/", "https://a.example/v10", "https://a.example/V1/"]);
    refused("https://a.example/v1/", &["https://a.example/v1/../admin", "https://a.example/v1/%2e%2E/admin"]);
    refused("https://a.example/v1/", &["https://a.example/v1/..%2fadmin", "https://a.example/v1/%252e%252e/"]);
    refused("https://a.example/v1/", &["https://a.example/v1%5C..%5Cadmin"]);
}

#[test]
fn what_could_be_read_in_two_ways_is_no_destination() {
    for uri in ["http://u@a.example/", "http://u:p@a.example/", "http://a.example:99999/", "http://a.example:0/"] {
        refused("*", &[uri]);
    }
    refused("*", &["http://127.1/", "http://2130706433/", "http://0x7f.0.0.1/", "http://0x7f000001/", "http://1.2.3/"]);
    refused(
        "*",
        &["http://0177.0.0.1/", "http://a..example/", "http://a.example..", "http://a%2eexample/", "http://a!b/"],
    );
}

#[test]
fn entries_that_mean_nothing_are_mistakes() {
    #[track_caller]
    fn check(entry: &str, why: &str) {
        let error = Rule::parse(entry).expect_err(entry);
        assert!(error.contains(why), "{entry}: {error}");
    }
    for entry in ["", "example.org", "example.org:443", "**"] {
        check(entry, "has no scheme");
    }
    check("ftp://example.org", "neither http nor https");
    check("https://", "names no host");
    check("https://u@example.org", "names no host");
    check("https://exa mple.org", "names no host");
    check("https://127.1", "names no host");
    check("https://[::1", "has a port that is none");
    check("https://[::1%1]", "names no host");
    check("https://[::1]x:80", "names no host");
    check("https://a.*.org", "names no host");
    check("https://*example.org", "names no host");
    check("https://*.", "no name after its *");
    check("https://*.1.2", "no name after its *");
    check("https://a.example:0", "has a port that is none");
    check("https://a.example:x", "has a port that is none");
    check("https://a.example:+80", "has a port that is none");
    check("https://a.example/v1/../x", "has a path");
    check("https://a.example/*", "has a path");
    check("https://a.example/?x=1", "has a path");
}

#[test]
fn a_destination_is_shown_as_the_entry_that_allows_it() {
    for (uri, entry) in [
        ("https://A.example:443/x", "https://a.example"),
        ("http://a.example:8080/x", "http://a.example:8080"),
        ("http://[::1]:80/", "http://[::1]"),
        ("https://10.0.0.1:80/", "https://10.0.0.1:80"),
    ] {
        let target = Target::of(&uri.parse().expect("a URI")).expect("a target");
        assert_eq!(target.to_string(), entry);
        assert!(leave(&[entry], uri).is_some(), "{entry}");
    }
}
