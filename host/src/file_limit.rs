//! How many files the process may have open: each connection is one.

use crate::Config;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that are open besides connections: listeners, runtimes, the log, the granted folders.
const OTHERS: u64 = 64;

/// Raises the soft limit to the hard one, which every process may do, and gives what it is then.
///
/// The low soft limit is for programs that keep files in sets of fixed size; this is none.
pub fn raise() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum && setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok() {
        return maximum;
    }
    current
}

/// Says what to do when `files` are fewer than the connections that `config` allows.
#[must_use]
pub fn warning(config: &Config, files: Option<u64>) -> Option<String> {
    let (files, connections) = (files?, config.limits.connections as u64);
    (files < connections.saturating_add(OTHERS)).then(|| {
        format!(
            "tabi: limits.connections is {connections}, but the system allows {files} open files: what is beyond \
             them waits to be accepted; raise the system's limit (ulimit -Hn, LimitNOFILE=) or lower the other"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_files_are_told_of() {
        let config = Config::default();
        for (files, told) in [(None, false), (Some(100_000), false), (Some(10_064), false), (Some(10_063), true)] {
            assert_eq!(warning(&config, files).is_some(), told, "{files:?}");
        }
    }
}
