//! One start of a server, and the loads that it is put under.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::Failure;
use crate::load::{self, Plan, Report, Request, Traffic, probe, request, verify};
use crate::tools::Entrant;

use super::super::Race;
use super::figures::{Outcome, REQUESTS, UNDISTURBED_CALLS, UNDISTURBED_REQUESTS};
use super::loads::{How, Load, Target};
use super::machine::Ticks;
use super::server::{Server, free_port};
use super::{Ground, calls, config, perf, wrk};

/// A run is repeated once if the hypervisor took a larger share of the time.
const MOST_STOLEN: f64 = 0.01;

/// The number of requests whose system calls are counted. A slow server gets fewer.
const COUNTED_REQUESTS: u64 = 10_000;
/// The number of responses of 4 GiB, because the processor time of a single one varies by a quarter.
const BIG_RESPONSES: u64 = 3;
/// The number of prepared requests for ranges.
const RANGES: usize = 4_096;
/// The number of requests for which the server must first be asked.
const LEARNT: usize = 200;
/// One in so many of the 100,000 files is compared with its body.
const VERIFIED_SHARE: usize = 100;
/// The number of ranges that are compared with the file.
const VERIFIED_RANGES: usize = 64;

/// A running server.
pub(super) struct Visit {
    server: Server,
    store: PathBuf,
    interrupted: Arc<AtomicBool>,
}

impl Visit {
    /// Writes the configurations and starts a server.
    ///
    /// # Errors
    ///
    /// The server does not start.
    pub(super) fn begin(race: &Race, ground: &Ground, entrant: &Entrant) -> Result<Self, Failure> {
        let port = free_port()?;
        let mut places = race.places(ground.root.clone());
        places.port = port;
        config::write(&places.conf, &ground.root, port, ground.descriptors)?;
        let (argv, home) = (entrant.argv(&places), race.options.store.join("home"));
        let cpu = ground.processors.server;
        let server = Server::start(&argv, &home, port, cpu, &ground.small[0].0)?;
        let interrupted = Arc::clone(&race.interrupted);
        Ok(Self { server, store: race.options.store.path().to_owned(), interrupted })
    }

    /// Compares bodies with files: all of two sets, a part of the largest set, and some ranges.
    ///
    /// # Errors
    ///
    /// A body differs.
    pub(super) fn verify(&self, ground: &Ground) -> Result<(), Failure> {
        let some_of_many = ground.many.iter().step_by(VERIFIED_SHARE);
        let files = ground.small.iter().chain(&ground.mib).chain(some_of_many);
        let paths: Vec<String> = files.map(|(path, _)| path.clone()).collect();
        verify::files(self.server.address, &ground.root, &paths)?;
        // Some servers cannot send ranges. The load of ranges then has no figure.
        let range = &request::ranges(self.server.address, &ground.big, 1)[0];
        if probe::status(self.server.address, &range.text)? != 206 {
            return Ok(());
        }
        verify::ranges(self.server.address, &ground.root, &ground.big, VERIFIED_RANGES)
    }

    /// Puts the server under a load.
    ///
    /// # Errors
    ///
    /// The load fails, or a response is not the expected one.
    pub(super) fn measure(&self, ground: &mut Ground, load: &Load) -> Result<Outcome, Failure> {
        let before = Ticks::now();
        let outcome = self.measure_once(ground, load)?;
        if load.how == How::Calls || Ticks::now().stolen_since(before) <= MOST_STOLEN {
            return Ok(outcome);
        }
        ground.repeated += 1;
        self.measure_once(ground, load)
    }

