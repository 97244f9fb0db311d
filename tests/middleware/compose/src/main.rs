//! Puts a middleware component in front of an app: `compose MIDDLEWARE APP OUTPUT`. The same as
//! `wac plug MIDDLEWARE --plug APP --output OUTPUT`, without having to install `wac`.

use std::error::Error;
use wac_graph::types::Package;
use wac_graph::{CompositionGraph, EncodeOptions};

/// What both export, and the middleware imports.
const HANDLER: &str = "wasi:http/handler@0.3.2";

fn main() -> Result<(), Box<dyn Error>> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let [middleware, app, output] = files.as_slice() else {
        return Err("usage: compose MIDDLEWARE APP OUTPUT".into());
    };
    let mut graph = CompositionGraph::new();
    let app = Package::from_file("example:app", None, app, graph.types_mut())?;
    let app = graph.register_package(app)?;
    let middleware = Package::from_file("example:middleware", None, middleware, graph.types_mut())?;
    let middleware = graph.register_package(middleware)?;
    let inner = graph.instantiate(app);
    let outer = graph.instantiate(middleware);
    let handler = graph.alias_instance_export(inner, HANDLER)?;
    graph.set_instantiation_argument(outer, HANDLER, handler)?;
    let handler = graph.alias_instance_export(outer, HANDLER)?;
    graph.export(handler, HANDLER)?;
    std::fs::write(output, graph.encode(EncodeOptions::default())?)?;
    Ok(())
}
