//! One program per parser; the name of the program says which, or the variable does.
#![no_main]

use std::sync::LazyLock;
use tabi_fuzz::Target;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    // So that one program does for all, where somebody builds them one after the other.
    let name = std::env::var("TABI_FUZZ_TARGET").unwrap_or_else(|_| env!("CARGO_BIN_NAME").into());
    tabi_fuzz::target(&name).expect("a target of this name")
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| (TARGET.check)(data));
