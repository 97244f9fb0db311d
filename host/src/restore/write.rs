//! Writes the component with what restores it.

use super::EXPORT;
use super::component::{Component, Stateful};
use super::image::{Piece, pieces};
use super::module::{Module, Value};
use wasm_encoder::{
    Alias, CanonicalFunctionSection, CodeSection, ComponentAliasSection, ComponentExportKind, ComponentExportSection,
    ComponentSectionId, ComponentTypeSection, DataCountSection, DataSection, EntityType, ExportKind, ExportSection,
    Function, FunctionSection, GlobalType, ImportSection, InstanceSection, MemoryType, ModuleArg, ModuleSection,
    RawSection, SectionId, TypeSection, ValType,
};
use wasmparser::{ExternalKind, Parser, Payload};

/// Begins the names of what modules export in addition.
const PREFIX: &str = "tabi:";

/// Returns the component that `bytes` are with one module more.
pub(super) fn component(bytes: &[u8], component: &Component<'_>, state: &[Stateful<'_, '_>]) -> Option<Vec<u8>> {
    let mut out = wasm_encoder::Component::new();
    let mut modules = component.modules.iter();
    let mut end = 0;
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.ok()?;
        let Some((id, range)) = payload.as_section() else { continue };
        // What is inside of a section that was copied.
        if range.start < end {
            continue;
        }
        end = range.end;
        let data = bytes.get(range)?;
        if id == u8::from(ComponentSectionId::CoreModule) {
            let (_, module) = modules.next()?;
            out.section(&RawSection { id, data: &opened(data, module)? });
        } else {
            out.section(&RawSection { id, data });
        }
    }

    out.section(&ModuleSection(&restorer(state)?));
    let mut instances = InstanceSection::new();
    let module = u32::try_from(component.modules.len()).ok()?;
    let arguments: Vec<_> =
        state.iter().map(|part| (part.instance.to_string(), ModuleArg::Instance(part.instance))).collect();
    instances.instantiate(module, arguments);
    out.section(&instances);
    let mut aliases = ComponentAliasSection::new();
    let instance = component.instance_count()?;
    aliases.alias(Alias::CoreInstanceExport { instance, kind: ExportKind::Func, name: EXPORT });
    out.section(&aliases);
    let mut types = ComponentTypeSection::new();
    types.function().params::<[(&str, wasm_encoder::ComponentValType); 0], _>([]).result(None);
    out.section(&types);
    let mut functions = CanonicalFunctionSection::new();
    functions.lift(component.core_functions, component.types, []);
    out.section(&functions);
    let mut exports = ComponentExportSection::new();
    exports.export(EXPORT, ComponentExportKind::Func, component.functions, None);
    out.section(&exports);
    Some(out.finish())
}

/// Returns the module that `bytes` are with exports of all that its instances remember.
fn opened(bytes: &[u8], module: &Module<'_>) -> Option<Vec<u8>> {
    if module.is_stateless() {
        return Some(bytes.to_vec());
    }
    if module.exports.iter().any(|name| name.starts_with(PREFIX)) {
        return None;
    }
    let mut exports = ExportSection::new();
    let mut sections = Vec::new();
    // Where the exports belong among the sections.
    let mut place = None;
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.ok()?;
        if let Payload::ExportSection(section) = &payload {
            for export in section.clone() {
                let export = export.ok()?;
                exports.export(export.name, kind(export.kind)?, export.index);
            }
        }
        let Some((id, range)) = payload.as_section() else { continue };
        let is_exports = id == u8::from(SectionId::Export);
        if place.is_none() && (is_exports || comes_after_exports(id)) {
            place = Some(sections.len());
        }
        if !is_exports {
            sections.push(RawSection { id, data: bytes.get(range)? });
        }
    }
    for memory in &module.memories {
        exports.export(&memory_name(memory.index), ExportKind::Memory, memory.index);
    }
    for global in &module.globals {
        exports.export(&global_name(global.index), ExportKind::Global, global.index);
    }
    let (before, after) = sections.split_at_checked(place.unwrap_or(sections.len()))?;
    let mut out = wasm_encoder::Module::new();
    before.iter().for_each(|section| {
        out.section(section);
    });
    out.section(&exports);
    after.iter().for_each(|section| {
        out.section(section);
    });
    Some(out.finish())
}

