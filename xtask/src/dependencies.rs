//! The server's dependencies against `deny.toml`: versions with advisories, licences, sources.

use crate::run::{cargo, text};
use crate::{root, say};

/// Checks every version in the lock file, and the licence of everything that ends in the program.
///
/// # Errors
/// When something is banned, with the reason.
pub fn check() -> Result<(), String> {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).map_err(|error| format!("{name}: {error}"));
    let rules = Rules::parse(&read("deny.toml")?)?;
    let packages = packages(&read("Cargo.lock")?);
    let tree = ["tree", "--package", "tabi-host", "--edges", "normal,build", "--prefix", "none", "--locked"];
    let tree = cargo().args(tree).args(["--format", "{p}|{l}"]).output().map_err(text)?;
    if !tree.status.success() {
        return Err(String::from_utf8_lossy(&tree.stderr).into_owned());
    }
    let tree = String::from_utf8_lossy(&tree.stdout).into_owned();
    let mut wrong: Vec<String> = packages.iter().filter_map(|package| rules.ban(package)).collect();
    wrong.extend(foreign(&packages));
    let mut licences = 0;
    for line in tree.lines() {
        let (name, licence) = line.trim_end_matches(" (*)").split_once('|').unwrap_or((line, ""));
        licences += 1;
        if !rules.allows(licence) {
            wrong.push(format!("{name}: the licence {licence:?} is not in deny.toml"));
        }
    }
    wrong.sort();
    wrong.dedup();
    let bans = rules.bans.len();
    say(&format!("{} packages against {bans} bans; {licences} licences", packages.len()));
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// What `deny.toml` says.
#[derive(Debug, Default)]
struct Rules {
    bans: Vec<Ban>,
    licences: Vec<String>,
}

#[derive(Debug)]
struct Ban {
    name: String,
    below: Version,
    reason: String,
}

/// A release: its three numbers.
type Version = [u64; 3];

/// A package of the lock file.
#[derive(Debug)]
struct Package {
    name: String,
    version: String,
    source: String,
}

impl Rules {
    /// Reads the lines that this check is about; cargo-deny reads them all.
    fn parse(text: &str) -> Result<Self, String> {
        let (mut rules, mut table) = (Self::default(), "");
        for line in text.lines().map(str::trim) {
            if line.starts_with('[') {
                table = line;
            } else if let Some(rest) = line.strip_prefix("{ crate = \"") {
                let ban = || {
                    let (name, rest) = rest.split_once(":<")?;
                    let (below, rest) = rest.split_once("\", reason = \"")?;
                    let reason = rest.strip_suffix("\" },")?.to_owned();
                    Some(Ban { name: name.to_owned(), below: version(below)?, reason })
                };
                rules.bans.push(ban().ok_or_else(|| format!("deny.toml: {line:?} is no ban that is understood"))?);
            } else if table == "[licenses]"
                && let Some(name) = line.strip_prefix('"').and_then(|line| line.strip_suffix("\","))
            {
                rules.licences.push(name.to_owned());
            }
        }
        if rules.bans.is_empty() || rules.licences.is_empty() {
            return Err("deny.toml has no bans or no licences".to_owned());
        }
        Ok(rules)
    }

    /// Why a package is banned, if it is.
    fn ban(&self, package: &Package) -> Option<String> {
        let Package { name, version: found, .. } = package;
        let ban = self.bans.iter().find(|ban| ban.name == *name)?;
        let [major, minor, patch] = ban.below;
        // A version that can't be read is as bad as an old one.
        let fine = version(found).is_some_and(|found| found >= ban.below);
        (!fine).then(|| format!("{name} {found} is below {major}.{minor}.{patch}: {}", ban.reason))
    }

    /// Whether an SPDX expression can be met with what is allowed.
    fn allows(&self, expression: &str) -> bool {
        let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let mut words = Words(&words);
        self.any(&mut words) && words.0.is_empty()
    }

    /// `a OR b`, of which one is enough.
    fn any(&self, words: &mut Words<'_>) -> bool {
        let mut met = self.all(words);
        while words.take("OR") {
            met |= self.all(words);
        }
        met
    }

