//! Numbers, names and sections, as all of WebAssembly writes them.

/// What is left to read. Everything returns `None` where the bytes end too early.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    pub(super) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// Reads an unsigned number of 32 bits (LEB128).
    pub(super) fn number(&mut self) -> Option<u32> {
        let mut value = 0u64;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return u32::try_from(value).ok();
            }
        }
        None
    }

    /// Reads a signed number that has to be an index: types that have names of their own are negative.
    pub(super) fn signed_index(&mut self) -> Option<u32> {
        let mut value = 0u64;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return if byte & 64 == 0 { u32::try_from(value).ok() } else { None };
            }
        }
        None
    }

    pub(super) fn index(&mut self) -> Option<usize> {
        self.number().map(|number| number as usize)
    }

    /// Reads bytes with their length before them.
    pub(super) fn name(&mut self) -> Option<&'a [u8]> {
        let length = self.index()?;
        self.take(length)
    }

    /// Tells whether this comes next, and steps over it if so.
    pub(super) fn skip(&mut self, expected: &[u8]) -> bool {
        let rest = self.0.strip_prefix(expected);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// Reads a count, and so many things.
    pub(super) fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.index()?;
        (0..count).map(|_| read(self)).collect()
    }

    /// Reads what a whole section holds: a count, so many things, and nothing after them.
    pub(super) fn whole<T>(mut self, read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let list = self.list(read)?;
        self.is_empty().then_some(list)
    }

    /// Splits a module or a component into its sections.
    pub(super) fn sections(bytes: &'a [u8], preamble: &[u8]) -> Option<Vec<(u8, &'a [u8])>> {
        let mut reader = Reader(bytes.strip_prefix(preamble)?);
        let mut sections = Vec::new();
        while let Some(id) = reader.byte() {
            sections.push((id, reader.name()?));
        }
        Some(sections)
    }
}

pub(super) fn push_number(out: &mut Vec<u8>, mut number: usize) {
    while number >= 128 {
        out.push((number % 128) as u8 | 128);
        number /= 128;
    }
    out.push(number as u8);
}

pub(super) fn push_signed(out: &mut Vec<u8>, mut number: usize) {
    while number >= 64 {
        out.push((number % 128) as u8 | 128);
        number /= 128;
    }
    out.push(number as u8);
}

/// Writes bytes with their length before them.
pub(super) fn push_name(out: &mut Vec<u8>, name: &[u8]) {
    push_number(out, name.len());
    out.extend_from_slice(name);
}

pub(super) fn push_section(out: &mut Vec<u8>, id: u8, content: &[u8]) {
    out.push(id);
    push_name(out, content);
}

/// Returns the content of a section: a count, and so many things.
pub(super) fn list_of<T>(things: &[T], mut write: impl FnMut(&mut Vec<u8>, &T)) -> Vec<u8> {
    let mut content = Vec::new();
    push_number(&mut content, things.len());
    things.iter().for_each(|thing| write(&mut content, thing));
    content
}