fn comes_after_exports(id: u8) -> bool {
    [SectionId::Start, SectionId::Element, SectionId::DataCount, SectionId::Code, SectionId::Data]
        .into_iter()
        .any(|later| id == u8::from(later))
}

fn kind(kind: ExternalKind) -> Option<ExportKind> {
    Some(match kind {
        ExternalKind::Func => ExportKind::Func,
        ExternalKind::Table => ExportKind::Table,
        ExternalKind::Memory => ExportKind::Memory,
        ExternalKind::Global => ExportKind::Global,
        ExternalKind::Tag => ExportKind::Tag,
        _ => return None,
    })
}

/// The module that has the first state of all others, and the function that writes it.
fn restorer(state: &[Stateful<'_, '_>]) -> Option<wasm_encoder::Module> {
    let mut imports = ImportSection::new();
    let mut data = DataSection::new();
    let mut segments = 0;
    let mut function = Function::new([]);
    let mut code = function.instructions();
    let (mut memories, mut globals) = (0, 0);
    for part in state {
        let instance = part.instance.to_string();
        for memory in &part.module.memories {
            let ty = MemoryType {
                minimum: memory.pages,
                maximum: None,
                memory64: false,
                shared: false,
                page_size_log2: None,
            };
            imports.import(&instance, &memory_name(memory.index), EntityType::Memory(ty));
            for piece in pieces(memory)? {
                match piece {
                    Piece::Zeros { at, count } => {
                        code.i32_const(at.cast_signed()).i32_const(0).i32_const(count.cast_signed());
                        code.memory_fill(memories);
                    }
                    Piece::Data { at, bytes } => {
                        let count = i32::try_from(bytes.len()).ok()?;
                        code.i32_const(at.cast_signed()).i32_const(0).i32_const(count);
                        code.memory_init(memories, segments);
                        data.passive(bytes);
                        segments += 1;
                    }
                }
            }
            memories += 1;
        }
        for global in &part.module.globals {
            let val_type = match global.value {
                Value::I32(value) => {
                    code.i32_const(value);
                    ValType::I32
                }
                Value::I64(value) => {
                    code.i64_const(value);
                    ValType::I64
                }
                Value::F32(bits) => {
                    code.f32_const(wasm_encoder::Ieee32::new(bits));
                    ValType::F32
                }
                Value::F64(bits) => {
                    code.f64_const(wasm_encoder::Ieee64::new(bits));
                    ValType::F64
                }
                Value::V128(value) => {
                    code.v128_const(value);
                    ValType::V128
                }
            };
            code.global_set(globals);
            let ty = GlobalType { val_type, mutable: true, shared: false };
            imports.import(&instance, &global_name(global.index), EntityType::Global(ty));
            globals += 1;
        }
    }
    code.end();

    let mut types = TypeSection::new();
    types.ty().function([], []);
    let mut functions = FunctionSection::new();
    functions.function(0);
    let mut exports = ExportSection::new();
    exports.export(EXPORT, ExportKind::Func, 0);
    let mut bodies = CodeSection::new();
    bodies.function(&function);
    let mut module = wasm_encoder::Module::new();
    module
        .section(&types)
        .section(&imports)
        .section(&functions)
        .section(&exports)
        .section(&DataCountSection { count: segments })
        .section(&bodies)
        .section(&data);
    Some(module)
}

fn memory_name(index: u32) -> String {
    format!("{PREFIX}memory-{index}")
}

fn global_name(index: u32) -> String {
    format!("{PREFIX}global-{index}")
}
