//! `lop uniques`: the files below a directory that have no copy elsewhere.

use serde::Serialize;
use walk::Problem;

use crate::args::{Format, ListArgs, ListSort, UniquesArgs};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::folder::{Copies, Folder, SystemDirs};
use crate::formats::{Listed, to_json, write_list};
use crate::quantity::{count, counted, size};
use crate::settings::Settings;
use crate::{output, problems};

/// Runs the command.
pub(crate) fn run(args: &UniquesArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let folder = Folder::look(&args.dir, SystemDirs::Entered, settings)?;
    let unique = |copies: &Copies| {
        if args.anywhere { copies.duplicates == 0 && !copies.outside } else { !copies.outside }
    };
    let listing = Listing::new(&folder, unique, |copies| match copies {
        Copies { known: false, .. } => Some("not in the catalog, or changed since the scan"),
        Copies { duplicates: 1.., .. } => Some("copies only in this directory"),
        _ => None,
    });
    let matching = |wanted: &dyn Fn(&Copies) -> bool| {
        folder.files.iter().filter(|c| unique(c) && wanted(c)).count() as u64
    };
    let summary = Summary {
        files: folder.files.len() as u64,
        uniques: listing.len(),
        bytes: listing.bytes(),
        only_inside: matching(&|copies| copies.known && copies.duplicates > 0),
        unknown: matching(&|copies| !copies.known),
        empty: folder.tree.skipped.empty,
        symlinks: folder.tree.skipped.symlinks,
        problems: folder.tree.problems.len() as u64,
    };
    let text = summary.text(args.anywhere);
    let answer = if summary.uniques > 0 { Exit::No } else { Exit::Done };
    let problems: Vec<&Problem> = folder.tree.problems.iter().collect();
    print_list(&problems, listing, &args.list, settings, (&summary, &text), answer)
}

/// Files to print.
pub(crate) struct Listing(Vec<Listed>);

impl Listing {
    /// Returns the files of a folder that are `wanted`, each with what is odd about it.
    pub(crate) fn new(
        folder: &Folder,
        wanted: impl Fn(&Copies) -> bool,
        state: impl Fn(&Copies) -> Option<&'static str>,
    ) -> Listing {
        let files = folder.files(wanted).into_iter().map(|(path, file)| {
            let copies = &folder.files[file.0 as usize];
            Listed {
                path,
                size: folder.tree.file(file).size,
                duplicates: copies.known.then_some(copies.duplicates),
                digest: copies.digest,
                state: state(copies),
            }
        });
        Listing(files.collect())
    }

    /// Returns a listing of these files.
    pub(crate) fn of(files: Vec<Listed>) -> Listing {
        Listing(files)
    }

    pub(crate) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0.iter().fold(0, |sum, file| file.size.saturating_add(sum))
    }
}

/// Prints a list of files, what it comes to (as JSON and as text), and what could not be
/// examined; returns how the run ends if `answer` is its answer.
pub(crate) fn print_list(
    problems: &[&Problem],
    Listing(mut files): Listing,
    args: &ListArgs,
    settings: &Settings,
    (summary, text): (&impl Serialize, &str),
    answer: Exit,
) -> Result<Exit, CommandError> {
    if args.sort == ListSort::Size {
        files.sort_by_key(|file| std::cmp::Reverse(file.size));
    }
    if let Some(limit) = args.limit {
        files.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    let unnamed = if settings.json { Format::Json } else { Format::Text };
    let format = args.format.unwrap_or(unnamed);
    let heard =
        output::print(|out| write_list(format, out, settings.stdout, &files, &to_json(summary)))?;
    problems::print(problems, settings);
    if heard {
        output::print_summary_aside(format, settings, summary, text);
    }
    if problems.is_empty() || answer != Exit::Done {
        return Ok(answer);
    }
    settings.print_exit_record(Exit::Partial, &problems::message(problems.len() as u64));
    Ok(Exit::Partial)
}

#[derive(Serialize)]
struct Summary {
    files: u64,
    uniques: u64,
    bytes: u64,
    /// Of the unique files, those that have copies in the directory itself.
    only_inside: u64,
    /// Of the unique files, those that the catalog does not know as they are now.
    unknown: u64,
    /// Empty files, which are not counted.
    empty: u64,
    /// Symbolic links, which are not counted.
    symlinks: u64,
    problems: u64,
}

impl Summary {
    fn text(&self, anywhere: bool) -> String {
        let place = if anywhere { "" } else { " outside" };
        let files = counted(self.files, "file", "files");
        let mut text = if self.uniques == 0 {
            format!("{files}: each has a copy{place}")
        } else {
            let (number, bytes) = (count(self.uniques), size(self.bytes));
            let have = if self.uniques == 1 { "has" } else { "have" };
            format!("{number} of {files} ({bytes}) {have} no copy{place}")
        };
        for (number, what) in [
            (self.only_inside, "have copies in there"),
            (self.unknown, "are not in the catalog or changed since the scan"),
        ] {
            if number > 0 {
                text.push_str(&format!("\n  of these {} {what}", count(number)));
            }
        }
        if self.empty > 0 {
            let empty = counted(self.empty, "empty file", "empty files");
            text.push_str(&format!("\n  {empty} not counted"));
        }
        if self.symlinks > 0 {
            let links = counted(self.symlinks, "symbolic link", "symbolic links");
            text.push_str(&format!("\n  {links} not counted"));
        }
        text
    }
}
