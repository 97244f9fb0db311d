//! Which addresses are connected to, with a resolver that says what a test wants.

use super::*;

/// Answers every name with the same addresses.
struct Made(&'static [&'static str]);

impl Resolve for Made {
    fn resolve<'a>(
        &'a self,
        _: &'a str,
        port: u16,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send + 'a>> {
        let found = self.0.iter().map(|ip| SocketAddr::new(ip.parse().expect("an address"), port));
        let found = found.collect();
        Box::pin(async move { Ok(found) })
    }
}

/// What comes of a request to `uri` when its name has the addresses `found`.
#[track_caller]
fn check(uri: &str, found: &'static [&'static str], leave: Leave, private: &[&str], wanted: &str) {
    let target = Target::of(&uri.parse().expect("a URI")).expect("a target");
    let private: Vec<_> = private.iter().map(|&text| text.to_owned()).collect();
    let private = Networks::parse("a.key", &private).expect("networks");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let got = match runtime.block_on(addresses(&Made(found), &target, leave, &private)) {
        Ok(found) => found.iter().map(SocketAddr::to_string).collect::<Vec<_>>().join(" "),
        Err(error) => format!("{error:?}"),
    };
    assert_eq!(got, wanted, "{uri} {found:?}");
}

const PROHIBITED: &str = "DestinationIpProhibited";

#[test]
fn a_name_leads_to_public_addresses_alone() {
    let name = "http://a.example:81/";
    check(name, &["1.1.1.1", "2606:4700::1111"], Leave::Public, &[], "1.1.1.1:81 [2606:4700::1111]:81");
    for ip in [&["127.0.0.1"], &["10.1.2.3"], &["169.254.169.254"], &["0.0.0.0"], &["::1"], &["fd00::1"]] {
        check(name, ip, Leave::Public, &[], PROHIBITED);
    }
    for ip in [&["::ffff:127.0.0.1"], &["64:ff9b::a00:1"], &["fe80::1"], &["224.0.0.1"], &["ff02::1"]] {
        check(name, ip, Leave::Public, &[], PROHIBITED);
    }
    // A name with addresses of both kinds is not a way in.
    check(name, &["127.0.0.1", "1.1.1.1", "10.0.0.1"], Leave::Public, &[], "1.1.1.1:81");
    check(name, &[], Leave::Public, &[], "DnsError { rcode: None, info_code: None }");
}

#[test]
fn an_address_is_checked_like_a_name_unless_it_was_granted() {
    check("http://127.0.0.1:81/", &[], Leave::Public, &[], PROHIBITED);
    check("http://127.0.0.1:81/", &[], Leave::Literal, &[], "127.0.0.1:81");
    check("http://[::ffff:10.0.0.1]:81/", &[], Leave::Public, &[], PROHIBITED);
    check("http://1.1.1.1/", &[], Leave::Public, &[], "1.1.1.1:80");
    check("https://[2606:4700::1111]/", &[], Leave::Public, &[], "[2606:4700::1111]:443");
}

#[test]
fn localhost_is_this_machine_and_nothing_else() {
    check("http://localhost/", &["::1", "127.0.0.1"], Leave::Localhost, &[], "[::1]:80 127.0.0.1:80");
    check("http://localhost/", &["10.0.0.1"], Leave::Localhost, &[], PROHIBITED);
    check("http://localhost/", &["127.0.0.1"], Leave::Public, &[], PROHIBITED);
}

#[test]
fn private_networks_are_opened_one_by_one() {
    let name = "http://db.example/";
    check(name, &["10.1.2.3"], Leave::Public, &["10.0.0.0/8"], "10.1.2.3:80");
    check(name, &["::ffff:10.1.2.3"], Leave::Public, &["10.0.0.0/8"], "[::ffff:10.1.2.3]:80");
    check(name, &["192.168.0.1"], Leave::Public, &["10.0.0.0/8"], PROHIBITED);
    check(name, &["127.0.0.1", "fd00::1"], Leave::Public, &["fd00::/8"], "[fd00::1]:80");
    check(name, &["127.0.0.1"], Leave::Public, &["0.0.0.0/0"], "127.0.0.1:80");
    check(name, &["169.254.169.254"], Leave::Public, &["10.0.0.0/8", "127.0.0.1"], PROHIBITED);
}
