//! What encoders make of a list of todos as JSON, and how long they take natively: `cargo xtask encoders` sets it
//! beside what they weigh in a component.

#![allow(clippy::indexing_slicing, reason = "what is indexed is written beside it")]

use std::hint::black_box;
use std::time::Instant;

/// Rounds of which the median counts.
const ROUNDS: usize = 200;

fn main() {
    let json = todos();
    println!("as it is\t{}\t0", json.len());
    for level in [1, 4, 6] {
        row(&format!("deflate, level {level}"), || miniz_oxide::deflate::compress_to_vec(&json, level));
    }
    for level in [1, 4] {
        row(&format!("brotli, level {level}"), || {
            let params = brotli::enc::BrotliEncoderParams { quality: level, lgwin: 22, ..Default::default() };
            let mut compressed = Vec::new();
            brotli::BrotliCompress(&mut &*json, &mut compressed, &params).expect("a vector takes all");
            compressed
        });
    }
}

/// Prints the name, the bytes and the microseconds of an encoder.
fn row(name: &str, encode: impl Fn() -> Vec<u8>) {
    let mut micros: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let begin = Instant::now();
            black_box(encode());
            begin.elapsed().as_micros()
        })
        .collect();
    micros.sort_unstable();
    println!("{name}\t{}\t{}", encode().len(), micros[ROUNDS / 2]);
}

/// A list as an app answers with, about 20 KB of it.
fn todos() -> Vec<u8> {
    let words = ["milk", "letters", "bicycle", "garden", "tickets", "bread", "taxes", "piano"];
    let todo = |n: usize| {
        let (verb, what) = (["buy", "mend", "send", "tidy"][n * 7 % 4], words[n * 5 % 8]);
        // Identifiers look like noise, as they do in real answers.
        let id = (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let (month, day, done) = (n % 12 + 1, n * 11 % 28 + 1, n.is_multiple_of(3));
        format!(r#"{{"id":"{id:016x}","title":"{verb} the {what}","due":"2026-{month:02}-{day:02}","done":{done}}}"#)
    };
    let todos: Vec<_> = (0..230).map(todo).collect();
    format!("[{}]", todos.join(",")).into_bytes()
}
