//! Jobs that users want done. Each job has a table on the summary page, a chart and a separate
//! page.

use crate::scenario::{Cache, Device, Scenario, Work};

use super::comparison::Comparison;

/// The tree of the average ranking. If a job was raced on this tree, that comparison represents the
/// job.
pub(super) const RANKED_CORPUS: &str = "server2018";

/// The kind of race whose comparisons differ only in the size of the tree. They have a separate
/// table.
pub(super) const GROWTH: &str = "growth";

/// A kind of work that users want done, on one kind of storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Job {
    FindWarm,
    FindCold,
    FindHdd,
    Link,
    Mirror,
    Ssh,
    Delete,
    Sweep,
    Review,
    Serve,
    Fleet,
}

impl Job {
    /// All jobs, in the order of the summary page.
    pub(super) const ALL: [Self; 11] = [
        Self::FindWarm,
        Self::FindCold,
        Self::FindHdd,
        Self::Link,
        Self::Mirror,
        Self::Ssh,
        Self::Delete,
        Self::Sweep,
        Self::Review,
        Self::Serve,
        Self::Fleet,
    ];

    /// Returns the job that a scenario belongs to.
    pub(super) fn of(scenario: &Scenario) -> Self {
        match (scenario.work, scenario.device, scenario.cache) {
            (Work::Find, Device::Hdd, _) => Self::FindHdd,
            (Work::Find, _, Cache::Warm) => Self::FindWarm,
            (Work::Find, _, Cache::Cold) => Self::FindCold,
            (Work::Link, ..) => Self::Link,
            (Work::Mirror | Work::Copy | Work::Again, ..) => Self::Mirror,
            (Work::Push | Work::Pull, ..) => Self::Ssh,
            (Work::Delete, ..) => Self::Delete,
            (Work::Sweep | Work::Anywhere | Work::Load | Work::Apply, ..) => Self::Sweep,
            (Work::Space | Work::Review, ..) => Self::Review,
            (Work::Serve | Work::Throttle, ..) => Self::Serve,
            (Work::Export | Work::Fleet | Work::Spark | Work::Survey, ..) => Self::Fleet,
        }
    }

    /// Returns the heading of the job.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::FindWarm => "Find duplicates, warm caches",
            Self::FindCold => "Find duplicates, cold caches",
            Self::FindHdd => "Find duplicates on a hard disk",
            Self::Link => "Replace duplicates by hard links",
            Self::Mirror => "Mirror a tree",
            Self::Ssh => "Mirror through ssh",
            Self::Delete => "Delete a tree",
            Self::Sweep => "Sweep junk by rules",
            Self::Review => "Review duplicates and disk space",
            Self::Serve => "Send files over HTTP",
            Self::Fleet => "Compare many hosts",
        }
    }

    /// Returns the name of the page and chart of the job, without the extension.
    pub(super) fn slug(self) -> &'static str {
        match self {
            Self::FindWarm => "find-warm",
            Self::FindCold => "find-cold",
            Self::FindHdd => "find-hdd",
            Self::Link => "link",
            Self::Mirror => "mirror",
            Self::Ssh => "mirror-ssh",
            Self::Delete => "delete",
            Self::Sweep => "sweep",
            Self::Review => "review",
            Self::Serve => "serve",
            Self::Fleet => "fleet",
        }
    }

    /// Returns the comparisons of the job.
    pub(super) fn comparisons<'a>(self, all: &[&'a Comparison<'a>]) -> Vec<&'a Comparison<'a>> {
        all.iter().copied().filter(|comparison| Self::of(comparison.scenario) == self).collect()
    }
}

/// Returns the comparison that the chart of a job shows. This is the largest comparison on the tree
/// of the average ranking. If that tree was not raced, it is the largest comparison of the job.
pub(super) fn headline<'a>(of_job: &[&'a Comparison<'a>]) -> Option<&'a Comparison<'a>> {
    // Among comparisons of the same size, the first one in the order of the race wins.
    of_job.iter().copied().rev().max_by_key(|comparison| {
        let scenario = comparison.scenario;
        (scenario.corpus == RANKED_CORPUS && comparison.kind != GROWTH, scenario.names)
    })
}
