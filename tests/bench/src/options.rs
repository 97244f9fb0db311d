//! What the command line asks for.

use std::time::Duration;

use crate::measure::Way;

/// What is printed for `--help`.
pub const USAGE: &str = "cargo xtask bench [option…]

Builds and starts each server, loads them in turns, and writes the tables to docs/benchmarks.md, and
some of the first to the README.

  --seconds N       length of one turn (default 2)
  --rounds N        turns of each server; the median counts (default 5)
  --connections N   connections that are never idle (default 100)
  --only TEXT       only servers whose name has TEXT in it; several times for several; prints and writes nothing
  --tables NAMES    only these tables, separated by commas: hello, workloads, https, http2, latency, connections,
                    bodies, headers, routes, apps, targets; the last is written only when all are measured
  --quick           one turn of a fifth of a second, to see that all works; prints and writes nothing
  --release         with the hosts that the tests have, and not those of `cargo xtask dist --pgo`, which take long to
                    build; prints and writes nothing
  --no-build        with what an earlier run has built
";

/// The options, with their defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Length of one turn.
    pub time: Duration,
    /// Turns of each server.
    pub rounds: usize,
    /// Connections.
    pub connections: usize,
    /// Parts of names; none means all.
    pub only: Vec<String>,
    /// Tables; none means all.
    pub tables: Vec<String>,
    /// Whether the results are for the documentation.
    pub writes: bool,
    /// Whether only the least and the largest are measured where something grows.
    pub ends: bool,
    /// Whether the hosts are those that the tests have.
    pub release: bool,
    /// Whether to build first.
    pub builds: bool,
    /// Whether to fetch what others have built.
    pub fetches: bool,
}

/// Reads the arguments; `None` asks for help.
///
/// # Errors
/// When one is unknown or has no right value.
pub fn parse(arguments: &[String]) -> Result<Option<Options>, String> {
    let seconds = Duration::from_secs;
    let mut options = Options {
        time: seconds(2),
        rounds: 5,
        connections: 100,
        only: Vec::new(),
        tables: Vec::new(),
        writes: true,
        ends: false,
        release: false,
        builds: true,
        fetches: true,
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} wants a value"));
        match word.as_str() {
            "--seconds" => options.time = seconds(number(value()?)? as u64),
            "--rounds" => options.rounds = number(value()?)?,
            "--connections" => options.connections = number(value()?)?,
            "--only" => options.only.push(value()?.clone()),
            "--tables" => options.tables.extend(value()?.split(',').map(str::to_owned)),
            "--quick" => {
                (options.time, options.rounds) = (Duration::from_millis(200), 1);
                (options.writes, options.fetches, options.ends, options.release) = (false, false, true, true);
            }
            "--release" => (options.release, options.writes) = (true, false),
            "--no-build" => options.builds = false,
            "--help" | "-h" => return Ok(None),
            _ => return Err(format!("unknown option {word}\n\n{USAGE}")),
        }
    }
    options.writes &= options.only.is_empty();
    Ok(Some(options))
}

impl Options {
    /// How requests get to a server, if a table says nothing else.
    pub fn way(&self) -> Way {
        Way::Busy(self.connections)
    }

    /// Whether a server is asked for.
    pub fn has_server(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part.as_str()))
    }

    /// Whether a table is asked for.
    pub fn has_table(&self, name: &str) -> bool {
        self.tables.is_empty() || self.tables.iter().any(|table| table == name)
    }
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or(format!("{text} is no number above 0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &str, expected: Option<(u64, usize, usize, bool)>) {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let found = parse(&words).ok().flatten();
        let found = found.map(|found| (found.time.as_secs(), found.rounds, found.connections, found.writes));
        assert_eq!(found, expected, "{words:?}");
    }

    #[test]
    fn reads_options() {
        check("", Some((2, 5, 100, true)));
        check("--seconds 9 --rounds 2 --connections 1", Some((9, 2, 1, true)));
        check("--quick", Some((0, 1, 100, false)));
        check("--release", Some((2, 5, 100, false)));
        check("--quick --only tabi --seconds 2", Some((2, 1, 100, false)));
        check("--rounds 0", None);
        check("--rounds", None);
        check("--fast", None);
        check("--help", None);
    }
}
