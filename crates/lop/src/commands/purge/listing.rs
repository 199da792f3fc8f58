//! Lists the entries that would be removed, as text with one path per line or as one JSON document.

use purge::Tell;
use runtime::{Mutex, Progress};
use serde::Serialize;

use super::Ended;
use super::totals::Totals;
use crate::error::CommandError;
use crate::output::formats::{JsonList, JsonPath, to_json};
use crate::output::stdout::{self, Lines};
use crate::settings::Settings;

/// An entry as a JSON object.
#[derive(Serialize)]
struct Entry<'a> {
    #[serde(flatten)]
    path: JsonPath<'a>,
    kind: &'static str,
}

/// Runs `work` and prints each entry that it reports. A JSON document ends with the totals. If the reader closes the
/// pipe, the work stops.
///
/// # Errors
///
/// Fails if standard output cannot be written. A listing never removes anything.
pub(super) fn listed(
    progress: &Progress,
    settings: &Settings,
    work: impl FnOnce(Tell<'_>) -> Ended,
    totals: impl FnOnce(&Ended) -> Totals,
) -> Result<(Ended, Totals), CommandError> {
    let mut done = None;
    stdout::print(|out| {
        let lines = Lines::new(out);
        let list = Mutex::new(JsonList::new(&lines, "entries"));
        let tell = |path: &[u8], is_dir: bool| {
            let is_read = if settings.json {
                let kind = if is_dir { "directory" } else { "file" };
                let mut list = list.lock();
                list.item(&Entry { path: JsonPath::new(path), kind }).is_ok()
            } else {
                let slash: &[u8] = if is_dir { b"/\n" } else { b"\n" };
                lines.write(&[&settings.stdout.names.show_line(path), slash].concat())
            };
            if !is_read {
                progress.stop();
            }
        };
        let ended = work(&tell);
        let totals = totals(&ended);
        if settings.json {
            let mut list = list.into_inner();
            let _kept_by_lines = list.finish(&to_json(&totals));
        }
        done = Some((ended, totals));
        lines.end()
    })?;
    done.ok_or_else(|| CommandError::failed("nothing was done"))
}
