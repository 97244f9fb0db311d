//! Sizes and times as people write them: `64KiB`, `500ms`.

use std::time::Duration;

const SIZES: &[(&str, u64)] = &[("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
const TIMES: &[(&str, u64)] = &[("ms", 1), ("h", 3_600_000), ("m", 60_000), ("s", 1000)];

/// Reads a size; a bare number counts bytes.
///
/// # Errors
/// When it is no whole number with one of the units.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    parse(text, SIZES, "B")
        .ok_or_else(|| format!("{text:?} is no size; write a whole number with B, KiB, MiB or GiB, such as \"64KiB\""))
}

/// Reads a time; it needs a unit, because a bare number could be anything.
///
/// # Errors
/// When it is no whole number with one of the units.
pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    parse(text, TIMES, "")
        .map(Duration::from_millis)
        .ok_or_else(|| format!("{text:?} is no time; write a whole number with ms, s, m or h, such as \"30s\""))
}

/// Writes a size with the largest unit that leaves a whole number.
pub(crate) fn size(bytes: u64) -> String {
    print(bytes, SIZES, "B")
}

/// Writes a time with the largest unit that leaves a whole number.
pub(crate) fn time(time: Duration) -> String {
    print(u64::try_from(time.as_millis()).unwrap_or(u64::MAX), &[TIMES[1], TIMES[2], TIMES[3]], "ms")
}

fn parse(text: &str, units: &[(&str, u64)], bare: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = if unit.trim().is_empty() { bare } else { unit.trim() };
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

fn print(value: u64, units: &[(&str, u64)], smallest: &str) -> String {
    let unit = units.iter().find(|(_, factor)| value != 0 && value.is_multiple_of(*factor));
    match unit {
        Some((name, factor)) => format!("{}{name}", value / factor),
        None => format!("{value}{smallest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_survive_being_written() {
        for (text, bytes) in
            [("0B", 0), ("1B", 1), ("1500B", 1500), ("64KiB", 65536), ("3MiB", 3 << 20), ("2GiB", 2 << 30)]
        {
            assert_eq!((parse_size(text), size(bytes).as_str()), (Ok(bytes), text));
        }
        for (text, millis) in
            [("0ms", 0), ("500ms", 500), ("30s", 30_000), ("90s", 90_000), ("2m", 120_000), ("1h", 3_600_000)]
        {
            let wanted = Duration::from_millis(millis);
            assert_eq!((parse_time(text), time(wanted).as_str()), (Ok(wanted), text));
        }
        assert_eq!(parse_size(" 10 KiB "), Ok(10240));
        assert_eq!(parse_size("10"), Ok(10));
        for wrong in ["", "KiB", "1.5MiB", "-1B", "1kb", "1 0B", "99999999999999999999B", "18446744073709551615KiB"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "10", "1d", "s", "1.5s"] {
            assert!(parse_time(wrong).is_err(), "{wrong}");
        }
    }
}
