//! When an instance takes no more requests: by its age, and by the memory that it has.

use crate::client::Client;
use crate::support::{Running, config, misbehave, misbehave3};
use std::path::Path;
use std::thread;
use std::time::Duration;
use tabi_host::Reuse;

/// Serves with one thread, so that one request follows the other into the same instance if it may.
fn start(component: &Path, limit: impl Fn(&mut Reuse)) -> Running {
    let mut config = config();
    config.threads = 1;
    config.reuse.requests_p2 = 1000;
    limit(&mut config.reuse);
    Running::serve(component, config)
}

/// Asks for each path in turn.
#[track_caller]
fn check(running: &Running, exchanges: &[(&str, &str)]) {
    let mut client = Client::connect(running.server.addr());
    for (path, wanted) in exchanges {
        assert_eq!(client.get(path).text(), *wanted, "{path}");
    }
}

#[test]
fn an_instance_that_has_grown_is_replaced() {
    for component in [misbehave(), misbehave3()] {
        let running = start(component, |reuse| reuse.max_memory = 8 << 20);
        check(
            &running,
            &[
                ("/counter", "1"),
                ("/grow?2", "2"),
                ("/counter", "2"),
                // The request that takes the memory gets it.
                ("/grow?16", "16"),
                ("/counter", "1"),
                ("/counter", "2"),
            ],
        );
    }
}

#[test]
fn an_instance_that_starts_large_serves_one_request() {
    for component in [misbehave(), misbehave3()] {
        let running = start(component, |reuse| reuse.max_memory = 1);
        check(&running, &[("/counter", "1"), ("/counter", "1"), ("/counter", "1")]);
    }
}

#[test]
fn an_old_instance_is_replaced() {
    for component in [misbehave(), misbehave3()] {
        let running = start(component, |reuse| reuse.max_age = Duration::from_millis(400));
        check(&running, &[("/counter", "1"), ("/counter", "2")]);
        thread::park_timeout(Duration::from_millis(600));
        check(&running, &[("/counter", "1")]);
    }
}
