//! `lop undo --dry-run`: shows how the files of a run would be restored.

use std::cell::Cell;
use std::io::{self, Write};

use action::Refusal;
use action::run::Runs;
use action::undo::{FilePreview, RestoreMethod, UndoPreview};
use catalog::Catalog;
use serde::Serialize;

use super::complain;
use crate::acting::conclusion::skip_unreadable;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::formats::{JsonList, JsonPath, to_json};
use crate::output::names::Names;
use crate::output::{problems, stdout};
use crate::quantity::{append_counts, files_and_dirs};
use crate::settings::Settings;

/// Shows how the files of a run would be restored. If `paths` is not empty, only files at or below them are shown.
///
/// # Errors
///
/// Fails if the journal cannot be read. Nothing is changed.
pub(super) fn show(
    run: Option<u64>,
    paths: &[Vec<u8>],
    settings: &Settings,
) -> Result<Exit, CommandError> {
    let folder = Catalog::runs_dir(&settings.catalog()?);
    let unreadable = Cell::new(0);
    let mut found = None;
    stdout::print(|out| {
        let mut list = List::new(out, settings);
        let skip = skip_unreadable(&unreadable, settings);
        let preview = Runs::preview(&folder, run, paths, skip, |preview| list.take(preview));
        let written = list.finish(preview.as_ref().ok());
        found = Some((preview, list.entries, list.trees, list.refused));
        written
    })?;
    let Some((preview, entries, trees, refused)) = found else { return Ok(Exit::Failed) };
    let UndoPreview { run, unmatched, is_cut_off, damaged, nothing_left } = preview?;
    problems::print(&refused, settings);
    let ignored = complain(run, damaged, &unmatched, settings) + unreadable.get();
    let mut text = format!("Run {run}: {} would be restored", files_and_dirs(entries, trees));
    append_counts(&mut text, [(refused.len() as u64, "could not be")]);
    if is_cut_off {
        settings
            .summarize(b"The run was interrupted; its unfinished changes would be reverted first");
    }
    let preview = match nothing_left.filter(|_| paths.is_empty()) {
        Some(left) => super::nothing_left(run, left),
        None => format!("{text}; nothing was changed"),
    };
    settings.summarize(preview.as_bytes());
    let is_partial = !refused.is_empty() || ignored > 0;
    Ok(settings.partial_if(is_partial, Exit::Done, &text))
}

/// Prints how each file would be restored, as soon as this is known.
struct List<'o, W> {
    out: Out<'o, W>,
    written: io::Result<()>,
    /// Files and directories that would be restored or have already been restored.
    entries: u64,
    /// The directories among them.
    trees: u64,
    refused: Vec<Refusal>,
}

enum Out<'o, W> {
    Text(&'o mut W, Names),
    Json(JsonList<&'o mut W>),
}

impl<'o, W: Write> List<'o, W> {
    fn new(out: &'o mut W, settings: &Settings) -> List<'o, W> {
        let out = if settings.json {
            Out::Json(JsonList::new(out, "files"))
        } else {
            Out::Text(out, settings.stdout.names)
        };
        List { out, written: Ok(()), entries: 0, trees: 0, refused: Vec::new() }
    }

    fn take(&mut self, FilePreview { path, is_tree, method: means }: FilePreview) {
        let means = match means {
            Ok(means) => means,
            Err(reason) => return self.refused.push(Refusal { path, reason }),
        };
        self.entries += 1;
        self.trees += u64::from(is_tree);
        if self.written.is_ok() {
            self.written = match &mut self.out {
                Out::Text(out, names) => write(out, *names, &path, &means),
                Out::Json(list) => list.item(&JsonPreview::new(&path, &means)),
            };
        }
    }

    /// Ends the output. Without a preview, nothing was printed, and no JSON document has to be closed.
    fn finish(&mut self, preview: Option<&UndoPreview>) -> io::Result<()> {
        std::mem::replace(&mut self.written, Ok(()))?;
        match (preview, &mut self.out) {
            (Some(&UndoPreview { run, .. }), Out::Json(list)) => {
                let (restored, failed) = (self.entries, self.refused.len() as u64);
                list.finish(&to_json(&Summary { dry_run: true, run, restored, failed }))
            }
            _ => Ok(()),
        }
    }
}

fn write(out: &mut impl Write, names: Names, path: &[u8], means: &RestoreMethod) -> io::Result<()> {
    let (word, before, from) = words(means);
    write!(out, "  {word}  ")?;
    out.write_all(&names.show_line(path))?;
    write!(out, "  ({before}")?;
    out.write_all(&from.map(|from| names.show_line(from)).unwrap_or_default())?;
    out.write_all(b")\n")
}

/// Returns a word for the restore method, a preposition, and the path of the file that provides the content, if any.
fn words(means: &RestoreMethod) -> (&'static str, &'static str, Option<&Vec<u8>>) {
    match means {
        RestoreMethod::InPlace => ("back", "already restored", None),
        RestoreMethod::MoveBack => ("move", "from quarantine", None),
        RestoreMethod::Link { to } => ("link", "to ", Some(to)),
        RestoreMethod::Copy { from } => ("copy", "of ", Some(from)),
    }
}

#[derive(Serialize)]
struct JsonPreview<'a> {
    #[serde(flatten)]
    path: JsonPath<'a>,
    action: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<JsonPath<'a>>,
}

impl<'a> JsonPreview<'a> {
    fn new(path: &'a [u8], means: &'a RestoreMethod) -> JsonPreview<'a> {
        let (action, _, from) = words(means);
        let from = from.map(|from| JsonPath::new(from));
        JsonPreview { path: JsonPath::new(path), action, from }
    }
}

#[derive(Serialize)]
struct Summary {
    dry_run: bool,
    run: u64,
    /// Files that would be restored or have already been restored.
    restored: u64,
    /// Files that could not be restored.
    failed: u64,
}
