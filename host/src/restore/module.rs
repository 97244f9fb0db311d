//! What a core module can remember.

use wasmparser::{ConstExpr, DataKind, ElementItems, Operator, Parser, Payload, TableInit, ValType};

/// The parts of a core module that an instance of it can change, as they are at first.
#[derive(Default)]
pub(super) struct Module<'a> {
    pub(super) memories: Vec<Memory<'a>>,
    pub(super) globals: Vec<Global>,
    /// How many globals of others come before its own.
    pub(super) imported_globals: u32,
    /// The names of its exports.
    pub(super) exports: Vec<&'a str>,
}

/// A memory that the module has itself.
pub(super) struct Memory<'a> {
    pub(super) index: u32,
    pub(super) pages: u64,
    /// Where in it what is written when an instance is made, in this order.
    pub(super) data: Vec<(u32, &'a [u8])>,
}

/// A global that the module has itself and can change.
pub(super) struct Global {
    pub(super) index: u32,
    pub(super) value: Value,
}

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    I32(i32),
    I64(i64),
    F32(u32),
    F64(u64),
    V128(i128),
}

impl<'a> Module<'a> {
    /// Reads a module, or gives `None` if an instance of it could remember more than numbers in memories and globals.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut module = Self::default();
        let (mut memories, mut globals) = (0, 0);
        for payload in Parser::new(0).parse_all(bytes) {
            match payload.ok()? {
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        match import.ok()?.ty {
                            wasmparser::TypeRef::Memory(_) => memories += 1,
                            wasmparser::TypeRef::Global(_) => {
                                globals += 1;
                                module.imported_globals += 1;
                            }
                            _ => {}
                        }
                    }
                }
                Payload::TableSection(section) => {
                    for table in section {
                        match table.ok()?.init {
                            TableInit::RefNull => {}
                            TableInit::Expr(init) => stateless(&init)?,
                        }
                    }
                }
                Payload::MemorySection(section) => {
                    for memory in section {
                        let memory = memory.ok()?;
                        if memory.memory64 || memory.shared || memory.page_size_log2.is_some() {
                            return None;
                        }
                        module.memories.push(Memory { index: memories, pages: memory.initial, data: Vec::new() });
                        memories += 1;
                    }
                }
                Payload::GlobalSection(section) => {
                    for global in section {
                        let global = global.ok()?;
                        match global.ty.mutable {
                            true => {
                                let value = constant(&global.init_expr)?;
                                (value.ty() == global.ty.content_type).then_some(())?;
                                module.globals.push(Global { index: globals, value });
                            }
                            false => stateless(&global.init_expr)?,
                        }
                        globals += 1;
                    }
                }
                Payload::ExportSection(section) => {
                    for export in section {
                        module.exports.push(export.ok()?.name);
                    }
                }
                // It may do anything, and would have to be run again.
                Payload::StartSection { .. } => return None,
                Payload::ElementSection(section) => {
                    for element in section {
                        if let ElementItems::Expressions(_, items) = element.ok()?.items {
                            for item in items {
                                stateless(&item.ok()?)?;
                            }
                        }
                    }
                }
                Payload::DataSection(section) => {
                    for data in section {
                        let data = data.ok()?;
                        if let DataKind::Active { memory_index, offset_expr } = data.kind {
                            let Value::I32(offset) = constant(&offset_expr)? else { return None };
                            // Data for a memory of another module is not the owner's first state.
                            let memory = module.memories.iter_mut().find(|memory| memory.index == memory_index)?;
                            memory.data.push((offset.cast_unsigned(), data.data));
                        }
                    }
                }
                Payload::CodeSectionEntry(body) => {
                    let mut operators = body.get_operators_reader().ok()?;
                    while !operators.eof() {
                        if changes_more(&operators.read().ok()?) {
                            return None;
                        }
                    }
                }
                Payload::Version { .. }
                | Payload::TypeSection(_)
                | Payload::FunctionSection(_)
                | Payload::TagSection(_)
                | Payload::DataCountSection { .. }
                | Payload::CodeSectionStart { .. }
                | Payload::CustomSection(_)
                | Payload::End(_) => {}
                _ => return None,
            }
        }
        Some(module)
    }

    /// Whether its instances remember nothing.
    pub(super) fn is_stateless(&self) -> bool {
        self.memories.is_empty() && self.globals.is_empty()
    }
}

impl Memory<'_> {
    /// Its bytes at first.
    pub(super) fn size(&self) -> Option<usize> {
        usize::try_from(self.pages).ok()?.checked_mul(64 * 1024)
    }
}

impl Value {
    pub(super) fn ty(self) -> ValType {
        match self {
            Self::I32(_) => ValType::I32,
            Self::I64(_) => ValType::I64,
            Self::F32(_) => ValType::F32,
            Self::F64(_) => ValType::F64,
            Self::V128(_) => ValType::V128,
        }
    }
}

/// Whether an instruction changes tables, or which segments there are.
fn changes_more(operator: &Operator<'_>) -> bool {
    matches!(
        operator,
        Operator::TableSet { .. }
            | Operator::TableGrow { .. }
            | Operator::TableFill { .. }
            | Operator::TableCopy { .. }
            | Operator::TableInit { .. }
            | Operator::TableAtomicSet { .. }
            | Operator::TableAtomicRmwXchg { .. }
            | Operator::TableAtomicRmwCmpxchg { .. }
            | Operator::DataDrop { .. }
            | Operator::ElemDrop { .. }
    )
}

/// The number that an expression is.
fn constant(init: &ConstExpr<'_>) -> Option<Value> {
    Some(match only(init)? {
        Operator::I32Const { value } => Value::I32(value),
        Operator::I64Const { value } => Value::I64(value),
        Operator::F32Const { value } => Value::F32(value.bits()),
        Operator::F64Const { value } => Value::F64(value.bits()),
        Operator::V128Const { value } => Value::V128(value.i128()),
        _ => return None,
    })
}

/// Says that what an expression gives can't be changed: an object of its own could.
fn stateless(init: &ConstExpr<'_>) -> Option<()> {
    let known = matches!(
        only(init)?,
        Operator::I32Const { .. }
            | Operator::I64Const { .. }
            | Operator::F32Const { .. }
            | Operator::F64Const { .. }
            | Operator::V128Const { .. }
            | Operator::RefNull { .. }
            | Operator::RefFunc { .. }
            | Operator::GlobalGet { .. }
    );
    known.then_some(())
}

/// The one instruction of an expression.
fn only<'a>(init: &ConstExpr<'a>) -> Option<Operator<'a>> {
    let mut operators = init.get_operators_reader();
    let operator = operators.read().ok()?;
    matches!(operators.read().ok()?, Operator::End).then_some(operator)
}
