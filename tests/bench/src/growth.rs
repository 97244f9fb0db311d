//! How the cost of a request grows with what a sweep makes larger.

use crate::tables::Column;
use crate::text::{servers, short, thousands};

/// The least and the largest size of a sweep with the cost of a request, and what happens between.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// The least size above nothing.
    pub from: f64,
    /// The largest size.
    pub to: f64,
    /// Processor time of the server for a request at the least size, in microseconds.
    pub least: f64,
    /// The same at the largest size.
    pub most: f64,
    /// The steepest step between two neighbouring sizes: the cost grows with this power of the size.
    pub steepest: f64,
}

/// A step from one size to the next is as good as flat when the cost grows by less than this.
pub const NOISE: f64 = 1.25;
/// What grows by no higher power than this is linear: caches get too small, and measurements are never exact.
pub const LINEAR: f64 = 1.15;

impl Growth {
    /// Reads pairs of size and cost, smaller sizes first; `None` when there are less than two.
    pub fn new(points: &[(f64, f64)]) -> Option<Self> {
        let points: Vec<_> = points.iter().copied().filter(|(size, cost)| *size > 0.0 && *cost > 0.0).collect();
        let (first, last) = (points.first()?, points.last()?);
        let steps = points.windows(2).filter_map(|pair| match pair {
            [(size, cost), (larger, more)] if more / cost > NOISE => Some((more / cost).ln() / (larger / size).ln()),
            _ => None,
        });
        let steepest = steps.fold(0.0, f64::max);
        let (from, to) = (first.0, last.0);
        (points.len() > 1).then_some(Self { from, to, least: first.1, most: last.1, steepest })
    }

    /// The cost at the largest size over that at the least.
    pub fn times(self) -> f64 {
        self.most / self.least
    }

    /// The cost of a unit at the largest size over that at the least.
    pub fn per_unit(self) -> f64 {
        self.times() / (self.to / self.from)
    }

    /// In a word.
    pub fn verdict(self) -> &'static str {
        match (self.times(), self.steepest) {
            (_, steepest) if steepest > LINEAR => "**worse than linear**",
            (times, _) if times <= NOISE => "flat",
            (_, steepest) if steepest > 0.85 => "linear",
            _ => "less than linear",
        }
    }
}

/// Returns the growth of a server's cost in a sweep.
pub fn of(columns: &[&Column], server: &str) -> Option<Growth> {
    let cost = |column: &&Column| Some((column.size, column.row(server)?.cpu()?.as_secs_f64() * 1e6));
    Growth::new(&columns.iter().filter_map(cost).collect::<Vec<_>>())
}

/// A table with a row for each server.
pub fn table(columns: &[&Column]) -> String {
    let mut text = String::new();
    for name in servers(columns) {
        let Some(growth) = of(columns, &name) else { continue };
        if text.is_empty() {
            let (from, to) = (thousands(growth.from), thousands(growth.to));
            text = format!(
                "| server | CPU µs/req at {from} | at {to} | × | × for each unit | steepest step | verdict |\n\
                 | --- | --: | --: | --: | --: | --: | --- |\n"
            );
        }
        let [least, most, times] = [growth.least, growth.most, growth.times()].map(short);
        let (unit, steepest) = (format!("{:.4}", growth.per_unit()), growth.steepest);
        let verdict = growth.verdict();
        text.push_str(&format!("| {name} | {least} | {most} | {times} | {unit} | {steepest:.2} | {verdict} |\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(points: &[(f64, f64)], expected: Option<(&str, f64)>) {
        let growth = Growth::new(points);
        assert_eq!(growth.map(|growth| (growth.verdict(), (growth.steepest * 100.0).round() / 100.0)), expected);
    }

    #[test]
    fn growth_has_a_name() {
        check(&[(0.0, 1.0), (1.0, 1.0)], None);
        check(&[(1.0, 50.0), (10.0, 55.0), (100.0, 52.0)], Some(("flat", 0.0)));
        check(&[(0.0, 9.0), (1.0, 10.0), (10.0, 20.0), (100.0, 110.0)], Some(("less than linear", 0.74)));
        check(&[(1.0, 10.0), (10.0, 100.0)], Some(("linear", 1.0)));
        check(&[(1.0, 10.0), (10.0, 20.0), (100.0, 1000.0)], Some(("**worse than linear**", 1.7)));
        // Twice the cost of thrice the size is no noise, even if it is less again afterwards.
        check(&[(1.0, 10.0), (1.5, 20.0), (4.0, 11.0)], Some(("**worse than linear**", 1.71)));
    }

    #[test]
    fn costs_of_a_unit() {
        let growth = Growth::new(&[(1.0, 10.0), (100.0, 500.0)]).unwrap();
        assert_eq!((growth.times(), growth.per_unit()), (50.0, 0.5));
    }
}
