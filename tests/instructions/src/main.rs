//! What requests cost guests, as exact numbers: `instructions <folder of components>` prints a line for each row, and one
//! for each function of the host that a request calls. `cargo xtask instructions` builds the components, and compares.

mod calls;
mod guest;
mod rows;

use std::path::PathBuf;

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).expect("the folder of the components"));
    tracing::subscriber::set_global_default(calls::Counter).expect("the only one");
    let host = guest::Host::new().expect("a host");
    for (name, component, ask) in rows::ROWS {
        let file = folder.join(component).with_extension("wasm");
        let costs = host.measure(&file, &ask).unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let guest::Costs { first, next, memory, written } = costs;
        let calls: u64 = next.calls.values().sum();
        println!("{name} {} {} {calls} {written} {}", first.instructions, next.instructions, memory / 1024);
        for (function, times) in &next.calls {
            println!("{name} {function} {times}");
        }
    }
}
