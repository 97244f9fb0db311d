//! What the heap hands out is apart, aligned, and keeps its contents, whatever is asked for in whatever order.

use super::*;
use std::cell::RefCell;
use std::vec::Vec;

/// Memory from the system, in pieces of which some follow each other.
struct System;

std::thread_local! {
    static PIECE: RefCell<(usize, usize)> = const { RefCell::new((0, 0)) };
}

impl Memory for System {
    fn more(bytes: usize, end: usize) -> (usize, usize) {
        PIECE.with_borrow_mut(|(next, last)| {
            if bytes > 1 << 20 {
                return (end, end);
            }
            if *next != end || *last - *next < bytes {
                let piece: &'static mut [u64] = Vec::leak(std::vec![0; 1 << 17]);
                *next = piece.as_mut_ptr().expose_provenance();
                *last = *next + (1 << 20);
            }
            let start = *next;
            *next += bytes.next_multiple_of(4096).min(*last - start);
            (start, *next)
        })
    }
}

struct Block {
    at: *mut u8,
    size: usize,
    align: usize,
    mark: u8,
}

impl Block {
    fn fill(&mut self, mark: u8) {
        self.mark = mark;
        unsafe { ptr::write_bytes(self.at, mark, self.size) };
    }

    #[track_caller]
    fn check(&self, size: usize) {
        assert_eq!(self.at.addr() % self.align, 0, "{} bytes are not aligned to {}", self.size, self.align);
        let bytes = unsafe { core::slice::from_raw_parts(self.at, size) };
        assert!(bytes.iter().all(|byte| *byte == self.mark), "somebody wrote into {} bytes", self.size);
    }
}

/// Numbers that look random and are the same in each run (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    /// Small ones more often, as in life.
    fn size(&mut self) -> usize {
        let bits = self.below(15) + 1;
        self.below(1 << bits) + 1
    }
}

#[test]
fn random_requests() {
    let heap: Heap<System> = Heap::new();
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut blocks: Vec<Block> = Vec::new();
    for round in 0..20_000 {
        let mark = (round % 251) as u8;
        match numbers.below(4) {
            0 | 1 if blocks.len() < 300 => {
                let (size, align) = (numbers.size(), 1 << numbers.below(if round % 5 == 0 { 9 } else { 4 }));
                let at = heap.allocate(size, align);
                assert!(!at.is_null());
                let mut block = Block { at, size, align, mark };
                block.fill(mark);
                blocks.push(block);
            }
            2 if !blocks.is_empty() => {
                let at = numbers.below(blocks.len());
                let size = numbers.size();
                let block = &mut blocks[at];
                block.check(block.size);
                block.at = unsafe { heap.resize(block.at, block.align, size) };
                assert!(!block.at.is_null());
                let kept = block.size.min(size);
                block.size = size;
                block.check(kept);
                block.fill(mark);
            }
            _ if !blocks.is_empty() => {
                let block = blocks.swap_remove(numbers.below(blocks.len()));
                block.check(block.size);
                unsafe { heap.free(block.at.expose_provenance()) };
            }
            _ => {}
        }
        if round % 512 == 0 {
            blocks.iter().for_each(|block| block.check(block.size));
        }
    }
    let mut ranges: Vec<_> = blocks.iter().map(|block| (block.at.addr(), block.at.addr() + block.size)).collect();
    ranges.sort_unstable();
    assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0), "two blocks overlap");
}

#[test]
fn classes() {
    let mut before = (0, 0);
    for size in 1..100_000 {
        let (class, length) = class(size);
        assert_eq!(super::length(class), length, "{size}");
        assert!(length >= size && length % ALIGN == 0 && length - size <= (size / 4).max(ALIGN - 1), "{size}");
        assert!((class, length) == before || (class > before.0 && length > before.1), "{size}");
        before = (class, length);
    }
    let heap: Heap<System> = Heap::new();
    assert!(class(1 << (usize::BITS - 1)).0 < heap.free.len());
}

#[test]
fn what_is_freed_is_used_again() {
    let heap: Heap<System> = Heap::new();
    for align in [1, 8, 64] {
        let first = heap.allocate(100, align);
        let second = heap.allocate(100, align);
        unsafe { heap.free(first.expose_provenance()) };
        assert_eq!((heap.allocate(97, align), heap.allocate(97, align) != second), (first, true));
    }
}

#[test]
fn the_last_block_grows_where_it_is() {
    let heap: Heap<System> = Heap::new();
    let block = heap.allocate(10, 1);
    for size in [1000, 5, 60_000] {
        assert_eq!(unsafe { heap.resize(block, 1, size) }, block);
    }
    assert_ne!(heap.allocate(1, 1), block);
    assert_ne!(unsafe { heap.resize(block, 1, 100_000) }, block);
}

#[test]
fn too_much_is_refused() {
    let heap: Heap<System> = Heap::new();
    for size in [2 << 20, isize::MAX as usize] {
        assert!(heap.allocate(size, 1).is_null() && heap.allocate(size, 16).is_null(), "{size}");
    }
    let block = heap.allocate(10, 1);
    assert!(unsafe { heap.resize(block, 1, isize::MAX as usize) }.is_null());
    assert!(!heap.allocate(10, 1).is_null());
}

#[test]
fn blocks_that_grow_again_and_again_need_no_more() {
    let heap: Heap<System> = Heap::new();
    let mut seen = Vec::new();
    for _ in 0..1000 {
        // As a list that is filled, and dropped, for each of many requests.
        let mut at = heap.allocate(16, 1);
        for size in [32, 64, 128, 256, 512, 1024, 2048, 4096] {
            at = unsafe { heap.resize(at, 1, size) };
        }
        unsafe { heap.free(at.expose_provenance()) };
        seen.push(heap.top.get());
    }
    assert_eq!(
        seen.first().map(|first| first + 16 * 1024 > seen[999]),
        Some(true),
        "{} bytes more",
        seen[999] - seen[0]
    );
}
