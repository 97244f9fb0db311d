//! Which hosts take a component, told from what it exports and imports.
//!
//! The facts are those of wasmtime 48, Spin 4, wasmCloud 2 (wash 2.5) and jco 1.35. That `tabi` and
//! `wasmtime serve` do what is said here is tested against the programs themselves.

use crate::inspect::Outline;
use std::fmt;

/// A host, and what it says to a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The name of the host.
    pub host: &'static str,
    /// Whether it serves the component.
    pub answer: Answer,
}

/// Whether a host serves a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// As it is.
    Runs,
    /// With these flags, or from this version on; and what for.
    With(String, String),
    /// If the host has the very version that the component wants of these.
    Depends(String),
    /// Not at all, and why.
    Refuses(String),
}

impl Answer {
    /// The answer in a word, for programs.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::With(..) => "with",
            Self::Depends(_) => "depends",
            Self::Refuses(_) => "refuses",
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Runs => f.write_str("runs"),
            Self::With(what, why) => write!(f, "runs with {what}, for {why}"),
            Self::Depends(what) => write!(f, "depends on its plugins: it must have {what}"),
            Self::Refuses(why) => write!(f, "refuses it: {why}"),
        }
    }
}

/// What each known host says to a component; `refusal` is why this one does not take it, if so.
#[must_use]
pub fn verdicts(outline: &Outline, refusal: Option<&str>) -> Vec<Verdict> {
    let tabi = refusal.map_or(Answer::Runs, |why| Answer::Refuses(why.to_owned()));
    let needs = Needs::of(outline);
    let others = [
        ("wasmtime serve 48", wasmtime(&needs)),
        ("Spin 4", spin(&needs)),
        ("wasmCloud 2", wasmcloud(&needs)),
        ("jco serve 1.35", jco(&needs)),
    ];
    let others = others.map(|(host, answer)| {
        let answer = if needs.p2 || needs.p3 { answer } else { Answer::Refuses("it has no handler".into()) };
        Verdict { host, answer }
    });
    std::iter::once(Verdict { host: "tabi", answer: tabi }).chain(others).collect()
}

/// A component as hosts look at it.
#[derive(Default)]
struct Needs<'a> {
    /// Whether it exports the handler of 0.2.
    p2: bool,
    /// Whether it exports the handler of 0.3.
    p3: bool,
    /// Imports of 0.3, of whatever package.
    imports_p3: Vec<&'a str>,
    /// Stable interfaces of WASI that are in neither world of `wasi:http`.
    beyond: Vec<&'a str>,
    /// Proposals, drafts and interfaces of other components.
    unusual: Vec<&'a str>,
}

impl<'a> Needs<'a> {
    fn of(outline: &'a Outline) -> Self {
        let exports = |wanted: &str| outline.exports.iter().any(|name| name.starts_with(wanted));
        let mut needs = Self {
            p2: exports("wasi:http/incoming-handler@0.2."),
            p3: exports("wasi:http/handler@0.3."),
            ..Self::default()
        };
        for import in outline.imports.iter().map(String::as_str) {
            let (name, version) = import.split_once('@').unwrap_or((import, ""));
            let package = name.split('/').next().unwrap_or(name);
            let (p2, p3) = (version.starts_with("0.2."), version.starts_with("0.3."));
            if p3 {
                needs.imports_p3.push(import);
            }
            if !STABLE.contains(&package) || version.contains('-') || !(p2 || p3) {
                needs.unusual.push(import);
            } else if !(p2 && PROXY.contains(&name) || p3 && SERVICE.contains(&package)) {
                needs.beyond.push(import);
            }
        }
        needs
    }
}

/// Packages whose 0.2 and 0.3 are final.
const STABLE: [&str; 7] =
    ["wasi:io", "wasi:clocks", "wasi:random", "wasi:cli", "wasi:http", "wasi:filesystem", "wasi:sockets"];

/// What the world `wasi:http/proxy@0.2` imports.
const PROXY: [&str; 11] = [
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:random/random",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/stderr",
    "wasi:http/types",
    "wasi:http/outgoing-handler",
];

/// What hosts of `wasi:http/service@0.3` give at least.
const SERVICE: [&str; 4] = ["wasi:clocks", "wasi:random", "wasi:cli", "wasi:http"];

/// What `wasmtime serve` links when it is asked to: the package with its version, and the flag.
const FLAGS: [(&str, &str, &str); 2] =
    [("wasi:config", "0.2.0-rc.1", "-Sconfig"), ("wasi:keyvalue", "0.2.0-draft", "-Skeyvalue")];

fn wasmtime(needs: &Needs) -> Answer {
    let mut flags: Vec<&str> = Vec::new();
    let mut why = needs.beyond.clone();
    if !needs.beyond.is_empty() {
        flags.push("-Scli");
    }
    for import in &needs.unusual {
        let is = |(package, version, _): &&(&str, &str, &str)| {
            import.starts_with(package) && import.rsplit_once('@').is_some_and(|(_, found)| found == *version)
        };
        match FLAGS.iter().find(is) {
            Some((.., flag)) => {
                flags.push(flag);
                why.push(import);
            }
            None => return Answer::Refuses(format!("it does not know {import}")),
        }
    }
    flags.dedup();
    if flags.is_empty() { Answer::Runs } else { Answer::With(flags.join(" "), why.join(", ")) }
}

