//! How long answers take when two hosts are asked equally often.

use std::time::Duration;

use crate::measure::{Plan, Row, Way};
use crate::requests::Ask;
use crate::servers;
use crate::tables::Bench;
use crate::text::{millis, thousands};

/// Of what `wasmtime serve` answers at most, so much is asked of both.
const SHARE: f64 = 0.6;

impl Bench<'_> {
    /// Measures pairs of `wasmtime serve` and this host, each at a rate that the former is up to.
    pub fn latency(&mut self) -> String {
        let connections = self.options.connections;
        let ask = Ask::get("/hello/World", 13);
        let mut text = "| server | asked/s | answered/s | p50 ms | p99 ms | p99.9 ms | CPU µs/req | errors |\n\
                        | --- | --: | --: | --: | --: | --: | --: | --: |\n"
            .to_owned();
        for (theirs, ours) in servers::pairs(self.builds) {
            let mode = format!("{}, {}", theirs.app, theirs.mode);
            let at_most = self.plan(Way::Busy(connections));
            self.measure(("latency-most", &mode, 0.0), vec![theirs.clone()], |_| ask.clone(), at_most, 0);
            let most = self.columns.last().and_then(|column| column.rows.first()).map(Row::rate);
            // Nothing to compare with: it is not asked for, or does not start.
            let Some(rate) = most.map(|rate| (rate * SHARE).round()).filter(|rate| *rate >= 1.0) else { continue };
            let time = self.options.time.max(Duration::from_millis(500));
            let (rounds, way) = (self.options.rounds, Way::Rate(connections, rate));
            let plan = Plan { time, warm: time / 2, rounds, way, starts: 0 };
            self.measure(("latency", &mode, rate), vec![theirs, ours], |_| ask.clone(), plan, 0);
            for row in self.columns.last().iter().flat_map(|column| &column.rows) {
                let cpu = row.cpu().map_or_else(String::new, |cpu| format!("{:.1}", cpu.as_secs_f64() * 1e6));
                let times = [row.p50(), row.p99(), row.p999()].map(millis).join(" | ");
                let (name, asked, answered) = (row.server.name(), thousands(rate), thousands(row.rate()));
                text.push_str(&format!("| {name} | {asked} | {answered} | {times} | {cpu} | {} |\n", row.errors));
            }
        }
        text
    }
}
