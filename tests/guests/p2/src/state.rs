//! All that a guest can remember from one request to the next.

use std::cell::{Cell, RefCell};
use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};
use wasip2::random::{insecure_seed::insecure_seed, random::get_random_bytes};

static COUNT: AtomicU64 = AtomicU64::new(0);
static TEXT: Mutex<[u8; 12]> = Mutex::new(*b"first words\0");
static ZEROS: Mutex<[u8; 3000]> = Mutex::new([0; 3000]);
static ONCE: OnceLock<u64> = OnceLock::new();

thread_local! {
    static CELL: Cell<u64> = const { Cell::new(77) };
    static MAP: RefCell<BTreeMap<u64, String>> = RefCell::default();
}

/// Says what is there, and then leaves something in every place.
pub fn read_and_spoil() -> String {
    let mut text = TEXT.lock().expect("one thread");
    let mut zeros = ZEROS.lock().expect("one thread");
    // Where the allocator puts the next blocks depends on all that came before.
    let blocks: Vec<Vec<u8>> = [10, 1000, 9000].map(|size| vec![0; size]).into();
    let found = format!(
        "count {} text {:?} zeros {} once {:?} cell {} map {} pages {} stack {} blocks {:?}",
        COUNT.load(Relaxed),
        String::from_utf8_lossy(&*text),
        zeros.iter().all(|byte| *byte == 0),
        ONCE.get(),
        CELL.get(),
        MAP.with_borrow(BTreeMap::len),
        core::arch::wasm32::memory_size(0),
        stack(),
        blocks.iter().map(Vec::as_ptr).collect::<Vec<_>>(),
    );
    COUNT.fetch_add(1, Relaxed);
    text.fill(b'x');
    zeros.fill(0xff);
    let _ = ONCE.set(9);
    CELL.set(0);
    MAP.with_borrow_mut(|map| map.insert(map.len() as u64, "remembered".repeat(50)));
    std::mem::forget(blocks);
    found
}

/// Whether the stack below has nothing but zeros, or what this very call has put there; then fills it.
fn stack() -> bool {
    let mut deep = [0u8; 100_000];
    let start = std::hint::black_box(deep.as_mut_ptr());
    deep.fill(0xaa);
    // Far below what anybody calls here, an untouched stack is zeros.
    let far = unsafe { std::slice::from_raw_parts_mut(start.wrapping_sub(100_000), 50_000) };
    let clean = far.iter().all(|byte| *byte == 0);
    far.fill(0xbb);
    clean
}

/// Numbers that should never come twice.
pub fn seeds() -> String {
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u8(1);
    let map: HashMap<u8, u8> = HashMap::new();
    format!("{:?} {:?} {} {}", insecure_seed(), get_random_bytes(8), hasher.finish(), map.hasher().hash_one(1))
}
