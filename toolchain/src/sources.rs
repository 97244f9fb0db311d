//! The machine's own apt sources: which mirror of Debian's archive it uses, signed by whom.
//!
//! Only the suite is replaced, so no host name is ours, and a company's mirror stays in use.

use std::fs;
use std::path::Path;

/// The suites of Debian's main archive: other archives have none of these, or not this package.
const SUITES: [&str; 10] =
    ["sid", "unstable", "testing", "stable", "oldstable", "bullseye", "bookworm", "trixie", "forky", "duke"];

/// One archive that the machine downloads packages from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    /// Where it is.
    pub(crate) uri: String,
    /// The `Signed-By` field as it stands: a path to a key ring or a whole key, over several lines.
    pub(crate) signed_by: Option<String>,
}

impl Source {
    /// The text of a `.sources` file for `suite` of the same archive.
    pub(crate) fn with_suite(&self, suite: &str) -> String {
        let mut text = format!("Types: deb\nURIs: {}\nSuites: {suite}\nComponents: main\n", self.uri);
        if let Some(keys) = &self.signed_by {
            text.push_str("Signed-By: ");
            text.push_str(keys);
            text.push('\n');
        }
        text
    }
}

/// The archives of Debian that are configured below `etc` (`/etc/apt`), in order, each once.
pub(crate) fn configured(etc: &Path) -> Vec<Source> {
    let mut files = vec![etc.join("sources.list")];
    let parts = fs::read_dir(etc.join("sources.list.d")).into_iter().flatten().flatten();
    let mut parts: Vec<_> = parts.map(|entry| entry.path()).collect();
    parts.sort();
    files.extend(parts);
    let mut found = Vec::new();
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else {
            continue;
        };
        let sources = match file.extension().and_then(|extension| extension.to_str()) {
            Some("list") => from_list(&text),
            Some("sources") => from_deb822(&text),
            _ => continue,
        };
        for source in sources {
            if !found.contains(&source) {
                found.push(source);
            }
        }
    }
    found
}

/// The one-line form: `deb [signed-by=…] URI suite component…`.
fn from_list(text: &str) -> Vec<Source> {
    text.lines().filter_map(from_line).collect()
}

fn from_line(line: &str) -> Option<Source> {
    let line = line.split('#').next()?.trim().strip_prefix("deb")?;
    let mut rest = line.strip_prefix([' ', '\t'])?.trim_start();
    let mut signed_by = None;
    if let Some(inside) = rest.strip_prefix('[') {
        let (options, after) = inside.split_once(']')?;
        signed_by = options.split_whitespace().find_map(|option| option.strip_prefix("signed-by=")).map(str::to_owned);
        rest = after.trim_start();
    }
    let mut words = rest.split_whitespace();
    let (uri, suite) = (words.next()?, words.next()?);
    let wanted = is_debian(suite) && is_downloadable(uri) && words.any(|component| component == "main");
    wanted.then(|| Source { uri: uri.to_owned(), signed_by })
}

/// The paragraphs of fields that newer machines have.
fn from_deb822(text: &str) -> Vec<Source> {
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let paragraphs = lines.split(|line| line.trim().is_empty());
    paragraphs.flat_map(from_paragraph).collect()
}

fn from_paragraph(lines: &[&str]) -> Vec<Source> {
    let words = |name| field(lines, name).unwrap_or_default();
    let has = |name, word: &dyn Fn(&str) -> bool| words(name).split_whitespace().any(word);
    let enabled = !matches!(words("enabled").trim(), "no" | "false" | "0" | "off" | "without" | "disable");
    if !enabled || !has("types", &|t| t == "deb") || !has("suites", &is_debian) || !has("components", &|c| c == "main")
    {
        return Vec::new();
    }
    let signed_by = field(lines, "signed-by").filter(|keys| !keys.is_empty());
    let uris = words("uris");
    let uris = uris.split_whitespace().filter(|uri| is_downloadable(uri));
    uris.map(|uri| Source { uri: uri.to_owned(), signed_by: signed_by.clone() }).collect()
}

/// The value of a field with the lines that continue it.
fn field(lines: &[&str], name: &str) -> Option<String> {
    let is_named = |line: &&str| line.split_once(':').is_some_and(|(key, _)| key.trim().eq_ignore_ascii_case(name));
    let start = lines.iter().position(is_named)?;
    let (_, first) = lines.get(start)?.split_once(':')?;
    let mut value = first.trim().to_owned();
    for line in lines.iter().skip(start + 1).take_while(|line| line.starts_with([' ', '\t'])) {
        value.push('\n');
        value.push_str(line);
    }
    Some(value)
}

