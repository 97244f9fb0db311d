//! Every parser, on its cases and on the same mutations of them in each run; the time is bounded.

use std::time::{Duration, Instant};
use tabi_fuzz::{TARGETS, run, seeds, target};

/// More than this takes too long for a test, whatever the machine.
const PATIENCE: Duration = Duration::from_secs(3);

#[track_caller]
fn check(name: &str) {
    let target = target(name).expect("a target");
    for seed in seeds(&target) {
        (target.check)(&seed);
    }
    let start = Instant::now();
    let count = run(&target, 1, |count| count == 20_000 || (count % 64 == 0 && start.elapsed() > PATIENCE));
    assert!(count >= 64, "{name}: {count}");
}

macro_rules! tests {
    ($($function:ident: $name:literal),* $(,)?) => {
        $(
            #[test]
            fn $function() {
                check($name);
            }
        )*

        #[test]
        fn each_parser_is_tested() {
            assert_eq!(TARGETS.map(|target| target.name), [$($name),*]);
        }
    };
}

tests! {
    path: "path",
    pattern: "pattern",
    pairs: "pairs",
    form: "form",
    multipart: "multipart",
    boundary: "boundary",
    disposition: "disposition",
    cookie: "cookie",
    set_cookie: "set-cookie",
    json: "json",
    accept: "accept",
    conditional: "conditional",
    range: "range",
    etag: "etag",
    date: "date",
    field: "field",
    events: "events",
    quote: "quote",
}
