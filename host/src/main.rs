//! The program `tabi`: arguments, then a host, then signals.

mod cli;

use clap::Parser;
use cli::{BuildOptions, Cli, Command, Serve};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tabi_host::{AccessLog, Config, Host, Log, Server, StartError};
use tokio::signal::unix::{SignalKind, signal};

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Serve(args) => serve(&args),
        Command::Build(args) => build(&args.path, &args.build).map(|component| println!("{}", component.display())),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tabi: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(args: &Serve) -> Result<(), StartError> {
    let config = config(args)?;
    let log = Log::stderr();
    let component = if args.path.is_dir() { build(&args.path, &args.build)? } else { args.path.clone() };
    let host = Host::load(&component, config, log.clone())?;
    let server = host.serve(host.bind()?)?;
    let url = format!("http://{}/", server.addr());
    println!("Serving HTTP on {url}");
    println!("Try: curl {url}");
    run(server, &log)
}

/// Serves until a signal drains it; a second signal forces the end.
fn run(server: Server, log: &Log) -> Result<(), StartError> {
    let fail = |error| StartError::new(format!("can't wait for signals: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(fail)?;
    runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt()).map_err(fail)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(fail)?;
        tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
        log.line("tabi: stopping after the open requests; once more to stop now");
        server.drain();
        let done = async {
            while !server.is_done() {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            () = done => {}
            _ = interrupt.recv() => server.abort(),
            _ = terminate.recv() => server.abort(),
        }
        Ok(())
    })?;
    server.wait();
    log.flush();
    Ok(())
}

fn config(args: &Serve) -> Result<Config, StartError> {
    let mut config = Config::default();
    let env = |name: &str| std::env::var(name).ok();
    config.addr = args.listen.addr(env, config.addr).map_err(StartError::new)?;
    if let Some(count) = args.reuse {
        config.reuse.requests_p2 = count.max(1);
    }
    if let Some(count) = args.threads {
        config.threads = count.max(1);
    }
    config.access_log = match args.access_log.as_deref() {
        Some("text") => AccessLog::Text,
        Some("json") => AccessLog::Json,
        _ => AccessLog::Off,
    };
    if args.no_cache {
        config.cache_dir = None;
    }
    Ok(config)
}

fn build(dir: &Path, options: &BuildOptions) -> Result<PathBuf, StartError> {
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
