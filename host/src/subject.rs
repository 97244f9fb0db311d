//! What the command line asks for: one component, or the apps of the configuration.

use crate::cli::BuildOptions;
use std::path::{Path, PathBuf};
use tabi_host::{Config, Host, Log, Server, StartError};

/// Where components come from, at the start and whenever they have changed.
pub enum Subject {
    /// A component, or the folder of a crate, that the command line names.
    One(PathBuf),
    /// Those of the configuration.
    Apps(Vec<PathBuf>),
}

impl Subject {
    /// Reads what is meant: without a path the apps of the configuration, and if it has none the crate in the current
    /// folder.
    pub fn of(path: Option<&Path>, config: &Config, log: &Log) -> Self {
        let site = &config.site;
        if let Some(path) = path {
            if !site.apps.is_empty() {
                log.line("tabi: the [[apps]] of the configuration are left out, because the command line names one");
            }
            return Self::One(path.to_owned());
        }
        if site.is_empty() || (site.apps.is_empty() && Path::new("Cargo.toml").is_file()) {
            return Self::One(".".into());
        }
        Self::Apps(site.apps.iter().map(|app| app.path.clone()).collect())
    }

    /// The files and folders that components are made of.
    pub fn sources(&self) -> &[PathBuf] {
        match self {
            Self::One(path) => std::slice::from_ref(path),
            Self::Apps(paths) => paths,
        }
    }

    /// Builds what has to be built and loads it.
    ///
    /// # Errors
    /// When something does not build or can't be served.
    pub fn load(&self, mut config: Config, options: &BuildOptions, log: &Log) -> Result<Host, StartError> {
        match self {
            Self::One(path) => Host::load(&component(path, options)?, config, log.clone()),
            Self::Apps(paths) => {
                for (app, path) in config.site.apps.iter_mut().zip(paths) {
                    // The name is that of the folder, and not of what is built in it.
                    app.name = app.name();
                    app.path = component(path, options)?;
                }
                Host::load_apps(config, log.clone())
            }
        }
    }

    /// Has `server` serve what has changed; what does not build or load stays as it was.
    pub fn reload(&self, host: &mut Host, server: &Server, options: &BuildOptions, log: &Log) {
        let paths = match self {
            Self::One(path) => {
                let done = component(path, options).and_then(|path| host.reload(server, &path));
                return log.line(match done {
                    Ok(()) => "tabi: the component has changed and is served from now on".to_owned(),
                    Err(why) => format!("tabi: the old component is still served: {why}"),
                });
            }
            Self::Apps(paths) => paths,
        };
        let mut quiet = true;
        for (number, path) in paths.iter().enumerate() {
            let name = host.apps().get(number).map(|app| app.name().to_owned()).unwrap_or_default();
            let done = component(path, options).and_then(|path| host.reload_app(server, number, &path));
            let line = match done {
                Ok(false) => continue,
                Ok(true) => format!("tabi: app {name:?} has changed and is served from now on"),
                Err(why) => format!("tabi: the old app {name:?} is still served: {why}"),
            };
            log.line(line);
            quiet = false;
        }
        if quiet {
            log.line("tabi: no app has changed");
        }
    }
}

/// The component at `path`, built before if that is the folder of a crate.
///
/// # Errors
/// When it does not build.
pub fn component(path: &Path, options: &BuildOptions) -> Result<PathBuf, StartError> {
    if path.is_dir() { build(path, options) } else { Ok(path.to_owned()) }
}

/// Says that nothing is built here.
///
/// # Errors
/// Always.
#[cfg(not(feature = "compiler"))]
fn build(dir: &Path, _: &BuildOptions) -> Result<PathBuf, StartError> {
    let name = dir.display();
    Err(StartError::new(format!("{name} is a folder, and this tabi has no compiler: name a file of `tabi compile`")))
}

/// Builds the crate in `dir`.
///
/// # Errors
/// When there is none, or it does not build.
#[cfg(feature = "compiler")]
pub fn build(dir: &Path, options: &BuildOptions) -> Result<PathBuf, StartError> {
    if !dir.is_dir() {
        return Err(StartError::new(format!("{} is not a folder", dir.display())));
    }
    let options = tabi_toolchain::Options {
        release: !options.debug,
        features: options.features.clone(),
        no_default_features: options.no_default_features,
        ..Default::default()
    };
    let progress = &mut |line: &str| eprintln!("{line}");
    let fail = |error: tabi_toolchain::Error| StartError::new(error.to_string());
    tabi_toolchain::ensure_wasm_target_in(dir, progress).map_err(fail)?;
    tabi_toolchain::build_component(dir, &options, progress).map_err(fail)
}
