//! A component as it is after what it does once in each instance: done ahead, it need not be done for every request.
//!
//! A component that exports [`INITIALIZE`] offers it. It is run once, where nothing of the host can be called; what the memories
//! and numbers are after that, they are from the start in the component that comes of it. Tools that do the same to files
//! call the function by this name, too.

use super::component::{Component, Stateful};
use super::module::{Module, Value};
use super::tell::Told;
use super::write::{Task, global_type};
use super::{image, tell, write};
use std::ops::Range;
use wasm_encoder::{ConstExpr, DataSection, Encode, MemorySection, MemoryType, RawSection};
use wasmparser::{DataKind, Parser, Payload, SectionLimited};

/// The component that `bytes` become, or `None` where they are none that can be run ahead.
pub(super) fn initialized(bytes: &[u8], component: &Component<'_>) -> Option<Vec<u8>> {
    component.initializes.then_some(())?;
    let state = component.state(super::MAX_SCANNED)?;
    let told = tell::run(&write::component(bytes, component, &state, Task::Tell)?)?;
    let parts = parts(component, &state, told)?;
    let mut out = wasm_encoder::Component::new();
    super::component::sections(bytes, |id, range, is_module| {
        let data = bytes.get(range.clone())?;
        match parts.iter().find(|part| is_module && part.place == range) {
            Some(part) => out.section(&RawSection { id, data: &changed(data, part.module, &part.told)? }),
            None => out.section(&RawSection { id, data }),
        };
        Some(())
    })?;
    Some(out.finish())
}

/// A module that has become something else.
struct Part<'c, 'a> {
    place: Range<usize>,
    module: &'c Module<'a>,
    told: Told,
}

/// Gives each module its part of what was told. `None` where a module has more than one instance, which began alike and are
/// so no more.
fn parts<'c, 'a>(component: &Component<'a>, state: &[Stateful<'c, 'a>], told: Told) -> Option<Vec<Part<'c, 'a>>> {
    let mut parts: Vec<Part<'c, 'a>> = Vec::new();
    let (mut memories, mut numbers) = (told.memories.into_iter(), told.numbers.into_iter());
    for &Stateful { module, .. } in state {
        let (place, _) = component.modules.iter().find(|(_, known)| std::ptr::eq(known, module))?;
        parts.iter().all(|part| part.place != *place).then_some(())?;
        let memories = memories.by_ref().take(module.memories.len()).collect();
        let numbers = numbers.by_ref().take(module.globals.len()).collect();
        parts.push(Part { place: place.clone(), module, told: Told { memories, numbers } });
    }
    Some(parts)
}

/// The module with other memories and globals.
fn changed(bytes: &[u8], module: &Module<'_>, told: &Told) -> Option<Vec<u8>> {
    let data = data(module, told)?;
    let mut out = wasm_encoder::Module::new();
    let mut has_data = false;
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.ok()?;
        let Some((id, range)) = payload.as_section() else { continue };
        match &payload {
            Payload::MemorySection(section) => {
                out.section(&memories(section.clone(), told)?);
            }
            Payload::GlobalSection(section) => {
                out.section(&RawSection { id, data: &globals(bytes, section.clone(), module, told)? });
            }
            Payload::DataCountSection { .. } => {
                out.section(&wasm_encoder::DataCountSection { count: data.len() });
            }
            Payload::DataSection(section) => {
                for data in section.clone() {
                    // Which of them have been used is not known.
                    (!matches!(data.ok()?.kind, DataKind::Passive)).then_some(())?;
                }
                has_data = true;
                out.section(&data);
            }
            // They come last, but for what is no part of the program.
            Payload::CustomSection(_) => {}
            _ => {
                out.section(&RawSection { id, data: bytes.get(range)? });
            }
        }
    }
    if !has_data {
        out.section(&data);
    }
    Some(out.finish())
}

fn memories(section: SectionLimited<'_, wasmparser::MemoryType>, told: &Told) -> Option<MemorySection> {
    let mut memories = MemorySection::new();
    for (memory, content) in section.into_iter().zip(&told.memories) {
        let maximum = memory.ok()?.maximum;
        let minimum = content.len() as u64 / (64 * 1024);
        memories.memory(MemoryType { minimum, maximum, memory64: false, shared: false, page_size_log2: None });
    }
    Some(memories)
}

/// The content of the section; what can't be changed stays as it is, byte for byte.
fn globals(
    bytes: &[u8],
    section: SectionLimited<'_, wasmparser::Global<'_>>,
    module: &Module<'_>,
    told: &Told,
) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    section.count().encode(&mut out);
    let end = section.range().end;
    let starts: Vec<_> = section.into_iter_with_offsets().map(|global| Some(global.ok()?.0)).collect::<Option<_>>()?;
    let imported = module.imported_globals;
    for (index, start) in (imported..).zip(&starts) {
        let next = starts.get(usize::try_from(index - imported).ok()? + 1).copied().unwrap_or(end);
        match module.globals.iter().zip(&told.numbers).find(|(global, _)| global.index == index) {
            Some((global, number)) => {
                global_type(global).encode(&mut out);
                number_of(global.value, *number)?.encode(&mut out);
            }
            None => out.extend_from_slice(bytes.get(*start..next)?),
        }
    }
    Some(out)
}

/// The number that was told, as what it was before.
fn number_of(before: Value, number: u64) -> Option<ConstExpr> {
    Some(match before {
        Value::I32(_) => ConstExpr::i32_const((number as u32).cast_signed()),
        Value::I64(_) => ConstExpr::i64_const(number.cast_signed()),
        Value::F32(_) => ConstExpr::f32_const(wasm_encoder::Ieee32::new(number as u32)),
        Value::F64(_) => ConstExpr::f64_const(wasm_encoder::Ieee64::new(number)),
        Value::V128(_) => return None,
    })
}

/// All that is not zero.
fn data(module: &Module<'_>, told: &Told) -> Option<DataSection> {
    let mut data = DataSection::new();
    for (memory, content) in module.memories.iter().zip(&told.memories) {
        for piece in image::pieces(0, content)? {
            if let image::Piece::Data { at, bytes } = piece {
                data.active(memory.index, &ConstExpr::i32_const(at.cast_signed()), bytes);
            }
        }
    }
    Some(data)
}
