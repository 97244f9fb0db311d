//! Addresses that have moved.

use crate::routes::{Paths, Routes};
use crate::site::RedirectEntry;
use hyper::header::HeaderValue;
use hyper::{StatusCode, Uri};

/// Where an address has moved to.
#[derive(Debug)]
pub(crate) struct Redirect {
    pub(crate) status: StatusCode,
    /// What stands before what followed the old path, and what after it.
    before: String,
    after: String,
    /// Whether what followed the old path is kept.
    keeps_rest: bool,
    query: Option<String>,
    fragment: String,
}

/// The end of a pattern for all paths below one.
const REST: &str = "/{*rest}";

/// What stands for the rest in the new address.
const MARK: &str = "{rest}";

/// The paths that an entry is for.
pub(crate) fn paths(entry: &RedirectEntry) -> Paths<'_> {
    match entry.from.strip_suffix(REST) {
        Some("") => Paths::Below("/"),
        Some(path) => Paths::Below(path),
        None => Paths::Exact(&entry.from),
    }
}

impl Redirect {
    /// Checks where an entry leads to.
    ///
    /// # Errors
    /// When that is no address, or the status is none of a redirect.
    pub(crate) fn new(entry: &RedirectEntry) -> Result<Self, String> {
        let RedirectEntry { from, to, status, .. } = entry;
        let fail = |why: &str| Err(format!("to = {to:?} {why}"));
        if !matches!(status, 301 | 302 | 303 | 307 | 308) {
            return Err(format!("the status {status} is none of 301, 302, 303, 307 and 308"));
        }
        let status = StatusCode::from_u16(*status).map_err(|_| "the status is none".to_owned())?;
        let (address, fragment) = to.find('#').map_or((to.as_str(), ""), |at| to.split_at(at));
        let (address, query) = match address.split_once('?') {
            Some((address, query)) => (address, Some(query.to_owned())),
            None => (address, None),
        };
        let scheme = ["https://", "http://"].into_iter().find_map(|scheme| address.strip_prefix(scheme));
        // Where the path begins.
        let path = match scheme {
            Some(rest) => address.len() - rest.len() + rest.find('/').unwrap_or(rest.len()),
            None if address.starts_with('/') && !address.starts_with("//") => 0,
            None => return fail("is neither a path nor a URL with https:// or http://"),
        };
        let sample = to.replacen(MARK, "x", 1);
        let plain = sample.bytes().all(|byte| byte.is_ascii_graphic() && !b"\\\"<>`^|{}".contains(&byte));
        if !plain || sample.parse::<Uri>().is_err() || scheme.is_some_and(|rest| rest.contains('@')) {
            return fail("is no address: what is not ASCII must be percent-encoded, and only {rest} is filled in");
        }
        let (before, after, keeps_rest) = match address.split_once(MARK) {
            None if to.contains(MARK) => return fail("has its {rest} outside of the path"),
            None => (address, "", false),
            Some(_) if !from.ends_with(REST) => {
                return fail("has a {rest}, so from must end with /{*rest}");
            }
            // Whoever asks would choose a part of the host's name.
            Some((before, _)) if before.len() <= path => return fail("must have a slash between host and {rest}"),
            Some((before, after)) => (before, after, true),
        };
        let (before, after) = (before.to_owned(), after.to_owned());
        Ok(Self { status, before, after, keeps_rest, query, fragment: fragment.to_owned() })
    }

    /// The new address for what followed the old path, and for its query.
    ///
    /// There is none for a rest that begins with a slash: `/{rest}` would then name another host.
    pub(crate) fn location(&self, rest: &str, query: Option<&str>) -> Option<HeaderValue> {
        let mut location = self.before.clone();
        if self.keeps_rest {
            let rest = rest.strip_prefix('/').unwrap_or(rest);
            if rest.starts_with(['/', '\\']) {
                return None;
            }
            location.push_str(rest);
            location.push_str(&self.after);
        }
        let queries = [self.query.as_deref(), query].into_iter().flatten().filter(|query| !query.is_empty());
        for (number, query) in queries.enumerate() {
            location.push(if number == 0 { '?' } else { '&' });
            location.push_str(query);
        }
        location.push_str(&self.fragment);
        HeaderValue::try_from(location).ok()
    }

