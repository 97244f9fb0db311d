//! What a component's memories and numbers are once its own function has run.

use super::component::Stateful;
use super::module::Value;
use super::write::{global_name, global_type, memory_name, memory_type};
use super::{EXPORT, INITIALIZE, MAX_SCANNED, NUMBER, PAGES};
use wasm_encoder::{
    CodeSection, EntityType, ExportKind, ExportSection, Function, FunctionSection, ImportSection, Module, TypeSection,
    ValType,
};
use wasmtime::component::{Component, Linker, WasmList};
use wasmtime::{Config, Engine, OptLevel, Store, StoreContextMut, StoreLimits, StoreLimitsBuilder};

/// Instructions that a component may take: some seconds.
const FUEL: u64 = 2_000_000_000;

/// What there may be of each: instances, memories and tables.
const PARTS: usize = 64;

/// Elements of a table.
const TABLE_ELEMENTS: usize = 100_000;

/// What was told, in the order of the parts of a state.
#[derive(Default)]
pub(super) struct Told {
    pub(super) memories: Vec<Vec<u8>>,
    pub(super) numbers: Vec<u64>,
}

type Data = (Told, StoreLimits);

/// The module whose function shows all memories, as large as they are by then, and tells all numbers.
pub(super) fn module(state: &[Stateful<'_, '_>]) -> Module {
    let mut imports = ImportSection::new();
    let mut function = Function::new([]);
    let mut code = function.instructions();
    let memories = state.iter().map(|part| part.module.memories.len() as u32).sum::<u32>();
    let (mut memory, mut global) = (0, 0);
    for part in state {
        let instance = part.instance.to_string();
        for known in &part.module.memories {
            imports.import(&instance, &memory_name(known.index), memory_type(known));
            imports.import(PAGES, &memory.to_string(), EntityType::Function(1));
            code.i32_const(0).memory_size(memory).i32_const(16).i32_shl().call(memory).drop();
            memory += 1;
        }
        for known in &part.module.globals {
            imports.import(&instance, &global_name(known.index), EntityType::Global(global_type(known)));
            code.global_get(global);
            match known.value {
                Value::I32(_) => code.i64_extend_i32_u(),
                Value::F32(_) => code.i32_reinterpret_f32().i64_extend_i32_u(),
                Value::F64(_) => code.i64_reinterpret_f64(),
                Value::I64(_) => &mut code,
                // Too long a number to be told, and not asked for.
                Value::V128(_) => code.i64x2_extract_lane(0),
            };
            code.call(memories);
            global += 1;
        }
    }
    code.end();
    imports.import(PAGES, "number", EntityType::Function(2));

    let mut types = TypeSection::new();
    types.ty().function([], []);
    types.ty().function([ValType::I32, ValType::I32], [ValType::I64]);
    types.ty().function([ValType::I64], []);
    let mut functions = FunctionSection::new();
    functions.function(0);
    let mut exports = ExportSection::new();
    exports.export(EXPORT, ExportKind::Func, memories + 1);
    let mut bodies = CodeSection::new();
    bodies.function(&function);
    let mut module = Module::new();
    module.section(&types).section(&imports).section(&functions).section(&exports).section(&bodies);
    module
}

/// Runs the function of a component that has such a module, and has it tell. `None` where it calls the host, traps, takes too
/// much memory or computes for too long.
pub(super) fn run(bytes: &[u8]) -> Option<Told> {
    let mut config = Config::new();
    config.consume_fuel(true).cranelift_opt_level(OptLevel::None);
    let engine = Engine::new(&config).ok()?;
    let component = Component::new(&engine, bytes).ok()?;
    let mut linker = Linker::new(&engine);
    let mut root = linker.root();
    root.func_wrap(PAGES, |mut store: StoreContextMut<'_, Data>, (memory,): (WasmList<u8>,)| {
        let content = memory.as_le_slice(&store).to_vec();
        store.data_mut().0.memories.push(content);
        Ok((0u64,))
    })
    .ok()?;
    root.func_wrap(NUMBER, |mut store: StoreContextMut<'_, Data>, (number,): (u64,)| {
        store.data_mut().0.numbers.push(number);
        Ok(())
    })
    .ok()?;
    linker.define_unknown_imports_as_traps(&component).ok()?;
    let limits = StoreLimitsBuilder::new().memory_size(usize::try_from(MAX_SCANNED).ok()?).memories(PARTS);
    let limits = limits.table_elements(TABLE_ELEMENTS).tables(PARTS).instances(PARTS);
    // What an instance does that gets no more is not what others would do.
    let limits = limits.trap_on_grow_failure(true).build();
    let mut store = Store::new(&engine, (Told::default(), limits));
    store.limiter(|(_, limits)| limits);
    store.set_fuel(FUEL).ok()?;
    let instance = linker.instantiate(&mut store, &component).ok()?;
    for name in [INITIALIZE, EXPORT] {
        instance.get_typed_func::<(), ()>(&mut store, name).ok()?.call(&mut store, ()).ok()?;
    }
    Some(store.into_data().0)
}
