//! The report of `lop-fleet` on a Spark cluster, which must be the report that it computes alone.
//!
//! The cluster is a master and two workers with one core each on this machine.

use std::fs;
use std::time::Duration;

use serde_json::Value;
use testkit::Spark;

use super::{Race, Setup};
use crate::Failure;
use crate::record::{Count, Ending, Role};
use crate::scenario::{Cache, Work};
use crate::tools::{Entrant, Places};

/// Minimum time limit of a run on Spark.
pub(super) const LEAST_LIMIT: Duration = Duration::from_secs(30 * 60);

/// Memory of each worker in MiB.
const WORKER_MIB: u32 = 6 << 10;

/// The number of reports that differ from that of lop-fleet alone, as [`Count::what`].
pub(crate) const DIFFERENT: &str = "reports that differ";

impl Race {
    /// Groups the exports of many hosts on a Spark cluster.
    pub(super) fn spark(&mut self, setup: &Setup) -> Result<(), Failure> {
        // If the cluster does not start, `with_memory` prints the reason.
        let Some(spark) = Spark::with_memory(WORKER_MIB) else { return Ok(()) };
        let (exports, counts) = setup.spec.ensure(self.options.store.path())?;
        let id = self.scenario(setup, Cache::Warm, &counts);
        let alone = self.places(exports);
        let variables = spark.variables().into_iter();
        let cluster = Places {
            master: spark.master(),
            variables: variables.map(|(name, value)| (name.to_owned(), value)).collect(),
            ..alone.clone()
        };
        let ours = |entrant: &&Entrant| entrant.role == Role::Ours;
        let lop_fleet = self.entrants(Work::Fleet).into_iter().find(ours);
        let lop_fleet = lop_fleet.ok_or_else(|| Failure::new("lop-fleet does not run"))?;
        self.run(lop_fleet, &alone, None)?;
        let expected = self.report();
        for entrant in self.entrants(Work::Spark) {
            let (mut answers, mut count) = (Vec::new(), 0);
            // Spark needs minutes, so there is no untimed run.
            for round in 1..=self.rounds(setup) {
                let usage = self.run(entrant, &cluster, None)?;
                self.record(&id, entrant, round, &usage, None);
                let report = self.report();
                let same = usage.ending == Ending::Done && report.is_some() && report == expected;
                let groups = report.map_or(0, |report| report["groups"].as_u64().unwrap_or(0));
                let is = if same { "equals" } else { "differs from" };
                let answer = format!(
                    "the report of Spark, with {groups} groups, {is} the report of lop-fleet alone"
                );
                if !same {
                    self.complaints.push(format!("{id}: {answer}"));
                    count += 1;
                }
                answers.push(answer);
            }
            answers.dedup();
            self.note_answers(std::slice::from_ref(&id), &answers.join("; "));
            let (scenario, tool) = (id.clone(), entrant.name.to_owned());
            self.record.counts.push(Count { scenario, tool, what: DIFFERENT.into(), count });
        }
        Ok(())
    }

    /// Returns the report that the last run printed.
    fn report(&self) -> Option<Value> {
        serde_json::from_slice(&fs::read(self.options.store.join("output")).ok()?).ok()
    }
}
