//! The table of what proxies and strangers claim.

use super::*;

/// Has a request with the fields `lines` come from `peer`, behind the proxies 10.0.0.0/8 and ::1.
///
/// `wanted` is the client, the scheme and the authority that result.
#[track_caller]
fn check(fields: TrustedFields, peer: &str, lines: &[&str], wanted: &str) {
    let proxies = ["10.0.0.0/8", "::1", "unix"].map(str::to_owned);
    let proxies = Networks::parse("x", &proxies).expect("networks");
    let trust = Trust { proxies, fields, tell: true };
    let peer = peer.parse().map_or(Peer::Unix, |ip: IpAddr| Peer::Ip((ip, 99).into()));
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(':').expect("a field");
        let name = HeaderName::try_from(name).expect("a name");
        headers.append(name, HeaderValue::from_str(value.trim()).expect("a value"));
    }
    let got = match trust.origin(&mut headers, peer, false) {
        Ok(origin) => {
            assert_eq!(headers.len(), 0, "{lines:?}");
            let authority = origin.authority.as_ref().map_or("-", |name| name.as_str());
            format!("{} {} {authority}", origin.client, if origin.https { "https" } else { "http" })
        }
        Err(refusal) => refusal.status.as_str().to_owned(),
    };
    assert_eq!(got, wanted, "{lines:?}");
}

#[track_caller]
fn x(lines: &[&str], wanted: &str) {
    check(TrustedFields::XForwarded, "10.0.0.1", lines, wanted);
}

#[track_caller]
fn forwarded(line: &str, wanted: &str) {
    check(TrustedFields::Forwarded, "10.0.0.1", &[&format!("forwarded: {line}")], wanted);
}

#[test]
fn strangers_are_not_believed() {
    let all = [
        "forwarded: for=1.1.1.1;proto=https;host=evil",
        "x-forwarded-for: 1.1.1.1",
        "x-forwarded-proto: https",
        "x-forwarded-host: evil",
        "x-forwarded-port: 1",
        "x-real-ip: 1.1.1.1",
        "client-cert: :AA==:",
        "client-cert-chain: :AA==:",
    ];
    for fields in [TrustedFields::XForwarded, TrustedFields::Forwarded] {
        check(fields, "192.0.2.9", &all, "192.0.2.9:99 http -");
        check(fields, "11.0.0.1", &all, "11.0.0.1:99 http -");
        check(fields, "::2", &all, "[::2]:99 http -");
        // Garbage from a stranger is nobody's fault but goes as well.
        check(fields, "192.0.2.9", &["forwarded: \"", "x-forwarded-for: \""], "192.0.2.9:99 http -");
        check(fields, "10.0.0.1", &[], "10.0.0.1:99 http -");
    }
    // A proxy sets one family of fields, and the other is a client's.
    check(TrustedFields::XForwarded, "10.0.0.1", &all[..1], "10.0.0.1:99 http -");
    check(TrustedFields::Forwarded, "10.0.0.1", &all[1..], "10.0.0.1:99 http -");
    check(TrustedFields::XForwarded, "unix", &all, "1.1.1.1 https evil");
    check(TrustedFields::XForwarded, "::ffff:10.0.0.1", &all, "1.1.1.1 https evil");
}

#[test]
fn the_client_is_the_first_that_no_proxy_is() {
    x(&["x-forwarded-for: 192.0.2.1"], "192.0.2.1 http -");
    x(&["x-forwarded-for: 1.1.1.1, 192.0.2.1"], "192.0.2.1 http -");
    x(&["x-forwarded-for: 1.1.1.1", "x-forwarded-for: 192.0.2.1"], "192.0.2.1 http -");
    x(&["x-forwarded-for: 1.1.1.1, 192.0.2.1, 10.9.9.9,10.8.8.8"], "192.0.2.1 http -");
    x(&["x-forwarded-for: 10.9.9.9, 10.8.8.8"], "10.9.9.9 http -");
    x(&["x-forwarded-for: 192.0.2.1:4711"], "192.0.2.1 http -");
    x(&["x-forwarded-for: 2001:DB8::1"], "2001:db8::1 http -");
    x(&["x-forwarded-for: [2001:db8::1]:4711"], "2001:db8::1 http -");
    x(&["x-forwarded-for: [2001:db8::1]"], "2001:db8::1 http -");
    x(&["x-forwarded-for: ::ffff:192.0.2.1, ::ffff:10.0.0.7"], "192.0.2.1 http -");
    x(&["x-forwarded-for: unknown"], "unknown http -");
    x(&["x-forwarded-for: 1.1.1.1, _Hidden"], "_hidden http -");
    x(&["x-forwarded-for: "], "10.0.0.1:99 http -");
    // What is malformed before the client is the client's own, and is not looked at.
    x(&["x-forwarded-for: <script>, 192.0.2.1"], "192.0.2.1 http -");
    for wrong in ["a", "192.0.2", "192.0.2.1:x", "192.0.2.1:", "[::1", "[::1]x", "[192.0.2.1]", "_", "1.1.1.1 2.2.2.2"]
    {
        x(&[&format!("x-forwarded-for: {wrong}")], "400");
        x(&[&format!("x-forwarded-for: {wrong}, 10.0.0.3")], "400");
    }
}

