//! The tables: which servers are asked what.

use std::time::Duration;

use crate::builds::Builds;
use crate::measure::{Plan, Row, Subject, measure};
use crate::options::Options;
use crate::requests::{self, Ask};
use crate::servers::{self, HYPER, Server};

/// How many routes the apps of the last table have besides those that they need.
pub const ROUTES: [usize; 4] = [1, 10, 100, 1000];

/// The names, in the order of the page.
pub const NAMES: [&str; 6] = ["hello", "workloads", "connections", "bodies", "headers", "routes"];

/// Measures and gives the text of a table.
pub fn table(name: &str, builds: &Builds, options: &Options, skipped: &mut Vec<String>) -> String {
    let mut bench = Bench { builds, options, skipped };
    match name {
        "hello" => bench.hello(),
        "workloads" => bench.workloads(),
        "connections" => bench.connections(),
        "bodies" => bench.bodies(),
        "headers" => bench.headers(),
        _ => bench.routes(),
    }
}

struct Bench<'a> {
    builds: &'a Builds,
    options: &'a Options,
    skipped: &'a mut Vec<String>,
}

impl Bench<'_> {
    fn hello(&mut self) -> String {
        let Options { time, rounds, connections, .. } = *self.options;
        let plan = Plan { time, rounds, connections, starts: rounds };
        // wstd-axum's has no route but that.
        let ask = |server: &Server| match server.app {
            "wstd-axum" => Ask::get("/", 13),
            _ => Ask::get("/hello/World", 13),
        };
        let rows = self.measure(servers::hellos(self.builds), ask, plan, 0);
        let rate_of = |name: &str| rows.iter().find(|row| row.server.name() == name).map(Row::rate);
        let mut text =
            "| server | req/s | ± | × wasmtime serve | × hyper | p50 ms | p99 ms | CPU µs/req | errors | peak MB \
                        | cold start ms |\n| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n"
                .to_owned();
        for row in &rows {
            let base = row.server.base.and_then(rate_of);
            let cells = [
                row.server.name(),
                thousands(row.rate()),
                format!("{:.0} %", row.spread() * 50.0),
                ratio(row.rate(), base),
                ratio(row.rate(), rate_of(HYPER)),
                millis(row.p50()),
                millis(row.p99()),
                row.cpu().map_or_else(String::new, |cpu| format!("{:.1}", cpu.as_secs_f64() * 1e6)),
                row.errors.to_string(),
                row.peak.map_or_else(String::new, |peak| format!("{:.0}", peak as f64 / 1e6)),
                row.cold().map_or_else(String::new, |cold| format!("{:.0}", cold.as_secs_f64() * 1e3)),
            ];
            text.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
        text
    }

    fn workloads(&mut self) -> String {
        let columns = requests::workloads();
        let plan = self.plan(self.options.connections);
        let points = columns.into_iter().map(|(name, ask)| (name.to_owned(), ask, plan)).collect();
        self.grid(servers::workloads(self.builds), points)
    }

    fn connections(&mut self) -> String {
        let ask = Ask::get("/hello/World", 13);
        let points = [1, 10, 100, 1000, 10_000].map(|count| (thousands(count as f64), ask.clone(), self.plan(count)));
        self.grid(servers::sweeps(self.builds), points.into())
    }

    fn bodies(&mut self) -> String {
        let sizes = [(0, "0"), (1 << 10, "1 KiB"), (64 << 10, "64 KiB"), (1 << 20, "1 MiB"), (10 << 20, "10 MiB")];
        let mut text = String::new();
        for kind in ["answers", "requests", "both ways"] {
            let ask = match kind {
                "answers" => requests::download,
                "requests" => requests::upload,
                _ => requests::echo,
            };
            // As many bytes are on their way at once as a machine has room for.
            let points = sizes.map(|(size, name)| (name.to_owned(), ask(size), self.plan(10)));
            text.push_str(&format!("\nIn {kind}:\n\n{}", self.grid(servers::sweeps(self.builds), points.into())));
        }
        text.trim_start().to_owned()
    }

    fn headers(&mut self) -> String {
        let plan = self.plan(self.options.connections);
        let points = [1, 5, 15, 30, 60].map(|count| (count.to_string(), requests::headers(count), plan));
        self.grid(servers::sweeps(self.builds), points.into())
    }

    fn routes(&mut self) -> String {
        let plan = self.plan(self.options.connections);
        let mut columns = Vec::new();
        for routes in ROUTES {
            let ask = requests::route(routes);
            let rows = self.measure(servers::with_routes(self.builds, routes), |_| ask.clone(), plan, routes);
            columns.push((routes.to_string(), rows));
        }
        cross(&columns)
    }

    /// Shorter turns than those of the first table, since there are many.
    fn plan(&self, connections: usize) -> Plan {
        let time = self.options.time.min(Duration::from_secs(1));
        Plan { time, rounds: self.options.rounds.min(3), connections, starts: 0 }
    }

    fn grid(&mut self, servers: Vec<Server>, points: Vec<(String, Ask, Plan)>) -> String {
        let mut columns = Vec::new();
        for (name, ask, plan) in points {
            let rows = self.measure(servers.clone(), |_| ask.clone(), plan, 0);
            columns.push((name, rows));
        }
        cross(&columns)
    }

    fn measure(&mut self, servers: Vec<Server>, ask: impl Fn(&Server) -> Ask, plan: Plan, routes: usize) -> Vec<Row> {
        let servers = servers.into_iter().filter(|server| self.options.has_server(&server.name()));
        let subjects = servers.map(|server| Subject { ask: ask(&server), server, routes }).collect();
        measure(subjects, plan, self.skipped)
    }
}

/// A row for each server and a column for each point: requests per second, and p99.
fn cross(columns: &[(String, Vec<Row>)]) -> String {
    let mut names: Vec<String> = Vec::new();
    for row in columns.iter().flat_map(|(_, rows)| rows) {
        if !names.contains(&row.server.name()) {
            names.push(row.server.name());
        }
    }
    let heads: Vec<_> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let mut text =
        format!("| server | {} | errors |\n| --- |{}\n", heads.join(" | "), " --: |".repeat(heads.len() + 1));
    for name in names {
        let rows: Vec<_> = columns.iter().map(|(_, rows)| rows.iter().find(|row| row.server.name() == name)).collect();
        let cell = |row: &Option<&Row>| match row {
            Some(row) => format!("{} ({})", thousands(row.rate()), millis(row.p99())),
            None => "–".to_owned(),
        };
        let cells: Vec<_> = rows.iter().map(cell).collect();
        let errors: u64 = rows.iter().flatten().map(|row| row.errors).sum();
        text.push_str(&format!("| {name} | {} | {errors} |\n", cells.join(" | ")));
    }
    text
}

fn ratio(rate: f64, base: Option<f64>) -> String {
    base.filter(|base| *base > 0.0).map_or_else(String::new, |base| format!("{:.2}", rate / base))
}

fn millis(time: Option<Duration>) -> String {
    time.map_or_else(String::new, |time| format!("{:.2}", time.as_secs_f64() * 1e3))
}

/// A whole number, with a comma before each group of three digits.
fn thousands(number: f64) -> String {
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
}
