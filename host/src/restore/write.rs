//! Writes the component with one more module: what restores it, or tells what it has become.

use super::component::{Component, Stateful, sections};
use super::image::{Piece, parts};
use super::module::{Global, Memory, Module, Value};
use super::{EXPORT, NUMBER, PAGES, pages, tell};
use wasm_encoder::{
    Alias, BlockType, CanonicalFunctionSection, CanonicalOption, CodeSection, ComponentAliasSection,
    ComponentExportKind, ComponentExportSection, ComponentImportSection, ComponentTypeRef, ComponentTypeSection,
    ComponentValType, DataCountSection, DataSection, EntityType, ExportKind, ExportSection, Function, FunctionSection,
    GlobalType, Ieee32, Ieee64, ImportSection, InstanceSection, MemoryType, ModuleArg, ModuleSection, PrimitiveValType,
    RawSection, SectionId, TypeSection, ValType,
};
use wasmparser::{ExternalKind, Parser, Payload};

/// Begins the names of what modules export in addition.
const PREFIX: &str = "tabi:";

/// What the module does that is added.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    /// Writes all of the first state.
    Fill,
    /// Writes the parts of it that the host names.
    Scan,
    /// Shows the host all memories, and tells it all numbers.
    Tell,
}

/// Returns the component that `bytes` are with one module more.
pub(super) fn component(
    bytes: &[u8],
    component: &Component<'_>,
    state: &[Stateful<'_, '_>],
    task: Task,
) -> Option<Vec<u8>> {
    let mut out = wasm_encoder::Component::new();
    let mut modules = component.modules.iter();
    sections(bytes, |id, range, is_module| {
        let data = bytes.get(range)?;
        if is_module {
            let (_, module) = modules.next()?;
            out.section(&RawSection { id, data: &opened(data, module)? });
        } else {
            out.section(&RawSection { id, data });
        }
        Some(())
    })?;
    let Component { core_functions, functions, types, .. } = *component;
    let mut more = More { core_functions, functions, types, out };
    let host = match task {
        Task::Fill => None,
        Task::Scan | Task::Tell => Some(more.host(component, state, task)?),
    };
    more.module(component, state, host, task)?;
    Some(more.out.finish())
}

/// The component while it gets more, and the numbers of what is next.
struct More {
    out: wasm_encoder::Component,
    core_functions: u32,
    functions: u32,
    types: u32,
}

impl More {
    /// Imports the function of the host that looks at a memory, for each of the memories, and that for numbers if the task
    /// is to tell them; gives the number of the instance that has them under the numbers of the memories, and `number`.
    fn host(&mut self, component: &Component<'_>, state: &[Stateful<'_, '_>], task: Task) -> Option<u32> {
        let number = ComponentValType::Primitive(PrimitiveValType::U64);
        let mut types = ComponentTypeSection::new();
        types.defined_type().list(PrimitiveValType::U8);
        types.function().params([("memory", ComponentValType::Type(self.types))]).result(Some(number));
        types.function().params([("number", number)]).result(None);
        self.out.section(&types);
        let mut imports = ComponentImportSection::new();
        imports.import(PAGES, ComponentTypeRef::Func(self.types.checked_add(1)?));
        if task == Task::Tell {
            imports.import(NUMBER, ComponentTypeRef::Func(self.types.checked_add(2)?));
        }
        self.types += 3;
        self.out.section(&imports);
        let memories = state.iter().flat_map(|part| part.module.memories.iter().map(move |memory| (part, memory)));
        let mut aliases = ComponentAliasSection::new();
        let mut functions = CanonicalFunctionSection::new();
        let mut exports = Vec::new();
        for (number, (part, memory)) in (0u32..).zip(memories) {
            let name = memory_name(memory.index);
            aliases.alias(Alias::CoreInstanceExport { instance: part.instance, kind: ExportKind::Memory, name: &name });
            functions.lower(self.functions, [CanonicalOption::Memory(component.core_memories + number)]);
            exports.push((number.to_string(), ExportKind::Func, self.core_functions));
            self.core_functions += 1;
        }
        self.functions += 1;
        if task == Task::Tell {
            functions.lower(self.functions, []);
            exports.push(("number".to_owned(), ExportKind::Func, self.core_functions));
            self.core_functions += 1;
            self.functions += 1;
        }
        self.out.section(&aliases).section(&functions);
        let mut instances = InstanceSection::new();
        instances.export_items(exports);
        self.out.section(&instances);
        component.instance_count()
    }

