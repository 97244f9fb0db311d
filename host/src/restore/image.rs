//! The first content of a memory, as what has to be written for it.

use super::module::Memory;

/// Zeros between two pieces of data that are worth a piece of their own.
const GAP: usize = 512;

/// What is written to a memory.
#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    Zeros { at: u32, count: u32 },
    Data { at: u32, bytes: Vec<u8> },
}

/// What has to be written to set the memory back, in parts of `part` bytes each; `None` if its data does not fit into it.
pub(super) fn parts(memory: &Memory<'_>, part: usize) -> Option<Vec<Vec<Piece>>> {
    let size = memory.size()?;
    let mut content = vec![0; size];
    for (at, data) in &memory.data {
        let at = usize::try_from(*at).ok()?;
        content.get_mut(at..at.checked_add(data.len())?)?.copy_from_slice(data);
    }
    content.chunks(part).enumerate().map(|(index, content)| pieces(index * part, content)).collect()
}

/// What has to be written for this content at `start`, one after the other and without gaps.
pub(super) fn pieces(start: usize, content: &[u8]) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < content.len() {
        let rest = content.get(at..)?;
        let zeros = rest.iter().position(|byte| *byte != 0).unwrap_or(rest.len());
        if zeros > 0 {
            pieces.push(Piece::Zeros { at: u32::try_from(start + at).ok()?, count: u32::try_from(zeros).ok()? });
        }
        let bytes = data(rest.get(zeros..)?);
        if !bytes.is_empty() {
            pieces.push(Piece::Data { at: u32::try_from(start + at + zeros).ok()?, bytes: bytes.to_vec() });
        }
        at += zeros + bytes.len();
    }
    Some(pieces)
}

/// The begin of `rest` up to the next gap.
fn data(rest: &[u8]) -> &[u8] {
    let mut zeros = 0;
    let mut end = 0;
    for (index, byte) in rest.iter().enumerate() {
        if *byte != 0 {
            (zeros, end) = (0, index + 1);
            continue;
        }
        zeros += 1;
        if zeros > GAP {
            break;
        }
    }
    rest.get(..end).unwrap_or(rest)
}
