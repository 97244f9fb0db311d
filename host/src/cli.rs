//! The command line.

use clap::{Args, Parser, Subcommand};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tabi_host::{StartError, file, keys};

/// Serves WebAssembly components over HTTP.
#[derive(Debug, Parser)]
#[command(name = "tabi", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Examples:
  tabi serve apps/hello            build the crate in apps/hello and serve it
  tabi serve app.wasm --port 0     serve a component on a free port
  tabi build apps/hello            build only, and print where the component is
  tabi compile app.wasm            compile it, for a start without compiler
  tabi config                      print every setting with its default and meaning")]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve a component, or the component that a crate folder builds
    Serve(Target),
    #[cfg(feature = "compiler")]
    /// Serve a crate folder, and build and serve it anew whenever a file in it changes
    Dev(Target),
    #[cfg(feature = "compiler")]
    /// Build a crate folder into a component
    Build(Build),
    #[cfg(feature = "compiler")]
    /// Compile a component to machine code, which any tabi of this version serves at once.
    ///
    /// The file is run as it is, without the walls around WebAssembly: serve none that comes from strangers.
    Compile(Compile),
    /// Check the configuration and a component, and tell which hosts serve it
    Check {
        #[command(flatten)]
        target: Target,
        /// Print one line of JSON instead
        #[arg(long)]
        json: bool,
    },
    /// Print the configuration as it would be used, as a commented tabi.toml
    Config(Config),
}

#[derive(Debug, Args)]
pub struct Target {
    /// A component (.wasm), or the folder of a crate that builds one [default: the apps of the
    /// configuration, and if it has none the current folder]
    pub path: Option<PathBuf>,
    #[command(flatten)]
    pub settings: Settings,
    #[command(flatten)]
    pub build: BuildOptions,
}

#[derive(Debug, Args)]
pub struct Config {
    /// Where to look for tabi.toml
    #[arg(default_value = ".")]
    pub path: PathBuf,
    #[command(flatten)]
    pub settings: Settings,
}

/// Flags stand above the environment, the environment above the table of the mode, that above the
/// rest of the file, and the file above the defaults.
#[derive(Debug, Args)]
pub struct Settings {
    #[command(flatten)]
    pub listen: Listen,
    /// Configuration file [default: tabi.toml in the crate's folder, else in the current one]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The table of the configuration file that lies over the rest: dev or prod
    /// [default: dev for `tabi dev`, else prod]
    #[arg(long, value_parser = ["dev", "prod"])]
    pub mode: Option<String>,
    /// Set any key of the configuration, such as limits.body_bytes=1MiB
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Requests that one instance of a 0.2 component answers before it is replaced.
    ///
    /// The default keeps requests apart from each other; more is faster, and the guest's memory
    /// then lives from one request to the next.
    #[arg(long, value_name = "COUNT")]
    pub reuse: Option<u32>,
    /// Worker threads [default: one per core]
    #[arg(long, value_name = "COUNT")]
    pub threads: Option<usize>,
    /// Write a line for each request to the log
    #[arg(long, value_name = "FORM", num_args = 0..=1, default_missing_value = "text")]
    #[arg(value_parser = ["off", "text", "json", "combined"])]
    pub access_log: Option<String>,
    /// Dump requests and responses into the log
    #[arg(long)]
    pub trace: bool,
    /// Serve https as well, with a self-signed certificate for development
    #[arg(long)]
    pub tls_dev: bool,
    /// Compile anew instead of using the compiled components in the user's cache folder
    #[arg(long)]
    pub no_cache: bool,
}

#[derive(Debug, Args)]
pub struct Listen {
    /// Address and port together, such as 0.0.0.0:8080 or `[::1]:8080`
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["host", "port"])]
    pub addr: Option<SocketAddr>,
    /// Address to listen on [env: TABI_HOST] [default: 127.0.0.1]
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// Port to listen on; 0 takes a free one [env: TABI_PORT] [default: 8080]
    #[arg(long, short, value_name = "PORT")]
    pub port: Option<u16>,
}

#[cfg(feature = "compiler")]
#[derive(Debug, Args)]
pub struct Compile {
    /// A component (.wasm), or the folder of a crate that builds one
    #[arg(default_value = ".")]
    pub path: PathBuf,
    /// The file to write [default: beside the component, with .cwasm at its end]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// For every processor of this architecture, not only for those that can do what this one can; slower
    #[arg(long)]
    pub portable: bool,
    #[command(flatten)]
    pub build: BuildOptions,
}

#[cfg(feature = "compiler")]
#[derive(Debug, Args)]
pub struct Build {
    /// The folder of the crate
    #[arg(default_value = ".")]
    pub path: PathBuf,
    #[command(flatten)]
    pub build: BuildOptions,
}

/// How a crate is built; without compiler there is nothing to say.
#[derive(Debug, Args)]
pub struct BuildOptions {
    #[cfg(feature = "compiler")]
    /// Build without optimisations, which is quicker to build and slower to run
    #[arg(long)]
    pub debug: bool,
    #[cfg(feature = "compiler")]
    /// Features of the crate to build with, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub features: Vec<String>,
    #[cfg(feature = "compiler")]
    /// Leave out the crate's default features
    #[arg(long)]
    pub no_default_features: bool,
}

