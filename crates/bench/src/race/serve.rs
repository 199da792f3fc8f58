//! The race of `lop share` and other web servers.
//!
//! Each round starts each server once, alone on a processor, and puts it under all loads in turn.
//! Every second round has the opposite order. The figure that counts is requests for each second of
//! processor time of the server, because a server is rarely the only program of its machine. It
//! comes from a control group, so it includes all processes and threads of the server.
//!
//! Before the first load, the bodies of files and ranges are compared with the files. During the
//! loads, each response must have the expected status and length.

mod calls;
mod config;
pub(crate) mod figures;
pub(crate) mod loads;
mod machine;
mod perf;
mod server;
mod visit;
mod wrk;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use super::{Race, Setup};
use crate::Failure;
use crate::corpus::served::{BIG, Sets};
use crate::record::{Count, Fact, Reading, Role, Unit};
use crate::scenario::{Cache, Work};
use crate::stats::float;
use crate::tools::{Entrant, NGINX_COPY, NGINX_SENDFILE, STATIC_WEB_SERVER};

use figures::{OPEN_RATE, Outcome, figures, in_words};
use loads::{How, LOADS, Load, Target};
use machine::Processors;
use visit::Visit;

/// The servers that requirements are about take part in all rounds, and the others in so many.
const ROUNDS_OF_OTHERS: u32 = 3;
/// Loads that measure memory are part of so many rounds.
const ROUNDS_OF_IDLE: u32 = 2;
/// The length of windows for a tree that is smaller than the published one, as a fraction.
const SHORT_WINDOWS: f64 = 0.1;

/// The state that all visits to servers share.
pub(super) struct Ground {
    root: PathBuf,
    /// The paths from the root and the sizes of the files of each set.
    small: Vec<(String, u64)>,
    many: Vec<(String, u64)>,
    mib: Vec<(String, u64)>,
    big: (String, u64),
    processors: Processors,
    /// The number of descriptors that a server may have.
    descriptors: u64,
    /// Requests per second of the open loop.
    open_rate: f64,
    /// The length of all windows as a fraction of the usual length.
    window_scale: f64,
    /// The number of runs that were repeated because the hypervisor took processor time.
    repeated: u32,
    /// Loads without a figure: the id of the load, the server, and the reason.
    troubles: Vec<(&'static str, &'static str, String)>,
    /// Servers that sent a wrong body. They take no further part.
    refused: Vec<&'static str>,
}

impl Race {
    /// Races all servers under all loads.
    pub(super) fn serve(&mut self, setup: &Setup) -> Result<(), Failure> {
        let (root, counts) = setup.spec.ensure(self.options.store.path())?;
        let descriptors = machine::raise_descriptor_limit();
        let mut ground = Ground::new(&root, counts.names, descriptors)?;
        if setup.spec.scale < 1.0 {
            ground.window_scale = SHORT_WINDOWS;
        }
        let wrk = self.options.store.join("wrk.lua");
        wrk::write_script(&wrk, &ground.small)?;
        let first = self.record.scenarios.len();
        for load in &LOADS {
            self.scenario(setup, Cache::Warm, &counts);
            let scenario = self.record.scenarios.last_mut().expect("just added");
            (scenario.id, scenario.work) = (load.id.to_owned(), load.work());
        }
        ground.open_rate = self.half_of_nginx(&mut ground)?;
        let rounds = self.rounds(setup);
        for round in 1..=rounds {
            for work in [Work::Serve, Work::Throttle] {
                let mut entrants = self.entrants(work);
                if round % 2 == 0 {
                    entrants.reverse();
                }
                for entrant in entrants {
                    self.visit(&mut ground, entrant, round)?;
                }
            }
        }
        for scenario in &mut self.record.scenarios[first..] {
            scenario.answers = ground.answers(&scenario.id);
        }
        let fact = |name: &str, value: String| Fact { name: name.into(), value };
        self.record.machine.extend([
            fact("descriptors of a process, at most", descriptors.to_string()),
            fact("CPU time of servers", server::measured_by().into()),
            fact("congestion control", machine::congestion_control()),
            fact("runs repeated because the hypervisor took over 1 %", ground.repeated.to_string()),
        ]);
        Ok(())
    }

    /// Starts a server and puts it under the loads of this round.
    ///
    /// A server of its own holds the idle connections, so that its memory is not that of its caches.
    fn visit(
        &mut self,
        ground: &mut Ground,
        entrant: &'static Entrant,
        round: u32,
    ) -> Result<(), Failure> {
        let loads = || LOADS.iter().filter(|load| takes_part(entrant, load, round));
        println!("  {round} {}", entrant.name);
        for is_idle in [false, true] {
            let loads: Vec<&Load> =
                loads().filter(|load| (load.how == How::Idle) == is_idle).collect();
            if loads.is_empty() || ground.refused.contains(&entrant.name) {
                continue;
            }
            match Visit::begin(self, ground, entrant) {
                Ok(visit) => self.put_under(ground, entrant, round, &visit, &loads)?,
                Err(reason) => self.trouble(ground, loads[0].id, entrant, &reason),
            }
            self.check_interrupted()?;
        }
        Ok(())
    }

    fn put_under(
        &mut self,
        ground: &mut Ground,
        entrant: &'static Entrant,
        round: u32,
        visit: &Visit,
        loads: &[&Load],
    ) -> Result<(), Failure> {
        if round == 1
            && loads.iter().any(|load| load.target == Target::Mib)
            && let Err(reason) = visit.verify(ground)
        {
            ground.refused.push(entrant.name);
            self.trouble(ground, loads[0].id, entrant, &reason);
            return Ok(());
        }
        for load in loads {
            self.check_interrupted()?;
            match visit.measure(ground, load) {
                Ok(outcome) => self.note_outcome(load, entrant, round, &outcome),
                Err(_) if self.interrupted.load(Ordering::Relaxed) => {}
                Err(reason) => self.trouble(ground, load.id, entrant, &reason),
            }
        }
        Ok(())
    }

