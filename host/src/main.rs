//! The program `tabi`: arguments, then a host, then signals.

mod check;
mod cli;
mod watch;

use clap::Parser;
use cli::{BuildOptions, Cli, Command, Target};
use sd_notify::NotifyState;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tabi_host::{Admin, Host, Log, Server, StartError, activation, file, file_limit};
use tokio::signal::unix::{SignalKind, signal};
use watch::Watch;

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Serve(args) => serve(&args, false),
        Command::Dev(mut args) => {
            args.settings.mode.get_or_insert_with(|| "dev".to_owned());
            serve(&args, true)
        }
        Command::Check { target, json } => check::check(&target, json),
        Command::Config(args) => {
            args.settings.resolve(&args.path, env).map(|config| print!("{}", file::print(&config)))
        }
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

fn serve(args: &Target, dev: bool) -> Result<(), StartError> {
    // Before there are threads.
    let sockets = activation::take()?;
    let config = args.settings.resolve(&args.path, env)?;
    let log = Log::stderr();
    let few_files = file_limit::warning(&config, file_limit::raise());
    // Before the component is built and loaded, so that whoever waits for it can ask.
    let admin = config.admin_addr.map(|addr| Admin::start(addr, &log)).transpose()?;
    let path = component(&args.path, &args.build)?;
    let mut host = Host::load(&path, config, log.clone())?;
    let listeners = match sockets {
        Some(listeners) => listeners,
        None => host.listen()?,
    };
    let server = host.serve_all(listeners)?;
    if let Some(few) = few_files {
        log.line(few);
    }
    announce(&server);
    if let Some(admin) = &admin {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        admin.watch(&server, &[&name]);
        println!("Serving metrics and health on http://{}/", admin.addr());
    }
    notify(&log, &[NotifyState::Ready]);
    let mut watch = dev.then(|| Watch::new(&args.path));
    let reload = |server: &Server| {
        notify(&log, &reloading());
        let done = component(&args.path, &args.build).and_then(|path| host.reload(server, &path));
        log.line(match done {
            Ok(()) => "tabi: the component has changed and is served from now on".to_owned(),
            Err(why) => format!("tabi: the old component is still served: {why}"),
        });
        notify(&log, &[NotifyState::Ready]);
    };
    run(server, &log, || watch.as_mut().is_some_and(Watch::changed), reload)
}

/// Says where to find the server, the first line for programs that have started it.
fn announce(server: &Server) {
    for endpoint in server.endpoints() {
        let name = if endpoint.starts_with("https") { "HTTPS" } else { "HTTP" };
        println!("Serving {name} on {endpoint}");
    }
    if let Some(first) = server.endpoints().next() {
        match first.split_once("+unix:") {
            Some((scheme, path)) => println!("Try: curl --unix-socket {path} {scheme}://localhost/"),
            None => println!("Try: curl {first}"),
        }
    }
}

/// Tells the service manager, if one has asked to be told.
fn notify(log: &Log, state: &[NotifyState<'_>]) {
    if std::env::var_os("NOTIFY_SOCKET").is_some()
        && let Err(error) = sd_notify::notify(state)
    {
        log.line(format!("tabi: the service manager can't be told: {error}"));
    }
}

fn reloading() -> Vec<NotifyState<'static>> {
    let now = NotifyState::monotonic_usec_now();
    std::iter::once(NotifyState::Reloading).chain(now).collect()
}

/// How often files are looked at by `tabi dev`.
const LOOK: Duration = Duration::from_millis(300);

/// Serves until a signal drains it; a second signal forces the end. SIGHUP, or a change, reloads.
fn run(
    server: Server,
    log: &Log,
    mut changed: impl FnMut() -> bool,
    mut reload: impl FnMut(&Server),
) -> Result<(), StartError> {
    let fail = |error| StartError::new(format!("can't wait for signals: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(fail)?;
    runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt()).map_err(fail)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(fail)?;
        let mut hangup = signal(SignalKind::hangup()).map_err(fail)?;
        let mut look = tokio::time::interval(LOOK);
        loop {
            tokio::select! {
                _ = interrupt.recv() => break,
                _ = terminate.recv() => break,
                _ = hangup.recv() => {
                    server.read_certificates();
                    reload(&server);
                }
                _ = look.tick() => {
                    if changed() {
                        reload(&server);
                    }
                }
            }
        }
        log.line("tabi: stopping after the open requests; once more to stop now");
        notify(log, &[NotifyState::Stopping]);
        server.drain();
        let done = async {
            while !server.is_done() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            () = done => {}
            _ = interrupt.recv() => abort(&server, log),
            _ = terminate.recv() => abort(&server, log),
        }
        Ok(())
    })?;
    server.wait();
    log.flush();
    Ok(())
}

fn abort(server: &Server, log: &Log) {
    log.line("tabi: stopping at once");
    server.abort();
}

fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn component(path: &Path, options: &BuildOptions) -> Result<PathBuf, StartError> {
    if path.is_dir() { build(path, options) } else { Ok(path.to_owned()) }
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