    /// `a AND b`, of which each is needed.
    fn all(&self, words: &mut Words<'_>) -> bool {
        let mut met = self.one(words);
        while words.take("AND") {
            met &= self.one(words);
        }
        met
    }

    fn one(&self, words: &mut Words<'_>) -> bool {
        if words.take("(") {
            let met = self.any(words);
            return words.take(")") && met;
        }
        let Some(name) = words.next() else { return false };
        let exception = if words.take("WITH") { words.next() } else { None };
        let full = exception.map_or(name.to_owned(), |exception| format!("{name} WITH {exception}"));
        self.licences.contains(&full)
    }
}

/// The words of an expression that are still to be read.
struct Words<'a>(&'a [&'a str]);

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.0.first() == Some(&word);
        if found {
            self.next();
        }
        found
    }
}

/// The packages of a lock file; those of the workspace have no source.
fn packages(lock: &str) -> Vec<Package> {
    let field = |block: &str, name: &str| {
        let value = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""));
        value.map_or(String::new(), |value| value.trim_end_matches('"').to_owned())
    };
    let blocks = lock.split("[[package]]").skip(1);
    let package = |block: &str| Package {
        name: field(block, "name"),
        version: field(block, "version"),
        source: field(block, "source"),
    };
    blocks.map(package).collect()
}

/// Packages that come from somewhere else than the one registry that all others come from.
fn foreign(packages: &[Package]) -> Vec<String> {
    let sources: Vec<&str> = packages.iter().map(|package| package.source.as_str()).filter(|s| !s.is_empty()).collect();
    let main = sources.first().copied().unwrap_or_default();
    let is_fine = |source: &str| source.is_empty() || (source == main && source.starts_with("registry+"));
    let wrong = packages.iter().filter(|package| !is_fine(&package.source));
    wrong.map(|package| format!("{} comes from {}", package.name, package.source)).collect()
}

/// A version before whose release there may be others: `1.2.3-rc.1` is below `1.2.3` and no version here.
fn version(text: &str) -> Option<Version> {
    let mut numbers = text.split('+').next()?.split('.').map(str::parse);
    let version = [numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?];
    numbers.next().is_none().then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> Rules {
        let text = "deny = [\n    { crate = \"h2:<0.4.18\", reason = \"an id\" },\n]\n[licenses]\n    \"MIT\",\n    \
                    \"ISC\",\n    \"Apache-2.0 WITH LLVM-exception\",\n";
        Rules::parse(text).expect("rules")
    }

    #[track_caller]
    fn check(found: &str, banned: bool) {
        let lock = format!("[[package]]\nname = \"h2\"\nversion = \"{found}\"\nsource = \"registry+x\"\n");
        assert_eq!(rules().ban(&packages(&lock)[0]).is_some(), banned, "{found}");
    }

    #[test]
    fn old_versions_are_banned() {
        check("0.4.17", true);
        check("0.3.99", true);
        check("0.4.18", false);
        check("0.4.18+build", false);
        check("0.4.18-rc.1", true);
        check("1.0.0", false);
    }

    #[test]
    fn licences_are_read_as_they_are_meant() {
        for (expression, allowed) in [
            ("MIT", true),
            ("GPL-3.0", false),
            ("MIT OR GPL-3.0", true),
            ("GPL-3.0/MIT", true),
            ("MIT AND GPL-3.0", false),
            ("MIT AND (GPL-3.0 OR ISC)", true),
            ("(MIT OR GPL-3.0) AND GPL-2.0", false),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("Apache-2.0", false),
            ("MIT)", false),
            ("(MIT", false),
            ("", false),
        ] {
            assert_eq!(rules().allows(expression), allowed, "{expression:?}");
        }
    }

    #[test]
    fn there_is_one_registry() {
        let lock = |source: &str| {
            let ours = "[[package]]\nname = \"tabi\"\nversion = \"0.1.0\"\n";
            let first = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"registry+x\"\n";
            packages(&format!("{ours}{first}[[package]]\nname = \"b\"\nversion = \"1.0.0\"\nsource = \"{source}\"\n"))
        };
        assert_eq!(foreign(&lock("registry+x")), [""; 0]);
        assert_eq!(foreign(&lock("registry+y")), ["b comes from registry+y"]);
        assert_eq!(foreign(&lock("git+z")), ["b comes from git+z"]);
    }
}
