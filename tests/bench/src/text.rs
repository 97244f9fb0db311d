//! Rows and numbers as the page has them.

use std::time::Duration;

use crate::measure::Row;
use crate::tables::Column;

/// A row for each server and a column for each point: what `cell` makes of a row, and the errors.
pub fn cross(columns: &[&Column], cell: impl Fn(&Row) -> String) -> String {
    let heads: Vec<_> = columns.iter().map(|column| column.point.as_str()).collect();
    let mut text =
        format!("| server | {} | errors |\n| --- |{}\n", heads.join(" | "), " --: |".repeat(heads.len() + 1));
    for name in servers(columns) {
        let rows: Vec<_> = columns.iter().map(|column| column.row(&name)).collect();
        let cells: Vec<_> = rows.iter().map(|row| row.map_or_else(|| "–".to_owned(), &cell)).collect();
        let errors: u64 = rows.iter().flatten().map(|row| row.errors).sum();
        text.push_str(&format!("| {name} | {} | {} |\n", cells.join(" | "), thousands(errors as f64)));
    }
    text
}

/// The names of all servers, in the order in which they were measured.
pub fn servers(columns: &[&Column]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in columns.iter().flat_map(|column| &column.rows).map(|row| row.server.name()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Requests per second, and p99 in parentheses.
pub fn rate_and_p99(row: &Row) -> String {
    format!("{} ({})", thousands(row.rate()), millis(row.p99()))
}

/// One number divided by the other; nothing without the other.
pub fn ratio(rate: f64, base: Option<f64>) -> String {
    base.filter(|base| *base > 0.0).map_or_else(String::new, |base| format!("{:.2}", rate / base))
}

/// A time in milliseconds.
pub fn millis(time: Option<Duration>) -> String {
    time.map_or_else(String::new, |time| format!("{:.2}", time.as_secs_f64() * 1e3))
}

/// A number with three digits that say something.
pub fn short(number: f64) -> String {
    match number.abs() {
        0.0 => "0".to_owned(),
        below if below < 0.095 => format!("{number:.3}"),
        below if below < 9.95 => format!("{number:.2}"),
        below if below < 99.5 => format!("{number:.1}"),
        _ => thousands(number),
    }
}

/// A whole number, with a comma before each group of three digits.
pub fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas() {
        for (number, text) in [(0.4, "0"), (999.0, "999"), (1000.0, "1,000"), (1_234_567.8, "1,234,568")] {
            assert_eq!(thousands(number), text);
        }
    }

    #[test]
    fn short_numbers() {
        for (number, text) in [(0.0, "0"), (0.0123, "0.012"), (1.006, "1.01"), (54.12, "54.1"), (1234.5, "1,234")] {
            assert_eq!(short(number), text);
        }
    }
}
