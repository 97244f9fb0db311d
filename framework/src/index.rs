//! `Index`: finds the routes for a path by the text that their patterns begin with.

use crate::app::Route;
use crate::pattern::read;
use alloc::vec::Vec;

/// Routes below this number are looked through faster than found.
const FEW: usize = 16;

/// A hash table with open addressing: the numbers of routes, from 1 on, and 0 where there is none. At most half of it
/// is in use.
pub(crate) struct Index(Vec<u32>);

impl Index {
    /// Returns an index of these routes, if it is worth it.
    pub(crate) fn new(routes: &[Route]) -> Option<Index> {
        if routes.len() < FEW {
            return None;
        }
        let mut index = Index(Vec::new());
        index.0.resize((routes.len() * 2).next_power_of_two(), 0);
        for (number, route) in (1..).zip(routes) {
            let mut hash = route.pattern.literal().bytes().fold(SEED, |hash, byte| step(hash, byte.into()));
            let mut at = index.place(hash);
            while let Some(place) = index.0.get_mut(at) {
                if *place == 0 {
                    *place = number;
                    break;
                }
                hash = hash.wrapping_add(1);
                at = index.place(hash);
            }
        }
        Some(index)
    }

    /// Returns the number of the next route whose pattern begins with no other text than the path does, or perhaps of
    /// another one.
    pub(crate) fn next(&self, path: &[u8], walk: &mut Walk) -> Option<usize> {
        loop {
            if walk.is_in_chain {
                let number = self.0.get(self.place(walk.place)).copied().unwrap_or_default();
                walk.place = walk.place.wrapping_add(1);
                if number > 0 {
                    return Some(number as usize - 1);
                }
                walk.is_in_chain = false;
            }
            if walk.is_over {
                return None;
            }
            let (byte, to) = read(path, walk.at);
            // Behind an encoded slash no text of a pattern is found.
            walk.is_over = to == walk.at;
            // The text that a pattern begins with ends with a slash, or is all of it.
            walk.is_in_chain = walk.byte == u32::from(b'/') || walk.is_over;
            walk.place = walk.hash;
            (walk.hash, walk.at, walk.byte) = (step(walk.hash, byte), to, byte);
        }
    }

    fn place(&self, hash: u32) -> usize {
        hash as usize & (self.0.len() - 1)
    }
}

/// How far a path was followed.
pub(crate) struct Walk {
    hash: u32,
    at: usize,
    byte: u32,
    place: u32,
    is_in_chain: bool,
    is_over: bool,
}

impl Walk {
    pub(crate) fn new() -> Walk {
        Walk { hash: SEED, at: 0, byte: 0, place: 0, is_in_chain: false, is_over: false }
    }
}

/// FNV-1a, which takes a byte at a time.
const SEED: u32 = 0x811c_9dc5;

fn step(hash: u32, byte: u32) -> u32 {
    (hash ^ byte).wrapping_mul(0x0100_0193)
}
