//! `lop survey`: reads the files that other hosts may have, and lists what this host has.

use std::sync::atomic::Ordering::Relaxed;

use catalog::{Loaded, Rows, Writer};
use dupes::{Part, Wanted, Work, read_wanted, wanted};
use export::Key;
use runtime::epoch::now_ns;
use runtime::{Interrupted, Progress, spawn_with_own_descriptors};
use serde::Serialize;
use survey::{Answers, HostSurvey, Published};
use walk::{FileId, Problem};

use super::export::{explained, host_name};
use crate::args::SurveyArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::monitored;
use crate::output::{problems, stdout};
use crate::quantity::{count, counted, size};
use crate::questions::catalog::open_existing;
use crate::settings::{Resources, Settings};

/// Runs the command.
pub(crate) fn run(args: &SurveyArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let key = args.key.as_deref().map(Key::read).transpose().map_err(explained)?;
    let host = args.host.clone().unwrap_or_else(host_name);
    let writer = open_existing(settings)?;
    let survey = HostSurvey::open(&args.out, &host, key.as_ref()).map_err(explained)?;
    let answers = survey.answers(args.min_size, key).map_err(unusable_answer)?;
    let mut loaded = writer.catalog().load(Rows::All)?;
    let resources = Resources::of(&args.storage);
    let read = monitored(settings, |progress| {
        read_all(&answers, &writer, &mut loaded, &resources, progress)
    });
    let read = read.map_err(|error| match error.exit {
        Exit::Interrupted => {
            error.hint("what was read is saved; run the same command again to continue")
        }
        _ => error,
    })?;
    let listed = answers.publish(&survey, &loaded).map_err(explained)?;
    let summary = Summary::new(host, &answers, &read, listed, answers.unread(&loaded));
    problems::print(&read.problems, settings);
    stdout::print_summary_or_text(&summary, &summary.text(), settings)?;
    if summary.awaits_answer {
        settings.hint("next, when all hosts have run this command: lop-fleet answer DIR");
    } else if summary.files_read > 0 {
        settings.hint("to export the new digests: lop export DIR");
    }
    Ok(settings.partial_if(!read.problems.is_empty(), Exit::Done, &summary.text()))
}

/// Returns the error for an answer that cannot be used, with advice.
fn unusable_answer(error: export::Error) -> CommandError {
    let is_damaged = matches!(error, export::Error::Invalid { .. });
    let error = explained(error);
    if is_damaged { error.hint("answer the survey again: lop-fleet answer DIR") } else { error }
}

/// What was read.
#[derive(Default)]
struct Read {
    heads: u64,
    files: u64,
    bytes: u64,
    problems: Vec<Problem>,
}

/// Reads everything that other hosts may have, and saves it in the catalog after each batch.
fn read_all(
    answers: &Answers,
    writer: &Writer,
    loaded: &mut Loaded,
    resources: &Resources,
    progress: &Progress,
) -> Result<Read, CommandError> {
    let mut read = Read::default();
    let batches = wanted(&loaded.tree, |file| answers.part(loaded, file));
    for batch in &batches {
        for inode in batch.iter() {
            let bytes = inode.bytes(loaded.tree.file(inode.files[0]).size);
            progress.bytes_total.fetch_add(bytes, Relaxed);
        }
        progress.files_total.fetch_add(batch.len() as u64, Relaxed);
    }
    let options = resources.compare();
    for batch in batches {
        let inspected_ns = now_ns();
        let work = Work::new(&loaded.tree, &loaded.fingerprints, &options, progress);
        let found = on_own_thread(|| read_wanted(&work, &batch));
        let files: Vec<FileId> = batch.iter().flat_map(|inode| inode.files).copied().collect();
        writer.record(loaded, &files, inspected_ns)?;
        read.problems.extend(found?);
        read.count(&batch, loaded);
    }
    read.bytes = progress.bytes_read.load(Relaxed);
    Ok(read)
}

/// Runs a search on a thread with its own descriptor table, because `SQLite` would lose its locks if a
/// thread that shares the table closed a file of the catalog.
fn on_own_thread<T: Send>(
    search: impl FnOnce() -> Result<T, Interrupted> + Send,
) -> Result<T, Interrupted> {
    std::thread::scope(|scope| {
        let search = spawn_with_own_descriptors(scope, search).expect("a thread");
        search.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

impl Read {
    fn count(&mut self, batch: &Wanted, loaded: &Loaded) {
        for inode in batch.iter() {
            if loaded.fingerprints.dropped(inode.files[0].0) {
                continue;
            }
            match inode.value {
                Part::Head => self.heads += 1,
                Part::Whole => self.files += 1,
            }
        }
    }
}

#[derive(Serialize)]
struct Summary {
    host: String,
    /// Number of inodes of which the head was read.
    heads_read: u64,
    /// Number of inodes that were read completely.
    files_read: u64,
    bytes_read: u64,
    /// Number of inodes that should be read, but are offline, changed or unreadable.
    unread: u64,
    sizes_listed: u64,
    heads_listed: u64,
    /// Size in bytes of the lists that were written.
    bytes_written: u64,
    /// The other hosts to which the answers refer.
    hosts: Vec<String>,
    /// True if an answer is missing, or older than the lists.
    awaits_answer: bool,
}

impl Summary {
    fn new(
        host: String,
        answers: &Answers,
        read: &Read,
        listed: [Published; 2],
        unread: u64,
    ) -> Summary {
        let [sizes, heads] = listed;
        Summary {
            host,
            heads_read: read.heads,
            files_read: read.files,
            bytes_read: read.bytes,
            unread,
            sizes_listed: sizes.numbers,
            heads_listed: heads.numbers,
            bytes_written: sizes.bytes + heads.bytes,
            hosts: answers.hosts(),
            awaits_answer: answers.are_outdated(listed),
        }
    }

    fn text(&self) -> String {
        let mut text = format!(
            "{} and {} read, {}\n{} and {} listed, {} written",
            counted(self.heads_read, "head", "heads"),
            counted(self.files_read, "file", "files"),
            size(self.bytes_read),
            counted(self.sizes_listed, "size", "sizes"),
            counted(self.heads_listed, "head", "heads"),
            size(self.bytes_written),
        );
        if self.unread > 0 {
            text.push_str(&format!("\n{} still to read", count(self.unread)));
        }
        if !self.hosts.is_empty() {
            text.push_str(&format!("\ncompared with {}", self.hosts.join(", ")));
        }
        text
    }
}