#[test]
fn scheme_and_host_are_those_of_the_proxy_that_saw_the_client() {
    let client = "x-forwarded-for: 192.0.2.1";
    x(&[client, "x-forwarded-proto: https"], "192.0.2.1 https -");
    x(&[client, "x-forwarded-proto: HTTP"], "192.0.2.1 http -");
    x(&[client, "x-forwarded-proto: wss"], "192.0.2.1 https -");
    x(&[client, "x-forwarded-proto: gopher"], "400");
    x(&[client, "x-forwarded-host: example.org:8443"], "192.0.2.1 http example.org:8443");
    x(&[client, "x-forwarded-host: [::1]:1"], "192.0.2.1 http [::1]:1");
    x(&[client, "x-forwarded-host: a b"], "400");
    x(&[client, "x-forwarded-host: u@a"], "400");
    x(&["x-forwarded-proto: https"], "10.0.0.1:99 https -");
    let two = "x-forwarded-for: 192.0.2.1, 10.0.0.2";
    x(&[two, "x-forwarded-proto: https, http", "x-forwarded-host: out, in"], "192.0.2.1 https out");
    x(&[two, "x-forwarded-proto: https", "x-forwarded-host: out"], "192.0.2.1 https out");
    // More entries than the proxies can have made: only the last is surely a proxy's.
    x(&[two, "x-forwarded-proto: https, https, http", "x-forwarded-host: evil, out, in"], "192.0.2.1 http in");
    let spoofed = "x-forwarded-for: 1.1.1.1, 192.0.2.1";
    x(&[spoofed, "x-forwarded-host: evil, good"], "192.0.2.1 http good");
}

#[test]
fn elements_of_rfc_7239() {
    forwarded("for=192.0.2.1", "192.0.2.1 http -");
    forwarded("For=192.0.2.1;Proto=https;Host=example.org", "192.0.2.1 https example.org");
    forwarded("by=10.0.0.1; for=192.0.2.1 ;host=\"example.org:81\"", "192.0.2.1 http example.org:81");
    forwarded("for=\"[2001:db8::1]:4711\"", "2001:db8::1 http -");
    forwarded("for=\"192.0.2.1:_x\"", "192.0.2.1 http -");
    forwarded("for=_gazonk", "_gazonk http -");
    forwarded("for=unknown;proto=https", "unknown https -");
    forwarded("for=\"\\192.0.2.1\"", "192.0.2.1 http -");
    forwarded(",, for=192.0.2.1 ,,", "192.0.2.1 http -");
    forwarded(
        "for=1.1.1.1;proto=http, for=192.0.2.1;proto=https, for=10.0.0.2;proto=http;host=in",
        "192.0.2.1 https in",
    );
    forwarded("for=1.1.1.1;host=evil, for=192.0.2.1", "192.0.2.1 http -");
    forwarded("for=1.1.1.1, by=_x;proto=https, for=10.0.0.2", "10.0.0.2 https -");
    forwarded("for=10.0.0.3", "10.0.0.3 http -");
    forwarded("secret=\"a,b;for=1.1.1.1\";for=192.0.2.1", "192.0.2.1 http -");
    forwarded("", "10.0.0.1:99 http -");
    for wrong in [
        "for",
        "for=",
        "=1",
        "for=\"192.0.2.1",
        "for=192.0.2.1 proto=https",
        "for=2001:db8::1",
        "for=[::1]",
        "for=192.0.2.1;for=1.1.1.1",
        "for=\"_\"",
        "for=\"1.1.1.1, for=192.0.2.1",
        "for=1 .1",
        "proto=gopher",
        "host=\"a/b\"",
        "f(=1",
    ] {
        forwarded(wrong, "400");
    }
}

#[test]
fn guests_are_told_once() {
    #[track_caller]
    fn told(client: Client, authority: &str, wanted: &[(&str, &str)]) {
        let trust = Trust { proxies: Networks::default(), fields: TrustedFields::XForwarded, tell: true };
        let origin = Origin { client, https: true, authority: None, relayed: false };
        let mut request = hyper::Request::builder().uri(format!("https://{authority}/")).body(()).expect("a request");
        trust.tell(&mut request, &origin);
        let headers = request.headers_mut();
        let got: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.to_str().expect("text"))).collect();
        assert_eq!(got, wanted);
        headers.clear();
        Trust { tell: false, ..trust }.tell(&mut request, &origin);
        assert!(request.headers().is_empty());
    }
    let v4 = "192.0.2.1".parse().expect("an address");
    let for_v4 = ("x-forwarded-for", "192.0.2.1");
    told(Client::Ip(v4), "a.org", &[("forwarded", "for=192.0.2.1;host=a.org;proto=https"), for_v4]);
    told(
        Client::Peer(Peer::Ip((v4, 99).into())),
        "a.org:1",
        &[("forwarded", "for=192.0.2.1;host=\"a.org:1\";proto=https"), for_v4],
    );
    told(
        Client::Ip("2001:db8::1".parse().expect("an address")),
        "[::1]",
        &[("forwarded", "for=\"[2001:db8::1]\";host=\"[::1]\";proto=https"), ("x-forwarded-for", "2001:db8::1")],
    );
    told(Client::Hidden("_x".to_owned()), "a", &[("forwarded", "for=_x;host=a;proto=https")]);
    told(Client::Peer(Peer::Unix), "a", &[("forwarded", "for=unknown;host=a;proto=https")]);
}
