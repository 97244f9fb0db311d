//! The interfaces that guests are offered; what they allow is decided by the context behind them.

use crate::inspect::World;
use crate::store::State;
use crate::{grants, sockets, store};
use wasmtime::Engine;
use wasmtime::component::{Component, Linker};
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView};
use wasmtime_wasi::random::{WasiRandom, WasiRandomView};

/// Offers every interface of WASI.
///
/// # Errors
/// When two of them have the same name.
pub(crate) fn linker(engine: &Engine, component: &Component, world: World) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    // The streams of most requests touch nothing but the resource table, so they must not create the context with its
    // environment and random generators.
    store::add_io_to_linker(&mut linker)?;
    add_p2(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    grants::add_to_linker(&mut linker)?;
    if world == World::P3 {
        wasmtime_wasi::p3::cli::add_to_linker(&mut linker)?;
        wasmtime_wasi::p3::clocks::add_to_linker(&mut linker)?;
        wasmtime_wasi::p3::filesystem::add_to_linker(&mut linker)?;
        wasmtime_wasi::p3::random::add_to_linker(&mut linker)?;
        wasmtime_wasi_http::p3::add_to_linker(&mut linker)?;
    }
    sockets::deny(&mut linker, component)?;
    Ok(linker)
}

/// All of `wasi:cli/imports@0.2` but `wasi:io` and `wasi:sockets`.
fn add_p2(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    use wasmtime_wasi::p2::bindings::{cli, clocks, filesystem, random};
    clocks::wall_clock::add_to_linker::<State, WasiClocks>(linker, State::clocks)?;
    clocks::monotonic_clock::add_to_linker::<State, WasiClocks>(linker, State::clocks)?;
    filesystem::types::add_to_linker::<State, WasiFilesystem>(linker, State::filesystem)?;
    filesystem::preopens::add_to_linker::<State, WasiFilesystem>(linker, State::filesystem)?;
    random::random::add_to_linker::<State, WasiRandom>(linker, State::random)?;
    random::insecure::add_to_linker::<State, WasiRandom>(linker, State::random)?;
    random::insecure_seed::add_to_linker::<State, WasiRandom>(linker, State::random)?;
    cli::exit::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::environment::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::stdin::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::stdout::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::stderr::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_input::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_output::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_stdin::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_stdout::add_to_linker::<State, WasiCli>(linker, State::cli)?;
    cli::terminal_stderr::add_to_linker::<State, WasiCli>(linker, State::cli)
}
