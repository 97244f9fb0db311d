//! What a worker serves at this moment, and what a request is for.

use crate::engine::App;
use crate::folder::Folder;
use crate::metrics::Metrics;
use crate::redirects::{self, Redirect};
use crate::routes::{Miss, Paths, Place, Routes};
use crate::site::Site;
use crate::worker::{Dispatch, Shared};
use crate::{Limits, StartError};
use hyper::header::HeaderValue;
use hyper::{StatusCode, Uri};
use std::path::Path;
use std::sync::Arc;

/// The places of everything; `None` when the one app answers it all and nothing has to be looked up.
pub(crate) struct Map(Option<Routes<Target>>);

/// What a place leads to.
#[derive(Clone)]
enum Target {
    /// The app of this number.
    App(usize),
    Folder(Arc<Folder>),
    /// The redirect of this number.
    Redirect(usize, Arc<Redirect>),
}

/// The apps of one worker with their places.
pub(crate) struct Board {
    pub(crate) map: Arc<Map>,
    pub(crate) apps: Vec<Arc<Served>>,
}

/// An app as one worker serves it.
pub(crate) struct Served {
    /// What the log calls it, where there are several.
    pub(crate) name: Option<Arc<str>>,
    /// Its place among the apps, which metrics go by.
    pub(crate) number: usize,
    pub(crate) limits: Arc<Limits>,
    /// The prefix that is taken off its paths.
    pub(crate) stripped: Option<HeaderValue>,
    pub(crate) dispatch: Dispatch,
}

/// What a request is for.
pub(crate) enum Found<'a> {
    /// An app, and where in the path begins what follows its prefix.
    App(&'a Served, usize),
    /// A folder, and where in the path begins what follows its prefix.
    Folder(&'a Arc<Folder>, usize),
    Redirect(StatusCode, HeaderValue),
}

/// The status for a request that nothing is for.
pub(crate) fn status(miss: Miss, https: bool) -> StatusCode {
    match miss {
        Miss::Dots => StatusCode::BAD_REQUEST,
        // RFC 9110 15.5.20: a client that uses a connection for another host, as its certificate allows, may try
        // again with one of its own. Without TLS there is only one way to this host.
        Miss::Host if https => StatusCode::MISDIRECTED_REQUEST,
        Miss::Host | Miss::Path => StatusCode::NOT_FOUND,
    }
}

impl Map {
    /// The map for an app that answers whatever nothing else of `site` is for.
    ///
    /// # Errors
    /// When an entry makes no sense, or two have the same place.
    pub(crate) fn around_one(path: &Path, site: &Site) -> Result<Self, StartError> {
        if site.folders.is_empty() && site.redirects.is_empty() {
            return Ok(Self(None));
        }
        let whole = Place { hosts: &[], paths: Paths::Prefix("/"), title: format!("the app {}", path.display()) };
        draw(vec![(whole, Target::App(0))], site)
    }

    /// The map for all that is in `site`.
    ///
    /// # Errors
    /// When an entry makes no sense, or two have the same place or name.
    pub(crate) fn of_all(site: &Site) -> Result<Self, StartError> {
        let mut places: Vec<(Place<'_>, Target)> = Vec::new();
        let mut names = std::collections::HashMap::new();
        for (number, app) in site.apps.iter().enumerate() {
            let name = app.name();
            let (path, fail) = (app.path.display(), |why: String| StartError::new(format!("app {name:?}: {why}")));
            let fine = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            if name.is_empty() || !name.bytes().all(fine) {
                return Err(fail("give it a name of letters, digits, dots, - and _".to_owned()));
            }
            if let Some(other) = names.insert(name.clone(), &app.path) {
                let other = other.display();
                return Err(fail(format!("{other} and {path} both have this name; give one of them another")));
            }
            let title = format!("app {name:?} ({path})");
            let place = Place { hosts: &app.hosts, paths: Paths::Prefix(&app.prefix), title };
            places.push((place, Target::App(number)));
        }
        draw(places, site)
    }
}

fn draw<'a>(mut places: Vec<(Place<'a>, Target)>, site: &'a Site) -> Result<Map, StartError> {
    for entry in &site.folders {
        let folder = Target::Folder(Arc::new(Folder::new(entry)?));
        let title = format!("the folder {}", entry.path.display());
        places.push((Place { hosts: &entry.hosts, paths: Paths::Prefix(&entry.prefix), title }, folder));
    }
    for (number, entry) in site.redirects.iter().enumerate() {
        let title = format!("the redirect from {:?}", entry.from);
        let redirect = Redirect::new(entry).map_err(|why| StartError::new(format!("{title}: {why}")))?;
        let place = Place { hosts: &entry.hosts, paths: redirects::paths(entry), title };
        places.push((place, Target::Redirect(number, Arc::new(redirect))));
    }
    let routes = Routes::new(places)?;
    redirects::refuse_loops(&site.redirects, &routes, |target| match target {
        Target::Redirect(number, redirect) => Some((*number, redirect)),
        Target::App(_) | Target::Folder(_) => None,
    })
    .map_err(StartError::new)?;
    Ok(Map(Some(routes)))
}

impl Board {
    /// Finds out what a request is for.
    ///
    /// # Errors
    /// When there is nothing of that host or path.
    pub(crate) fn find(&self, uri: &Uri) -> Result<Found<'_>, Miss> {
        let app = |number: usize, rest| self.apps.get(number).map(|app| Found::App(app, rest)).ok_or(Miss::Path);
        let Some(routes) = &self.map.0 else { return app(0, 0) };
        let found = routes.find(uri.host().unwrap_or_default(), uri.path())?;
        match found.target {
            Target::App(number) => app(*number, found.rest),
            Target::Folder(folder) => Ok(Found::Folder(folder, found.rest)),
            Target::Redirect(_, redirect) => {
                let rest = uri.path().get(found.rest..).unwrap_or_default();
                let location = redirect.location(rest, uri.query()).ok_or(Miss::Path)?;
                Ok(Found::Redirect(redirect.status, location))
            }
        }
    }

    /// The board with another app in the place of this number.
    pub(crate) fn with(&self, number: usize, app: Arc<Served>) -> Self {
        let mut apps = self.apps.clone();
        if let Some(place) = apps.get_mut(number) {
            *place = app;
        }
        Self { map: self.map.clone(), apps }
    }
}

impl Served {
    /// Makes what one worker needs for `app`, the one of this number among `count`.
    pub(crate) fn new(number: usize, app: &App, count: usize, shared: &Shared, metrics: &Arc<Metrics>) -> Self {
        Self {
            name: app.name.clone(),
            number,
            limits: app.limits.clone(),
            stripped: app.stripped.clone(),
            dispatch: Dispatch::new(app, count, shared, metrics),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_asked_twice_in_vain() {
        for (miss, plain, tls) in [(Miss::Host, 404, 421), (Miss::Path, 404, 404), (Miss::Dots, 400, 400)] {
            assert_eq!([status(miss, false), status(miss, true)].map(|status| status.as_u16()), [plain, tls]);
        }
    }
}
