//! What the commands that change files have in common: the folder with their journals, what they say at
//! the end, and files that nothing was done with.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use action::plan::Kind;
use action::run::Runs;
use action::{Reason, Refusal};
use serde::Serialize;

use crate::error::{CommandError, io_text};
use crate::exit::Exit;
use crate::output;
use crate::quantity::counted;
use crate::settings::{Settings, Verbosity};

/// What is said at the end of work on files.
pub(crate) struct Conclusion<'a, S> {
    /// For programs, with `--json`.
    pub(crate) summary: &'a S,
    /// For people.
    pub(crate) text: String,
    /// Files that nothing was done with.
    pub(crate) refused: &'a [Refusal],
}

impl<S: Serialize> Conclusion<'_, S> {
    /// Says what was done, also of work that did not go to its end, as `ended` tells; then has `update` tell the
    /// catalog. Returns how the program ends.
    pub(crate) fn say(
        self,
        ended: Result<(), action::Error>,
        update: impl FnOnce() -> Result<(), CommandError>,
        settings: &Settings,
    ) -> Result<Exit, CommandError> {
        let Conclusion { summary, text, refused } = self;
        print(refused, settings);
        if settings.json {
            output::print_summary(summary)?;
        } else if settings.verbosity != Verbosity::Quiet {
            settings.note(&text);
        }
        let updated = update().inspect_err(|error| not_updated(error).tell(settings));
        ended?;
        if refused.is_empty() && updated.is_ok() {
            return Ok(Exit::Done);
        }
        settings.print_exit_record(Exit::Partial, &text);
        Ok(Exit::Partial)
    }
}

/// Returns the warning that the catalog does not know what was done.
fn not_updated(error: &CommandError) -> CommandError {
    CommandError::new(Exit::Partial, format!("the catalog was not updated: {}", error.text()))
        .hint("what was done stays done; 'lop scan' brings the catalog up to date")
}

/// Returns how the program ends if so many journals could not be read, and says so.
pub(crate) fn with_unreadable(exit: Exit, journals: u64, settings: &Settings) -> Exit {
    if journals == 0 || exit != Exit::Done {
        return exit;
    }
    let what = counted(journals, "journal", "journals");
    settings.print_exit_record(Exit::Partial, &format!("{what} could not be read"));
    Exit::Partial
}

/// Opens the folder with the journals.
pub(crate) fn open_runs(folder: &Path, settings: &Settings) -> Result<Runs, CommandError> {
    Ok(Runs::open(folder, |holder| settings.complain(waiting(holder).as_bytes()))?)
}

fn waiting(holder: Option<u32>) -> String {
    match holder {
        Some(process) => format!("waiting for process {process}, which is changing files"),
        None => "waiting for another process, which is changing files".into(),
    }
}

impl From<action::Error> for CommandError {
    fn from(error: action::Error) -> Self {
        match error {
            action::Error::File(error) => {
                let is_full = error.source.kind() == io::ErrorKind::StorageFull;
                let hint = if is_full {
                    "free some space there first: the journal takes about 1 KiB for each file; 'lop undo' takes \
                     back what was done until then"
                } else {
                    "what was done until then is in the journal; 'lop undo' takes it back"
                };
                CommandError::from(error).hint(hint)
            }
            action::Error::Interrupted(stop) => stop.into(),
            action::Error::NothingToRestore { older: Some(older), .. } => {
                CommandError::new(Exit::Failed, error.to_string())
                    .hint(format!("an older run can be undone: lop undo {older}"))
            }
            other => CommandError::new(Exit::Failed, other.to_string()),
        }
    }
}

/// Prints files that nothing was done with as `lop: PATH: reason`; if many have a reason that is about their
/// file system, as `lop: N files: reason`.
pub(crate) fn print(refused: &[Refusal], settings: &Settings) {
    let all = settings.verbosity == Verbosity::Verbose;
    let mut lines = Vec::new();
    let mut common: BTreeMap<String, Vec<&Refusal>> = BTreeMap::new();
    for refusal in refused {
        if refusal.reason.is_of_file_system() && !all {
            common.entry(text(&refusal.reason)).or_default().push(refusal);
        } else {
            lines.push(line(refusal));
        }
    }
    for (reason, refused) in &common {
        match refused[..] {
            [one] => settings.complain(&line(one)),
            ref many => {
                let files = counted(many.len() as u64, "file", "files");
                settings.complain(format!("{files}: {reason}").as_bytes());
            }
        }
    }
    let total = lines.len() as u64;
    settings.complain_of(lines, total);
}

fn line(refusal: &Refusal) -> Vec<u8> {
    [&refusal.path[..], b": ", text(&refusal.reason).as_bytes()].concat()
}

fn shown(path: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(path)
}

fn text(reason: &Reason) -> String {
    match reason {
        Reason::Failed { op, source } => format!("cannot {}: {}", op.verb(), io_text(source)),
        Reason::KeptFailed { op, source } => {
            format!("cannot {} the kept file: {}", op.verb(), io_text(source))
        }
        Reason::Unsupported { kind: Kind::Reflink, .. } => format!("{reason}; try --by hardlink"),
        Reason::Unsupported { .. } => format!("{reason}; try another kind"),
        Reason::Directory { at, source } => {
            format!("cannot change names in {}: {}", shown(at), io_text(source))
        }
        Reason::Staging { at, source } => {
            let hint = if reason.is_full() { "; a few KiB free are enough" } else { "" };
            format!("cannot use {}: {}{hint}", shown(at), io_text(source))
        }
        Reason::NotPrivate { .. } => {
            format!(
                "{reason}; a file system that keeps no permissions has to be mounted with umask=077"
            )
        }
        Reason::MaybeAlias { .. } => format!("{reason}; keep another one, or say --distinct DIR"),
        other => other.to_string(),
    }
}
