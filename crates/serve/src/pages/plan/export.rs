//! Saves a plan: as lop's own file, as a table, and as a shell script.

use std::io;
use std::sync::Arc;

use action::plan::{SavedAction, write_script_head, write_script_step, write_script_tail};
use axum::extract::{Path, State};
use axum::response::Response;

use crate::app::App;
use crate::app::plan_lines::PlanLines;
use crate::attachment::{attachment, csv_row, in_chunks};
use crate::error::PageError;
use crate::jobs::JobId;

/// Number of lines in one chunk of a response.
const CHUNK: u32 = 500;

/// The lines of a plan that were not sent yet.
struct Rest {
    lines: Arc<PlanLines>,
    at: u32,
    is_begun: bool,
    is_ended: bool,
}

impl Rest {
    /// Returns the next chunk: `head` once, then each line as `each` writes it, then `tail`.
    fn next(
        &mut self,
        head: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
        each: impl Fn(&mut Vec<u8>, &SavedAction) -> io::Result<()>,
        tail: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
    ) -> io::Result<Option<Vec<u8>>> {
        if self.is_ended {
            return Ok(None);
        }
        let mut out = Vec::new();
        if !std::mem::replace(&mut self.is_begun, true) {
            head(&mut out)?;
        }
        let to = (self.at + CHUNK).min(self.lines.len());
        for line in self.lines.read(self.at, to)?.split_inclusive(|&byte| byte == b'\n') {
            each(&mut out, &SavedAction::read(line).map_err(io::Error::other)?)?;
        }
        self.at = to;
        self.is_ended = to == self.lines.len();
        if self.is_ended {
            tail(&mut out)?;
        }
        Ok(Some(out))
    }
}

async fn rest(app: &Arc<App>, plan: u64) -> Result<Rest, PageError> {
    let lines = app.blocking(move |app| app.plans.lines(JobId(plan), &app.jobs)).await?;
    Ok(Rest { lines, at: 0, is_begun: false, is_ended: false })
}

/// Answers with the plan itself, which `lop dedupe --plan FILE --apply` carries out.
pub(super) async fn jsonl(
    State(app): State<Arc<App>>,
    Path(plan): Path<u64>,
) -> Result<Response, PageError> {
    let body = in_chunks(rest(&app, plan).await?, |rest| {
        let to = (rest.at + CHUNK).min(rest.lines.len());
        let chunk = rest.lines.read(rest.at, to)?;
        rest.at = to;
        Ok((!chunk.is_empty()).then_some(chunk))
    });
    Ok(attachment("lop-plan.jsonl", "application/jsonl", body))
}

/// Answers with a table for a spreadsheet. Paths are raw bytes, as in all tables of lop.
pub(super) async fn csv(
    State(app): State<Arc<App>>,
    Path(plan): Path<u64>,
) -> Result<Response, PageError> {
    let head = |out: &mut Vec<u8>| {
        csv_row(out, &[b"action", b"path", b"size", b"kept", b"why"]);
        Ok(())
    };
    let each = |out: &mut Vec<u8>, line: &SavedAction| {
        let size = line.size.to_string();
        let word = line.kind.word().as_bytes();
        csv_row(out, &[word, &line.path, size.as_bytes(), &line.kept, line.why.as_bytes()]);
        Ok(())
    };
    let body = in_chunks(rest(&app, plan).await?, move |rest| rest.next(head, each, |_| Ok(())));
    Ok(attachment("lop-plan.csv", "text/csv", body))
}

/// Answers with a shell script that compares each file again before it acts.
pub(super) async fn script(
    State(app): State<Arc<App>>,
    Path(plan): Path<u64>,
) -> Result<Response, PageError> {
    let each =
        |out: &mut Vec<u8>, line: &SavedAction| write_script_step(out, &line.kept, &line.path);
    let body = in_chunks(rest(&app, plan).await?, move |rest| {
        rest.next(write_script_head, each, write_script_tail)
    });
    Ok(attachment("lop-plan.sh", "application/x-sh", body))
}