    fn measure_once(&self, ground: &Ground, load: &Load) -> Result<Outcome, Failure> {
        ground.warm(load.target)?;
        let meter = self.server.meter();
        meter.restart_peak();
        let plan = self.plan(ground, load)?;
        let file = self.store.join("load.json");
        let cpu = ground.processors.clients;
        let (mut calls, mut softirq_s) = (BTreeMap::new(), None);
        let run = || load::apart(&plan, &file, cpu, &self.interrupted).and_then(without_errors);
        let report = match load.how {
            How::Calls => {
                let (report, by_name) = calls::during(&meter, &self.store.join("strace.out"), run)?;
                calls = by_name;
                calls.insert(REQUESTS.into(), report.requests);
                let (again, count) = perf::calls(&meter, &self.store.join("perf.out"), run)?;
                calls.extend(count.map(|count| (UNDISTURBED_CALLS.into(), count)));
                calls.insert(UNDISTURBED_REQUESTS.into(), again.requests);
                report
            }
            How::Throttled => {
                let file = self.store.join("perf.data");
                let (report, share) = perf::softirqs(&meter, plan.warm_up, &file, run)?;
                softirq_s = share.map(|share| share * report.seconds);
                report
            }
            How::Wrk => {
                let (script, window) = (self.store.join("wrk.lua"), plan.window);
                wrk::run(self.server.address, &script, load.clients, window, cpu, &meter)?
            }
            _ => run()?,
        };
        if report.requests == 0 {
            return Err(Failure::new("no response was complete in time"));
        }
        let (head_bytes, peak_bytes) = (self.server.head_bytes, meter.peak_bytes());
        Ok(Outcome { report, head_bytes, peak_bytes, softirq_s, calls })
    }

    fn plan(&self, ground: &Ground, load: &Load) -> Result<Plan, Failure> {
        let (traffic, [warm_up_ms, window_ms], most) = match (load.how, load.target) {
            (How::Open, _) => (Traffic::Open(ground.open_rate), [300, 3_000], None),
            (How::Throttled, _) => (Traffic::Throttled, [2_000, 8_000], None),
            (How::Idle, _) => (Traffic::Idle, [0, 500], None),
            (How::Calls, _) => (Traffic::Closed, [0, 10_000], Some(COUNTED_REQUESTS)),
            (_, Target::Big) => (Traffic::Closed, [0, 60_000], Some(BIG_RESPONSES)),
            // The first load of a visit fills the caches of the server.
            (How::Closed, Target::Small) if load.clients == 1 => {
                (Traffic::Closed, [1_000, 2_000], None)
            }
            // So is the first one of this set.
            (_, Target::Many) => (Traffic::Closed, [3_000, 2_000], None),
            _ => (Traffic::Closed, [300, 2_000], None),
        };
        let time = |ms| Duration::from_millis(ms).mul_f64(ground.window_scale);
        Ok(Plan {
            address: self.server.address,
            requests: self.requests(ground, load)?,
            traffic,
            clients: load.clients,
            warm_up: time(warm_up_ms),
            window: time(window_ms),
            most,
            meter: self.server.meter(),
        })
    }

    fn requests(&self, ground: &Ground, load: &Load) -> Result<Vec<Request>, Failure> {
        let address = self.server.address;
        let some_small = &ground.small[..LEARNT.min(ground.small.len())];
        Ok(match load.target {
            _ if load.how == How::Wrk => Vec::new(),
            Target::Small => request::files(address, &ground.small),
            Target::Many => request::files(address, &ground.many),
            Target::Mib => request::files(address, &ground.mib),
            Target::Big => request::files(address, std::slice::from_ref(&ground.big)),
            Target::Ranges => {
                let requests = request::ranges(address, &ground.big, RANGES);
                match probe::status(address, &requests[0].text)? {
                    206 => requests,
                    status => return Err(Failure::new(format!("answers a range with {status}"))),
                }
            }
            Target::Missing => request::missing(address, LEARNT)?,
            Target::Unchanged => request::unchanged(address, some_small)?,
        })
    }
}

/// Returns the report if every response was the expected one.
fn without_errors(report: Report) -> Result<Report, Failure> {
    match &report.complaint {
        Some(complaint) => {
            Err(Failure::new(format!("{} errors, the first: {complaint}", report.errors)))
        }
        None => Ok(report),
    }
}
