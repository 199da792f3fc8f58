//! `lop status`: shows the contents of the catalog, its disks, and the totals of all runs.

use std::cell::Cell;
use std::io::{self, Write};
use std::path::Path;

use action::run::Runs;
use action::trash::TrashSummary;
use catalog::{Catalog, Overview, ScannedRoot, Tally, VolumeSummary};
use serde::Serialize;

use crate::acting::conclusion;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::formats::{JsonPath, document};
use crate::output::names::Names;
use crate::output::stdout;
use crate::quantity::{append_counts, count, counted, local_time, size};
use crate::questions::catalog::open;
use crate::questions::inspect::Inspector;
use crate::settings::Settings;

/// Runs the command.
pub(crate) fn run(settings: &Settings) -> Result<Exit, CommandError> {
    let path = settings.catalog()?;
    let overview = open(settings)?.overview()?;
    let size = std::fs::metadata(&path).map_or(0, |found| found.len());
    let mut inspector = Inspector::default();
    let offline = |disk: &VolumeSummary| {
        disk.volume.is_some_and(|volume| inspector.is_offline_at(&volume, &disk.path))
    };
    let offline: Vec<bool> = overview.volumes.iter().map(offline).collect();
    let done = RunTotals::read(&Catalog::runs_dir(&path), settings)?;
    let status = Status { path: &path, size, overview: &overview, offline: &offline, done: &done };
    stdout::print(|out| {
        if settings.json {
            return writeln!(out, "{}", document(&status.document()));
        }
        status.write(out, settings.stdout.names)
    })?;
    Ok(conclusion::with_unreadable(Exit::Done, done.unreadable, settings))
}

/// The totals of all runs, according to their journals.
#[derive(Default, Serialize)]
struct RunTotals {
    /// Runs that acted on files or moved trees out of the way.
    runs: u64,
    /// Runs that can be undone, at least in part.
    undoable: u64,
    /// Runs that were interrupted, and runs whose trees have not been removed completely.
    not_over: u64,
    /// Files in quarantine.
    quarantined: u64,
    /// Disk space of the files in quarantine, in bytes.
    quarantined_bytes: u64,
    #[serde(skip)]
    unreadable: u64,
}

impl RunTotals {
    /// Reads the journals in a directory, and reports the journals that cannot be read.
    fn read(folder: &Path, settings: &Settings) -> Result<RunTotals, CommandError> {
        let mut done = RunTotals::default();
        let unreadable = Cell::new(0);
        for run in conclusion::readable(Runs::list(folder)?, &unreadable, settings) {
            done.runs += 1;
            done.undoable += u64::from(run.can_be_undone());
            done.not_over += u64::from(run.ended_ms.is_none());
        }
        let trees = TrashSummary::list(folder)?;
        for run in conclusion::readable(trees, &unreadable, settings) {
            done.runs += 1;
            done.not_over += u64::from(run.ended_ms.is_none());
        }
        done.unreadable = unreadable.get();
        // Unreadable journals were already reported above.
        for file in Runs::quarantined(folder, |_| ())? {
            done.quarantined += file.file_count();
            done.quarantined_bytes = done.quarantined_bytes.saturating_add(file.allocated);
        }
        Ok(done)
    }
}

struct Status<'a> {
    path: &'a Path,
    /// Size of the catalog in bytes.
    size: u64,
    overview: &'a Overview,
    /// True for each disk that is not mounted.
    offline: &'a [bool],
    done: &'a RunTotals,
}

