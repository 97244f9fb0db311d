//! Makes a component smaller without a change of what it does.
//!
//! `wit-component` puts a component together from a module and what it knows of the interfaces, and writes more than is
//! needed:
//!
//! - What a module imports and exports has the long names of the interfaces, in the module and again where it is given
//!   what it imports. It is nobody's business outside: short names do.
//! - A function of the host that reads or writes memory has to be told which. But the memory belongs to the module that
//!   imports the function, so there is a module of functions in between that call through a table, and one more that fills
//!   the table when the memory is there. Here memory, data and table get a module of their own, which is there first:
//!   then nothing has to be in between but one function, by which the host asks the app for room. Calls to the host become
//!   shorter, too.
//! - What is exported goes through a component inside, which gives types and functions their names as an interface. Its
//!   imports have long names, and say things twice.
//! - Equal types and aliases are there once for each use; what a linker exports is there though nobody asks for it; and
//!   each of all these things is in a section of its own.
//!
//! Names and types of the component's imports and exports stay as they were, and so does the code. What is not known here
//! is left alone.

mod bytes;
mod copy;
mod graph;
mod module;
mod read;

use graph::{Def, Graph, Id, Node, Sort, Token};
use module::{Export, Module};
use std::collections::HashMap;

/// The name under which a module finds its memory.
const OWNER: &[u8] = b"m";

/// Returns the component made smaller, or `None` where it is not put together in the way that is known here.
pub(crate) fn shrink(component: &[u8]) -> Option<Vec<u8>> {
    let mut graph = read::component(component)?;
    let gone = unwrap(&mut graph).unwrap_or_default();
    trim(&mut graph);
    graph.merge();
    graph.write(read::COMPONENT, &gone)
}

/// Gives the memory of the one module that has one a module of its own, and what it imports to the other directly.
/// Returns the instances that nobody needs any more. Where something is not as known, all stays as it is.
fn unwrap(graph: &mut Graph) -> Option<Vec<Id>> {
    let (main, memories) = memory_owner(graph)?;
    let Def::Instantiate { module, with } = graph.def(main)? else { return None };
    let Def::Module(bytes) = graph.def(*module)?.clone() else { return None };
    let mut module = Module::read(&bytes)?;
    let wrappers = Wrappers::find(graph, main)?;
    let bundle = imports(graph, &mut module, with, &wrappers)?;
    let realloc = realloc(graph, main, &bundle)?;

    let used: Vec<(Id, Vec<u8>)> = graph.aliases(main).filter(|(id, _)| !memories.contains(id)).collect();
    let mut renames: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
    let mut kept = Vec::new();
    for export in &module.exports {
        let is_used = used.iter().any(|(_, name)| *name == export.name);
        if is_used && Some(&export.name) != realloc.as_ref() {
            let name = short(kept.len());
            kept.push(Export { name: name.clone(), ..*export });
            renames.insert(export.name.clone(), name);
        }
    }
    let (owner, rest) = module.split(realloc.as_deref(), OWNER, kept)?;

    let owner = graph.add_before(Sort::CORE_MODULE, Def::Module(owner));
    let owner = graph.add_before(Sort::CORE_INSTANCE, Def::Instantiate { module: owner, with: Vec::new() });
    let rest = graph.add_before(Sort::CORE_MODULE, Def::Module(rest));
    let bundle = graph.add_before(Sort::CORE_INSTANCE, Def::Bundle(bundle));
    graph.set(main, Def::Instantiate { module: rest, with: vec![(Vec::new(), bundle), (OWNER.to_vec(), owner)] });
    for id in memories {
        graph.set(id, Def::Alias { from: owner, name: module::MEMORY.to_vec() });
    }
    for (id, name) in used {
        let (from, name) = match renames.get(&name) {
            Some(name) => (main, name.clone()),
            None => (owner, module::REALLOC.to_vec()),
        };
        graph.set(id, Def::Alias { from, name });
    }
    Some(wrappers.instances.to_vec())
}

/// Returns the instance whose memory is everybody's, and where that is named.
fn memory_owner(graph: &Graph) -> Option<(Id, Vec<Id>)> {
    let memories = graph.iter().filter(|(_, node)| node.sort == Sort::CORE_MEMORY);
    let mut memories = memories.map(|(id, node)| match &node.def {
        Def::Alias { from, .. } => Some((*from, id)),
        _ => None,
    });
    let (main, first) = memories.next()??;
    let mut all = vec![first];
    for memory in memories {
        let (from, id) = memory?;
        (from == main).then_some(())?;
        all.push(id);
    }
    Some((main, all))
}

/// Gives all that a module imports short names, and returns what it is, without wrappers.
fn imports(graph: &Graph, module: &mut Module<'_>, with: &With, wrappers: &Wrappers) -> Option<With> {
    let mut bundle = Vec::new();
    for import in &mut module.imports {
        let instance = find(with, &import.module)?;
        let Def::Bundle(things) = graph.def(instance)? else { return None };
        let thing = wrappers.unwrapped(graph, find(things, &import.name)?)?;
        import.module = Vec::new();
        import.name = short(bundle.len());
        bundle.push((import.name.clone(), thing));
    }
    Some(bundle)
}

