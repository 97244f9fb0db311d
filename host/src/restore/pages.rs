//! Which pages of a memory were written to, as the kernel knows it.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::LazyLock;

/// The parts that a memory is looked at in, a bit for each.
pub(super) const PARTS: usize = 64;

const PAGE: usize = 4096;

static PAGEMAP: LazyLock<Option<File>> = LazyLock::new(|| {
    let file = File::open("/proc/self/pagemap").ok()?;
    // Kernels before 6.7 do not know it, and some containers do not allow it.
    let mut fresh = vec![0; 4 * PAGE];
    fresh.fill(1);
    scan(&file, &fresh)?;
    Some(file)
});

/// Whether the kernel tells.
#[cfg(feature = "compiler")]
pub(super) fn are_known() -> bool {
    PAGEMAP.is_some()
}

/// The bytes of each part of a memory of `size` bytes.
pub(super) fn part(size: usize) -> usize {
    size.div_ceil(PAGE).div_ceil(PARTS).max(1) * PAGE
}

/// The parts of `memory` that were written to since it was mapped; all of them where the kernel does not tell.
pub(super) fn written(memory: &[u8]) -> u64 {
    PAGEMAP.as_ref().and_then(|file| scan(file, memory)).unwrap_or(u64::MAX)
}

/// `struct pm_scan_arg` (PAGEMAP_SCAN(2const)).
#[repr(C)]
#[derive(Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    region_count: u64,
    max_pages: u64,
    inverted: u64,
    all_of: u64,
    any_of: u64,
    returned: u64,
}

/// `struct page_region`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Region {
    start: u64,
    end: u64,
    categories: u64,
}

const SCAN: u64 = 0xc060_6610;
const FILE: u64 = 1 << 2;
const PRESENT: u64 = 1 << 3;
const SWAPPED: u64 = 1 << 4;
const ZERO: u64 = 1 << 5;

fn scan(file: &File, memory: &[u8]) -> Option<u64> {
    let mut regions = [Region::default(); PARTS];
    let start = memory.as_ptr() as u64;
    let end = start + memory.len() as u64;
    let mut scan = Scan {
        size: size_of::<Scan>() as u64,
        start: start / PAGE as u64 * PAGE as u64,
        end: end.next_multiple_of(PAGE as u64),
        regions: regions.as_mut_ptr() as u64,
        region_count: regions.len() as u64,
        // A page that was only read is that of the file with the first content, or the one of zeros that all share.
        inverted: FILE | ZERO,
        all_of: FILE | ZERO,
        any_of: PRESENT | SWAPPED,
        ..Scan::default()
    };
    // SAFETY: the kernel writes to `scan` and to the regions it names, which both live longer than the call, and no
    // further than their sizes say.
    let found = unsafe { libc::ioctl(file.as_raw_fd(), SCAN as libc::Ioctl, &raw mut scan) };
    let found = regions.get(..usize::try_from(found).ok()?)?;
    let mut parts = 0;
    let part = part(memory.len()) as u64;
    let mut add = |from: u64, to: u64| {
        let mut at = from.saturating_sub(start) / part;
        while at < PARTS as u64 && start + at * part < to {
            parts |= 1 << at;
            at += 1;
        }
    };
    for region in found {
        add(region.start, region.end);
    }
    // Where there was no room for more regions it ended early.
    if scan.walk_end < end {
        add(scan.walk_end, end);
    }
    Some(parts)
}

#[cfg(all(test, feature = "compiler"))]
mod tests {
    use super::*;

    /// A memory of zeros that nobody has touched, as the kernel maps it.
    fn fresh(size: usize) -> (Vec<u8>, std::ops::Range<usize>) {
        // Large enough to be mapped for itself.
        let memory = vec![0u8; size + (4 << 20)];
        let begin = memory.as_ptr().align_offset(PAGE);
        (memory, begin..begin + size)
    }

    #[test]
    fn parts_cover_the_memory() {
        for pages in [1, 63, 64, 65, 80, 128, 129, 1000, 16384] {
            let part = part(pages * PAGE);
            assert_eq!(part % PAGE, 0);
            assert!(part * PARTS >= pages * PAGE, "{pages}");
            assert!((part - PAGE) * PARTS < pages * PAGE, "{pages}");
        }
    }

    #[test]
    fn what_was_written_is_found() {
        if !are_known() {
            println!("this kernel does not tell");
            return;
        }
        for (size, writes) in [
            (320 << 10, &[][..]),
            (320 << 10, &[0][..]),
            (320 << 10, &[(320 << 10) - 1][..]),
            (320 << 10, &[4095, 4096, 8191, 8192, 100_000][..]),
            (64 << 10, &[7, 20_000, 65_535][..]),
            (1088 << 10, &[0, 300_000, 300_001, 1_000_000][..]),
        ] {
            let (mut memory, range) = fresh(size);
            let memory = &mut memory[range];
            // Reading is no writing.
            assert_eq!(memory.iter().map(|byte| u64::from(*byte)).sum::<u64>(), 0);
            let mut wanted = 0u64;
            for at in writes {
                memory[*at] = 1;
                wanted |= 1 << (at / part(size));
            }
            let found = written(memory);
            assert_eq!(found & wanted, wanted, "{size} {writes:?}: {found:b}");
            // Transparent huge pages may take more than was asked for.
            assert!(found == wanted || found.count_ones() > wanted.count_ones(), "{size} {writes:?}: {found:b}");
        }
    }

    #[test]
    fn more_regions_than_there_is_room_for_are_all_found() {
        let (mut memory, range) = fresh(4 << 20);
        let memory = &mut memory[range];
        for page in (0..1024).step_by(2) {
            memory[page * PAGE] = 1;
        }
        assert_eq!(written(memory), u64::MAX);
    }
}
