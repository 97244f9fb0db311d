//! Memory while a form is read: the same whatever its size.

#![allow(unsafe_code, reason = "an allocator that counts is unsafe by its trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};
use tabi::testing::Client;
use tabi::{Body, Request, Result, Router, Stream, limits};

struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is the system's allocator; counting changes nothing about it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        MOST.fetch_max(NOW.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller keeps the promises of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the promises of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A form with one file, made while it is read.
struct Large {
    chunks: usize,
    at: usize,
}

impl Stream for Large {
    fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Vec<u8>>>> {
        let at = self.at;
        self.at += 1;
        Poll::Ready(match at {
            0 => Some(Ok(b"--XX\r\nContent-Disposition: form-data; name=a; filename=b\r\n\r\n".to_vec())),
            at if at <= self.chunks => Some(Ok(vec![b'x'; limits::CHUNK])),
            at if at == self.chunks + 1 => Some(Ok(b"\r\n--XX--\r\n".to_vec())),
            _ => None,
        })
    }
}

async fn count(mut req: Request) -> Result<String> {
    let mut form = req.multipart()?.total_limit(u64::MAX);
    let mut total = 0;
    while let Some(mut field) = form.next_field().await? {
        while let Some(chunk) = field.chunk().await? {
            total += chunk.len() as u64;
        }
    }
    Ok(tabi::decimal(total))
}

/// Returns how much memory an upload of so many chunks takes.
fn peak(client: &Client, chunks: usize) -> usize {
    let before = NOW.load(Relaxed);
    MOST.store(before, Relaxed);
    let call = client.post("/").header("content-type", "multipart/form-data; boundary=XX");
    let reply = call.stream(Body::from_stream(Large { chunks, at: 0 })).send();
    assert_eq!(reply.text(), tabi::decimal((chunks * limits::CHUNK) as u64));
    MOST.load(Relaxed) - before
}

#[test]
fn a_large_upload_takes_no_more_than_a_small_one() {
    let client = Client::new(Router::new().post("/", count));
    let (small, large) = (peak(&client, 4), peak(&client, 1024));
    // The test runner has a thread of its own that may allocate a little at the same time.
    assert!(large <= small + 4096, "{small} bytes for a small one, {large} for a large one");
    assert!(large < 4 * limits::CHUNK, "{large} bytes");
}
