//! What the cases stand on: the bindings, and an export for those that are commands.

pub mod cli;
pub mod http;
