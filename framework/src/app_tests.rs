//! Whether many routes are found as few are.

use super::*;
use crate::router::Router;
use alloc::format;

/// Apps with the same routes, with an index and without.
fn twins(patterns: &[String]) -> [Box<App>; 2] {
    [true, false].map(|indexed| {
        let add = |router: Router, pattern: &String| match pattern.len() % 3 {
            0 => router.any(pattern.clone(), async |_| ""),
            1 => router.get(pattern.clone(), async |_| ""),
            _ => router.get(pattern.clone(), async |_| "").post(pattern.clone(), async |_| ""),
        };
        let mut app = patterns.iter().fold(Router::new(), add).into_app();
        if indexed {
            app.index();
            assert_eq!(app.index.is_some(), app.routes.len() >= 16);
        }
        app
    })
}

fn found(app: &App, method: &Method, path: &str) -> (Option<String>, String) {
    let route = app.best(method, path);
    let shown =
        route.map(|route| format!("{} {:?}", route.pattern.as_str(), route.method.as_ref().map(Method::as_str)));
    (shown, app.allow(Some(path)))
}

#[track_caller]
fn check(twins: &[Box<App>; 2], path: &str) -> usize {
    let mut count = 0;
    for method in [Method::GET, Method::HEAD, Method::POST, Method::DELETE] {
        let [indexed, plain] = twins.each_ref().map(|app| found(app, &method, path));
        assert_eq!(indexed, plain, "{} {path}", method.as_str());
        count += usize::from(plain.0.is_some());
    }
    count
}

/// All lists of up to `length` of these.
fn lists(pieces: &[&str], length: usize) -> Vec<String> {
    let mut all = Vec::from([String::new()]);
    let mut last = all.clone();
    for _ in 0..length {
        last = last.iter().flat_map(|list| pieces.iter().map(move |piece| format!("{list}{piece}"))).collect();
        all.extend(last.iter().cloned());
    }
    all
}

#[test]
fn an_index_finds_what_is_found_without() {
    let mut patterns = lists(&["/a", "/ab", "/\u{e9} ", "/{x}", "/"], 3);
    patterns.retain(|pattern| !pattern.is_empty() && pattern.matches("{x}").count() < 2);
    patterns.extend(["/a/{*rest}", "/{y}/a/{*rest}", "/{*rest}"].map(String::from));
    let all = twins(&patterns);
    let pieces = ["/a", "/ab", "/%C3%A9%20", "/%61", "/a%2Fb", "/", "/%2f", "/b", "/%"];
    let matched: usize = lists(&pieces, 4).iter().map(|path| check(&all, path)).sum();
    assert!(matched > 5000, "{matched}");
    // Where few routes begin like a path.
    patterns.truncate(40);
    let few = twins(&patterns);
    assert!(lists(&pieces, 3).iter().map(|path| check(&few, path)).sum::<usize>() > 100);
}

#[test]
fn a_thousand_routes_are_found() {
    let patterns: Vec<_> = (0..1000).map(|number| format!("/{}/{number}/{{id}}", number % 7)).collect();
    let all = twins(&patterns);
    for number in 0..1000 {
        assert!(check(&all, &format!("/{}/{number}/x", number % 7)) > 0, "{number}");
        assert_eq!(check(&all, &format!("/{}/{number}/x", number % 7 + 1)), 0, "{number}");
    }
    // No longer than what there is to look at.
    let looked = all[0].candidates("/3/3/x").count();
    assert!((1..50).contains(&looked), "{looked}");
    // A path of nothing but slashes.
    assert_eq!(check(&all, &"/".repeat(8000)), 0);
}