fn is_debian(suite: &str) -> bool {
    // The security archive is another one: it has the suite's name too, but not its packages.
    let base = suite.split('-').next().unwrap_or(suite);
    SUITES.contains(&base) && !suite.contains("security")
}

fn is_downloadable(uri: &str) -> bool {
    !uri.starts_with("cdrom:")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::tests::Scratch;

    const RING: &str = "/usr/share/keyrings/archive.gpg";

    #[track_caller]
    fn check(name: &str, text: &str, expected: &[(&str, Option<&str>)]) {
        let scratch = Scratch::new("sources");
        let file = scratch.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        let found = configured(scratch.path());
        let found: Vec<_> = found.iter().map(|source| (source.uri.as_str(), source.signed_by.as_deref())).collect();
        assert_eq!(found, expected, "{name}: {text}");
    }

    #[test]
    fn reads_the_one_line_form() {
        let list = |text: &str, expected: &[_]| check("sources.list", text, expected);
        list("deb http://mirror.test/debian bookworm main\n", &[("http://mirror.test/debian", None)]);
        list("# deb http://a.test/debian bookworm main\ndeb-src http://a.test/debian bookworm main", &[]);
        list(
            &format!("deb [arch=amd64 signed-by={RING}] http://m.test/d trixie main # x"),
            &[("http://m.test/d", Some(RING))],
        );
        list("deb\thttp://m.test/d   sid\tcontrib main", &[("http://m.test/d", None)]);
        list("deb http://m.test/debian-security bookworm-security main", &[]);
        list("deb http://m.test/debian-security bookworm/updates main", &[]);
        list(
            "deb http://m.test/d bookworm-updates main\ndeb http://m.test/d bookworm main",
            &[("http://m.test/d", None)],
        );
        list("deb https://other.test/ubuntu noble main", &[]);
        list("deb https://other.test/node nodistro main", &[]);
        list("deb http://m.test/d bookworm contrib", &[]);
        list("deb cdrom:[disc]/ bookworm main", &[]);
        list("deb http://m.test/d", &[]);
        list("deb [oops http://m.test/d sid main", &[]);
        list("debris http://m.test/d sid main", &[]);
        list("", &[]);
    }

    #[test]
    fn reads_the_paragraph_form() {
        let sources = |text: &str, expected: &[_]| check("sources.list.d/debian.sources", text, expected);
        let whole = format!(
            "# comment\nTypes: deb deb-src\n# snapshot\nURIs: http://m.test/d\nSuites: bookworm bookworm-updates\n\
             Components: main\nSigned-By: {RING}\n\nTypes: deb\nURIs: http://m.test/s\nSuites: bookworm-security\nComponents: main\n"
        );
        sources(&whole, &[("http://m.test/d", Some(RING))]);
        sources(
            "types:deb\nuris: http://a.test/ http://b.test/\nsuites: sid\ncomponents: main contrib",
            &[("http://a.test/", None), ("http://b.test/", None)],
        );
        sources("Enabled: no\nTypes: deb\nURIs: http://a.test/\nSuites: sid\nComponents: main", &[]);
        sources("Types: deb-src\nURIs: http://a.test/\nSuites: sid\nComponents: main", &[]);
        sources("Types: deb\nURIs:\n http://a.test/\nSuites:\n sid\nComponents: main", &[("http://a.test/", None)]);
        let key = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mDME\n -----END PGP PUBLIC KEY BLOCK-----";
        let text = format!("Types: deb\nURIs: http://a.test/\nSuites: sid\nComponents: main\nSigned-By: {key}\nX: y\n");
        sources(&text, &[("http://a.test/", Some(key))]);
    }

    #[test]
    fn passes_over_files_that_apt_passes_over() {
        check("sources.list.d/x.list", "deb http://m.test/d sid main", &[("http://m.test/d", None)]);
        check("sources.list.d/x.list.disabled", "deb http://m.test/d sid main", &[]);
        check("sources.list.d/x.save", "deb http://m.test/d sid main", &[]);
        check("nothing", "", &[]);
    }

    #[test]
    fn changes_the_suite_alone() {
        let source = Source { uri: "http://m.test/d".into(), signed_by: Some(RING.into()) };
        let text = source.with_suite("trixie-backports");
        assert_eq!(
            text,
            format!(
                "Types: deb\nURIs: http://m.test/d\nSuites: trixie-backports\nComponents: main\nSigned-By: {RING}\n"
            )
        );
    }
}
