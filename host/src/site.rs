//! What is served where, as the operator writes it: apps, folders and redirects.

use crate::{Config, Grants, keys};
use std::path::{Path, PathBuf};

/// Everything that a host serves besides a component that the command line names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// Components, each with its hosts and its prefix.
    pub apps: Vec<AppEntry>,
    /// Folders whose files the host itself serves.
    pub folders: Vec<FolderEntry>,
    /// Addresses that have moved.
    pub redirects: Vec<RedirectEntry>,
}

impl Site {
    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.apps.is_empty() && self.folders.is_empty() && self.redirects.is_empty()
    }
}

/// One `[[apps]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppEntry {
    /// What log and metrics call it; empty for the name of its file.
    pub name: String,
    /// The component, or the folder of a crate that builds one.
    pub path: PathBuf,
    /// The hosts that it answers for, such as `example.org` or `*.example.org`; none for any.
    pub hosts: Vec<String>,
    /// Where its paths begin.
    pub prefix: String,
    /// Whether the app sees its paths without the prefix.
    pub strip_prefix: bool,
    /// Keys of the configuration that are different for it, each with its value.
    pub own: Vec<(String, String)>,
}

/// One `[[static]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderEntry {
    /// The folder.
    pub path: PathBuf,
    /// The hosts that it is for; none for any.
    pub hosts: Vec<String>,
    /// Where its paths begin.
    pub prefix: String,
    /// The file that stands for its folder; empty for none.
    pub index: String,
    /// The file for paths that are no file and look like none; empty for 404.
    pub fallback: String,
    /// The `Cache-Control` of its files; empty for none.
    pub cache_control: String,
    /// Whether `app.js.br` and `app.js.gz` are sent for `app.js` to clients that take them.
    pub precompressed: bool,
}

/// One `[[redirects]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedirectEntry {
    /// The path that has moved, or with `/{*rest}` at its end all paths below it.
    pub from: String,
    /// The hosts that it is for; none for any.
    pub hosts: Vec<String>,
    /// Where it is now: a path or a URL, with `{rest}` for what followed.
    pub to: String,
    /// 301, 302, 303, 307 or 308.
    pub status: u16,
}

impl Default for AppEntry {
    fn default() -> Self {
        Self {
            name: String::new(),
            path: PathBuf::new(),
            hosts: Vec::new(),
            prefix: "/".to_owned(),
            strip_prefix: false,
            own: Vec::new(),
        }
    }
}

impl Default for FolderEntry {
    fn default() -> Self {
        Self {
            path: PathBuf::new(),
            hosts: Vec::new(),
            prefix: "/".to_owned(),
            index: "index.html".to_owned(),
            fallback: String::new(),
            // Caches ask before each use, which a tag answers without the file.
            cache_control: "no-cache".to_owned(),
            precompressed: true,
        }
    }
}

impl Default for RedirectEntry {
    fn default() -> Self {
        Self { from: String::new(), hosts: Vec::new(), to: String::new(), status: 308 }
    }
}

impl AppEntry {
    /// An app that answers everything.
    #[must_use]
    pub fn whole(path: &Path) -> Self {
        Self { path: path.to_owned(), ..Self::default() }
    }

    /// What log and metrics call it.
    #[must_use]
    pub fn name(&self) -> String {
        if !self.name.is_empty() {
            return self.name.clone();
        }
        // A crate folder may be the current one.
        let real = self.path.canonicalize().unwrap_or_else(|_| self.path.clone());
        real.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The configuration as it is for this app: that of the host without its grants, and over it the app's own keys.
    ///
    /// # Errors
    /// When a key can't be different for an app, or its value means nothing.
    pub fn config(&self, host: &Config) -> Result<Config, String> {
        let mut config = Config { grants: Grants::default(), site: Site::default(), ..host.clone() };
        for (key, value) in &self.own {
            keys::find_own(key)?;
            crate::file::set(&mut config, key, value).map_err(|why| format!("{key}: {why}"))?;
        }
        Ok(config)
    }
}
