//! A component as a graph: what it defines, and what of it uses what, without numbers.

use super::bytes::{push_name, push_number, push_section, push_signed};
use std::collections::HashMap;

/// Which of a component's definitions.
pub(super) type Id = usize;

/// What is numbered by itself. The bytes are those of the format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Sort {
    Core(u8),
    Component(u8),
}

impl Sort {
    pub(super) const CORE_FUNC: Sort = Sort::Core(0);
    pub(super) const CORE_MEMORY: Sort = Sort::Core(2);
    pub(super) const CORE_MODULE: Sort = Sort::Core(0x11);
    pub(super) const CORE_INSTANCE: Sort = Sort::Core(0x12);
    pub(super) const FUNC: Sort = Sort::Component(1);
    pub(super) const TYPE: Sort = Sort::Component(3);
    pub(super) const COMPONENT: Sort = Sort::Component(4);
    pub(super) const INSTANCE: Sort = Sort::Component(5);

    fn push(self, out: &mut Vec<Token>) {
        match self {
            Sort::Core(sort) => out.push(Token::Bytes(vec![0, sort])),
            Sort::Component(sort) => out.push(Token::Bytes(vec![sort])),
        }
    }
}

/// A piece of a definition.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Token {
    Bytes(Vec<u8>),
    /// The number of another definition.
    Use(Id),
    /// The same, in a place where a negative number would have another meaning.
    UseSigned(Id),
}

/// What stands for a definition.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Def {
    Module(Vec<u8>),
    /// An instance of a module, with instances for the names that it imports from.
    Instantiate {
        module: Id,
        with: Vec<(Vec<u8>, Id)>,
    },
    /// Things of modules under names.
    Bundle(Vec<(Vec<u8>, Id)>),
    /// What an instance exports.
    Alias {
        from: Id,
        name: Vec<u8>,
    },
    Component(Vec<u8>),
    /// An instance of a component, with what it imports.
    Compose {
        component: Id,
        with: Vec<(Vec<u8>, Id)>,
    },
    /// Things of components under names, each of which is written with what goes before.
    Group(Vec<(Vec<u8>, Id)>),
    Import {
        name: Vec<u8>,
        what: Vec<Token>,
    },
    Export {
        name: Vec<u8>,
        of: Id,
        /// As what it is exported, if the format says so.
        what: Vec<Token>,
    },
    Type(Vec<Token>),
    Canon(Vec<Token>),
}

pub(super) struct Node {
    pub(super) sort: Sort,
    pub(super) def: Def,
}

#[derive(Default)]
pub(super) struct Graph {
    nodes: Vec<Node>,
    /// How many there were before any were put in front of them.
    rest: Option<usize>,
    /// Custom sections, for the end.
    pub(super) custom: Vec<Vec<u8>>,
}

/// The sections by their ids, in the order in which they go first: what much depends on, and then what is needed late.
const ORDER: [u8; 9] = [7, 10, 6, 1, 4, 2, 8, 5, 11];

impl Graph {
    pub(super) fn add(&mut self, sort: Sort, def: Def) -> Id {
        self.nodes.push(Node { sort, def });
        self.nodes.len() - 1
    }

    /// Adds a definition that is to stand before those that were there first.
    pub(super) fn add_before(&mut self, sort: Sort, def: Def) -> Id {
        self.rest.get_or_insert(self.nodes.len());
        self.add(sort, def)
    }

    pub(super) fn def(&self, id: Id) -> Option<&Def> {
        Some(&self.nodes.get(id)?.def)
    }

    pub(super) fn set(&mut self, id: Id, def: Def) {
        if let Some(node) = self.nodes.get_mut(id) {
            node.def = def;
        }
    }

