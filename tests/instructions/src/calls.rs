//! Counts what a guest calls of its host, by name.
//!
//! wasmtime's bindings open a span of `tracing` around each call. What they don't tell of is the end of a resource, so
//! that is linked anew.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use wasmtime::component::{Linker, Resource, ResourceType};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, DynPollable, bindings::io};
use wasmtime_wasi_http::p2::bindings::http::types as http;

use crate::guest::State;

/// How often each function was called.
pub type Calls = BTreeMap<String, u64>;

static CALLS: Mutex<Calls> = Mutex::new(BTreeMap::new());

fn calls() -> MutexGuard<'static, Calls> {
    CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn count(name: String) {
    *calls().entry(name).or_default() += 1;
}

/// Returns what was called since it was last asked.
pub fn take() -> Calls {
    std::mem::take(&mut calls())
}

/// Hears of every call.
pub struct Counter;

impl Subscriber for Counter {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.name() == "wit-bindgen import"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut name = Name::default();
        span.record(&mut name);
        count(name.0);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The name of the function that a span is about.
#[derive(Default)]
struct Name(String);

impl Visit for Name {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "function" {
            value.clone_into(&mut self.0);
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}

/// Links the ends of the resources of 0.2 once more, counted.
pub fn add_drops_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    macro_rules! drops {
        ($instance:literal: $($name:literal, $resource:ty;)*) => {
            let mut instance = linker.instance($instance)?;
            $(
                instance.resource($name, ResourceType::host::<$resource>(), |mut store, rep| {
                    count(concat!("[drop]", $name).to_owned());
                    store.data_mut().table.delete(Resource::<$resource>::new_own(rep))?;
                    Ok(())
                })?;
            )*
        };
    }
    drops! { "wasi:http/types@0.2.12":
        "fields", http::Fields;
        "incoming-request", http::IncomingRequest;
        "response-outparam", http::ResponseOutparam;
        "outgoing-response", http::OutgoingResponse;
        "outgoing-body", http::OutgoingBody;
        "incoming-body", http::IncomingBody;
        "future-trailers", http::FutureTrailers;
    }
    drops! { "wasi:io/streams@0.2.12":
        "input-stream", DynInputStream;
        "output-stream", DynOutputStream;
    }
    drops! { "wasi:io/poll@0.2.12": "pollable", DynPollable; }
    drops! { "wasi:io/error@0.2.12": "error", io::error::Error; }
    Ok(())
}
