//! A snapshot of the state of a job.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::spec::{JobId, JobKind};

/// The state of a job at one moment.
#[derive(Clone, Debug, Serialize)]
pub struct Job {
    /// The number of the job.
    pub id: JobId,
    /// The kind of the job.
    pub kind: JobKind,
    /// Time of the start, in milliseconds since the epoch.
    pub started_ms: i64,
    /// Time of the end, or `None` if the job is running.
    pub ended_ms: Option<i64>,
    /// True if the job was asked to stop.
    pub cancelled: bool,
    /// The last record of the progress.
    pub progress: Option<JobProgress>,
    /// The first messages for people, without the prefix `lop: `.
    pub messages: Vec<String>,
    /// The number of all messages.
    pub messages_total: u64,
    /// The exit code, or `None` if the job is running or was ended by a signal.
    pub exit_code: Option<i32>,
    /// The signal that ended the job.
    pub signal: Option<i32>,
    /// The reason why the work failed or was incomplete.
    pub error: Option<JobError>,
    /// The document that lop printed, if it is small.
    pub result: Option<Value>,
}

impl Job {
    /// Returns whether the job is running.
    pub fn is_running(&self) -> bool {
        self.ended_ms.is_none()
    }

    /// Returns whether the job did its work, except perhaps for single files (exit code 3).
    pub fn has_succeeded(&self) -> bool {
        matches!(self.exit_code, Some(0 | 3))
    }

    /// Returns a number of the summary that lop printed.
    pub fn summary(&self, key: &str) -> Option<u64> {
        self.result.as_ref()?.get("summary")?.get(key)?.as_u64()
    }
}

/// The progress of a job. Unknown figures are `None`. `docs/formats.md` describes the figures.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobProgress {
    /// The current stage.
    pub stage: String,
    /// The progress line, for people.
    pub text: String,
    /// Percentage of the work of the stage that is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_percent: Option<u64>,
    /// Number of files that were processed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_done: Option<u64>,
    /// Number of files to process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_total: Option<u64>,
    /// Number of bytes that were processed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_done: Option<u64>,
    /// Number of bytes to process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_total: Option<u64>,
    /// Estimate of the time left in this stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds_left: Option<u64>,
}

/// The reason why a job failed, in part or completely.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobError {
    /// The exit code (`docs/exit-codes.md`).
    pub code: u8,
    /// The description for people.
    pub message: String,
}
