//! What the numbers of a run are wanted to be, and whether they are.

use std::fs;

use crate::builds;
use crate::growth::{self, Growth};
use crate::measure::Row;
use crate::requests;
use crate::servers::{AXUM, HYPER, JETTY, TABI, VIRTUAL, WASMTIME, WASMTIME_P3};
use crate::sweeps;
use crate::tables::Bench;
use crate::text::{servers, short, thousands};

/// A number that is wanted.
struct Target {
    what: String,
    wanted: Wanted,
    measured: Option<f64>,
    /// What stands behind the numbers.
    unit: &'static str,
    /// What else there is to say of it.
    note: String,
}

#[derive(Clone, Copy)]
enum Wanted {
    Least(f64),
    Most(f64),
}

/// Tables of the four workloads, and how their requests get there.
const WORKLOADS: [(&str, &str); 3] = [("workloads", "HTTP"), ("https", "HTTPS"), ("http2", "HTTP/2")];
/// Frameworks with a mode, and the row of ours in the same mode.
const PEERS: [(&str, &str); 3] = [
    ("wstd-axum, fresh", "tabi, fresh"),
    ("wstd-axum, reuse 10000", "tabi, reuse 10000"),
    ("spin-sdk 0.3, its defaults", "tabi 0.3, its defaults"),
];

