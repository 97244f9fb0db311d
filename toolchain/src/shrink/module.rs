//! A core module, as far as what it shares with others goes: its code is never looked into, but for wit-component's shims.

use super::bytes::{Reader, list_of, push_name, push_number, push_section, push_signed};

const CORE: &[u8] = b"\0asm\x01\0\0\0";

const FUNC: u8 = 0;
const TABLE: u8 = 1;
const MEMORY_KIND: u8 = 2;

/// An import: from where, and, beginning with the kind, what.
#[derive(Clone)]
pub(super) struct Import {
    pub(super) module: Vec<u8>,
    pub(super) name: Vec<u8>,
    pub(super) what: Vec<u8>,
}

#[derive(Clone)]
pub(super) struct Export {
    pub(super) name: Vec<u8>,
    pub(super) kind: u8,
    pub(super) index: usize,
}

/// A module in its sections; those that are read are empty lists where there are none.
pub(super) struct Module<'a> {
    sections: Vec<(u8, &'a [u8])>,
    pub(super) imports: Vec<Import>,
    pub(super) exports: Vec<Export>,
}

/// Ids of sections.
const TYPES: u8 = 1;
const IMPORTS: u8 = 2;
const FUNCS: u8 = 3;
const TABLES: u8 = 4;
const MEMORIES: u8 = 5;
const EXPORTS: u8 = 7;
const ELEMENTS: u8 = 9;
const CODE: u8 = 10;
const DATA: u8 = 11;
const DATA_COUNT: u8 = 12;

/// The sections in their order in a module.
const ORDER: [u8; 13] = [1, 2, 3, 4, 5, 13, 6, 7, 8, 9, 12, 10, 11];