    /// Returns all definitions with their ids.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Id, &Node)> {
        self.nodes.iter().enumerate()
    }

    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns what is taken out of an instance, with the names there.
    pub(super) fn aliases(&self, of: Id) -> impl Iterator<Item = (Id, Vec<u8>)> {
        self.iter().filter_map(move |(id, node)| match &node.def {
            Def::Alias { from, name } if *from == of => Some((id, name.clone())),
            _ => None,
        })
    }

    /// Exports functions as what they are, without their types said once more.
    pub(super) fn untype(&mut self) {
        for node in self.nodes.iter_mut().filter(|node| node.sort == Sort::FUNC) {
            if let Def::Export { what, .. } = &mut node.def {
                *what = vec![Token::Bytes(vec![0])];
            }
        }
    }

    /// Returns all imports.
    pub(super) fn imports(&self) -> Vec<(Id, Vec<u8>, Vec<Token>)> {
        let imports = self.iter().filter_map(|(id, node)| match &node.def {
            Def::Import { name, what } => Some((id, name.clone(), what.clone())),
            _ => None,
        });
        imports.collect()
    }

    /// Returns the import that another one has to be equal to.
    pub(super) fn equal_import(&self, def: &Def) -> Option<Id> {
        let Def::Import { what, .. } = def else { return None };
        let [Token::Bytes(bound), Token::Use(id)] = &what[..] else { return None };
        (bound[..] == [3, 0] && matches!(self.def(*id)?, Def::Import { .. })).then_some(*id)
    }

    /// Puts another definition in the place of each that is used.
    pub(super) fn substitute(&mut self, same: &[Id]) {
        self.nodes.iter_mut().for_each(|node| node.def.rename(same));
    }

    /// Lets everything that uses one of several equal definitions use the first.
    pub(super) fn merge(&mut self) {
        let mut known: HashMap<(Sort, Def), Id> = HashMap::new();
        let mut same: Vec<Id> = Vec::new();
        for (id, node) in self.nodes.iter_mut().enumerate() {
            node.def.rename(&same);
            let is_pure = match &node.def {
                // Each resource is a type of its own.
                Def::Type(tokens) => {
                    !matches!(tokens.first(), Some(Token::Bytes(bytes)) if bytes.first() == Some(&0x3f))
                }
                Def::Alias { .. } => true,
                _ => false,
            };
            same.push(if is_pure { *known.entry((node.sort, node.def.clone())).or_insert(id) } else { id });
        }
    }

    /// Writes the component, without what nothing uses, and without these instances: `None` where one of them is used
    /// after all, or definitions go round in circles.
    pub(super) fn write(&self, preamble: &[u8], gone: &[Id]) -> Option<Vec<u8>> {
        let tokens: Vec<Vec<Token>> = self.nodes.iter().map(|node| self.tokens(node)).collect();
        let mut waiting = self.reachable(&tokens, gone);
        if gone.iter().any(|id| waiting.get(*id) == Some(&true)) {
            return None;
        }
        let rest = self.rest.unwrap_or_default();
        let order: Vec<Id> = (rest..self.nodes.len()).chain(0..rest).collect();
        let mut numbers: HashMap<Id, usize> = HashMap::new();
        let mut counts: HashMap<Sort, usize> = HashMap::new();
        let mut out = preamble.to_vec();
        while waiting.contains(&true) {
            let before = out.len();
            for section in ORDER {
                let mut content = Vec::new();
                let mut count = 0;
                // In the order of before, among what is in the same section. What changes something when it is done,
                // and what can be seen from outside, waits for its turn.
                for &id in &order {
                    let (Some(node), Some(tokens), Some(true)) = (self.nodes.get(id), tokens.get(id), waiting.get(id))
                    else {
                        continue;
                    };
                    if node.def.section() != section {
                        continue;
                    }
                    match written(tokens, &numbers) {
                        Some(bytes) => content.extend(bytes),
                        None if node.def.is_in_order() => break,
                        None => continue,
                    }
                    let next = counts.entry(node.sort).or_default();
                    numbers.insert(id, *next);
                    *next += 1;
                    count += 1;
                    *waiting.get_mut(id)? = false;
                }
                if count > 0 {
                    match section {
                        // These two are one thing a section.
                        1 | 4 => out.extend(content),
                        _ => {
                            let mut whole = Vec::new();
                            push_number(&mut whole, count);
                            whole.extend(content);
                            push_section(&mut out, section, &whole);
                        }
                    }
                    break;
                }
            }
            if out.len() == before {
                return None;
            }
        }
        self.custom.iter().for_each(|content| push_section(&mut out, 0, content));
        Some(out)
    }

    /// Tells of each definition whether it is needed: what can be seen from outside, what runs, and what they use.
    fn reachable(&self, tokens: &[Vec<Token>], gone: &[Id]) -> Vec<bool> {
        let mut reached = vec![false; self.nodes.len()];
        let is_needed = |(id, node): &(Id, &Node)| node.def.is_in_order() && !gone.contains(id);
        let mut todo: Vec<Id> = self.iter().filter(is_needed).map(|(id, _)| id).collect();
        while let Some(id) = todo.pop() {
            match reached.get_mut(id) {
                Some(is_reached @ false) => *is_reached = true,
                _ => continue,
            }
            todo.extend(tokens.get(id).into_iter().flatten().filter_map(Token::id));
        }
        reached
    }

    fn tokens(&self, node: &Node) -> Vec<Token> {
        let sort = |id: &Id| self.nodes.get(*id).map_or(Sort::TYPE, |node| node.sort);
        let mut out = Vec::new();
        match &node.def {
            Def::Module(bytes) | Def::Component(bytes) => {
                let mut section = Vec::new();
                push_section(&mut section, node.def.section(), bytes);
                out.push(Token::Bytes(section));
            }
            Def::Instantiate { module, with } => {
                out.extend([Token::Bytes(vec![0]), Token::Use(*module), count(with)]);
                for (name, id) in with {
                    out.extend([name_of(&[], name), Token::Bytes(vec![0x12]), Token::Use(*id)]);
                }
            }
            Def::Bundle(things) => {
                out.extend([Token::Bytes(vec![1]), count(things)]);
                for (name, id) in things {
                    let Sort::Core(sort) = sort(id) else { continue };
                    out.extend([name_of(&[], name), Token::Bytes(vec![sort]), Token::Use(*id)]);
                }
            }
            Def::Alias { from, name } => {
                node.sort.push(&mut out);
                let kind = u8::from(sort(from) == Sort::CORE_INSTANCE);
                out.extend([Token::Bytes(vec![kind]), Token::Use(*from), name_of(&[], name)]);
            }
            Def::Compose { component, with } => {
                out.extend([Token::Bytes(vec![0]), Token::Use(*component), count(with)]);
                for (name, id) in with {
                    out.push(name_of(&[], name));
                    sort(id).push(&mut out);
                    out.push(Token::Use(*id));
                }
            }
            Def::Group(things) => {
                out.extend([Token::Bytes(vec![1]), count(things)]);
                for (name, id) in things {
                    out.push(name_of(&[0], name));
                    sort(id).push(&mut out);
                    out.push(Token::Use(*id));
                }
            }
            Def::Import { name, what } => {
                out.push(name_of(&[0], name));
                out.extend_from_slice(what);
            }
            Def::Export { name, of, what } => {
                out.push(name_of(&[0], name));
                sort(of).push(&mut out);
                out.push(Token::Use(*of));
                out.extend_from_slice(what);
            }
            Def::Type(tokens) | Def::Canon(tokens) => out.extend_from_slice(tokens),
        }
        out
    }
}