impl Bench<'_> {
    /// The text of the table: everything that is wanted, with what this run has measured.
    pub fn targets(&self) -> String {
        let mut all = self.of_hello();
        all.extend(WORKLOADS.into_iter().flat_map(|(table, name)| self.of_workloads(table, name)));
        all.extend(self.of_latency());
        all.extend(self.of_sizes());
        all.extend(self.of_growth());
        let mut text = "| what | wanted | measured | met |\n| --- | --: | --: | --- |\n".to_owned();
        all.iter().for_each(|target| text.push_str(&target.line()));
        text
    }

    fn greeter(&self, name: &str) -> Option<&Row> {
        self.columns("hello").first()?.rows.iter().find(|row| row.server.name().starts_with(name))
    }

    fn of_hello(&self) -> Vec<Target> {
        let rate = |name: &str| self.greeter(name).map(Row::rate);
        let ours = |name: &str| rate(&ours(name));
        let over = |rate: Option<f64>, base: Option<f64>| Some(rate? / base?).filter(|ratio| ratio.is_finite());
        let java = |has: &str| {
            let rows = self.columns("hello").first().map(|column| column.rows.as_slice()).unwrap_or_default();
            rows.iter().find(|row| row.server.name().contains(has)).map(Row::rate)
        };
        let theirs = |name: &str| rate(&format!("wasmtime serve, {name}"));
        let mut all = Vec::new();
        let mut add = |what: &str, least: f64, measured| {
            all.push(Target::new(format!("hello, {what}"), Wanted::Least(least), measured, "×"));
        };
        let fresh = ours("tabi, fresh");
        add("an app of the framework, fresh, to `wasmtime serve`", 4.5, over(fresh, rate(WASMTIME)));
        add("the same to the JDK's virtual threads", 1.0, over(fresh, java(VIRTUAL)));
        add("a foreign component, raw, fresh, to `wasmtime serve`", 3.0, over(ours("raw, fresh"), rate(WASMTIME)));
        let wstd = over(ours("wstd-axum, fresh"), theirs("wstd-axum, fresh"));
        add("a foreign component, wstd-axum, fresh, to `wasmtime serve`", 3.0, wstd);
        for app in ["raw", "tabi"] {
            let reuse = ours(&format!("{app}, reuse 10000"));
            add(&format!("{app}, reuse, to native hyper"), 0.65, over(reuse, rate(HYPER)));
            add(&format!("{app}, reuse, to Jetty"), 1.3, over(reuse, java(JETTY)));
        }
        for app in ["raw 0.3", "tabi 0.3"] {
            let shared = ours(&format!("{app}, its defaults"));
            add(&format!("{app} to raw 0.3 on `wasmtime serve`"), 3.0, over(shared, rate(WASMTIME_P3)));
            add(&format!("{app} to Jetty"), 1.0, over(shared, java(JETTY)));
        }
        for (app, raw, mode) in
            [("tabi", "raw", "fresh"), ("tabi", "raw", "reuse 10000"), ("tabi 0.3", "raw 0.3", "its defaults")]
        {
            // The faster one of raw as usual and raw with the linker's options of an app.
            let raws = ["", ", small stack"].map(|stack| ours(&format!("{raw}{stack}, {mode}")));
            let raw = raws.into_iter().flatten().reduce(f64::max);
            add(&format!("{app} to raw bindings, {mode}"), 0.95, over(ours(&format!("{app}, {mode}")), raw));
        }
        all
    }

    fn of_workloads(&self, table: &'static str, name: &str) -> Vec<Target> {
        let mut all = vec![(format!("{name}: reuse to native axum"), 0.8, AXUM.to_owned(), "tabi, reuse 10000")];
        for (peer, own) in PEERS {
            all.push((format!("{name}: to {peer}, on this host"), 1.5, ours(peer), own));
        }
        let target = |(what, least, base, own): (String, f64, String, &str)| {
            let own = ours(own);
            let ratios = self.columns(table).into_iter().filter_map(|column| {
                Some((column.row(&own)?.rate() / column.row(&base)?.rate(), column.point.clone()))
            });
            let ratios = ratios.filter(|(ratio, _)| ratio.is_finite());
            let worst = ratios.min_by(|(a, _), (b, _)| a.total_cmp(b));
            let (worst, point) = worst.unzip();
            let measured = worst.filter(|_| self.columns(table).len() == requests::workloads().len());
            let note = point.map(|point| format!("the least of four workloads: {point}")).unwrap_or_default();
            Target { note, ..Target::new(what, Wanted::Least(least), measured, "×") }
        };
        all.into_iter().map(target).collect()
    }

    fn of_latency(&self) -> Vec<Target> {
        let columns = self.columns("latency");
        let target = |column: &&crate::tables::Column| {
            let p99 = |host: &str| column.rows.iter().find(|row| row.server.host == host)?.p99();
            let measured = p99(TABI).zip(p99("wasmtime serve")).map(|(own, theirs)| own.div_duration_f64(theirs));
            let what = format!("p99 at equal load, {}, to `wasmtime serve`", column.point);
            Target::new(what, Wanted::Most(1.0), measured, "×")
        };
        let mut all: Vec<_> = columns.iter().map(target).collect();
        if all.is_empty() {
            all.push(Target::new("p99 at equal load, to `wasmtime serve`".to_owned(), Wanted::Most(1.0), None, "×"));
        }
        let rows = || self.columns.iter().flat_map(|column| &column.rows);
        for (who, is_one) in [("this host", true), ("all others", false)] {
            let errors = rows().filter(|row| (row.server.host == TABI) == is_one).map(|row| row.errors as f64).sum();
            let measured = rows().next().map(|_| errors);
            all.push(Target::new(format!("errors of {who} in this run"), Wanted::Most(0.0), measured, ""));
        }
        all
    }

    fn of_sizes(&self) -> Vec<Target> {
        let app = self.greeter(&ours("tabi, fresh"));
        let cold = app.and_then(Row::cold).map(|cold| cold.as_secs_f64() * 1e3);
        let rows = || self.columns("hello").into_iter().flat_map(|column| &column.rows);
        let ours = rows().filter(|row| row.server.host == TABI);
        let largest = ours.filter_map(|row| Some((row.peak? as f64 / 1e6, row.server.name())));
        let (peak, name) = largest.max_by(|(a, _), (b, _)| a.total_cmp(b)).unzip();
        let cold = Target::new("cold start of hello".to_owned(), Wanted::Most(15.0), cold, "ms");
        let peak = Target::new("peak memory, hello".to_owned(), Wanted::Most(30.0), peak, "MB");
        let peak = Target { note: name.map(|name| format!("the most of all: {name}")).unwrap_or_default(), ..peak };
        let program = |name: &str, most, command: &str| {
            let target = Target::new(format!("the program `{name}`"), Wanted::Most(most), distributed(name), "MB");
            Target { note: format!("from `cargo xtask {command}`"), ..target }
        };
        let programs =
            [("tabi", 22.0, "dist"), ("tabi-pgo", 22.0, "dist --pgo"), ("tabi-no-compiler", 9.0, "dist --no-compiler")];
        let programs = programs.map(|(name, most, command)| program(name, most, command));
        [cold, peak].into_iter().chain(programs).collect()
    }

    fn of_growth(&self) -> Vec<Target> {
        let tables = ["connections".to_owned()].into_iter().chain(sweeps::parts());
        let tables = tables.chain(["headers", "routes", "apps"].map(str::to_owned));
        let mut all = Vec::new();
        for table in tables {
            let columns = self.columns(&table);
            let names = servers(&columns).into_iter().filter(|name| name.starts_with(TABI));
            let growths: Vec<(Growth, String)> =
                names.filter_map(|name| Some((growth::of(&columns, &name)?, name))).collect();
            let mut add = |what: &str, most: f64, of: fn(Growth) -> f64, unit| {
                let worst = growths.iter().map(|(growth, name)| (of(*growth), name));
                let (measured, name) = worst.max_by(|(a, _), (b, _)| a.total_cmp(b)).unzip();
                let what = what.replace("{}", &table.replace('-', " "));
                let note = name.map(|name| format!("the worst: {name}")).unwrap_or_default();
                all.push(Target { note, ..Target::new(what, Wanted::Most(most), measured, unit) });
            };
            if table == "routes" {
                add("1,000 routes to one, cost of a request", growth::NOISE, Growth::times, "×");
            } else {
                // What is larger than the caches of the processor costs more, natively too.
                let native = growth::of(&columns, AXUM).map_or(0.0, |growth| growth.steepest);
                let what = "the power with which a request's cost grows with {}; linear, or as with native axum";
                add(what, growth::LINEAR.max(native), |growth| growth.steepest, "");
            }
        }
        all
    }
}