impl<'a> Module<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Option<Module<'a>> {
        let sections = Reader::sections(bytes, CORE)?;
        let mut module = Module { sections, imports: Vec::new(), exports: Vec::new() };
        if let Some(content) = module.section(IMPORTS) {
            module.imports = Reader(content).whole(import)?;
        }
        if let Some(content) = module.section(EXPORTS) {
            module.exports = Reader(content).whole(|reader| {
                let name = reader.name()?.to_vec();
                Some(Export { name, kind: reader.byte()?, index: reader.index()? })
            })?;
        }
        Some(module)
    }

    fn section(&self, id: u8) -> Option<&'a [u8]> {
        self.sections.iter().find(|(known, _)| *known == id).map(|(_, content)| *content)
    }

    fn has_only(&self, ids: &[u8]) -> bool {
        self.sections.iter().all(|(id, _)| ids.contains(id))
    }

    pub(super) fn export(&self, kind: u8, name: &[u8]) -> Option<&Export> {
        self.exports.iter().find(|export| export.kind == kind && export.name == name)
    }

    /// Returns the types of functions, as bytes.
    fn types(&self) -> Option<Vec<&'a [u8]>> {
        Reader(self.section(TYPES)?).whole(|reader| {
            let start = *reader;
            reader.skip(&[0x60]).then_some(())?;
            // Numbers, vectors and references without an index are one byte each.
            for _ in 0..2 {
                let values = reader.name()?;
                values.iter().all(|value| (0x6f..0x80).contains(value)).then_some(())?;
            }
            start.0.get(..start.0.len() - reader.0.len())
        })
    }

    /// Returns the type of each function, imported or not, as its number.
    fn func_types(&self) -> Option<Vec<usize>> {
        let imported = self.imports.iter().filter(|import| import.what.first() == Some(&FUNC));
        let mut all: Vec<usize> =
            imported.map(|import| Reader(import.what.get(1..)?).index()).collect::<Option<Vec<_>>>()?;
        if let Some(content) = self.section(FUNCS) {
            all.extend(Reader(content).whole(Reader::index)?);
        }
        Some(all)
    }

    /// Returns the type of an exported function.
    pub(super) fn signature(&self, name: &[u8]) -> Option<&'a [u8]> {
        let index = *self.func_types()?.get(self.export(FUNC, name)?.index)?;
        self.types()?.get(index).copied()
    }

    /// Where this is a module of functions that do no more than to call what stands in a place of a table: the name of
    /// the table, and those of the functions with their places.
    pub(super) fn shim(&self) -> Option<(&[u8], Places<'_>)> {
        self.has_only(&[TYPES, FUNCS, TABLES, EXPORTS, CODE]).then_some(())?;
        let (types, funcs) = (self.types()?, self.func_types()?);
        let bodies = Reader(self.section(CODE)?).whole(Reader::name)?;
        let mut places = Vec::new();
        for export in self.exports.iter().filter(|export| export.kind == FUNC) {
            let index = *funcs.get(export.index)?;
            let params = Reader(types.get(index)?.get(1..)?).name()?.len();
            places.push((&*export.name, forwards(bodies.get(export.index)?, params, index)?));
        }
        let [table] = &self.exports.iter().filter(|export| export.kind != FUNC).collect::<Vec<_>>()[..] else {
            return None;
        };
        (table.kind == TABLE).then_some((&*table.name, places))
    }

    /// Where this is a module that does no more than to fill a table with functions: the name of the table, and those
    /// of the functions in the order of their places. All are imported from "".
    pub(super) fn filler(&self) -> Option<(&[u8], Vec<&[u8]>)> {
        self.has_only(&[TYPES, IMPORTS, ELEMENTS]).then_some(())?;
        self.imports.iter().all(|import| import.module.is_empty()).then_some(())?;
        let (funcs, others): (Vec<&Import>, Vec<&Import>) =
            self.imports.iter().partition(|import| import.what.first() == Some(&FUNC));
        let [table] = &others[..] else { return None };
        (table.what.first() == Some(&TABLE)).then_some(())?;
        let mut elements = Reader(self.section(ELEMENTS)?);
        // One segment, from place 0 on.
        elements.skip(&[1, 0, 0x41, 0, 0x0b]).then_some(())?;
        let places = elements.whole(Reader::index)?;
        let names = places.iter().map(|index| funcs.get(*index).map(|import| &*import.name));
        Some((&table.name, names.collect::<Option<Vec<_>>>()?))
    }

    /// Returns what defines the only memory, as an import says it too; `None` where memories are imported.
    fn memory(&self) -> Option<&'a [u8]> {
        only(self.section(MEMORIES)?)
    }

    /// Returns the least and, if there is one, the greatest size of the only table, of functions.
    fn table(&self) -> Option<(usize, Option<usize>)> {
        let mut reader = Reader(only(self.section(TABLES)?)?);
        reader.skip(&[0x70]).then_some(())?;
        let has_most = reader.byte()?;
        let least = reader.index()?;
        let most = match has_most {
            0 => None,
            1 => Some(reader.index()?),
            _ => return None,
        };
        reader.is_empty().then_some((least, most))
    }

    /// Returns the data, where it is all put into memory at fixed places before anything runs.
    fn data(&self) -> Option<&'a [u8]> {
        let content = self.section(DATA)?;
        if self.section(DATA_COUNT).is_some() {
            return None;
        }
        Reader(content).whole(|reader| {
            reader.skip(&[0, 0x41]).then_some(())?;
            // The number is signed, but as long as another.
            while reader.byte()? >= 128 {}
            reader.skip(&[0x0b]).then_some(())?;
            reader.name()
        })?;
        Some(content)
    }

    /// Splits the module in two: what has the memory, with the data in it, and, if `realloc` names a function for it,
    /// a function that calls that one through the table; and the module itself, which imports memory and table from
    /// there, by the name `from`, and exports `kept`.
    pub(super) fn split(
        mut self,
        realloc: Option<&[u8]>,
        from: &[u8],
        kept: Vec<Export>,
    ) -> Option<(Vec<u8>, Vec<u8>)> {
        self.imports.iter().all(|import| import.what.first() == Some(&FUNC)).then_some(())?;
        let memory = self.memory()?;
        let mut owner = vec![(MEMORIES, one(memory))];
        let mut exports = vec![Export { name: MEMORY.to_vec(), kind: MEMORY_KIND, index: 0 }];
        let mut left_out = vec![MEMORIES];
        let mut elements = None;
        self.imports.push(Import {
            module: from.to_vec(),
            name: MEMORY.to_vec(),
            what: [&[MEMORY_KIND], memory].concat(),
        });
        if let Some(realloc) = realloc {
            (self.signature(realloc)? == REALLOC_TYPE).then_some(())?;
            let (place, most) = self.table()?;
            let mut table = vec![0x70, u8::from(most.is_some())];
            push_number(&mut table, place + 1);
            if let Some(most) = most {
                push_number(&mut table, most + 1);
            }
            elements = Some(self.elements_with(place, self.export(FUNC, realloc)?.index)?);
            left_out.extend([TABLES, ELEMENTS]);
            self.imports.push(Import {
                module: from.to_vec(),
                name: TABLE_NAME.to_vec(),
                what: [&[TABLE], &*table].concat(),
            });
            exports.push(Export { name: TABLE_NAME.to_vec(), kind: TABLE, index: 0 });
            exports.push(Export { name: REALLOC.to_vec(), kind: FUNC, index: 0 });
            owner.extend([
                (TYPES, one(REALLOC_TYPE)),
                (FUNCS, one(&[0])),
                (TABLES, one(&table)),
                (CODE, one(&forward(place))),
            ]);
        }
        if let Some(data) = self.data() {
            owner.push((DATA, data.to_vec()));
            left_out.push(DATA);
        }
        owner.push((EXPORTS, self::exports(&exports)));
        self.exports = kept;
        let mut sections = self.other_sections(&left_out);
        sections.extend(elements.map(|elements| (ELEMENTS, elements)));
        Some((module(owner), module(sections)))
    }

    /// Returns the elements, with one more function in the table.
    fn elements_with(&self, place: usize, func: usize) -> Option<Vec<u8>> {
        let mut reader = Reader(self.section(ELEMENTS).unwrap_or(&[0]));
        let mut content = Vec::new();
        push_number(&mut content, reader.index()? + 1);
        content.extend_from_slice(reader.0);
        content.extend([0, 0x41]);
        push_signed(&mut content, place);
        content.extend([0x0b, 1]);
        push_number(&mut content, func);
        Some(content)
    }

    fn other_sections(&self, left_out: &[u8]) -> Vec<(u8, Vec<u8>)> {
        let others = self.sections.iter().filter(|(id, _)| ![IMPORTS, EXPORTS].contains(id) && !left_out.contains(id));
        let mut sections: Vec<(u8, Vec<u8>)> = others.map(|(id, content)| (*id, content.to_vec())).collect();
        if !self.imports.is_empty() {
            let imports = list_of(&self.imports, |out, import| {
                push_name(out, &import.module);
                push_name(out, &import.name);
                out.extend_from_slice(&import.what);
            });
            sections.push((IMPORTS, imports));
        }
        if !self.exports.is_empty() {
            sections.push((EXPORTS, exports(&self.exports)));
        }
        sections
    }
}

