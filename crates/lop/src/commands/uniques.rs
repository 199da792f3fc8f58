//! `lop uniques`: lists the files below a directory that have no copy elsewhere.
//!
//! The functions that print the list are shared with `lop dups` and `lop contains`.

use dupes::State;
use serde::Serialize;
use walk::Problem;

use crate::args::{ListArgs, ListSort, UniquesArgs};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::formats::{Listed, to_json, write_list};
use crate::output::{problems, stdout};
use crate::quantity::{count, counted, size};
use crate::questions::aliases::Distinct;
use crate::questions::folder::{Copies, Folder, SystemDirs};
use crate::questions::knowledge::{Knowledge, UnknownFiles};
use crate::questions::verify::{Counting, Tally};
use crate::questions::work::files;
use crate::settings::Settings;

/// Runs the command.
pub(crate) fn run(args: &UniquesArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let distinct = Distinct::new(&args.distinct.dirs)?;
    let mut folder = Folder::load(&args.dir, SystemDirs::Entered, distinct, settings)?;
    let counting = if args.anywhere { Counting::Anywhere } else { Counting::Outside };
    let verified = args.verify.then(|| folder.verify(counting, settings)).transpose()?;
    let has_copy = |copies: &Copies| copies.has_copy(counting);
    let listed = listed(
        &folder,
        |copies| !has_copy(copies),
        |copies| match copies {
            Copies { offline: true, .. } if copies.known() => {
                Some("a copy is on a disk that is not mounted")
            }
            Copies {
                duplicates: 1..,
                knowledge: Knowledge::Is(State::Same),
                in_system_dir,
                ..
            } => Some(match in_system_dir {
                true => "copies elsewhere only in trash or system folders",
                false => "copies only in this directory",
            }),
            _ => copies.knowledge.mark(),
        },
    );
    let uniques = || folder.files.iter().filter(|copies| !has_copy(copies) && copies.known());
    let unknown = folder.files.iter().filter(|copies| !has_copy(copies)).map(|c| c.knowledge);
    let summary = Summary {
        files: folder.files.len() as u64 + folder.quarantined,
        uniques: uniques().count() as u64,
        bytes: folder.bytes(|copies| !has_copy(copies) && copies.known()),
        only_inside: uniques().filter(|copies| copies.is_only_inside()).count() as u64,
        only_system_dirs: uniques().filter(|copies| copies.in_system_dir).count() as u64,
        unknown: UnknownFiles::of(unknown).with_quarantined(folder.quarantined),
        tally: verified.as_ref().map(|(_, tally)| *tally),
        empty: folder.tree.skipped.empty,
        symlinks: folder.tree.skipped.symlinks,
        special_files: folder.tree.skipped.special(),
        problems: folder.tree.problems.len() as u64,
    };
    let answer = if summary.uniques > 0 { Exit::No } else { Exit::Done };
    let exit = summary.unknown.exit(summary.files, answer);
    let answer = ListAnswer {
        exit: verified.iter().fold(exit, |exit, (verified, _)| verified.exit(exit)),
        why: summary.unknown.lines(),
        problems: folder.tree.problems.iter().collect(),
        text: summary.text(args.anywhere),
    };
    print_list(listed, &summary, &answer, &args.list, settings)
}

/// Returns the files for which `wanted` returns true, sorted by path, each with the remark from `state`.
pub(crate) fn listed(
    folder: &Folder,
    wanted: impl Fn(&Copies) -> bool,
    state: impl Fn(&Copies) -> Option<&'static str>,
) -> Vec<Listed> {
    let all = files(&folder.tree).into_iter().zip(&folder.files);
    let listed = all.filter(|(_, copies)| wanted(copies)).map(|(file, copies)| Listed {
        path: folder.tree.path(file),
        size: folder.tree.file(file).size,
        duplicates: copies.known().then_some(copies.duplicates),
        digest: copies.digest,
        state: state(copies),
    });
    let mut listed: Vec<Listed> = listed.collect();
    listed.sort_by(|a, b| a.path.cmp(&b.path));
    listed
}