impl Status<'_> {
    fn write(&self, out: &mut impl Write, names: Names) -> io::Result<()> {
        let Overview { all, roots, volumes: disks, problems } = self.overview;
        let show = |path: &[u8]| names.show_line(path).into_owned();
        let mut line = |title: &str, text: &[u8]| {
            write!(out, "{title:<12}")?;
            out.write_all(text)?;
            writeln!(out)
        };
        let path = show(self.path.as_os_str().as_encoded_bytes());
        line("Catalog", &[&path, format!(", {}", size(self.size)).as_bytes()].concat())?;
        let mut text = tally(*all);
        for (number, one, many) in [
            (all.digested, "has a digest", "have a digest"),
            (all.pending, "is not compared yet", "are not compared yet"),
            (all.damaged, "is damaged or unreadable", "are damaged or unreadable"),
        ] {
            if number > 0 {
                text.push_str(&format!("; {}", counted(number, one, many)));
            }
        }
        line("Remembered", text.as_bytes())?;
        let mut titles = std::iter::once("Scanned").chain(std::iter::repeat(""));
        let texts = aligned(roots.iter().map(|root| tally(root.remembered)));
        for (root, text) in roots.iter().zip(texts) {
            let text = format!("{}  {text}  ", local_time(root.finished_ms));
            let options = &root.options;
            let mut notes =
                if options.is_empty() { String::new() } else { format!("  ({options})") };
            notes.push_str(if root.complete { "" } else { "  (interrupted: scan it again)" });
            let text = [text.as_bytes(), &show(&root.path), notes.as_bytes()].concat();
            line(titles.next().unwrap_or_default(), &text)?;
        }
        let mut titles = std::iter::once("Disks").chain(std::iter::repeat(""));
        let texts = disks.iter().map(|disk| format!("{}, {}", kind(disk), tally(disk.remembered)));
        for ((disk, &offline), text) in disks.iter().zip(self.offline).zip(aligned(texts)) {
            let text = format!("{text}  ");
            let state: &[u8] = if offline { b"  (offline)" } else { b"" };
            let text = [text.as_bytes(), &show(&disk.path), state].concat();
            line(titles.next().unwrap_or_default(), &text)?;
        }
        if *problems > 0 {
            let entries = counted(*problems, "entry", "entries");
            let text = format!("{entries} could not be examined by the last scans");
            line("Problems", text.as_bytes())?;
        }
        self.write_done(&mut line)
    }

    fn write_done(&self, line: &mut impl FnMut(&str, &[u8]) -> io::Result<()>) -> io::Result<()> {
        let RunTotals { runs, undoable, not_over, quarantined, quarantined_bytes, .. } = *self.done;
        if runs > 0 {
            let mut text = count(runs);
            let (undo, rest) = ("can be undone (lop history, lop undo)", "not finished");
            append_counts(&mut text, [(undoable, undo), (not_over, rest)]);
            line("Runs", text.as_bytes())?;
        }
        if quarantined > 0 {
            let files = counted(quarantined, "file", "files");
            let text =
                format!("{files}, {} on disk (lop quarantine list)", size(quarantined_bytes));
            line("Quarantine", text.as_bytes())?;
        }
        Ok(())
    }

    fn document(&self) -> Document<'_> {
        let Overview { all, roots, volumes: disks, problems } = self.overview;
        Document {
            catalog: JsonCatalog {
                path: JsonPath::new(self.path.as_os_str().as_encoded_bytes()),
                size: self.size,
            },
            remembered: (*all).into(),
            roots: roots.iter().map(JsonRoot::from).collect(),
            disks: disks
                .iter()
                .zip(self.offline)
                .map(|(disk, &offline)| JsonDisk {
                    path: JsonPath::new(&disk.path),
                    kind: kind(disk),
                    offline,
                    remembered: disk.remembered.into(),
                })
                .collect(),
            problems: *problems,
            done: self.done,
        }
    }
}

fn tally(tally: Tally) -> String {
    format!("{}, {}", counted(tally.files, "file", "files"), size(tally.bytes))
}

/// Pads all texts with spaces to the length of the longest one.
fn aligned(texts: impl Iterator<Item = String>) -> Vec<String> {
    let texts: Vec<String> = texts.collect();
    let width = texts.iter().map(String::len).max().unwrap_or_default();
    texts.into_iter().map(|text| format!("{text:<width$}")).collect()
}

fn kind(disk: &VolumeSummary) -> &'static str {
    disk.volume.and_then(|volume| volume.known_name()).unwrap_or("unknown")
}

#[derive(Serialize)]
struct Document<'a> {
    catalog: JsonCatalog<'a>,
    remembered: JsonTally,
    roots: Vec<JsonRoot<'a>>,
    disks: Vec<JsonDisk<'a>>,
    problems: u64,
    #[serde(flatten)]
    done: &'a RunTotals,
}

#[derive(Serialize)]
struct JsonCatalog<'a> {
    #[serde(flatten)]
    path: JsonPath<'a>,
    size: u64,
}

#[derive(Serialize)]
struct JsonTally {
    files: u64,
    bytes: u64,
    digested: u64,
    pending: u64,
    damaged: u64,
}

impl From<Tally> for JsonTally {
    fn from(Tally { files, bytes, digested, pending, damaged }: Tally) -> JsonTally {
        JsonTally { files, bytes, digested, pending, damaged }
    }
}

#[derive(Serialize)]
struct JsonRoot<'a> {
    #[serde(flatten)]
    path: JsonPath<'a>,
    ended_ms: i64,
    complete: bool,
    options: &'a str,
    #[serde(flatten)]
    remembered: JsonTally,
}

impl<'a> From<&'a ScannedRoot> for JsonRoot<'a> {
    fn from(root: &'a ScannedRoot) -> JsonRoot<'a> {
        JsonRoot {
            path: JsonPath::new(&root.path),
            ended_ms: root.finished_ms,
            complete: root.complete,
            options: &root.options,
            remembered: root.remembered.into(),
        }
    }
}

#[derive(Serialize)]
struct JsonDisk<'a> {
    #[serde(flatten)]
    path: JsonPath<'a>,
    kind: &'static str,
    offline: bool,
    #[serde(flatten)]
    remembered: JsonTally,
}
