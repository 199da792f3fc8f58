//! Lists what a removal would take: a path a line, or one JSON document.

use std::sync::Mutex;
use std::sync::PoisonError;

use fsops::Watch;
use purge::Tell;
use serde::Serialize;

use super::Ended;
use super::account::Account;
use crate::error::CommandError;
use crate::formats::{JsonPath, to_json};
use crate::output::{self, Lines};
use crate::settings::Settings;

/// An entry as an object of JSON.
#[derive(Serialize)]
struct Entry<'a> {
    #[serde(flatten)]
    path: JsonPath<'a>,
    kind: &'static str,
}

/// Does `work`, and prints what it tells of. `account` says what came of it, which a document ends with. If
/// nobody reads on, the work is stopped.
pub(super) fn listed(
    watch: &Watch,
    settings: &Settings,
    work: impl FnOnce(Tell<'_>) -> Ended,
    account: impl FnOnce(&Ended) -> Account,
) -> Result<(Ended, Account), CommandError> {
    let mut done = None;
    output::print(|out| {
        let lines = Lines::new(out);
        let first = Mutex::new(true);
        let tell = |path: &[u8], is_dir: bool| {
            let line = if settings.json {
                let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
                let before = if std::mem::take(&mut *first) { "\n" } else { ",\n" };
                let kind = if is_dir { "directory" } else { "file" };
                let entry = Entry { path: JsonPath::new(path), kind };
                format!("{before}{}", to_json(&entry)).into_bytes()
            } else {
                let slash: &[u8] = if is_dir { b"/\n" } else { b"\n" };
                [&settings.stdout.names.show_line(path), slash].concat()
            };
            if !lines.write(&line) {
                watch.stop();
            }
        };
        if settings.json {
            lines.write(b"{\"entries\":[");
        }
        let ended = work(&tell);
        let account = account(&ended);
        if settings.json {
            lines.write(format!("\n],\"summary\":{}}}\n", to_json(&account)).as_bytes());
        }
        done = Some((ended, account));
        lines.end()
    })?;
    done.ok_or_else(|| CommandError::failed("nothing was done"))
}
