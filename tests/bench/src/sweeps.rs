//! What becomes of servers as the work grows: a table, how the cost of a request grows, and a plot.

use crate::builds::root;
use crate::growth;
use crate::measure::Way;
use crate::plot::Plot;
use crate::requests::{self, Ask};
use crate::servers;
use crate::tables::{Bench, ROUTES};
use crate::text::{cross, rate_and_p99, servers as names, thousands};

/// Bodies, in KiB.
const BODIES: [usize; 5] = [0, 1, 64, 1 << 10, 10 << 10];
/// Which way bodies go, and what makes a request for it.
type Direction = (&'static str, fn(usize) -> Ask);

const WAYS: [Direction; 3] =
    [("answers", requests::download), ("requests", requests::upload), ("both ways", requests::echo)];

impl Bench<'_> {
    /// Measures and gives the text of one of these tables.
    ///
    /// # Errors
    /// When a plot can't be written.
    pub fn sweep(&mut self, name: &str) -> Result<String, String> {
        let way = self.options.way();
        let busy = self.plan(way);
        match name {
            "connections" => {
                for count in self.points(&[1, 10, 100, 1000, 10_000]) {
                    let (point, ask) = (thousands(count as f64), Ask::get("/hello/World", 13));
                    let all = servers::sweeps(self.builds);
                    let plan = self.plan(Way::Busy(count));
                    self.measure((name, &point, count as f64), all, |_| ask.clone(), plan, 0);
                }
                self.show(name, "Connections", "connections")
            }
            "bodies" => self.bodies(),
            "headers" => {
                for count in self.points(&[1, 5, 15, 30, 60]) {
                    let ask = requests::headers(count);
                    let all = servers::sweeps(self.builds);
                    self.measure((name, &count.to_string(), count as f64), all, |_| ask.clone(), busy, 0);
                }
                self.show(name, "Header fields of a request", "fields")
            }
            "routes" => {
                for count in self.points(&ROUTES) {
                    let ask = requests::route(count);
                    let all = servers::with_routes(self.builds, count);
                    self.measure((name, &thousands(count as f64), count as f64), all, |_| ask.clone(), busy, count);
                }
                self.show(name, "Routes of an app", "routes")
            }
            _ => {
                for count in self.points(&[1, 10, 100]) {
                    let ask = requests::apps(count);
                    let all = servers::apps(self.builds);
                    self.measure((name, &count.to_string(), count as f64), all, |_| ask.clone(), busy, count);
                }
                self.show(name, "Apps in one host, asked in turns", "apps")
            }
        }
    }

    fn bodies(&mut self) -> Result<String, String> {
        let mut text = String::new();
        for (kind, ask) in WAYS {
            let table = part(kind);
            for size in self.points(&BODIES) {
                let ask = ask(size << 10);
                let point = if size < 1 << 10 { format!("{size} KiB") } else { format!("{} MiB", size >> 10) };
                let all = servers::sweeps(self.builds);
                // As many bytes are on their way at once as a machine has room for.
                let plan = self.plan(Way::Busy(10));
                self.measure((&table, &point, size as f64), all, |_| ask.clone(), plan, 0);
            }
            let shown = self.show(&table, &format!("Bodies: {kind}"), "KiB")?;
            text.push_str(if text.is_empty() { "" } else { "\n" });
            text.push_str(&format!("In {kind}:\n\n{shown}"));
        }
        Ok(text)
    }

    /// All points, or only the least and the largest.
    fn points(&self, all: &[usize]) -> Vec<usize> {
        let ends = [all.first(), all.last()].into_iter().flatten();
        if self.options.ends { ends.copied().collect() } else { all.to_vec() }
    }

    /// The tables of a sweep that is measured, and its plot.
    fn show(&self, table: &str, title: &str, below: &str) -> Result<String, String> {
        let columns = self.columns(table);
        let mut text = format!("{}\n{}", cross(&columns, rate_and_p99), growth::table(&columns));
        if self.options.writes {
            let line = |name: String| {
                let point = |column: &&crate::tables::Column| Some((column.size, column.row(&name)?.rate()));
                let points = columns.iter().filter_map(point).collect();
                (name, points)
            };
            let lines = names(&columns).into_iter().map(line).collect();
            let file = format!("plots/{table}.svg");
            Plot { title, below, lines }.write(&root().join("docs").join(&file))?;
            text.push_str(&format!("\n![{title}: requests per second]({file})\n"));
        }
        Ok(text)
    }
}

/// The name of a part of the table of bodies.
pub fn part(kind: &str) -> String {
    format!("bodies-{}", kind.replace(' ', "-"))
}

/// The parts of the table of bodies.
pub fn parts() -> impl Iterator<Item = String> {
    WAYS.into_iter().map(|(kind, _)| part(kind))
}
