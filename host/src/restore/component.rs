//! What the instances of a component's modules can remember, all together.

use super::module::Module;
use super::{EXPORT, INITIALIZE, NUMBER, PAGES};
use std::ops::Range;
use wasmparser::{
    CanonicalFunction, ComponentAlias, ComponentExternalKind, ComponentOuterAliasKind, ComponentType, ComponentTypeRef,
    Instance, Parser, Payload, Validator, WasmFeatures,
};

/// The outermost component: its modules and their instances, and how many there are of what else has numbers.
pub(super) struct Component<'a> {
    /// Where in the component each of its modules is, without the section's head.
    pub(super) modules: Vec<(Range<usize>, Module<'a>)>,
    /// Of which module each core instance is, if of one.
    instances: Vec<Option<u32>>,
    pub(super) core_functions: u32,
    pub(super) core_memories: u32,
    pub(super) types: u32,
    pub(super) functions: u32,
    /// Whether it exports what can be done ahead.
    pub(super) initializes: bool,
}

/// An instance that remembers something.
pub(super) struct Stateful<'c, 'a> {
    /// Its number among the core instances.
    pub(super) instance: u32,
    pub(super) module: &'c Module<'a>,
}

impl<'a> Component<'a> {
    /// Reads a component, or gives `None` if something in it could remember what is not known here.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let types = Validator::new_with_features(WasmFeatures::all()).validate_all(bytes).ok()?;
        let types = types.as_ref();
        let mut component = Self {
            modules: Vec::new(),
            instances: Vec::new(),
            core_functions: types.function_count(),
            core_memories: types.memory_count(),
            types: types.component_type_count(),
            functions: types.component_function_count(),
            initializes: false,
        };
        // How many modules and components it is inside of.
        let mut depth = 0u32;
        let mut in_module = false;
        for payload in Parser::new(0).parse_all(bytes) {
            let payload = payload.ok()?;
            match &payload {
                Payload::ModuleSection { unchecked_range, .. } => {
                    // A component inside is only known as what names things.
                    (depth == 0).then_some(())?;
                    let module = Module::read(bytes.get(unchecked_range.clone())?)?;
                    component.modules.push((unchecked_range.clone(), module));
                    (depth, in_module) = (1, true);
                }
                Payload::ComponentSection { .. } => depth += 1,
                Payload::End(_) => (depth, in_module) = (depth.saturating_sub(1), false),
                _ if in_module => {}
                _ if depth > 0 => only_names(&payload)?,
                _ => component.section(&payload)?,
            }
        }
        Some(component)
    }

    /// The instances that remember something, if it is no more than `most` bytes of memory.
    pub(super) fn state(&self, most: u64) -> Option<Vec<Stateful<'_, 'a>>> {
        let mut state = Vec::new();
        let mut bytes = 0u64;
        for (number, module) in self.instances.iter().enumerate() {
            let Some(module) = module else { continue };
            let (_, module) = self.modules.get(usize::try_from(*module).ok()?)?;
            if !module.is_stateless() {
                state.push(Stateful { instance: u32::try_from(number).ok()?, module });
            }
            for memory in &module.memories {
                bytes = bytes.checked_add(memory.pages.checked_mul(64 * 1024)?)?;
            }
        }
        (bytes <= most && !state.is_empty()).then_some(state)
    }

    /// The number that the next core instance has.
    pub(super) fn instance_count(&self) -> Option<u32> {
        u32::try_from(self.instances.len()).ok()
    }

    /// Takes in what is part of the outermost component itself.
    fn section(&mut self, payload: &Payload<'a>) -> Option<()> {
        match payload {
            Payload::InstanceSection(section) => {
                for instance in section.clone() {
                    self.instances.push(match instance.ok()? {
                        Instance::Instantiate { module_index, .. } => Some(module_index),
                        Instance::FromExports(_) => None,
                    });
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section.clone() {
                    match alias.ok()? {
                        ComponentAlias::InstanceExport { kind: ComponentExternalKind::Module, .. }
                        | ComponentAlias::Outer { kind: ComponentOuterAliasKind::CoreModule, .. } => return None,
                        _ => {}
                    }
                }
            }
            Payload::ComponentTypeSection(section) => {
                for ty in section.clone() {
                    // Handles to resources of its own would be remembered.
                    (!matches!(ty.ok()?, ComponentType::Resource { .. })).then_some(())?;
                }
            }
            Payload::ComponentImportSection(section) => {
                for import in section.clone() {
                    let import = import.ok()?;
                    let is_ours = [PAGES, NUMBER].contains(&import.name.name);
                    (!matches!(import.ty, ComponentTypeRef::Module(_)) && !is_ours).then_some(())?;
                }
            }
            Payload::ComponentExportSection(section) => {
                for export in section.clone() {
                    let name = export.ok()?.name.name;
                    (name != EXPORT).then_some(())?;
                    self.initializes |= name == INITIALIZE;
                }
            }
            Payload::ComponentCanonicalSection(section) => {
                for function in section.clone() {
                    match function.ok()? {
                        CanonicalFunction::Lift { .. }
                        | CanonicalFunction::Lower { .. }
                        | CanonicalFunction::ResourceDrop { .. } => {}
                        // Tasks, streams and what else lives on.
                        _ => return None,
                    }
                }
            }
            Payload::Version { .. }
            | Payload::CoreTypeSection(_)
            | Payload::ComponentInstanceSection(_)
            | Payload::CustomSection(_) => {}
            _ => return None,
        }
        Some(())
    }
}

/// Gives the sections of the outermost component, one after the other: the number of each, its place, and whether it is a
/// module.
pub(super) fn sections(bytes: &[u8], mut take: impl FnMut(u8, Range<usize>, bool) -> Option<()>) -> Option<()> {
    let mut end = 0;
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.ok()?;
        let Some((id, range)) = payload.as_section() else { continue };
        // What is inside of a section that was given.
        if range.start >= end {
            end = range.end;
            take(id, range, matches!(payload, Payload::ModuleSection { .. }))?;
        }
    }
    Some(())
}

/// Says that a section of a component inside does nothing but to name types and functions.
fn only_names(payload: &Payload<'_>) -> Option<()> {
    match payload {
        Payload::ComponentTypeSection(section) => {
            for ty in section.clone() {
                (!matches!(ty.ok()?, ComponentType::Resource { .. })).then_some(())?;
            }
        }
        Payload::Version { .. }
        | Payload::CoreTypeSection(_)
        | Payload::ComponentAliasSection(_)
        | Payload::ComponentImportSection(_)
        | Payload::ComponentExportSection(_)
        | Payload::ComponentInstanceSection(_)
        | Payload::CustomSection(_) => {}
        _ => return None,
    }
    Some(())
}