/// Returns the name of the function of `main` that the functions in the bundle get memory from, if any does. They can
/// use no other function of it.
fn realloc(graph: &Graph, main: Id, bundle: &With) -> Option<Option<Vec<u8>>> {
    let mut names = bundle.iter().filter_map(|(_, id)| graph.def(*id)).flat_map(|def| match def {
        Def::Canon(tokens) => tokens.iter().filter_map(Token::id).collect(),
        _ => Vec::new(),
    });
    let mut known = None;
    names.try_for_each(|id| match graph.nodes().get(id)? {
        Node { sort: Sort::CORE_FUNC, def: Def::Alias { from, name } } if *from == main => {
            (*known.get_or_insert(name) == name).then_some(())
        }
        _ => Some(()),
    })?;
    Some(known.cloned())
}

/// What wit-component wraps functions in: an instance that calls them through a table, and one that fills the table
/// when all is there.
struct Wrappers {
    instances: [Id; 2],
    /// The names of the wrapped functions, and what is in the wrappers.
    wrapped: HashMap<Vec<u8>, Id>,
}

impl Wrappers {
    fn find(graph: &Graph, main: Id) -> Option<Wrappers> {
        let mut shim = None;
        let mut filler = None;
        for (id, node) in graph.iter().filter(|(id, _)| *id != main) {
            let Def::Instantiate { module, with } = &node.def else { continue };
            let Def::Module(bytes) = graph.def(*module)? else { continue };
            let module = Module::read(bytes)?;
            if let Some((table, places)) = module.shim() {
                let places: Vec<(Vec<u8>, usize)> =
                    places.iter().map(|(name, place)| (name.to_vec(), *place)).collect();
                shim.replace((id, table.to_vec(), places)).is_none().then_some(())?;
            } else if let (Some((table, names)), [(_, bundle)]) = (module.filler(), &with[..]) {
                let Def::Bundle(things) = graph.def(*bundle)? else { return None };
                let fillings = names.iter().map(|name| find(things, name)).collect::<Option<Vec<Id>>>()?;
                filler.replace((id, find(things, table)?, fillings)).is_none().then_some(())?;
            }
        }
        let ((shim, table, places), (filler, filled, fillings)) = (shim?, filler?);
        (*graph.def(filled)? == Def::Alias { from: shim, name: table }).then_some(())?;
        let wrapped = places.into_iter().map(|(name, place)| Some((name, *fillings.get(place)?)));
        Some(Wrappers { instances: [shim, filler], wrapped: wrapped.collect::<Option<_>>()? })
    }

    /// Returns what is called in the end.
    fn unwrapped(&self, graph: &Graph, id: Id) -> Option<Id> {
        match graph.def(id)? {
            Def::Alias { from, name } if *from == self.instances[0] => self.wrapped.get(name).copied(),
            _ => Some(id),
        }
    }
}

/// Gives what components inside import short names, and each thing once.
fn trim(graph: &mut Graph) {
    let all: Vec<(Id, Def)> = graph.iter().map(|(id, node)| (id, node.def.clone())).collect();
    for (id, def) in all {
        let Def::Compose { component, with } = def else { continue };
        let Some(Def::Component(bytes)) = graph.def(component) else { continue };
        let Some((bytes, with)) = trimmed(bytes, &with) else { continue };
        let component = graph.add_before(Sort::COMPONENT, Def::Component(bytes));
        graph.set(id, Def::Compose { component, with });
    }
}

/// What an instance is given under names.
type With = Vec<(Vec<u8>, Id)>;

fn trimmed(component: &[u8], with: &With) -> Option<(Vec<u8>, With)> {
    let mut inner = read::component(component)?;
    // A type that has to equal another import is that one.
    let same: Vec<Id> = inner.iter().map(|(id, node)| inner.equal_import(&node.def).unwrap_or(id)).collect();
    let gone: Vec<Id> = same.iter().enumerate().filter(|(id, same)| id != *same).map(|(id, _)| id).collect();
    inner.substitute(&same);
    inner.untype();
    inner.merge();
    let mut kept = Vec::new();
    for (id, name, what) in inner.imports() {
        if !gone.contains(&id) {
            let new = short(kept.len());
            kept.push((new.clone(), find(with, &name)?));
            inner.set(id, Def::Import { name: new, what });
        }
    }
    Some((inner.write(read::COMPONENT, &gone)?, kept))
}

fn find(things: &[(Vec<u8>, Id)], name: &[u8]) -> Option<Id> {
    things.iter().find(|(known, _)| known == name).map(|(_, id)| *id)
}

/// Returns a short name for each number: a letter or a digit, and two of them when all are used up, and so on.
fn short(mut number: usize) -> Vec<u8> {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    let mut name = Vec::new();
    loop {
        name.extend(LETTERS.get(number % LETTERS.len()));
        match (number / LETTERS.len()).checked_sub(1) {
            Some(more) => number = more,
            None => return name,
        }
    }
}

#[cfg(test)]
mod tests;
