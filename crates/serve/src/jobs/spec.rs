//! The work of a job, and the command line of lop that does it.
//!
//! Paths and numbers come from requests. Each of them becomes a separate argument, and paths follow `--`, so no
//! request can add an option.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The plan file of a child: its standard input, which is an unnamed file.
const PLAN_FILE: &str = "/proc/self/fd/0";

/// The number of a job: 1 for the first job of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobId(pub u64);

/// The work of a job. All paths are absolute.
#[derive(Clone, Debug)]
pub enum JobSpec {
    /// Scans the paths, and stores the result in the catalog.
    Scan {
        /// The paths to scan.
        paths: Vec<PathBuf>,
    },
    /// Makes a plan from the decisions, without changing any files.
    Plan {
        /// The action for each redundant file.
        action: Action,
    },
    /// Carries out a plan.
    Apply {
        /// The job that made the plan.
        plan: JobId,
    },
    /// Restores the files that a run changed.
    Undo {
        /// The number of the run.
        run: u64,
    },
    /// Restores all files from quarantine.
    Restore,
    /// Removes files from quarantine for good.
    PurgeQuarantine {
        /// Removes files that have been in quarantine for at least this many seconds.
        older_than_seconds: u64,
    },
    /// Compares directories.
    Folders,
}

/// The action for each redundant file of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Deletes the file.
    Delete,
    /// Replaces the file with a hard link to the kept file.
    Hardlink,
    /// Shares the disk space of the kept file.
    Reflink,
    /// Replaces the file with a symbolic link to the kept file.
    Symlink,
    /// Moves the file to quarantine.
    Quarantine,
}

impl Action {
    /// Returns the word for the action on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Action::Delete => "delete",
            Action::Hardlink => "hardlink",
            Action::Reflink => "reflink",
            Action::Symlink => "symlink",
            Action::Quarantine => "quarantine",
        }
    }
}

/// The kind of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum JobKind {
    /// See [`JobSpec::Scan`].
    Scan,
    /// See [`JobSpec::Plan`].
    Plan,
    /// See [`JobSpec::Apply`].
    Apply,
    /// See [`JobSpec::Undo`].
    Undo,
    /// See [`JobSpec::Restore`].
    Restore,
    /// See [`JobSpec::PurgeQuarantine`].
    Purge,
    /// See [`JobSpec::Folders`].
    Folders,
}

impl JobKind {
    /// Returns whether jobs of this kind change files or the catalog. Such jobs exclude each other.
    pub fn changes(self) -> bool {
        !matches!(self, JobKind::Plan | JobKind::Folders)
    }
}

impl JobSpec {
    /// Returns the kind of the job.
    pub fn kind(&self) -> JobKind {
        match self {
            JobSpec::Scan { .. } => JobKind::Scan,
            JobSpec::Plan { .. } => JobKind::Plan,
            JobSpec::Apply { .. } => JobKind::Apply,
            JobSpec::Undo { .. } => JobKind::Undo,
            JobSpec::Restore => JobKind::Restore,
            JobSpec::PurgeQuarantine { .. } => JobKind::Purge,
            JobSpec::Folders => JobKind::Folders,
        }
    }

    /// Returns the command and its arguments.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let mut args = Arguments(Vec::new());
        match self {
            JobSpec::Scan { paths } => args.add(["scan"]).paths(paths),
            JobSpec::Plan { action } => args
                .add(["dedupe", "--verbose", "--decided", "--by", action.word()])
                .add(["--save-plan", PLAN_FILE]),
            JobSpec::Apply { .. } => {
                args.add(["dedupe", "--verbose", "--apply", "--yes", "--plan", PLAN_FILE])
            }
            JobSpec::Undo { run } => args.add(["undo", "--verbose", &run.to_string()]),
            JobSpec::Restore => args.add(["quarantine", "restore", "--verbose"]),
            JobSpec::PurgeQuarantine { older_than_seconds: seconds } => args.add([
                "quarantine",
                "purge",
                "--verbose",
                "--older-than",
                &format!("{seconds}s"),
            ]),
            JobSpec::Folders => args.add(["report", "--dirs"]),
        };
        args.0
    }
}

/// The arguments of a command.
struct Arguments(Vec<OsString>);

impl Arguments {
    fn add<'a>(
        &mut self,
        args: impl IntoIterator<Item = &'a (impl AsRef<str> + ?Sized + 'a)>,
    ) -> &mut Self {
        self.0.extend(args.into_iter().map(|arg| OsString::from(arg.as_ref())));
        self
    }

    fn paths(&mut self, paths: &[PathBuf]) -> &mut Self {
        self.add(["--"]);
        self.0.extend(paths.iter().map(OsString::from));
        self
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{Action, JobSpec};

    fn line(spec: &JobSpec) -> String {
        let args = spec.arguments();
        args.iter().map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn paths_are_never_taken_for_options() {
        let paths = vec![PathBuf::from("--no-catalog")];
        assert_eq!(line(&JobSpec::Scan { paths }), "scan -- --no-catalog");
    }

    #[test]
    fn a_plan_changes_nothing_until_it_is_applied() {
        let plan = JobSpec::Plan { action: Action::Delete };
        assert!(!plan.kind().changes());
        assert!(!line(&plan).contains("--apply"));
        let apply = JobSpec::Apply { plan: super::JobId(1) };
        assert!(apply.kind().changes());
        assert!(line(&apply).contains("--apply"));
    }
}