/// Names of functions, and the places in a table that they call.
type Places<'a> = Vec<(&'a [u8], usize)>;

/// The names of what the two halves of a module share.
pub(super) const MEMORY: &[u8] = b"m";
const TABLE_NAME: &[u8] = b"t";
pub(super) const REALLOC: &[u8] = b"r";

/// The type of `cabi_realloc`: from four numbers to one.
const REALLOC_TYPE: &[u8] = &[0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f];

fn import(reader: &mut Reader<'_>) -> Option<Import> {
    let (module, name) = (reader.name()?.to_vec(), reader.name()?.to_vec());
    let start = *reader;
    match reader.byte()? {
        FUNC => {
            reader.index()?;
        }
        TABLE => {
            reader.skip(&[0x70]).then_some(())?;
            let has_most = reader.byte()?;
            reader.index()?;
            match has_most {
                0 => None,
                1 => Some(reader.index()?),
                _ => return None,
            };
        }
        _ => return None,
    }
    Some(Import { module, name, what: start.0.get(..start.0.len() - reader.0.len())?.to_vec() })
}

fn exports(exports: &[Export]) -> Vec<u8> {
    list_of(exports, |out, export| {
        push_name(out, &export.name);
        out.push(export.kind);
        push_number(out, export.index);
    })
}

/// Returns what the content of a section holds if that is one thing.
fn only(content: &[u8]) -> Option<&[u8]> {
    content.strip_prefix(&[1])
}

fn one(thing: &[u8]) -> Vec<u8> {
    [&[1], thing].concat()
}

/// Writes a module of these sections, in whatever order they come.
fn module(sections: Vec<(u8, Vec<u8>)>) -> Vec<u8> {
    let mut place = 0;
    let mut placed = Vec::new();
    for section in &sections {
        // A custom section follows what it followed: `metadata.code.branch_hint` has to stand before the code.
        place = ORDER.iter().position(|known| *known == section.0).unwrap_or(place);
        placed.push((place, section));
    }
    placed.sort_by_key(|(place, _)| *place);
    let mut out = CORE.to_vec();
    placed.iter().for_each(|(_, (id, content))| push_section(&mut out, *id, content));
    out
}

/// Returns the place in a table that a function's body calls with its own parameters, if it does nothing else.
fn forwards(body: &[u8], params: usize, index: usize) -> Option<usize> {
    let mut reader = Reader(body);
    reader.skip(&[0]).then_some(())?;
    for param in 0..params {
        (reader.skip(&[0x20]) && reader.index()? == param).then_some(())?;
    }
    reader.skip(&[0x41]).then_some(())?;
    let place = reader.signed_index()? as usize;
    let calls = reader.skip(&[0x11]) && reader.index()? == index && reader.skip(&[0, 0x0b]);
    (calls && reader.is_empty()).then_some(place)
}

/// Returns the code of a function of type 0, with four parameters, that calls what stands in a place of the table.
fn forward(place: usize) -> Vec<u8> {
    let mut body = vec![0, 0x20, 0, 0x20, 1, 0x20, 2, 0x20, 3, 0x41];
    push_signed(&mut body, place);
    body.extend([0x11, 0, 0, 0x0b]);
    let mut code = Vec::new();
    push_name(&mut code, &body);
    code
}
