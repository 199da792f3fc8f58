//! The outcome of one load, and its figures with their names in the record.

use std::collections::BTreeMap;

use crate::counts::ALL_CALLS;
use crate::load::Report;
use crate::record::Unit;
use crate::stats::float;

use super::loads::{How, Load, Target};

/// The measurements of a load, as [`what`](crate::record::Reading::what).
pub(crate) const PER_CPU_SECOND: &str = "requests per CPU second";
pub(crate) const PER_SECOND: &str = "requests per second";
pub(crate) const BYTES_PER_SECOND: &str = "bytes per second";
pub(crate) const CPU: &str = "CPU time";
pub(crate) const LATENCIES: [&str; 3] = ["50 % within", "90 % within", "99 % within"];
pub(crate) const PEAK: &str = "memory at most";
/// A shorter head is an advantage. It is that of a response with a whole file.
pub(crate) const HEAD: &str = "bytes of a head";
pub(crate) const RESIDENT: &str = "memory while connections wait";
pub(crate) const RATES: [&str; 3] = ["slowest client", "median client", "fastest client"];
/// The work of timers and of the network that the control group of the server does not count.
pub(crate) const SOFTIRQS: &str = "CPU time of softirqs outside the server";
/// The rate of the open loop. It is not about one server.
pub(crate) const OPEN_RATE: &str = "requests per second that are due";
/// The number of counted requests, as [`what`](crate::record::Count::what).
pub(crate) const REQUESTS: &str = "requests";
/// System calls and requests without strace, as [`what`](crate::record::Count::what).
pub(crate) const UNDISTURBED_CALLS: &str = "all calls without strace";
pub(crate) const UNDISTURBED_REQUESTS: &str = "requests without strace";

/// The measurements of one load.
pub(super) struct Outcome {
    pub(super) report: Report,
    pub(super) head_bytes: usize,
    /// The largest resident memory of the server during the load.
    pub(super) peak_bytes: Option<u64>,
    /// The processor time of softirqs of the network outside the server, in seconds.
    pub(super) softirq_s: Option<f64>,
    /// System calls by name, with their [`REQUESTS`].
    pub(super) calls: BTreeMap<String, u64>,
}

/// A measurement with its unit and its value.
type Figure = (&'static str, Unit, f64);

/// Returns the figures of a load, the most important one first. If system calls were counted, nothing
/// is timed.
pub(super) fn figures(load: &Load, outcome: &Outcome) -> Vec<Figure> {
    let Outcome { report, head_bytes, peak_bytes, softirq_s, .. } = outcome;
    let seconds = |what, value: Option<f64>| value.map(|value| (what, Unit::Seconds, value));
    let cpu = seconds(CPU, report.cpu_s);
    let peak = peak_bytes.map(|bytes| (PEAK, Unit::Bytes, float(bytes)));
    match (load.how, &report.rates[..]) {
        (How::Calls, _) => Vec::new(),
        (How::Idle, _) => {
            let resident = report.resident_bytes;
            resident.map(|bytes| (RESIDENT, Unit::Bytes, float(bytes))).into_iter().collect()
        }
        (How::Throttled, [slowest, .., fastest]) => {
            let median = report.rates[report.rates.len() / 2];
            let rates = RATES.into_iter().zip([*slowest, median, *fastest]);
            let rates = rates.map(|(what, rate)| (what, Unit::Bytes, rate));
            rates.chain(cpu).chain(seconds(SOFTIRQS, *softirq_s)).chain(peak).collect()
        }
        _ if load.target == Target::Big => {
            let rate = (BYTES_PER_SECOND, Unit::Bytes, float(report.bytes) / report.seconds);
            let of_one = report.cpu_s.map(|cpu_s| cpu_s / float(report.requests));
            seconds(CPU, of_one).into_iter().chain([rate]).chain(peak).collect()
        }
        _ => {
            let head = (HEAD, Unit::Number, float(*head_bytes as u64));
            let head = (load.target == Target::Small).then_some(head);
            of_requests(report).into_iter().chain(cpu).chain(peak).chain(head).collect()
        }
    }
}

/// Returns the figures of many equal requests.
fn of_requests(report: &Report) -> Vec<Figure> {
    let requests = float(report.requests);
    let cpu_s = report.cpu_s.filter(|cpu_s| *cpu_s > 0.0);
    let per_cpu_second = cpu_s.map(|cpu_s| (PER_CPU_SECOND, Unit::Number, requests / cpu_s));
    let mut figures: Vec<_> = per_cpu_second.into_iter().collect();
    figures.push((PER_SECOND, Unit::Number, requests / report.seconds));
    // wrk does not report the bytes of bodies.
    if report.bytes > 0 {
        figures.push((BYTES_PER_SECOND, Unit::Bytes, float(report.bytes) / report.seconds));
    }
    let latencies = LATENCIES.into_iter().zip(report.latencies_ms);
    figures.extend(latencies.map(|(what, ms)| (what, Unit::Ms, ms)));
    figures
}

/// Returns the most important figures, or the number of system calls, for the terminal.
pub(super) fn in_words(figures: &[Figure], outcome: &Outcome) -> String {
    let rounded =
        |value: f64| if value < 100.0 { format!("{value:.3}") } else { format!("{value:.0}") };
    if let Some(calls) = outcome.calls.get(ALL_CALLS) {
        let per_request = float(*calls) / float(outcome.report.requests);
        return format!("calls per request {}", rounded(per_request));
    }
    let words =
        figures.iter().take(6).map(|(what, _, value)| format!("{what} {}", rounded(*value)));
    words.collect::<Vec<_>>().join(", ")
}
