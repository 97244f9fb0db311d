//! Reads a component into a graph. What components of Rust programs don't have is not known here: `None`.

use super::bytes::Reader;
use super::copy::Copier;
use super::graph::{Def, Graph, Id, Sort, Token};
use std::collections::HashMap;

pub(super) const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// Reads a whole component.
pub(super) fn component(bytes: &[u8]) -> Option<Graph> {
    let mut read = Read { graph: Graph::default(), spaces: HashMap::new() };
    for (id, content) in Reader::sections(bytes, COMPONENT)? {
        match id {
            0 => read.graph.custom.push(content.to_vec()),
            1 => read.define(Sort::CORE_MODULE, Def::Module(content.to_vec())),
            4 => read.define(Sort::COMPONENT, Def::Component(content.to_vec())),
            _ => {
                Reader(content).whole(|reader| read.item(id, reader))?;
            }
        }
    }
    Some(read.graph)
}

pub(super) struct Read {
    graph: Graph,
    /// What each number of each kind stands for.
    spaces: HashMap<Sort, Vec<Id>>,
}

impl Read {
    fn define(&mut self, sort: Sort, def: Def) {
        let id = self.graph.add(sort, def);
        self.spaces.entry(sort).or_default().push(id);
    }

    pub(super) fn find(&self, sort: Sort, index: usize) -> Option<Id> {
        self.spaces.get(&sort)?.get(index).copied()
    }

    fn get(&self, sort: Sort, reader: &mut Reader<'_>) -> Option<Id> {
        self.find(sort, reader.index()?)
    }

    fn item(&mut self, section: u8, reader: &mut Reader<'_>) -> Option<()> {
        let (sort, def) = match section {
            2 => (Sort::CORE_INSTANCE, self.core_instance(reader)?),
            5 => (Sort::INSTANCE, self.instance(reader)?),
            6 => self.alias(reader)?,
            7 => (Sort::TYPE, Def::Type(self.tokens(0, |types| types.define(reader))?)),
            8 => self.canon(reader)?,
            10 => {
                let name = name(reader)?;
                let mut sort = None;
                let what = self.tokens(0, |types| {
                    sort = Some(types.external(reader)?);
                    Some(())
                })?;
                (sort?, Def::Import { name, what })
            }
            11 => self.export(reader)?,
            _ => return None,
        };
        self.define(sort, def);
        Some(())
    }

    fn core_instance(&self, reader: &mut Reader<'_>) -> Option<Def> {
        Some(match reader.byte()? {
            0 => Def::Instantiate {
                module: self.get(Sort::CORE_MODULE, reader)?,
                with: reader.list(|reader| {
                    let name = reader.name()?.to_vec();
                    reader.skip(&[0x12]).then_some(())?;
                    Some((name, self.get(Sort::CORE_INSTANCE, reader)?))
                })?,
            },
            1 => Def::Bundle(reader.list(|reader| {
                let name = reader.name()?.to_vec();
                let sort = Sort::Core(reader.byte()?);
                Some((name, self.get(sort, reader)?))
            })?),
            _ => return None,
        })
    }

    fn instance(&self, reader: &mut Reader<'_>) -> Option<Def> {
        Some(match reader.byte()? {
            0 => Def::Compose {
                component: self.get(Sort::COMPONENT, reader)?,
                with: reader.list(|reader| {
                    let name = reader.name()?.to_vec();
                    let sort = sort(reader)?;
                    Some((name, self.get(sort, reader)?))
                })?,
            },
            1 => Def::Group(reader.list(|reader| {
                let name = name(reader)?;
                let sort = sort(reader)?;
                Some((name, self.get(sort, reader)?))
            })?),
            _ => return None,
        })
    }

    fn alias(&self, reader: &mut Reader<'_>) -> Option<(Sort, Def)> {
        let sort = sort(reader)?;
        let from = match reader.byte()? {
            0 => Sort::INSTANCE,
            1 => Sort::CORE_INSTANCE,
            _ => return None,
        };
        Some((sort, Def::Alias { from: self.get(from, reader)?, name: reader.name()?.to_vec() }))
    }

    fn export(&self, reader: &mut Reader<'_>) -> Option<(Sort, Def)> {
        let name = name(reader)?;
        let sort = sort(reader)?;
        let of = self.get(sort, reader)?;
        let what = self.tokens(0, |types| {
            let is_there = reader.byte()?;
            types.push(&[is_there]);
            match is_there {
                0 => Some(()),
                1 => types.external(reader).map(|_| ()),
                _ => None,
            }
        })?;
        Some((sort, Def::Export { name, of, what }))
    }

    fn canon(&self, reader: &mut Reader<'_>) -> Option<(Sort, Def)> {
        let kind = reader.byte()?;
        let tokens = self.tokens(0, |out| {
            out.push(&[kind]);
            match kind {
                // Lift and lower.
                0 => {
                    out.raw(reader, 1)?;
                    out.reference(Sort::CORE_FUNC, reader)?;
                    out.options(reader)?;
                    out.reference(Sort::TYPE, reader)
                }
                1 => {
                    out.raw(reader, 1)?;
                    out.reference(Sort::FUNC, reader)?;
                    out.options(reader)
                }
                // Of a resource; a new stream or future, and its ends dropped.
                2..=4 | 0x0e | 0x13 | 0x14 | 0x15 | 0x1a | 0x1b => out.reference(Sort::TYPE, reader),
                // `task.return`.
                9 => {
                    out.result(reader)?;
                    out.options(reader)
                }
                // `context.get` and `context.set`: a type and a number below 128.
                0x0a | 0x0b => out.raw(reader, 2),
                // Read and write, of streams and futures.
                0x0f | 0x10 | 0x16 | 0x17 => {
                    out.reference(Sort::TYPE, reader)?;
                    out.options(reader)
                }
                // The same, taken back.
                0x11 | 0x12 | 0x18 | 0x19 => {
                    out.reference(Sort::TYPE, reader)?;
                    out.raw(reader, 1)
                }
                // Error contexts.
                0x1c | 0x1d => out.options(reader),
                // Waiting for sets of things.
                0x20 | 0x21 => {
                    out.raw(reader, 1)?;
                    out.reference(Sort::CORE_MEMORY, reader)
                }
                // Without anything, and with a flag.
                5 | 0x0d | 0x1e | 0x1f | 0x22..=0x26 => Some(()),
                6 | 0x0c => out.raw(reader, 1),
                _ => None,
            }
        })?;
        Some((if kind == 0 { Sort::FUNC } else { Sort::CORE_FUNC }, Def::Canon(tokens)))
    }

    fn tokens(&self, depth: usize, write: impl FnOnce(&mut Copier<'_>) -> Option<()>) -> Option<Vec<Token>> {
        let mut copy = Copier { read: self, tokens: Vec::new(), depth };
        write(&mut copy)?;
        Some(copy.tokens)
    }
}

/// The name of an import or an export.
fn name(reader: &mut Reader<'_>) -> Option<Vec<u8>> {
    // 1 is an old way to write 0.
    (reader.byte()? < 2).then_some(())?;
    Some(reader.name()?.to_vec())
}

fn sort(reader: &mut Reader<'_>) -> Option<Sort> {
    Some(match reader.byte()? {
        0 => Sort::Core(reader.byte()?),
        sort => Sort::Component(sort),
    })
}
