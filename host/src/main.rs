//! The program `tabi`: arguments, then a host, then signals.

/// Writes a line to standard output; that nobody reads it any more is no reason to stop.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stdout(), $($text)*);
    }};
}

mod check;
mod cli;
mod subject;
mod watch;

use clap::Parser;
use cli::{Cli, Command, Target};
use sd_notify::NotifyState;
use std::process::ExitCode;
use std::time::Duration;
use subject::Subject;
use tabi_host::{Admin, App, Log, Server, StartError, activation, file, file_limit};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use watch::Watch;

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Serve(args) => serve(&args, false),
        #[cfg(feature = "compiler")]
        Command::Dev(mut args) => {
            args.settings.mode.get_or_insert_with(|| "dev".to_owned());
            serve(&args, true)
        }
        Command::Check { target, json } => check::check(&target, json),
        Command::Config(args) => {
            args.settings.resolve(&args.path, env).map(|config| say!("{}", file::print(&config).trim_end()))
        }
        #[cfg(feature = "compiler")]
        Command::Build(args) => {
            subject::build(&args.path, &args.build).map(|component| say!("{}", component.display()))
        }
        #[cfg(feature = "compiler")]
        Command::Compile(args) => compile(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tabi: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Compiles a component into a file, and prints where that is.
#[cfg(feature = "compiler")]
fn compile(args: &cli::Compile) -> Result<(), StartError> {
    let component = subject::component(&args.path, &args.build)?;
    let file = args.output.clone().unwrap_or_else(|| component.with_extension("cwasm"));
    tabi_host::compile(&component, &file, args.portable)?;
    say!("{}", file.display());
    Ok(())
}

fn serve(args: &Target, dev: bool) -> Result<(), StartError> {
    // Before there are threads.
    let sockets = activation::take()?;
    let config = args.settings.resolve(args.folder(), env)?;
    let log = Log::stderr();
    let few_files = file_limit::warning(&config, file_limit::raise());
    // Before the component is built and loaded, so that whoever waits for it can ask.
    let admin = config.admin_addr.map(|addr| Admin::start(addr, &log)).transpose()?;
    let subject = Subject::of(args.path.as_deref(), &config, &log);
    let mut host = subject.load(config, &args.build, &log)?;
    let listeners = match sockets {
        Some(listeners) => listeners,
        None => host.listen()?,
    };
    let server = host.serve_all(listeners)?;
    if let Some(few) = few_files {
        log.line(few);
    }
    // Whoever reads where the server is may send a signal at once.
    let signals = Signals::new()?;
    announce(&server);
    if let Some(admin) = &admin {
        let names: Vec<_> = host.apps().iter().map(App::display_name).collect();
        admin.watch(&server, &names.iter().map(String::as_str).collect::<Vec<_>>());
        say!("Serving metrics and health on http://{}/", admin.addr());
    }
    notify(&log, &[NotifyState::Ready]);
    let watched = if dev { subject.sources() } else { &[] };
    let mut watches: Vec<_> = watched.iter().map(|path| Watch::new(path)).collect();
    // Each has to look, or one change would be seen twice.
    let changed = || watches.iter_mut().fold(false, |changed, watch| watch.changed() | changed);
    let reload = |server: &Server| {
        notify(&log, &reloading());
        subject.reload(&mut host, server, &args.build, &log);
        notify(&log, &[NotifyState::Ready]);
    };
    run(server, &log, signals, changed, reload)
}

/// Says where to find the server, the first line for programs that have started it.
fn announce(server: &Server) {
    for endpoint in server.endpoints() {
        let name = if endpoint.starts_with("https") { "HTTPS" } else { "HTTP" };
        say!("Serving {name} on {endpoint}");
    }
    if let Some(first) = server.endpoints().next() {
        match first.split_once("+unix:") {
            Some((scheme, path)) => say!("Try: curl --unix-socket {path} {scheme}://localhost/"),
            None => say!("Try: curl {first}"),
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

/// The signals that the program takes, and the runtime that it waits for them with.
struct Signals {
    runtime: Runtime,
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> Result<Self, StartError> {
        let fail = |error| StartError::new(format!("can't wait for signals: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(fail)?;
        let [interrupt, terminate, hangup] = {
            let _entered = runtime.enter();
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal)
        };
        let (interrupt, terminate, hangup) =
            (interrupt.map_err(fail)?, terminate.map_err(fail)?, hangup.map_err(fail)?);
        Ok(Self { runtime, interrupt, terminate, hangup })
    }
}

/// Serves until a signal drains it; a second signal forces the end. SIGHUP, or a change, reloads.
fn run(
    server: Server,
    log: &Log,
    signals: Signals,
    mut changed: impl FnMut() -> bool,
    mut reload: impl FnMut(&Server),
) -> Result<(), StartError> {
    let Signals { runtime, mut interrupt, mut terminate, mut hangup } = signals;
    runtime.block_on(async {
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
    });
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