    /// Where a request to the entry's own place leads to: host, if it names one, and path.
    fn sample(&self) -> Option<(Option<String>, String)> {
        let uri: Uri = self.location("/x", None)?.to_str().ok()?.parse().ok()?;
        Some((uri.host().map(str::to_owned), uri.path().to_owned()))
    }
}

/// Makes sure that no redirect leads back to itself, be it by way of others.
///
/// # Errors
/// When one does.
pub(crate) fn refuse_loops<T>(
    entries: &[RedirectEntry],
    routes: &Routes<T>,
    redirect: impl Fn(&T) -> Option<(usize, &Redirect)>,
) -> Result<(), String> {
    for (number, entry) in entries.iter().enumerate() {
        let any = ["tabi.invalid".to_owned()];
        for host in if entry.hosts.is_empty() { &any[..] } else { &entry.hosts } {
            let mut host = host.replacen('*', "x", 1);
            let old = entry.from.replace("{*rest}", "x");
            let mut at = routes.find(&host, &old).ok().and_then(|found| redirect(found.target));
            // More specific ones may stand before it, and then the way is theirs.
            if at.is_none_or(|(first, _)| first != number) {
                continue;
            }
            for _ in 0..=entries.len() {
                let Some((to, path)) = at.and_then(|(_, redirect)| redirect.sample()) else { break };
                host = to.unwrap_or(host);
                at = routes.find(&host, &path).ok().and_then(|found| redirect(found.target));
                if at.is_some_and(|(next, _)| next == number) {
                    return Err(format!(
                        "the redirect from {:?} leads back to itself; name the hosts that have moved in its hosts, and \
                         for https set server.https_redirect",
                        entry.from
                    ));
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::Place;
    use std::sync::Arc;

    /// What a request to `path` on `example.org` is told, by a redirect of any host.
    #[track_caller]
    fn check(from: &str, to: &str, path: &str, wanted: Option<&str>) {
        let entry = RedirectEntry { from: from.to_owned(), to: to.to_owned(), ..RedirectEntry::default() };
        let redirect = Redirect::new(&entry).expect("a redirect");
        let place = Place { hosts: &[], paths: paths(&entry), title: "it".to_owned() };
        let routes = Routes::new([(place, ())]).map_err(|error| error.to_string()).expect("a place");
        let uri: Uri = path.parse().expect("a target");
        let found = routes.find("example.org", uri.path());
        let got = found.ok().and_then(|found| redirect.location(&uri.path()[found.rest..], uri.query()));
        assert_eq!(got.as_ref().map(|value| value.to_str().expect("text")), wanted, "{from} {to} {path}");
    }

    #[test]
    fn what_follows_and_the_query_are_kept() {
        check("/old", "/new", "/old", Some("/new"));
        check("/old", "/new", "/old?a=b", Some("/new?a=b"));
        check("/old", "/new", "/old/", None);
        check("/old/", "/new", "/old/", Some("/new"));
        check("/old", "/new", "/%6fld?", Some("/new"));
        check("/old", "/new?x#y", "/old", Some("/new?x#y"));
        check("/old", "/new?x#y", "/old?z", Some("/new?x&z#y"));
        check("/old/{*rest}", "https://a.org/new/{rest}", "/old/b/c%20d?e", Some("https://a.org/new/b/c%20d?e"));
        check("/old/{*rest}", "https://a.org/new/{rest}.html", "/old/b", Some("https://a.org/new/b.html"));
        check("/old/{*rest}", "https://a.org/", "/old/b", Some("https://a.org/"));
        check("/old/{*rest}", "/{rest}", "/old/", Some("/"));
        check("/old/{*rest}", "/{rest}", "/old", None);
        check("/{*rest}", "https://a.org/{rest}", "/", Some("https://a.org/"));
        check("/{*rest}", "http://a.org:81/{rest}", "/x", Some("http://a.org:81/x"));
    }

    #[test]
    fn nobody_chooses_the_host() {
        for rest in ["/evil.org", "\\evil.org", "//evil.org", "/\\evil.org"] {
            check("/old/{*rest}", "/{rest}", &["/old/", rest].concat(), None);
            check("/{*rest}", "https://a.org/{rest}", &["/", rest].concat(), None);
        }
        check("/old/{*rest}", "/{rest}", "/old/@evil.org", Some("/@evil.org"));
        check("/old/{*rest}", "/{rest}", "/old/https://evil.org", Some("/https://evil.org"));
        check("/old/{*rest}", "/{rest}", "/old/%2Fevil.org", Some("/%2Fevil.org"));
        check("/old/{*rest}", "/{rest}", "/old/../x", None);
    }

    #[test]
    fn mistakes_are_named() {
        #[track_caller]
        fn err(from: &str, to: &str, status: u16, part: &str) {
            let entry = RedirectEntry { from: from.to_owned(), to: to.to_owned(), status, ..RedirectEntry::default() };
            let error = Redirect::new(&entry).expect_err("an error");
            assert!(error.contains(part), "{error}");
        }
        err("/a", "/b", 304, "none of 301");
        err("/a", "/b", 200, "none of 301");
        err("/a", "", 308, "neither a path nor a URL");
        err("/a", "b", 308, "neither a path nor a URL");
        err("/a", "//b.org/", 308, "neither a path nor a URL");
        err("/a", "javascript:alert(1)", 308, "neither a path nor a URL");
        err("/a", "https://", 308, "is no address");
        err("/a", "https://u@b.org/", 308, "is no address");
        err("/a", "/\\b.org", 308, "is no address");
        err("/a", "/b c", 308, "is no address");
        err("/a", "/ü", 308, "percent-encoded");
        err("/a", "/{name}", 308, "only {rest} is filled in");
        err("/a", "/b/{rest}", 308, "from must end with /{*rest}");
        err("/a/{*rest}", "https://b.org{rest}", 308, "slash between host and {rest}");
        err("/a/{*rest}", "https://{rest}/", 308, "slash between host and {rest}");
        err("/a/{*rest}", "/b?{rest}", 308, "{rest} outside of the path");
        err("/a/{*rest}", "/{rest}/{rest}", 308, "only {rest} is filled in");
    }

    #[test]
    fn what_leads_back_is_refused() {
        /// Redirects of `hosts from to`.
        #[track_caller]
        fn check(all: &[&str], wanted: Result<(), &str>) {
            let entries: Vec<_> = all
                .iter()
                .map(|line| {
                    let [hosts, from, to] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
                    let hosts = hosts.split(',').filter(|host| !host.is_empty()).map(str::to_owned).collect();
                    RedirectEntry { hosts, from: from.to_owned(), to: to.to_owned(), status: 308 }
                })
                .collect();
            let places = entries.iter().enumerate().map(|(number, entry)| {
                let redirect = Arc::new(Redirect::new(entry).expect("a redirect"));
                let place = Place { hosts: &entry.hosts, paths: paths(entry), title: number.to_string() };
                (place, Some((number, redirect)))
            });
            let app = Place { hosts: &["www.a.org".to_owned()], paths: Paths::Prefix("/"), title: "app".to_owned() };
            let routes = Routes::new(places.chain([(app, None)])).map_err(|error| error.to_string()).expect("places");
            let got = refuse_loops(&entries, &routes, |target| target.as_ref().map(|(number, to)| (*number, &**to)));
            let got = got.as_ref().map_err(|why| why.split('"').nth(1).expect("a place")).copied();
            assert_eq!(got, wanted, "{all:?}");
        }
        check(&[" /a /b"], Ok(()));
        check(&[" /a /a"], Err("/a"));
        check(&[" /a /%61?x"], Err("/a"));
        check(&[" /a/{*rest} /a/b/{rest}"], Err("/a/{*rest}"));
        check(&[" /a/{*rest} /a"], Ok(()));
        check(&[" /a /b", " /b /c", " /c /a"], Err("/a"));
        check(&[" /a /b", " /b /c", " /c /c"], Err("/c"));
        check(&[" /a /b", " /b https://b.org/a"], Err("/a"));
        check(&["a.org /{*rest} https://b.org/{rest}"], Ok(()));
        check(&["a.org,b.org /{*rest} https://b.org/{rest}"], Err("/{*rest}"));
        check(&[" /{*rest} https://b.org/{rest}"], Err("/{*rest}"));
        check(&["*.b.org /{*rest} https://x.b.org/{rest}"], Err("/{*rest}"));
        check(&["*.b.org /{*rest} https://b.org/{rest}"], Ok(()));
        // The app answers for that host, so nothing leads back.
        check(&[" /{*rest} https://www.a.org/{rest}"], Ok(()));
    }
}
