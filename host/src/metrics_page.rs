//! The counters of all threads as Prometheus reads them (text exposition format 0.0.4).

use crate::metrics::{BOUNDS, By, CLASSES, Cause, Counter, End, Failed, Histogram, Metrics, Refused, Reload, Silence};
use crate::server::Observed;
use std::fmt::{Display, Write};
use std::sync::atomic::Ordering::Relaxed;

/// The media type of the page.
pub(crate) const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Adds up what all threads have counted. `apps` are the names of the apps.
pub(crate) fn page(observed: &Observed, apps: &[&str]) -> String {
    let shared = &observed.shared;
    let all = All(observed.metrics.iter().map(|metrics| &**metrics).chain([&shared.metrics]).collect());
    let mut page = Page(String::with_capacity(8 * 1024));
    page.family("tabi_build_info", "gauge", "The version of the host.");
    page.sample("", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    requests(&mut page, &all, apps);
    let in_flight = shared.limits.requests.saturating_sub(shared.places.available_permits());
    page.single("tabi_requests_with_guests", "gauge", "Requests that guests work on.", in_flight);
    page.single("tabi_requests_queued", "gauge", "Requests that wait for a place.", shared.queued.load(Relaxed));
    page.by("tabi_refused_total", "Requests and connections that were turned away.", "reason", Refused::LABELS, |at| {
        all.sum(|metrics| metrics.refusals().get(at).map_or(0, Counter::get))
    });
    page.by("tabi_guest_failures_total", "Exchanges that a guest has spoiled.", "reason", Failed::LABELS, |at| {
        all.sum(|metrics| metrics.failures().get(at).map_or(0, Counter::get))
    });
    page.by("tabi_guest_traps_total", "Instances that broke, by cause.", "cause", Cause::LABELS, |at| {
        all.sum(|metrics| metrics.causes().get(at).map_or(0, Counter::get))
    });
    connections(&mut page, &all, shared.connections.load(Relaxed));
    instances(&mut page, &all);
    page.by("tabi_reloads_total", "New components, and what became of them.", "result", Reload::LABELS, |at| {
        all.sum(|metrics| metrics.reloads().get(at).map_or(0, Counter::get))
    });
    process(&mut page);
    page.0
}

fn requests(page: &mut Page, all: &All, apps: &[&str]) {
    let label = |by: By| by.label().map_or(("", ""), |(app, world)| (apps.get(app).copied().unwrap_or(""), world));
    page.family("tabi_requests_total", "counter", "Answers by app, world and class; without app, the host's own.");
    for by in By::all(apps.len()) {
        for class in 1..=CLASSES {
            let count = all.sum(|metrics| metrics.statuses(by, class));
            if count > 0 {
                let (app, world) = label(by);
                page.sample("", &[("app", app), ("world", world), ("status", &format!("{class}xx"))], count);
            }
        }
    }
    page.by("tabi_answers_total", "Answers by how they ended.", "end", End::LABELS, |at| {
        all.sum(|metrics| metrics.ends().get(at).map_or(0, Counter::get))
    });
    let ended = all.sum(|metrics| metrics.ends().iter().map(Counter::get).sum());
    let open = all.sum(|metrics| metrics.begun.get()).saturating_sub(ended);
    page.single("tabi_requests_in_flight", "gauge", "Requests whose answers are not over.", open);
    let (received, sent) = (all.sum(|metrics| metrics.received.get()), all.sum(|metrics| metrics.sent.get()));
    page.single("tabi_request_body_bytes_total", "counter", "Bytes of request bodies.", received);
    page.single("tabi_response_body_bytes_total", "counter", "Bytes of response bodies.", sent);
    all.histogram(
        page,
        "tabi_request_duration_seconds",
        "From the request head to the end of the answer.",
        |metrics| &metrics.durations,
    );
    let guest = "From when a guest got a request to the head of its answer, in all.";
    page.family("tabi_guest_seconds_total", "counter", guest);
    for by in By::all(apps.len()).filter(|by| *by != By::HOST) {
        let (app, world) = label(by);
        let time = all.sum(|metrics| metrics.guest_micros(by));
        if time > 0 {
            page.sample("", &[("app", app), ("world", world)], Seconds(time));
        }
    }
    let cpu = Seconds(all.sum(|metrics| metrics.cpu_micros.get()));
    page.single("tabi_guest_cpu_seconds_total", "counter", "What guests of 0.2 had of the processor.", cpu);
}

fn connections(page: &mut Page, all: &All, open: usize) {
    page.single("tabi_connections_open", "gauge", "Open connections.", open);
    let total = all.sum(|metrics| metrics.connections.get());
    page.single("tabi_connections_total", "counter", "Connections that came, refused ones too.", total);
    let help = "Connections that were silent for too long.";
    page.by("tabi_connection_timeouts_total", help, "limit", Silence::LABELS, |at| {
        all.sum(|metrics| metrics.silences().get(at).map_or(0, Counter::get))
    });
}

fn instances(page: &mut Page, all: &All) {
    let dropped = all.sum(|metrics| metrics.instances.dropped.get());
    let created = all.sum(|metrics| metrics.instances.created.get());
    let reused = all.sum(|metrics| metrics.instances.reused.get());
    let restored = all.sum(|metrics| metrics.instances.restored.get());
    page.single("tabi_instances_alive", "gauge", "Instances of components.", created.saturating_sub(dropped));
    page.single("tabi_instances_created_total", "counter", "Instances that were made.", created);
    page.single("tabi_instance_reuses_total", "counter", "Requests to an instance that had served before.", reused);
    let help = "Requests to an instance that was set back to its first state.";
    page.single("tabi_instance_restores_total", "counter", help, restored);
}

/// What the system knows of this process; left out where it does not tell.
fn process(page: &mut Page) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    if let Some(kilobytes) = resident.and_then(|text| text.parse::<u64>().ok()) {
        page.single("process_resident_memory_bytes", "gauge", "Resident memory.", kilobytes * 1024);
    }
    if let Ok(files) = std::fs::read_dir("/proc/self/fd") {
        // One of them is this very folder.
        page.single("process_open_fds", "gauge", "Open files.", files.count().saturating_sub(1));
    }
}