    /// Adds the module that knows all others, and exports its function.
    fn module(
        &mut self,
        component: &Component<'_>,
        state: &[Stateful<'_, '_>],
        host: Option<u32>,
        task: Task,
    ) -> Option<()> {
        let module = match task {
            Task::Tell => tell::module(state),
            Task::Fill | Task::Scan => restorer(state, task == Task::Scan)?,
        };
        self.out.section(&ModuleSection(&module));
        let mut arguments: Vec<_> =
            state.iter().map(|part| (part.instance.to_string(), ModuleArg::Instance(part.instance))).collect();
        arguments.extend(host.map(|host| (PAGES.to_owned(), ModuleArg::Instance(host))));
        let mut instances = InstanceSection::new();
        instances.instantiate(u32::try_from(component.modules.len()).ok()?, arguments);
        self.out.section(&instances);
        let instance = component.instance_count()? + u32::from(host.is_some());
        let mut aliases = ComponentAliasSection::new();
        aliases.alias(Alias::CoreInstanceExport { instance, kind: ExportKind::Func, name: EXPORT });
        self.out.section(&aliases);
        let mut types = ComponentTypeSection::new();
        types.function().params::<[(&str, ComponentValType); 0], _>([]).result(None);
        self.out.section(&types);
        let mut functions = CanonicalFunctionSection::new();
        functions.lift(self.core_functions, self.types, []);
        self.out.section(&functions);
        let mut exports = ComponentExportSection::new();
        exports.export(EXPORT, ComponentExportKind::Func, self.functions, None);
        self.out.section(&exports);
        Some(())
    }
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

/// The module that has the first state of all others, and the function that writes it: all of it, or the parts that the
/// host names with `scan`.
fn restorer(state: &[Stateful<'_, '_>], scan: bool) -> Option<wasm_encoder::Module> {
    let mut imports = ImportSection::new();
    let mut data = DataSection::new();
    let mut segments = 0;
    // Which parts of a memory were written to.
    let mut function = Function::new([(1, ValType::I64)]);
    let mut code = function.instructions();
    let (mut memories, mut globals) = (0, 0);
    for part in state {
        let instance = part.instance.to_string();
        for memory in &part.module.memories {
            imports.import(&instance, &memory_name(memory.index), memory_type(memory));
            let size = memory.size()?;
            if scan {
                imports.import(PAGES, &memories.to_string(), EntityType::Function(1));
                code.i32_const(0).i32_const(i32::try_from(size).ok()?).call(memories).local_set(0);
            }
            let parts = parts(memory, if scan { pages::part(size) } else { size.max(1) })?;
            for (number, pieces) in parts.iter().enumerate() {
                if scan {
                    code.local_get(0).i64_const(1 << number).i64_and().i64_const(0).i64_ne();
                    code.if_(BlockType::Empty);
                }
                for piece in pieces {
                    match piece {
                        Piece::Zeros { at, count } => {
                            code.i32_const(at.cast_signed()).i32_const(0).i32_const(count.cast_signed());
                            code.memory_fill(memories);
                        }
                        Piece::Data { at, bytes } => {
                            let count = i32::try_from(bytes.len()).ok()?;
                            code.i32_const(at.cast_signed()).i32_const(0).i32_const(count);
                            code.memory_init(memories, segments);
                            data.passive(bytes.iter().copied());
                            segments += 1;
                        }
                    }
                }
                if scan {
                    code.end();
                }
            }
            memories += 1;
        }
        for global in &part.module.globals {
            match global.value {
                Value::I32(value) => code.i32_const(value),
                Value::I64(value) => code.i64_const(value),
                Value::F32(bits) => code.f32_const(Ieee32::new(bits)),
                Value::F64(bits) => code.f64_const(Ieee64::new(bits)),
                Value::V128(value) => code.v128_const(value),
            };
            code.global_set(globals);
            imports.import(&instance, &global_name(global.index), EntityType::Global(global_type(global)));
            globals += 1;
        }
    }
    code.end();

    let mut types = TypeSection::new();
    types.ty().function([], []);
    types.ty().function([ValType::I32, ValType::I32], [ValType::I64]);
    let mut functions = FunctionSection::new();
    functions.function(0);
    let mut exports = ExportSection::new();
    exports.export(EXPORT, ExportKind::Func, if scan { memories } else { 0 });
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

/// A memory as it is imported.
pub(super) fn memory_type(memory: &Memory<'_>) -> EntityType {
    EntityType::Memory(MemoryType {
        minimum: memory.pages,
        maximum: None,
        memory64: false,
        shared: false,
        page_size_log2: None,
    })
}

/// A global as it is imported.
pub(super) fn global_type(global: &Global) -> GlobalType {
    let val_type = match global.value {
        Value::I32(_) => ValType::I32,
        Value::I64(_) => ValType::I64,
        Value::F32(_) => ValType::F32,
        Value::F64(_) => ValType::F64,
        Value::V128(_) => ValType::V128,
    };
    GlobalType { val_type, mutable: true, shared: false }
}

pub(super) fn memory_name(index: u32) -> String {
    format!("{PREFIX}memory-{index}")
}

pub(super) fn global_name(index: u32) -> String {
    format!("{PREFIX}global-{index}")
}
