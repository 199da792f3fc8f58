//! Facts about the plans that jobs of this server made.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::plan_lines::PlanLines;
use crate::error::PageError;
use crate::jobs::{Action, JobId, Jobs};

/// Number of plans that are kept. Older plans are dropped together with their jobs.
const MOST: usize = 20;

/// The address at which a plan is made.
pub(crate) const FORM: &str = "/plan#plan-form";

/// The plans, by the number of the job that made them.
#[derive(Debug, Default)]
pub(crate) struct Plans(Mutex<BTreeMap<u64, Known>>);

/// The versions of the data from which a plan is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Basis {
    /// The version of the catalog.
    pub(crate) catalog: u64,
    /// The state of the decisions.
    pub(crate) decisions: u64,
}

/// A plan.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) action: Action,
    /// The versions when the plan was begun.
    basis: Basis,
    /// The last job that applied it.
    pub(crate) applied: Option<JobId>,
    lines: Option<Arc<PlanLines>>,
}

impl Plans {
    /// Notes that a job makes a plan. `basis` is that of the time before it started.
    pub(crate) fn begin(&self, job: JobId, action: Action, basis: Basis) {
        let mut plans = self.lock();
        plans.insert(job.0, Known { action, basis, applied: None, lines: None });
        while plans.len() > MOST {
            plans.pop_first();
        }
    }

    /// Notes that a job applies a plan.
    pub(crate) fn applied(&self, plan: JobId, by: JobId) {
        if let Some(known) = self.lock().get_mut(&plan.0) {
            known.applied = Some(by);
        }
    }

    /// Returns the action of the plan that a job applied.
    pub(crate) fn action_of(&self, by: JobId) -> Option<Action> {
        self.lock().values().find(|known| known.applied == Some(by)).map(|known| known.action)
    }

    /// Returns what is known about the plan of a job.
    pub(crate) fn get(&self, plan: JobId) -> Option<Known> {
        self.lock().get(&plan.0).cloned()
    }

    /// Returns the lines of a plan. The first call reads the whole plan.
    ///
    /// # Errors
    ///
    /// Fails if the job is unknown, has not ended or made no plan, or if the plan cannot be read.
    pub(crate) fn lines(&self, plan: JobId, jobs: &Jobs) -> Result<Arc<PlanLines>, PageError> {
        if let Some(lines) = self.get(plan).and_then(|known| known.lines) {
            return Ok(lines);
        }
        let output = jobs.plan(plan).ok_or_else(no_plan)?;
        let lines = PlanLines::index(output).map_err(|e| PageError::failed(&e))?;
        let lines = Arc::new(lines);
        if let Some(known) = self.lock().get_mut(&plan.0) {
            known.lines = Some(Arc::clone(&lines));
        }
        Ok(lines)
    }

    /// Returns the run that applied a plan.
    pub(crate) fn run_of(&self, plan: JobId, jobs: &Jobs) -> Option<u64> {
        jobs.job(self.get(plan)?.applied?)?.summary("run")
    }

    /// Fails if the catalog or the decisions have changed since a plan was begun. `now` returns their
    /// versions now.
    ///
    /// # Errors
    ///
    /// Fails with the reason, also if nothing is known about the plan, or if `now` fails.
    pub(crate) fn check_current(
        &self,
        plan: JobId,
        now: impl FnOnce() -> Result<Basis, PageError>,
    ) -> Result<(), PageError> {
        let outdated =
            |text| Err(PageError::conflict(text, "Make the plan again.").with_link(FORM));
        let Some(Known { basis, .. }) = self.get(plan) else {
            return Err(no_plan());
        };
        let now = now()?;
        if basis.decisions != now.decisions {
            return outdated("Decisions have changed since this plan was made");
        }
        if basis.catalog != now.catalog {
            return outdated("The catalog has changed since this plan was made");
        }
        Ok(())
    }

    /// Fails if a plan was applied already.
    ///
    /// # Errors
    ///
    /// Fails with the number of the run.
    pub(crate) fn check_unapplied(&self, plan: JobId, jobs: &Jobs) -> Result<(), PageError> {
        match self.run_of(plan, jobs) {
            Some(run) => {
                let text = format!("This plan was applied as run {run}");
                Err(PageError::conflict(text, "Make a new plan for the remaining files."))
            }
            None => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the error for a plan that the server has dropped or never had.
pub(crate) fn no_plan() -> PageError {
    let error = PageError::not_found("lop serve no longer has this plan");
    error.with_advice("Make the plan again.").with_link(FORM)
}