impl Target {
    /// Where the configuration is looked for.
    pub fn folder(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new("."))
    }
}

impl Settings {
    /// Lays file, environment and flags over the defaults.
    ///
    /// # Errors
    /// When one of them has a key or a value that means nothing.
    pub fn resolve(&self, path: &Path, env: impl Fn(&str) -> Option<String>) -> Result<tabi_host::Config, StartError> {
        let mut config = tabi_host::Config::default();
        if let Some(file) = self.file(path) {
            file::apply(&mut config, &file, self.mode.as_deref().unwrap_or("prod"))?;
        }
        let mut set = |key: &str, from: &str, value: &str| {
            file::set(&mut config, key, value).map_err(|why| StartError::new(format!("{from}: {why}")))
        };
        let env = |name: &str| env(name).filter(|value| !value.is_empty());
        for (key, name) in [("server.host", "TABI_HOST"), ("server.port", "TABI_PORT")] {
            if let Some(value) = env(name) {
                set(key, name, &value)?;
            }
        }
        for key in keys::KEYS {
            let name = format!("TABI_{}", key.name.replace('.', "_").to_uppercase());
            if let Some(value) = env(&name) {
                set(key.name, &name, &value)?;
            }
        }
        for pair in &self.sets {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| StartError::new(format!("--set {pair}: write KEY=VALUE")))?;
            set(key, "--set", value)?;
        }
        if let Some(addr) = self.listen.addr {
            set("server.host", "--addr", &addr.ip().to_string())?;
            set("server.port", "--addr", &addr.port().to_string())?;
        }
        let flags = [
            ("server.host", "--host", self.listen.host.clone()),
            ("server.port", "--port", self.listen.port.map(|port| port.to_string())),
            ("instances.requests_p2", "--reuse", self.reuse.map(|count| count.to_string())),
            ("server.threads", "--threads", self.threads.map(|count| count.to_string())),
            ("server.access_log", "--access-log", self.access_log.clone()),
            ("server.trace", "--trace", self.trace.then(|| "on".to_owned())),
            ("server.tls_dev", "--tls-dev", self.tls_dev.then(|| "on".to_owned())),
            ("server.cache_dir", "--no-cache", self.no_cache.then(String::new)),
        ];
        for (key, flag, value) in flags {
            if let Some(value) = value {
                set(key, flag, &value)?;
            }
        }
        Ok(config)
    }

    /// The configuration file: the given one, or one that lies where it usually does.
    fn file(&self, path: &Path) -> Option<PathBuf> {
        if self.config.is_some() {
            return self.config.clone();
        }
        let folder = if path.is_dir() { path } else { Path::new(".") };
        [folder, Path::new(".")].map(|dir| dir.join("tabi.toml")).into_iter().find(|file| file.is_file())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(args: &[&str], env: &[(&str, &str)], wanted: Result<&str, &str>) {
        let cli = Cli::try_parse_from(["tabi", "serve", "x"].iter().chain(args)).expect("valid");
        let Command::Serve(serve) = cli.command else { panic!("serve") };
        let env = |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let got = serve.settings.resolve(Path::new("no.wasm"), env);
        match (got, wanted) {
            (Ok(config), Ok(wanted)) => {
                let text = file::print(&config);
                for line in wanted.split('|') {
                    assert!(text.lines().any(|got| got == line), "{line} is not in {text}");
                }
            }
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (got, _) => panic!("{args:?}: {:?}", got.map(|config| file::print(&config))),
        }
    }

    #[test]
    fn flags_stand_above_the_environment() {
        check(&[], &[], Ok("host = \"127.0.0.1\"|port = 8080|requests_p2 = 1"));
        check(&["--port", "0"], &[], Ok("port = 0"));
        check(&["-p", "1"], &[("TABI_PORT", "2")], Ok("port = 1"));
        check(&[], &[("TABI_PORT", "2"), ("TABI_HOST", "::1")], Ok("host = \"::1\"|port = 2"));
        check(&["--host", "localhost"], &[("TABI_HOST", "::1")], Ok("host = \"127.0.0.1\""));
        check(&["--addr", "0.0.0.0:1"], &[("TABI_PORT", "2")], Ok("host = \"0.0.0.0\"|port = 1"));
        check(&[], &[("TABI_PORT", "")], Ok("port = 8080"));
        check(&[], &[("TABI_LIMITS_MEMORY", "1MiB")], Ok("memory = \"1MiB\""));
        check(&["--set", "limits.memory=2MiB"], &[("TABI_LIMITS_MEMORY", "1MiB")], Ok("memory = \"2MiB\""));
        check(&["--reuse", "9", "--access-log"], &[], Ok("requests_p2 = 9|access_log = \"text\""));
        check(&["--trace"], &[], Ok("trace = \"on\""));
        check(&["--no-cache"], &[], Ok("cache_dir = \"\""));
        check(&[], &[("TABI_PORT", "http")], Err("TABI_PORT: \"http\" is no port"));
        check(&["--host", "example.org"], &[], Err("--host: \"example.org\" is no IP address"));
        check(&["--set", "limits.memry=1"], &[], Err("did you mean \"limits.memory\""));
        check(&["--set", "x"], &[], Err("write KEY=VALUE"));
        check(&["--config", "/no/tabi.toml"], &[], Err("/no/tabi.toml can't be read"));
    }

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
