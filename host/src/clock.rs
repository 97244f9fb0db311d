//! The coarse clock: one thread ticks for all engines and all connection timers.
//!
//! Asking the system for the time and arming a timer for each request costs more than many
//! guests do; nothing here needs more precision than a tick.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};
use wasmtime::{Engine, EngineWeak};

/// The time between two ticks, and so the slice after which a busy guest yields its core.
pub const TICK: Duration = Duration::from_millis(10);

static NOW: AtomicU64 = AtomicU64::new(0);
static ENGINES: Mutex<Vec<EngineWeak>> = Mutex::new(Vec::new());

/// Milliseconds since the clock started, as of the last tick.
pub fn now_ms() -> u64 {
    NOW.load(Relaxed)
}

/// Lets the clock interrupt the guests of `engine` from now on, until it is dropped.
pub fn drive(engine: &Engine) {
    lock().push(engine.weak());
    start();
}

/// Starts the ticking thread, once.
pub fn start() {
    static STARTED: OnceLock<()> = OnceLock::new();
    STARTED.get_or_init(|| {
        let begin = Instant::now();
        let tick = move || {
            loop {
                std::thread::sleep(TICK);
                NOW.store(begin.elapsed().as_millis() as u64, Relaxed);
                lock().retain(|engine| engine.upgrade().inspect(Engine::increment_epoch).is_some());
            }
        };
        if let Err(error) = std::thread::Builder::new().name("tabi-clock".into()).spawn(tick) {
            // Without the clock no guest could be interrupted, so serving would be unsafe.
            panic!("no thread for the clock: {error}");
        }
    });
}

fn lock() -> std::sync::MutexGuard<'static, Vec<EngineWeak>> {
    crate::lock::lock(&ENGINES)
}
