//! Inside of an instance: takes requests out of its inbox, calls the guest, and hands the answers on.

use super::bell::Bell;
use super::life::Life;
use super::slot::{Job, Response};
use crate::store::{Blueprint, State};
use futures_util::stream::{FuturesUnordered, Stream};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use wasmtime::component::{Accessor, Resource, TypedFunc};
use wasmtime::{AsContextMut, Store};
use wasmtime_wasi_http::p3::bindings::Service;
use wasmtime_wasi_http::p3::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::p3::{Request as WasiRequest, Response as WasiResponse};
use wasmtime_wasi_http::{FieldMap, WasiHttpView};

type Handle = TypedFunc<(Resource<WasiRequest>,), (Result<Resource<WasiResponse>, ErrorCode>,)>;

/// The life of an instance; it ends only by a trap.
pub(super) async fn live(
    mut store: Store<State>,
    service: Service,
    life: Arc<Life>,
    bell: Arc<Bell>,
    blueprint: Blueprint,
    concurrent: usize,
) -> wasmtime::Result<()> {
    let handle: Handle = service.wasi_http_handler().func_handle();
    let work = async |accessor: &Accessor<State>| serve(accessor, handle, &life, &bell, &blueprint, concurrent).await;
    let result = store.run_concurrent(work).await.flatten();
    // First the flag, then the store, with which all open bodies end.
    life.broken.store(result.is_err(), Relaxed);
    result
}

/// Requests that are begun before others have their turn.
const BATCH: u32 = 64;

async fn serve(
    accessor: &Accessor<State>,
    handle: Handle,
    life: &Life,
    bell: &Bell,
    blueprint: &Blueprint,
    concurrent: usize,
) -> wasmtime::Result<()> {
    // Most of the time there is one call, which needs no place on the heap.
    let mut first = pin!(None);
    let mut more = pin!(FuturesUnordered::new());
    std::future::poll_fn(|cx| {
        // Whatever was rung for until now is looked at from here on, by this function or by the event loop behind it.
        bell.hush();
        if is_done(first.as_mut(), cx) {
            first.set(None);
        }
        while !more.is_empty() && more.as_mut().poll_next(cx).is_ready() {}
        // A call that the guest does not want would wait for as long as that lasts.
        let full = accessor.poll_ready_for_concurrent_call(*handle.func(), cx).is_pending();
        life.full.store(full, Relaxed);
        // One at a time: a guest that waits for nothing has answered before the next is begun.
        if !full
            && life.batch.load(Relaxed) < BATCH
            && life.running.load(Relaxed) < concurrent
            && !life.is_crowded()
            && let Some(job) = life.pop()
        {
            life.batch.fetch_add(1, Relaxed);
            let call = begin(accessor, handle, life, blueprint, job)?;
            if first.is_none() {
                first.set(Some(call));
            } else {
                more.push(call);
            }
        }
        let idle = first.is_none() && more.is_empty() && accessor.poll_no_interesting_tasks(cx).is_ready();
        life.quiet.store(idle, Relaxed);
        life.stepped.store(true, Relaxed);
        Poll::Pending
    })
    .await
}

fn is_done(call: Pin<&mut Option<impl Future>>, cx: &mut Context<'_>) -> bool {
    call.as_pin_mut().is_some_and(|call| call.poll(cx).is_ready())
}

/// Starts the call for a request; an error is the end of the instance.
fn begin<'a>(
    accessor: &'a Accessor<State>,
    handle: Handle,
    life: &Life,
    blueprint: &Blueprint,
    job: Job,
) -> wasmtime::Result<impl Future<Output = ()> + Send + use<'a>> {
    let Job { request, ticket } = job;
    ticket.begin();
    if life.served.swap(true, Relaxed) {
        blueprint.metrics.instances.reused.add(1);
    }
    let (call, sent) = accessor.with(|mut access| {
        let mut store = access.as_context_mut();
        // Each request brings the fuel for its own host calls.
        store.set_hostcall_fuel(blueprint.limits.hostcall_bytes);
        let state = store.data_mut();
        state.set_hops(request.hops, life.open.load(Relaxed) <= 1);
        state.renew();
        let (head, body) = request.inner.into_parts();
        let uri = head.uri.into_parts();
        let fields = FieldMap::new_immutable(state.http().hooks, head.headers);
        let (request, sent) =
            WasiRequest::new(head.method, uri.scheme, uri.authority, uri.path_and_query, fields, None, body);
        let request = state.table.push(request)?;
        wasmtime::error::Ok((handle.start_call_concurrent(store, (request,))?, sent))
    })?;
    Ok(async move {
        let result: wasmtime::Result<Response> = async {
            let (answer,) = handle.finish_call_concurrent(accessor, call).await?;
            let answer = answer?;
            accessor.with(|mut store| {
                let response = store.get().table.delete(answer)?;
                response.into_http_with_getter(&mut store, sent, State::http)
            })
        }
        .await;
        ticket.give(result);
    })
}
