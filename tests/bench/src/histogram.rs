//! Latencies, counted in buckets that are at most 1.6 % wide.

use std::time::Duration;

/// Buckets within each power of two.
const FINE: u32 = 6;
/// Enough for latencies of hours.
const BUCKETS: usize = 64 << FINE;

/// How many requests took how long.
#[derive(Clone)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], total: 0 }
    }
}

impl Histogram {
    /// Counts one request.
    pub fn add(&mut self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.counts[bucket(nanos)] += 1;
        self.total += 1;
    }

    /// Counts what another one has counted.
    pub fn merge(&mut self, other: &Self) {
        for (own, others) in self.counts.iter_mut().zip(&other.counts) {
            *own += others;
        }
        self.total += other.total;
    }

    /// How many were counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the time within which `share` of them, such as 0.99, were answered; zero when there were none.
    pub fn quantile(&self, share: f64) -> Duration {
        let rank = ((self.total as f64 * share).ceil() as u64).clamp(1, self.total.max(1));
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Duration::from_nanos(upper(index));
            }
        }
        Duration::ZERO
    }
}

/// Small numbers have a bucket each; larger ones share theirs with those that agree in their first bits.
fn bucket(value: u64) -> usize {
    let bits = u64::BITS - value.leading_zeros();
    let shift = bits.saturating_sub(FINE + 1);
    ((shift as usize) << FINE) + (value >> shift) as usize
}

/// The largest value in a bucket.
fn upper(bucket: usize) -> u64 {
    let fine = 1 << FINE;
    if bucket < 2 * fine {
        return bucket as u64;
    }
    let shift = bucket / fine - 1;
    (((bucket - shift * fine) as u64 + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(nanos: &[u64], share: f64, expected: u64) {
        let mut histogram = Histogram::default();
        nanos.iter().for_each(|nanos| histogram.add(Duration::from_nanos(*nanos)));
        let found = histogram.quantile(share).as_nanos() as u64;
        assert!(found >= expected && found as f64 <= expected as f64 * 1.016, "{found} for {expected}");
    }

    #[test]
    fn quantiles_are_close() {
        check(&[], 0.5, 0);
        check(&[7], 0.99, 7);
        check(&[1, 2, 3, 4], 0.5, 2);
        let all: Vec<u64> = (1..=100_000).collect();
        for share in [0.01, 0.5, 0.9, 0.99, 1.0] {
            check(&all, share, (100_000.0 * share) as u64);
        }
        check(&[3_600_000_000_000], 0.5, 3_600_000_000_000);
    }

    #[test]
    fn buckets_hold_what_they_are_for() {
        for value in (0..10_000).chain([u64::from(u32::MAX), 1 << 40, (1 << 40) + 12345]) {
            let bucket = bucket(value);
            assert!(value <= upper(bucket) && (bucket == 0 || value > upper(bucket - 1)), "{value}");
        }
    }
}