    /// Returns half the rate at which the tuned nginx answers ten clients. Without nginx, it is that
    /// of lop.
    fn half_of_nginx(&mut self, ground: &mut Ground) -> Result<f64, Failure> {
        let entrants = self.entrants(Work::Serve);
        let nginx = entrants.iter().find(|entrant| entrant.name == NGINX_SENDFILE);
        let Some(entrant) = nginx.or_else(|| entrants.first()) else { return Ok(1_000.0) };
        let load = loads::by_id("small-10").expect("a load");
        let peak = Visit::begin(self, ground, entrant)
            .and_then(|visit| visit.measure(ground, load))
            .map(|outcome| float(outcome.report.requests) / outcome.report.seconds);
        self.check_interrupted()?;
        let rate = (peak? / 2.0).round().max(1.0);
        for load in LOADS.iter().filter(|load| load.how == How::Open) {
            self.note_reading(load, "", 1, (OPEN_RATE, Unit::Number, rate));
        }
        Ok(rate)
    }

    fn note_outcome(&mut self, load: &Load, entrant: &Entrant, round: u32, outcome: &Outcome) {
        for (what, &count) in &outcome.calls {
            let (scenario, tool) = (load.id.to_owned(), entrant.name.to_owned());
            self.record.counts.push(Count { scenario, tool, what: what.clone(), count });
        }
        let figures = figures(load, outcome);
        println!("      {:14} {}", load.id, in_words(&figures, outcome));
        for figure in figures {
            self.note_reading(load, entrant.name, round, figure);
        }
    }

    fn note_reading(&mut self, load: &Load, tool: &str, round: u32, figure: (&str, Unit, f64)) {
        let (what, unit, value) = (figure.0.to_owned(), figure.1, figure.2);
        let (scenario, tool) = (load.id.to_owned(), tool.to_owned());
        self.record.readings.push(Reading { scenario, tool, what, round, unit, value });
    }

    /// Notes that a server has no figure. Trouble of lop is an error of the race.
    fn trouble(
        &mut self,
        ground: &mut Ground,
        load: &'static str,
        entrant: &'static Entrant,
        reason: &Failure,
    ) {
        println!("      {load:14} {}: {reason}", entrant.name);
        let is_known = |known: &(&str, &str, String)| (known.0, known.1) == (load, entrant.name);
        if ground.troubles.iter().any(is_known) {
            return;
        }
        ground.troubles.push((load, entrant.name, reason.to_string()));
        if entrant.role == Role::Ours {
            self.complaints.push(format!("{load}: {}: {reason}", entrant.name));
        }
    }

    fn check_interrupted(&self) -> Result<(), Failure> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(Failure::new("interrupted"));
        }
        Ok(())
    }
}

impl Ground {
    fn new(root: &Path, names: u64, descriptors: u64) -> Result<Self, Failure> {
        let sets = Sets::of(names);
        let sized = |path: String| {
            let file = root.join(&path);
            let metadata = file.metadata().map_err(|e| Failure::at(&file, e))?;
            Ok((format!("/{path}"), metadata.len()))
        };
        Ok(Self {
            small: sets.small().map(sized).collect::<Result<_, _>>()?,
            mib: sets.mib().map(sized).collect::<Result<_, _>>()?,
            many: sets.many().map(sized).collect::<Result<_, _>>()?,
            big: sized(BIG.to_owned())?,
            processors: Processors::find()?,
            descriptors,
            open_rate: 0.0,
            window_scale: 1.0,
            repeated: 0,
            troubles: Vec::new(),
            refused: Vec::new(),
            root: root.to_path_buf(),
        })
    }

    /// Reads the files of a load, so that their contents are in the page cache. They do not stay there: the
    /// host of a virtual machine may make the guest drop pages that no process maps.
    fn warm(&self, target: Target) -> Result<(), Failure> {
        let files = match target {
            Target::Small | Target::Unchanged => &self.small[..],
            Target::Many => &self.many,
            Target::Mib => &self.mib,
            Target::Big | Target::Ranges => std::slice::from_ref(&self.big),
            Target::Missing => &[],
        };
        files.iter().try_for_each(|(path, _)| {
            let file = self.root.join(&path[1..]);
            let read = File::open(&file).and_then(|mut file| io::copy(&mut file, &mut io::sink()));
            read.map(drop).map_err(|e| Failure::at(&file, e))
        })
    }

    /// Returns the result of the checks under a load, in words.
    fn answers(&self, load: &str) -> String {
        let of_load = self.troubles.iter().filter(|(known, ..)| *known == load);
        let failed: Vec<String> =
            of_load.map(|(_, tool, reason)| format!("{tool} has no figure: {reason}")).collect();
        if failed.is_empty() {
            return "every response had the expected status and length".into();
        }
        failed.join(". ")
    }
}

/// Returns true if a server is measured under a load in this round.
fn takes_part(entrant: &Entrant, load: &Load, round: u32) -> bool {
    let needed = ["lop", NGINX_SENDFILE, NGINX_COPY, STATIC_WEB_SERVER];
    let is_needed = entrant.work == Work::Throttle || needed.contains(&entrant.name);
    let rounds = match load.how {
        How::Calls => 1,
        How::Idle => ROUNDS_OF_IDLE,
        _ if is_needed => u32::MAX,
        _ => ROUNDS_OF_OTHERS,
    };
    load.work() == entrant.work && (load.for_all || is_needed) && round <= rounds
}
