//! The tables: which servers are asked what.

use std::time::Duration;

use crate::builds::Builds;
use crate::h2load::{self, Protocol};
use crate::measure::{Plan, Row, Subject, Way, measure};
use crate::options::Options;
use crate::requests::{self, Ask};
use crate::servers::{self, HYPER, Server};
use crate::text::{cross, millis, rate_and_p99, ratio, servers as servers_of, thousands};

/// How many routes the apps of the table of routes have besides those that they need.
pub const ROUTES: [usize; 4] = [1, 10, 100, 1000];

/// The names, in the order of the page.
pub const NAMES: [&str; 11] = [
    "hello",
    "workloads",
    "https",
    "http2",
    "latency",
    "connections",
    "bodies",
    "headers",
    "routes",
    "apps",
    "targets",
];

/// What is measured, and what was so far in this run.
pub struct Bench<'a> {
    /// What there is to start.
    pub builds: &'a Builds,
    /// What is asked for.
    pub options: &'a Options,
    /// Every column of every table so far.
    pub columns: Vec<Column>,
    /// What could not be measured in the current table, and why.
    pub skipped: Vec<String>,
}

/// What was found out about several servers at one point of a table.
pub struct Column {
    /// The name of the table, or of its part.
    pub table: String,
    /// The head of the column.
    pub point: String,
    /// The point as a number, in the tables where something grows.
    pub size: f64,
    /// A row for each server.
    pub rows: Vec<Row>,
}

impl Column {
    /// Returns the row of a server.
    pub fn row(&self, server: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.server.name() == server)
    }
}

impl Bench<'_> {
    /// Measures and gives the text of a table.
    ///
    /// # Errors
    /// When a plot can't be written.
    pub fn table(&mut self, name: &str) -> Result<String, String> {
        self.skipped.clear();
        let first = self.columns.len();
        let text = self.measured(name);
        let columns: Vec<_> = self.columns[first..].iter().collect();
        for server in servers_of(&columns) {
            let rows = columns.iter().filter_map(|column| column.row(&server));
            let why = rows.clone().find_map(|row| row.first_error.as_deref());
            let errors: u64 = rows.map(|row| row.errors).sum();
            self.skipped.extend(why.map(|why| format!("Errors: {errors} of {server}, the first: {why}")));
        }
        text
    }

    fn measured(&mut self, name: &str) -> Result<String, String> {
        Ok(match name {
            "hello" => self.hello(),
            "workloads" => self.workloads(name, servers::workloads(self.builds), self.options.way()),
            "https" => self.secure(name, Protocol::Http1(self.options.connections)),
            // As many requests at a time as over HTTP/1.1.
            "http2" => self.secure(name, Protocol::Http2(self.options.connections.div_ceil(5), 5)),
            "latency" => self.latency(),
            "targets" => self.targets(),
            sweep => return self.sweep(sweep),
        })
    }

    /// Returns the columns of a table, or of a part of one.
    pub fn columns(&self, table: &str) -> Vec<&Column> {
        self.columns.iter().filter(|column| column.table == table).collect()
    }

    fn hello(&mut self) -> String {
        let Options { time, rounds, .. } = *self.options;
        let plan = Plan { time, warm: time, rounds, way: self.options.way(), starts: rounds };
        // wstd-axum's has no route but that.
        let ask = |server: &Server| match server.app {
            "wstd-axum" => Ask::get("/", 13),
            _ => Ask::get("/hello/World", 13),
        };
        self.measure(("hello", "", 0.0), servers::hellos(self.builds), ask, plan, 0);
        let Some(column) = self.columns.last() else { return String::new() };
        let rate_of = |name: &str| column.row(name).map(Row::rate);
        let mut text =
            "| server | req/s | ± | × wasmtime serve | × hyper | p50 ms | p99 ms | CPU µs/req | errors | peak MB \
                        | cold start ms |\n| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n"
                .to_owned();
        for row in &column.rows {
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

    fn workloads(&mut self, table: &str, servers: Vec<Server>, way: Way) -> String {
        for (point, ask) in requests::workloads() {
            self.measure((table, point, 0.0), servers.clone(), |_| ask.clone(), self.plan(way), 0);
        }
        cross(&self.columns(table), rate_and_p99)
    }

    fn secure(&mut self, table: &str, protocol: Protocol) -> String {
        match h2load::find() {
            Ok(()) => self.workloads(table, servers::secure(self.builds), Way::Secure(protocol)),
            Err(why) => {
                self.skipped.push(format!("Skipped: {why}"));
                String::new()
            }
        }
    }

    /// Shorter turns than those of the first table, since there are many.
    pub fn plan(&self, way: Way) -> Plan {
        let time = self.options.time.min(Duration::from_secs(1));
        // h2load lets servers get warm by itself.
        let warm = if let Way::Secure(_) = way { Duration::ZERO } else { time / 2 };
        Plan { time, warm, rounds: self.options.rounds.min(3), way, starts: 0 }
    }

    /// Measures servers at one point of a table: its name, the head of the column and the size.
    pub fn measure(
        &mut self,
        (table, point, size): (&str, &str, f64),
        servers: Vec<Server>,
        ask: impl Fn(&Server) -> Ask,
        plan: Plan,
        count: usize,
    ) {
        eprintln!("{table} {point}");
        let servers = servers.into_iter().filter(|server| self.options.has_server(&server.name()));
        let subjects = servers.map(|server| Subject { ask: ask(&server), server, count }).collect();
        let rows = measure(subjects, plan, &mut self.skipped);
        self.columns.push(Column { table: table.to_owned(), point: point.to_owned(), size, rows });
    }
}
