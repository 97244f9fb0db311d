//! `wasi:sockets`, of which guests are granted nothing: whoever asks for a socket or an address is told so.
//!
//! Without a socket there is nothing else to call, so none of it is here, and nothing of it can be attacked.

use crate::store::State;
use std::future::ready;
use wasmtime::component::types::{ComponentFunc, ComponentItem, Type};
use wasmtime::component::{Component, Linker, LinkerInstance, Resource, ResourceType, Val};
use wasmtime::{AsContextMut, bail};
use wasmtime_wasi::p2::bindings::sockets::network::ErrorCode;

/// What stands for the network; there are no others.
struct Nothing;

/// What these interfaces name and others define.
const OTHERS: [&str; 4] = ["pollable", "input-stream", "output-stream", "error"];

/// Offers what the component wants of `wasi:sockets`, in whatever version.
///
/// # Errors
/// When an interface has something else than functions and resources, or one of them is offered already.
pub(crate) fn deny(linker: &mut Linker<State>, component: &Component) -> wasmtime::Result<()> {
    let engine = component.engine();
    for (name, import) in component.component_type().imports(engine) {
        if let ComponentItem::ComponentInstance(instance) = import.ty
            && name.starts_with("wasi:sockets/")
        {
            let mut part = linker.instance(name)?;
            for (name, item) in instance.exports(engine) {
                match item.ty {
                    ComponentItem::ComponentFunc(function) => deny_call(&mut part, name, &function)?,
                    ComponentItem::Resource(_) if !OTHERS.contains(&name) => {
                        part.resource(name, ResourceType::host::<Nothing>(), |_, _| Ok(()))?;
                    }
                    _ => {}
                }
            }
        }
    }
    Ok(())
}

fn deny_call(part: &mut LinkerInstance<'_, State>, name: &str, function: &ComponentFunc) -> wasmtime::Result<()> {
    if function.async_() {
        return part.func_new_concurrent(name, |accessor, function, _, results| {
            Box::pin(ready(accessor.with(|store| answer(store, &function, results))))
        });
    }
    // It is lent the network, and only functions whose types are known give back what they are lent.
    if name == "resolve-addresses" {
        return part.func_wrap(name, |_, (_, _): (Resource<Nothing>, String)| {
            Ok((Err::<Resource<Nothing>, _>(ErrorCode::AccessDenied),))
        });
    }
    part.func_new(name, |store, function, _, results| answer(store, &function, results))
}

/// Says `access-denied`, or gives the network, with which nothing can be done.
fn answer(
    mut store: impl AsContextMut<Data = State>,
    function: &ComponentFunc,
    results: &mut [Val],
) -> wasmtime::Result<()> {
    for (result, ty) in results.iter_mut().zip(function.results()) {
        *result = match ty {
            Type::Own(_) => Val::Resource(Resource::<Nothing>::new_own(0).try_into_resource_any(&mut store)?),
            Type::Result(ty) => Val::Result(Err(match ty.err() {
                Some(Type::Enum(_)) => Some(Box::new(Val::Enum(DENIED.to_owned()))),
                Some(Type::Variant(_)) => Some(Box::new(Val::Variant(DENIED.to_owned(), None))),
                _ => bail!("there are no sockets"),
            })),
            // Of a socket, which nobody has.
            _ => bail!("there are no sockets"),
        };
    }
    Ok(())
}

const DENIED: &str = "access-denied";
