//! What compressing its answers would cost a component, beside what it would save: the table of `docs/compression.md`.

use crate::costs::size;
use crate::run::{cargo, output};

/// Measures and prints the table.
///
/// # Errors
/// When something cannot be built.
pub fn print() -> Result<(), String> {
    let hello = size("")?;
    let weights = [("deflate", size("deflate")?), ("brotli", size("brotli")?)];
    let example = ["run", "--quiet", "--release", "--package", "tabi-assets", "--example", "encoders"];
    let rows = output(cargo().args(example))?;
    println!("| answer | bytes sent | more bytes in the component | native, compression alone |\n|---|--:|--:|--:|");
    for row in rows.lines() {
        let mut cells = row.split('\t');
        let mut cell = || cells.next().ok_or_else(|| format!("`{row}` lacks a cell"));
        let (name, bytes, micros) = (cell()?, cell()?, cell()?);
        let weight = weights.iter().find(|(encoder, _)| name.starts_with(encoder));
        match weight {
            Some((_, size)) => println!("| {name} | {bytes} | {} | {micros} µs |", size.saturating_sub(hello)),
            None => println!("| {name} | {bytes} | – | – |"),
        }
    }
    Ok(())
}