/// The counters of all threads.
struct All<'a>(Vec<&'a Metrics>);

impl All<'_> {
    fn sum(&self, get: impl Fn(&Metrics) -> u64) -> u64 {
        self.0.iter().map(|metrics| get(metrics)).sum()
    }

    fn histogram(&self, page: &mut Page, name: &'static str, help: &str, get: impl Fn(&Metrics) -> &Histogram) {
        page.family(name, "histogram", help);
        let mut count = 0;
        for place in 0..=BOUNDS.len() {
            count += self.sum(|metrics| get(metrics).buckets.get(place).map_or(0, Counter::get));
            let bound = BOUNDS.get(place).map_or("+Inf".to_owned(), |bound| Seconds(*bound).to_string());
            page.sample("_bucket", &[("le", &bound)], count);
        }
        page.sample("_sum", &[], Seconds(self.sum(|metrics| get(metrics).micros.get())));
        page.sample("_count", &[], count);
    }
}

/// Microseconds, written as seconds.
struct Seconds(u64);

impl Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, rest) = (self.0 / 1_000_000, self.0 % 1_000_000);
        let text = format!("{whole}.{rest:06}");
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// The page, family by family; the samples of a family carry its name.
struct Page(String);

impl Page {
    fn family(&mut self, name: &'static str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Adds a sample to the family that was begun last.
    fn sample(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Display) {
        let line = self.0.rfind("# TYPE ").and_then(|at| self.0.get(at + 7..)).unwrap_or_default();
        let name = line.split(' ').next().unwrap_or_default().to_owned();
        let labels: Vec<_> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "{name}{suffix}{labels} {value}");
    }

    fn single(&mut self, name: &'static str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample("", &[], value);
    }

    fn by(&mut self, name: &'static str, help: &str, label: &str, values: &[&str], count: impl Fn(usize) -> u64) {
        self.family(name, "counter", help);
        for (place, value) in values.iter().enumerate() {
            self.sample("", &[(label, value)], count(place));
        }
    }
}

/// A label's value as the format has it between quotes.
fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_written_as_the_format_wants() {
        let mut page = Page(String::new());
        page.family("a_total", "counter", "What.");
        page.sample("", &[("app", "x\"\\\ny"), ("b", "")], 1);
        page.single("b", "gauge", "Else.", Seconds(1_500_000));
        let wanted = "# HELP a_total What.\n# TYPE a_total counter\na_total{app=\"x\\\"\\\\\\ny\",b=\"\"} 1\n\
                      # HELP b Else.\n# TYPE b gauge\nb 1.5\n";
        assert_eq!(page.0, wanted);
    }

    #[test]
    fn times_are_seconds() {
        for (micros, text) in [(0, "0"), (1, "0.000001"), (100, "0.0001"), (1_000_000, "1"), (30_000_000, "30")] {
            assert_eq!(Seconds(micros).to_string(), text);
        }
    }
}
