//! The requirements for `lop share`: work for each second of processor time, system calls, rates and
//! memory.

use crate::page::comparison::Comparison;
use crate::page::serve::{calls_per_request, median_of};
use crate::race::serve::figures::{CPU, PER_CPU_SECOND, RATES, RESIDENT, SOFTIRQS};
use crate::race::serve::loads::RATE;
use crate::stats::spread;
use crate::tools::{NGINX_COPY, NGINX_LIMIT, NGINX_SENDFILE, STATIC_WEB_SERVER};

use super::{LOP, Measure, Requirement, row};

/// lop with a limited rate.
const LOP_LIMIT: &str = "lop, limit";

const MEBIBYTE: f64 = 1024.0 * 1024.0;

/// Returns the requirements.
pub(super) fn requirements(comparisons: &[&Comparison]) -> Vec<Requirement> {
    let of = |load: &str, tool: &str, what| median_of(comparisons, load, tool, what);
    let efficiency = |load: &str, tool: &str| of(load, tool, PER_CPU_SECOND);
    let best_nginx = |load: &str| {
        let tuned = [NGINX_SENDFILE, NGINX_COPY].map(|nginx| efficiency(load, nginx));
        tuned.into_iter().flatten().reduce(f64::max)
    };
    let quotient = |lop: Option<f64>, other: Option<f64>| Some(lop? / other?);
    let mut rows = Vec::new();
    for (ending, by) in [("", ""), ("-wrk", ", measured by wrk")] {
        for clients in [1, 2, 4, 10] {
            let load = format!("small-{clients}{ending}");
            let figure = quotient(efficiency(&load, LOP), best_nginx(&load));
            let work = format!(
                "requests per CPU second for 8 KiB, {}, against the better of the tuned nginx{by}",
                plural_clients(clients)
            );
            rows.push(row(work, 1.0, Measure::AtLeast, figure));
        }
    }
    for clients in [1, 2, 4, 10] {
        let load = format!("small-{clients}");
        let figure = quotient(efficiency(&load, LOP), efficiency(&load, STATIC_WEB_SERVER));
        let clients = plural_clients(clients);
        let work = format!("the same, {clients}, against static-web-server");
        rows.push(row(work, 1.3, Measure::AtLeast, figure));
    }
    for clients in [1, 10] {
        let calls = calls_per_request(comparisons, &format!("calls-{clients}"), LOP);
        let work = format!("system calls per request, {}", plural_clients(clients));
        rows.push(row(work, 3.1, Measure::Each, calls));
    }
    let cpu = |load: &str, tool: &str| of(load, tool, CPU);
    // Timers may send packets outside the server.
    let with_softirqs = |load: &str, tool: &str| Some(cpu(load, tool)? + of(load, tool, SOFTIRQS)?);
    rows.extend([
        row(
            "CPU time for 4 GiB, against nginx with `sendfile`",
            1.05,
            Measure::Times,
            quotient(cpu("big-1", LOP), cpu("big-1", NGINX_SENDFILE)),
        ),
        row(
            "100 throttled clients, largest difference from the rate",
            5.0,
            Measure::Percent,
            rate_error(comparisons),
        ),
        row(
            "CPU time with softirqs for 100 throttled clients, against `limit_rate` of nginx",
            1.2,
            Measure::Times,
            quotient(
                with_softirqs("throttled-100", LOP_LIMIT),
                with_softirqs("throttled-100", NGINX_LIMIT),
            ),
        ),
        row(
            "memory with 10,000 connections that wait",
            60.0,
            Measure::Mebibytes,
            of("idle-10000", LOP, RESIDENT).map(|bytes| bytes / MEBIBYTE),
        ),
    ]);
    rows
}

fn plural_clients(clients: u32) -> String {
    if clients == 1 { "1 client".into() } else { format!("{clients} clients") }
}

/// Returns the largest difference of any client from the rate, in percent.
fn rate_error(comparisons: &[&Comparison]) -> Option<f64> {
    let race = comparisons.iter().find(|race| race.scenario.id == "throttled-100")?;
    let rates = RATES.into_iter();
    let rates = rates.flat_map(|what| race.record.values_of("throttled-100", LOP_LIMIT, what));
    let all = spread(rates)?;
    let error = |rate: f64| (rate / f64::from(RATE) - 1.0).abs() * 100.0;
    Some(error(all.min).max(error(all.max)))
}
