//! An instance that is set back after a request is as good as new, and one that can't be is not used again.

use crate::client::Client;
use crate::support::{config, misbehave};
use crate::watched::Watched;
use std::collections::BTreeSet;
use tabi_host::PagemapScan;

/// Serves with one thread, so that requests that follow each other have one instance if they may.
fn start(restore: bool) -> Watched {
    start_with(restore, PagemapScan::Auto)
}

/// The same, with a say in whether the kernel is asked which pages were written to.
fn start_with(restore: bool, scan: PagemapScan) -> Watched {
    let mut config = config();
    config.threads = 1;
    config.reuse.restore = restore;
    config.reuse.pagemap_scan = scan;
    Watched::start(misbehave(), config)
}

/// What a request finds that comes after those for these paths, which says all that the guest can remember.
fn state_after(watched: &Watched, paths: &[&str]) -> String {
    for path in paths {
        // Some of them break the connection.
        Client::connect(watched.running.server.addr()).get(path);
    }
    let reply = Client::connect(watched.running.server.addr()).get("/state");
    assert_eq!(reply.status, 200);
    reply.text()
}

const DEEDS: [&str; 19] = [
    "/early",
    "/state",
    "/counter",
    "/grow?2",
    "/leak",
    "/trap",
    "/panic",
    "/print",
    "/flood?10",
    "/resources?100",
    "/stack?2",
    "/random?1000",
    "/forget-body",
    "/trap-after-head",
    "/trap-after-end",
    "/huge-headers?2",
    "/slow-chunks?2",
    "/late-after-end?5",
    "/too-long",
];

#[test]
fn nothing_of_a_request_is_left_for_the_next() {
    let first = state_after(&start(false), &[]);
    assert!(first.contains("count 0") && first.contains("pages 5"), "{first}");
    for scan in [PagemapScan::Auto, PagemapScan::Off] {
        let watched = start_with(true, scan);
        for deed in DEEDS {
            assert_eq!(state_after(&watched, &[deed]), first, "after {deed}");
            assert_eq!(state_after(&watched, &[deed, deed, "/state"]), first, "after {deed} twice");
        }
        assert!(watched.settled()["tabi_instance_restores_total"] > 20.0);
    }
}

#[test]
fn a_new_instance_is_made_only_where_one_has_to_be() {
    let watched = start(true);
    let (mut created, mut restored) = (0.0, 0.0);
    for (deed, is_left) in [
        ("/early", true),
        ("/state", true),
        ("/slow-chunks?2", true),
        ("/status?404", true),
        ("/huge-headers?2", true),
        ("/network", true),
        ("/grow?1", false),
        // Standard output keeps its stream.
        ("/print", false),
        ("/leak", false),
        ("/forget-body", false),
        ("/trap", false),
        ("/trap-after-end", false),
        ("/never", false),
    ] {
        Client::connect(watched.running.server.addr()).get(deed);
        Client::connect(watched.running.server.addr()).get("/early");
        let samples = watched.settled();
        let (now_created, now_restored) =
            (samples["tabi_instances_created_total"], samples["tabi_instance_restores_total"]);
        // The deed itself has the instance that the one before has left.
        let expected = match (created == 0.0, is_left) {
            (true, _) => (1.0, 1.0),
            (false, true) => (created, restored + 2.0),
            (false, false) => (created + 1.0, restored + 1.0),
        };
        assert_eq!((now_created, now_restored), expected, "after {deed}");
        (created, restored) = expected;
        assert_eq!(samples["tabi_instances_alive"], 1.0, "after {deed}");
        assert_eq!(samples["tabi_instance_reuses_total"], 0.0);
    }
}

#[test]
fn requests_at_the_same_time_have_instances_of_their_own() {
    let watched = start(true);
    let first = state_after(&watched, &["/early"]);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut client = watched.client();
                for _ in 0..20 {
                    assert_eq!(client.get("/state").text(), first);
                    assert_eq!(client.get("/slow-chunks?1").text(), "tick\n");
                }
            });
        }
    });
    let samples = watched.settled();
    assert_eq!(samples["tabi_instances_created_total"] + samples["tabi_instance_restores_total"], 322.0);
}

#[test]
fn random_numbers_are_no_part_of_what_is_set_back() {
    let watched = start(true);
    let mut client = watched.client();
    let seeds: BTreeSet<String> = (0..20).map(|_| client.get("/seeds").text()).collect();
    assert_eq!(seeds.len(), 20, "{seeds:?}");
}

#[test]
fn lines_that_a_guest_did_not_end_end_with_its_request() {
    let watched = start(true);
    let mut client = watched.client();
    for _ in 0..2 {
        client.get("/print-half");
    }
    client.get("/early");
    let log = watched.running.log();
    let halves: Vec<&str> = log.lines().filter(|line| line.contains("half a line")).collect();
    assert_eq!(halves.len(), 2, "{log}");
    assert_ne!(halves[0], halves[1], "each has its own request");
}