/// Exit code and messages of a command that prints a list of files.
pub(crate) struct ListAnswer<'a> {
    /// Exit code if there are no problems.
    pub(crate) exit: Exit,
    /// The reasons why some files have no answer.
    pub(crate) why: Vec<String>,
    /// Entries that could not be examined.
    pub(crate) problems: Vec<&'a Problem>,
    /// The summary for people.
    pub(crate) text: String,
}

/// Prints a list of files, its summary and the problems. Returns the exit code.
///
/// # Errors
///
/// Fails if standard output cannot be written.
pub(crate) fn print_list(
    mut files: Vec<Listed>,
    summary: &impl Serialize,
    answer: &ListAnswer<'_>,
    args: &ListArgs,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    if args.sort == ListSort::Size {
        files.sort_by_key(|file| std::cmp::Reverse(file.size));
    }
    if let Some(limit) = args.limit {
        files.truncate(limit);
    }
    let format = args.format.unwrap_or(settings.default_format());
    let printed =
        stdout::print(|out| write_list(format, out, settings.stdout, &files, &to_json(summary)))?;
    problems::print(answer.problems.iter().copied(), settings);
    if printed {
        stdout::print_summary_aside(format, settings, summary, &answer.text);
    }
    let ListAnswer { exit, why, problems, .. } = answer;
    let exit = exit.partial_if(!problems.is_empty());
    let unexamined = (!problems.is_empty()).then(|| problems::unexamined(problems.len() as u64));
    let why: Vec<&str> = why.iter().chain(&unexamined).map(String::as_str).collect();
    settings.print_exit_record(exit, &why.join("; "));
    Ok(exit)
}

#[derive(Serialize)]
struct Summary {
    files: u64,
    /// Files that are known to be unique.
    uniques: u64,
    /// Total size of these files.
    bytes: u64,
    /// Files that count as unique because all of their copies are in the directory.
    only_inside: u64,
    /// Files that count as unique because all copies outside the directory are in the trash or another system
    /// directory.
    only_system_dirs: u64,
    /// Files without an answer.
    #[serde(flatten)]
    unknown: UnknownFiles,
    /// Figures of the comparison, with `--verify`.
    #[serde(flatten)]
    tally: Option<Tally>,
    /// Empty files, which are not counted.
    empty: u64,
    /// Symbolic links, which are not counted.
    symlinks: u64,
    /// FIFOs, sockets and devices, which are not counted.
    special_files: u64,
    problems: u64,
}

impl Summary {
    fn text(&self, anywhere: bool) -> String {
        let place = if anywhere { "" } else { " outside" };
        let files = counted(self.files, "file", "files");
        let known = self.files - self.unknown.all;
        let mut text = if self.uniques > 0 {
            let (number, bytes) = (count(self.uniques), size(self.bytes));
            let have = if self.uniques == 1 { "has" } else { "have" };
            format!("{number} of {files} ({bytes}) {have} no copy{place}")
        } else if self.unknown.all > 0 {
            let have = if known == 1 { "has" } else { "have" };
            format!("{} of {files} {have} a copy{place}", count(known))
        } else {
            format!("{files}: each has a copy{place}")
        };
        for (number, place) in [
            (self.only_inside, "copies inside only"),
            (
                self.only_system_dirs,
                "copies outside only in trash or system folders, which do not count",
            ),
        ] {
            if number > 0 {
                let have = if number == 1 { "has" } else { "have" };
                text.push_str(&format!("\n  {} of these {have} {place}", count(number)));
            }
        }
        text.push_str(&self.unknown.text());
        text.extend(self.tally.map(|tally| tally.text()));
        for (number, one, many) in [
            (self.empty, "empty file", "empty files"),
            (self.symlinks, "symbolic link", "symbolic links"),
            (self.special_files, "FIFO, socket or device", "FIFOs, sockets and devices"),
        ] {
            if number > 0 {
                text.push_str(&format!("\n  {} not counted", counted(number, one, many)));
            }
        }
        text
    }
}