impl Token {
    pub(super) fn id(&self) -> Option<Id> {
        match self {
            Token::Bytes(_) => None,
            Token::Use(id) | Token::UseSigned(id) => Some(*id),
        }
    }
}

impl Def {
    fn section(&self) -> u8 {
        match self {
            Def::Module(_) => 1,
            Def::Instantiate { .. } | Def::Bundle(_) => 2,
            Def::Component(_) => 4,
            Def::Compose { .. } | Def::Group(_) => 5,
            Def::Alias { .. } => 6,
            Def::Type(_) => 7,
            Def::Canon(_) => 8,
            Def::Import { .. } => 10,
            Def::Export { .. } => 11,
        }
    }

    fn is_in_order(&self) -> bool {
        matches!(self, Def::Instantiate { .. } | Def::Compose { .. } | Def::Import { .. } | Def::Export { .. })
    }

    fn rename(&mut self, same: &[Id]) {
        let rename = |id: &mut Id| *id = same.get(*id).copied().unwrap_or(*id);
        let rename_all = |tokens: &mut Vec<Token>| {
            for token in tokens {
                if let Token::Use(id) | Token::UseSigned(id) = token {
                    rename(id);
                }
            }
        };
        match self {
            Def::Module(_) | Def::Component(_) => {}
            Def::Instantiate { module: of, with } | Def::Compose { component: of, with } => {
                rename(of);
                with.iter_mut().for_each(|(_, id)| rename(id));
            }
            Def::Bundle(things) | Def::Group(things) => things.iter_mut().for_each(|(_, id)| rename(id)),
            Def::Alias { from, .. } => rename(from),
            Def::Export { of, what, .. } => {
                rename(of);
                rename_all(what);
            }
            Def::Import { what, .. } => rename_all(what),
            Def::Type(tokens) | Def::Canon(tokens) => rename_all(tokens),
        }
    }
}

fn count<T>(things: &[T]) -> Token {
    let mut bytes = Vec::new();
    push_number(&mut bytes, things.len());
    Token::Bytes(bytes)
}

fn name_of(before: &[u8], name: &[u8]) -> Token {
    let mut bytes = before.to_vec();
    push_name(&mut bytes, name);
    Token::Bytes(bytes)
}

/// Returns a definition's bytes, or `None` where something that it uses is not there yet.
fn written(tokens: &[Token], numbers: &HashMap<Id, usize>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for token in tokens {
        match token {
            Token::Bytes(more) => bytes.extend_from_slice(more),
            Token::Use(id) => push_number(&mut bytes, *numbers.get(id)?),
            Token::UseSigned(id) => push_signed(&mut bytes, *numbers.get(id)?),
        }
    }
    Some(bytes)
}