/// The size of a program for other machines in MB, if it was built.
fn distributed(name: &str) -> Option<f64> {
    let data = fs::metadata(builds::distributed(name)?).ok()?;
    Some(data.len() as f64 / 1e6)
}

fn ours(name: &str) -> String {
    format!("{TABI}, {name}")
}

impl Target {
    fn new(what: String, wanted: Wanted, measured: Option<f64>, unit: &'static str) -> Self {
        Self { what, wanted, measured, unit, note: String::new() }
    }

    fn is_met(&self) -> Option<bool> {
        self.measured.map(|measured| match self.wanted {
            Wanted::Least(least) => measured >= least,
            Wanted::Most(most) => measured <= most,
        })
    }

    fn line(&self) -> String {
        let unit = |number: String| format!("{number} {}", self.unit).trim().to_owned();
        // Rounding must not make a target look met that is not.
        let number = |number: f64| if self.unit == "×" { format!("{number:.3}") } else { short(number) };
        let wanted = match self.wanted {
            Wanted::Least(least) => format!("≥ {}", unit(least.to_string())),
            Wanted::Most(most) => format!("≤ {}", unit(thousands_or(most))),
        };
        let measured = self.measured.map_or_else(|| "–".to_owned(), |measured| unit(number(measured)));
        let met = match self.is_met() {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "not measured",
        };
        let note = if self.note.is_empty() { String::new() } else { format!(" ({})", self.note) };
        format!("| {}{note} | {wanted} | {measured} | {met} |\n", self.what)
    }
}

fn thousands_or(number: f64) -> String {
    if number.fract() == 0.0 { thousands(number) } else { format!("{number:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(wanted: Wanted, measured: Option<f64>, unit: &'static str, expected: &str) {
        assert_eq!(Target::new("it".to_owned(), wanted, measured, unit).line(), format!("| it | {expected} |\n"));
    }

    #[test]
    fn lines_say_whether_a_target_is_met() {
        check(Wanted::Least(4.5), Some(4.5), "×", "≥ 4.5 × | 4.500 × | yes");
        check(Wanted::Least(4.5), Some(4.4996), "×", "≥ 4.5 × | 4.500 × | **no**");
        check(Wanted::Most(30.0), Some(29.96), "MB", "≤ 30 MB | 30.0 MB | yes");
        check(Wanted::Most(0.0), Some(3.0), "", "≤ 0 | 3.00 | **no**");
        check(Wanted::Most(1.0), None, "×", "≤ 1 × | – | not measured");
    }
}