fn spin(needs: &Needs) -> Answer {
    if needs.p2 && needs.p3 {
        return Answer::Refuses("it wants exactly one handler, and here are those of 0.2 and 0.3".into());
    }
    if !needs.unusual.is_empty() {
        return Answer::Depends(needs.unusual.join(", "));
    }
    if needs.p3 || !needs.imports_p3.is_empty() {
        return Answer::With("version 4.1 or newer".into(), "wasi:http 0.3".into());
    }
    Answer::Runs
}

fn wasmcloud(needs: &Needs) -> Answer {
    if needs.p2 && !needs.p3 && needs.imports_p3.iter().any(|import| import.starts_with("wasi:http/")) {
        return Answer::Refuses("it takes a component that imports wasi:http 0.3 for one that exports it".into());
    }
    if !needs.unusual.is_empty() {
        return Answer::Depends(needs.unusual.join(", "));
    }
    if needs.p3 { Answer::With("wash 2.5 or newer".into(), "wasi:http 0.3".into()) } else { Answer::Runs }
}

fn jco(needs: &Needs) -> Answer {
    if needs.p3 {
        let why = if needs.p2 { "it fails on a component with both handlers" } else { "it serves 0.2 alone" };
        return Answer::Refuses(why.into());
    }
    if let Some(import) = needs.imports_p3.first().or(needs.unusual.first()) {
        return Answer::Refuses(format!("it does not know {import}"));
    }
    Answer::Runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::World;

    /// The answers of wasmtime, Spin, wasmCloud and jco.
    #[track_caller]
    fn check(exports: &[&str], imports: &[&str], wanted: [&str; 4]) {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let outline =
            Outline { world: World::P2, exports: owned(exports), imports: owned(imports), memory: 0, origin: None };
        let verdicts = verdicts(&outline, None);
        assert_eq!(verdicts[0].answer, Answer::Runs);
        for (verdict, wanted) in verdicts[1..].iter().zip(wanted) {
            let text = verdict.answer.to_string();
            assert!(text.starts_with(wanted), "{}: {text}", verdict.host);
        }
    }

    #[test]
    fn hosts_differ_in_what_they_take() {
        let (p2, p3) = ("wasi:http/incoming-handler@0.2.12", "wasi:http/handler@0.3.2");
        check(&[p2], &["wasi:http/types@0.2.12", "wasi:io/streams@0.2.6", "wasi:cli/stderr@0.2.0"], ["runs"; 4]);
        let all = ["runs with -Scli, for wasi:cli/environment@0.2.6", "runs", "runs", "runs"];
        check(&[p2], &["wasi:cli/environment@0.2.6"], all);
        let all = ["runs with -Scli, for wasi:filesystem/types@0.2.6, wasi:sockets/tcp@0.2.6", "runs", "runs", "runs"];
        check(&[p2], &["wasi:filesystem/types@0.2.6", "wasi:sockets/tcp@0.2.6"], all);
        let new = ["runs", "runs with version 4.1", "runs with wash 2.5", "refuses it: it serves 0.2 alone"];
        check(&[p3], &["wasi:http/types@0.3.0", "wasi:cli/environment@0.3.0"], new);
        let new = ["runs with -Scli", "runs with version 4.1", "runs with wash 2.5", "refuses"];
        check(&[p3], &["wasi:filesystem/types@0.3.0"], new);
        let both = ["runs", "refuses it: it wants exactly one", "runs with wash", "refuses it: it fails on"];
        check(&[p2, p3], &[], both);
        let out = ["runs", "runs with version 4.1", "refuses it: it takes", "refuses it: it does not know wasi:http/c"];
        check(&[p2], &["wasi:http/client@0.3.0"], out);
        let store = ["runs with -Skeyvalue, for wasi:keyvalue/store@0.2.0-draft", "depends", "depends", "refuses"];
        check(&[p2], &["wasi:keyvalue/store@0.2.0-draft"], store);
        let other = ["refuses it: it does not know wasi:keyvalue/store@0.2.0-draft2", "depends", "depends", "refuses"];
        check(&[p2], &["wasi:keyvalue/store@0.2.0-draft2"], other);
        check(&[p2], &["wasi:config/store@0.2.0-rc.1"], ["runs with -Sconfig", "depends", "depends", "refuses"]);
        check(&[p2], &["acme:db/query"], ["refuses", "depends", "depends", "refuses"]);
        check(&[p2], &["wasi:http/types@0.3.0-rc-2025"], ["refuses", "depends", "refuses", "refuses"]);
        check(&["wasi:cli/run@0.2.0"], &[], ["refuses it: it has no handler"; 4]);
    }

    #[test]
    fn why_this_host_refuses_is_told() {
        let outline = Outline { world: World::P2, exports: Vec::new(), imports: Vec::new(), memory: 0, origin: None };
        let verdict = &verdicts(&outline, Some("no"))[0];
        assert_eq!((verdict.host, verdict.answer.to_string().as_str()), ("tabi", "refuses it: no"));
    }
}
