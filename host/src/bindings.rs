//! The interfaces of `host/wit`, which are not yet stable ones of WASI, as traits to implement.

#![allow(unreachable_pub, missing_docs, unsafe_code, reason = "the code is generated")]

wasmtime::component::bindgen!({
    path: "wit",
    world: "tabi:host/grants",
    imports: {
        "wasi:config/store": trappable,
        "wasi:logging/logging": trappable,
        default: async | trappable,
    },
    with: { "wasi:keyvalue/store.bucket": crate::keyvalue::Bucket },
});
