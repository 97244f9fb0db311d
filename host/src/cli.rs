//! The command line.

use clap::{Args, Parser, Subcommand};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// Serves WebAssembly components over HTTP.
#[derive(Debug, Parser)]
#[command(name = "tabi", version, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Examples:
  tabi serve apps/hello            build the crate in apps/hello and serve it
  tabi serve app.wasm --port 0     serve a component on a free port
  tabi build apps/hello            build only, and print where the component is")]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve a component, or the component that a crate folder builds
    Serve(Serve),
    /// Build a crate folder into a component
    Build(Build),
}

#[derive(Debug, Args)]
pub struct Serve {
    /// A component (.wasm), or the folder of a crate that builds one
    #[arg(default_value = ".")]
    pub path: PathBuf,
    #[command(flatten)]
    pub listen: Listen,
    #[command(flatten)]
    pub build: BuildOptions,
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
    #[arg(value_parser = ["off", "text", "json"])]
    pub access_log: Option<String>,
    /// Compile anew instead of using the compiled components in the user's cache folder
    #[arg(long)]
    pub no_cache: bool,
}

#[derive(Debug, Args)]
pub struct Listen {
    /// Address and port together, such as 0.0.0.0:8080 or [::1]:8080
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["host", "port"])]
    pub addr: Option<SocketAddr>,
    /// Address to listen on [env: TABI_HOST] [default: 127.0.0.1]
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// Port to listen on; 0 takes a free one [env: TABI_PORT] [default: 8080]
    #[arg(long, short, value_name = "PORT")]
    pub port: Option<u16>,
}

#[derive(Debug, Args)]
pub struct Build {
    /// The folder of the crate
    #[arg(default_value = ".")]
    pub path: PathBuf,
    #[command(flatten)]
    pub build: BuildOptions,
}

#[derive(Debug, Args)]
pub struct BuildOptions {
    /// Build without optimisations, which is quicker to build and slower to run
    #[arg(long)]
    pub debug: bool,
    /// Features of the crate to build with, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub features: Vec<String>,
    /// Leave out the crate's default features
    #[arg(long)]
    pub no_default_features: bool,
}

impl Listen {
    /// Puts flags above the environment above the default.
    pub fn addr(&self, env: impl Fn(&str) -> Option<String>, default: SocketAddr) -> Result<SocketAddr, String> {
        if let Some(addr) = self.addr {
            return Ok(addr);
        }
        let mut addr = default;
        let given = |flag: Option<String>, name: &'static str, env_name: &'static str| match flag {
            Some(value) => Some((value, name)),
            None => env(env_name).filter(|value| !value.is_empty()).map(|value| (value, env_name)),
        };
        if let Some((host, from)) = given(self.host.clone(), "--host", "TABI_HOST") {
            addr.set_ip(
                parse_host(&host)
                    .ok_or_else(|| format!("{from} is {host:?}, which is no IP address and not localhost"))?,
            );
        }
        if let Some((port, from)) = given(self.port.map(|p| p.to_string()), "--port", "TABI_PORT") {
            addr.set_port(
                port.parse().map_err(|_| format!("{from} is {port:?}, which is no port; ports go from 0 to 65535"))?,
            );
        }
        Ok(addr)
    }
}

fn parse_host(host: &str) -> Option<IpAddr> {
    if host == "localhost" {
        return Some(IpAddr::from([127, 0, 0, 1]));
    }
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(args: &[&str], env: &[(&str, &str)], wanted: Result<&str, &str>) {
        let cli = Cli::try_parse_from(["tabi", "serve", "x"].iter().chain(args)).expect("valid");
        let Command::Serve(serve) = cli.command else { panic!("serve") };
        let env = |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let got = serve.listen.addr(env, SocketAddr::from(([127, 0, 0, 1], 8080)));
        match wanted {
            Ok(addr) => assert_eq!(got.map(|addr| addr.to_string()), Ok(addr.to_owned())),
            Err(part) => assert!(got.as_ref().is_err_and(|e| e.contains(part)), "{got:?}"),
        }
    }

    #[test]
    fn flags_stand_above_the_environment() {
        check(&[], &[], Ok("127.0.0.1:8080"));
        check(&["--port", "0"], &[], Ok("127.0.0.1:0"));
        check(&["-p", "1"], &[("TABI_PORT", "2")], Ok("127.0.0.1:1"));
        check(&[], &[("TABI_PORT", "2"), ("TABI_HOST", "::1")], Ok("[::1]:2"));
        check(&["--host", "localhost"], &[("TABI_HOST", "::1")], Ok("127.0.0.1:8080"));
        check(&["--addr", "0.0.0.0:1"], &[("TABI_PORT", "2")], Ok("0.0.0.0:1"));
        check(&[], &[("TABI_PORT", "")], Ok("127.0.0.1:8080"));
        check(&[], &[("TABI_PORT", "http")], Err("TABI_PORT is \"http\""));
        check(&["--host", "example.org"], &[], Err("no IP address"));
    }

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
