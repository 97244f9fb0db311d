//! `wasmtime serve`, as a program of this workspace: the same code as the published tool, sharing every compiled crate
//! with the host, so that the tests can run components under it without installing anything.

use clap::Parser;
use wasmtime_cli::commands::ServeCommand;

/// `wasmtime serve` of the version that the host is built on, for tests.
#[derive(Parser)]
#[command(name = "wasmtime", version)]
enum Wasmtime {
    /// Serves requests from a wasi-http proxy component.
    Serve(Box<ServeCommand>),
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Wasmtime::Serve(command) = Wasmtime::parse();
    Ok(command.execute()?)
}
