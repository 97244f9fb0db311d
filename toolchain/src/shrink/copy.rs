//! Copies types and options, and notes what they use.

use super::bytes::{Reader, push_number, push_signed};
use super::graph::{Sort, Token};
use super::read::Read;

/// How deep types are nested in types at most, in files that are no attack.
const DEPTH: usize = 32;

/// Copies what is read, and notes what it uses.
pub(super) struct Copier<'a> {
    pub(super) read: &'a Read,
    pub(super) tokens: Vec<Token>,
    /// In how many types that have numbers of their own.
    pub(super) depth: usize,
}

impl Copier<'_> {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        match self.tokens.last_mut() {
            Some(Token::Bytes(last)) => last.extend_from_slice(bytes),
            _ => self.tokens.push(Token::Bytes(bytes.to_vec())),
        }
    }

    pub(super) fn raw(&mut self, reader: &mut Reader<'_>, length: usize) -> Option<()> {
        let bytes = reader.take(length)?;
        // A number that has another byte is longer than what is copied.
        if bytes.last().is_some_and(|last| *last >= 128) {
            return None;
        }
        self.push(bytes);
        Some(())
    }

    fn number(&mut self, number: usize) {
        let mut bytes = Vec::new();
        push_number(&mut bytes, number);
        self.push(&bytes);
    }

    fn name(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let name = reader.name()?;
        self.number(name.len());
        self.push(name);
        Some(())
    }

    pub(super) fn reference(&mut self, sort: Sort, reader: &mut Reader<'_>) -> Option<()> {
        let index = reader.index()?;
        match self.depth {
            0 => self.tokens.push(Token::Use(self.read.find(sort, index)?)),
            _ => self.number(index),
        }
        Some(())
    }

    /// A type of values, or the number of one.
    fn value(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        if let Some(primitive @ 0x40..=0x7f) = reader.peek() {
            reader.byte()?;
            self.push(&[primitive]);
            return Some(());
        }
        let index = reader.signed_index()? as usize;
        match self.depth {
            0 => self.tokens.push(Token::UseSigned(self.read.find(Sort::TYPE, index)?)),
            _ => {
                let mut bytes = Vec::new();
                push_signed(&mut bytes, index);
                self.push(&bytes);
            }
        }
        Some(())
    }

    /// One or none, with a byte before it that says which.
    fn optional(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let is_there = reader.byte()?;
        self.push(&[is_there]);
        match is_there {
            0 => Some(()),
            1 => self.value(reader),
            _ => None,
        }
    }

    fn list(
        &mut self,
        reader: &mut Reader<'_>,
        mut copy: impl FnMut(&mut Self, &mut Reader<'_>) -> Option<()>,
    ) -> Option<()> {
        let count = reader.index()?;
        self.number(count);
        (0..count).try_for_each(|_| copy(self, reader))
    }

    pub(super) fn result(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let kind = reader.byte()?;
        self.push(&[kind]);
        match kind {
            0 => self.value(reader),
            1 => self.raw(reader, 1),
            _ => None,
        }
    }

    fn named_value(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        self.name(reader)?;
        self.value(reader)
    }

    /// A definition of a type.
    pub(super) fn define(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let kind = reader.byte()?;
        self.push(&[kind]);
        match kind {
            0x64 | 0x73..=0x7f => Some(()),
            // A resource, and what destroys it.
            0x3f => {
                self.raw(reader, 1)?;
                let is_there = reader.byte()?;
                self.push(&[is_there]);
                if is_there == 0 { Some(()) } else { self.reference(Sort::CORE_FUNC, reader) }
            }
            // Functions.
            0x40 | 0x43 => {
                self.list(reader, Self::named_value)?;
                self.result(reader)
            }
            // Types of components and of instances.
            0x41 | 0x42 => {
                self.depth += 1;
                (self.depth < DEPTH).then_some(())?;
                self.list(reader, Self::declare)?;
                self.depth -= 1;
                Some(())
            }
            // A record and a variant.
            0x72 => self.list(reader, Self::named_value),
            0x71 => self.list(reader, |copy, reader| {
                copy.name(reader)?;
                copy.optional(reader)?;
                copy.raw(reader, 1)
            }),
            // A list, a tuple, flags and an enum, an option, and a result.
            0x70 | 0x6b => self.value(reader),
            0x6f => self.list(reader, Self::value),
            0x6e | 0x6d => self.list(reader, Self::name),
            0x6a => {
                self.optional(reader)?;
                self.optional(reader)
            }
            // Handles, owned and borrowed; a stream and a future.
            0x69 | 0x68 => self.reference(Sort::TYPE, reader),
            0x66 | 0x65 => self.optional(reader),
            _ => None,
        }
    }

    /// What the type of an instance or of a component consists of.
    fn declare(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let kind = reader.byte()?;
        self.push(&[kind]);
        match kind {
            1 => self.define(reader),
            2 => self.outer(reader),
            3 | 4 => {
                let before = reader.byte()?;
                self.push(&[before]);
                (before < 2).then_some(())?;
                self.name(reader)?;
                self.external(reader).map(|_| ())
            }
            _ => None,
        }
    }

    /// A type of something around this one.
    fn outer(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        reader.skip(&[3, 2]).then_some(())?;
        let count = reader.index()?;
        self.push(&[3, 2]);
        self.number(count);
        let index = reader.index()?;
        if count == self.depth {
            self.tokens.push(Token::Use(self.read.find(Sort::TYPE, index)?));
        } else {
            (count < self.depth).then_some(())?;
            self.number(index);
        }
        Some(())
    }

    /// As what something is imported or exported.
    pub(super) fn external(&mut self, reader: &mut Reader<'_>) -> Option<Sort> {
        let kind = reader.byte()?;
        self.push(&[kind]);
        if kind == 3 {
            let bound = reader.byte()?;
            self.push(&[bound]);
            match bound {
                0 => self.reference(Sort::TYPE, reader)?,
                1 => {}
                _ => return None,
            }
            return Some(Sort::TYPE);
        }
        matches!(kind, 1 | 4 | 5).then_some(())?;
        self.reference(Sort::TYPE, reader)?;
        Some(Sort::Component(kind))
    }

    /// Options of the canonical ABI.
    pub(super) fn options(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        self.list(reader, |copy, reader| {
            let kind = reader.byte()?;
            copy.push(&[kind]);
            match kind {
                0..=2 | 6 => Some(()),
                3 => copy.reference(Sort::CORE_MEMORY, reader),
                4 | 5 | 7 => copy.reference(Sort::CORE_FUNC, reader),
                _ => None,
            }
        })
    }
}
