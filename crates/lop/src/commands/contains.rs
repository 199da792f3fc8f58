//! `lop contains`: whether everything in one directory is in another one too.

use catalog::{Catalog, Known};
use dupes::{Content, Walked, Whereabouts, is_inside, outside, whereabouts};
use serde::Serialize;
use walk::{FileId, Problem, Tree};

use crate::args::ContainsArgs;
use crate::commands::uniques::{Listing, print_list};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::folder::{SystemDirs, walk_dir};
use crate::formats::Listed;
use crate::quantity::{count, counted, size};
use crate::remembered::open;
use crate::settings::Settings;

/// Runs the command.
pub(crate) fn run(args: &ContainsArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let catalog = open(settings)?;
    let one = Side::look(walk_dir(&args.one, SystemDirs::Entered, settings)?, &catalog)?;
    let other = Side::look(walk_dir(&args.other, SystemDirs::LeftOut, settings)?, &catalog)?;
    if is_inside(&one.tree, &other.tree) {
        let message = "the second directory is the first, or in it: nothing there would be left";
        return Err(CommandError::usage(message));
    }
    let found = whereabouts(one.walked(), other.walked());
    let listing = Listing::of(listed(&one.tree, &found));
    let problems: Vec<&Problem> = one.tree.problems.iter().chain(&other.tree.problems).collect();
    let number = |wanted| found.iter().filter(|&&place| place == wanted).count() as u64;
    let is_unknown = |file: &FileId| other.contents[file.0 as usize] == Content::Unknown;
    let skipped = &one.tree.skipped;
    let summary = Summary {
        files: found.len() as u64,
        missing: listing.len(),
        bytes: listing.bytes(),
        unknown: number(Whereabouts::Unknown),
        linked: number(Whereabouts::Linked),
        unknown_there: outside(&one.tree, &other.tree).iter().filter(|f| is_unknown(f)).count()
            as u64,
        empty: skipped.empty,
        symlinks: skipped.symlinks,
        special: skipped.fifos + skipped.sockets + skipped.devices,
        problems: problems.len() as u64,
    };
    let answer = if summary.missing > 0 { Exit::No } else { Exit::Done };
    let said = (&summary, &*summary.text());
    print_list(&problems, listing, &args.list, settings, said, answer)
}

/// One of the two directories as it is now.
struct Side {
    tree: Tree,
    contents: Vec<Content>,
}

impl Side {
    fn look(tree: Tree, catalog: &Catalog) -> Result<Side, CommandError> {
        let content = |known: Option<Known>| match known {
            None => Content::Unknown,
            Some(Known { content: None, .. }) => Content::Alone,
            Some(Known { content: Some(number), .. }) => Content::Known(number),
        };
        let contents = catalog.known(&tree)?.into_iter().map(content).collect();
        Ok(Side { tree, contents })
    }

    fn walked(&self) -> Walked<'_> {
        Walked { tree: &self.tree, contents: &self.contents }
    }
}

/// Returns the files that are not known to be in the other directory, sorted by path.
fn listed(tree: &Tree, found: &[Whereabouts]) -> Vec<Listed> {
    let lost = (0u32..).map(FileId).zip(found).filter_map(|(file, place)| match place {
        Whereabouts::Copied | Whereabouts::Linked => None,
        Whereabouts::Missing => Some((file, None)),
        Whereabouts::Unknown => Some((file, Some("not in the catalog, or changed since the scan"))),
    });
    let listed = |(file, state)| Listed {
        path: tree.path(file),
        size: tree.file(file).size,
        duplicates: None,
        digest: None,
        state,
    };
    let mut files: Vec<Listed> = lost.map(listed).collect();
    files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    files
}

#[derive(Serialize)]
struct Summary {
    /// Files of the first directory.
    files: u64,
    /// Of these, those that are not known to be in the second.
    missing: u64,
    /// Bytes in the missing ones.
    bytes: u64,
    /// Of the missing ones, those that the catalog does not know as they are now.
    unknown: u64,
    /// Files that are in the second directory as another name of the same inode.
    linked: u64,
    /// Files of the second directory that the catalog does not know as they are now.
    unknown_there: u64,
    /// Empty files, which are not compared.
    empty: u64,
    /// Symbolic links, which are not compared.
    symlinks: u64,
    /// FIFOs, sockets and devices, which are not compared.
    special: u64,
    problems: u64,
}

impl Summary {
    fn text(&self) -> String {
        let files = counted(self.files, "file", "files");
        let mut text = if self.missing == 0 {
            format!("{files}: each is also in the second directory")
        } else {
            let (number, bytes) = (count(self.missing), size(self.bytes));
            let are = if self.missing == 1 { "is" } else { "are" };
            format!("{number} of {files} ({bytes}) {are} not in the second directory")
        };
        let unknown = "not in the catalog or changed since the scan";
        for (number, one, many, what) in [
            (self.unknown, "of these 1 is", "of these {} are", unknown),
            (
                self.linked,
                "1 is a hard link",
                "{} are hard links",
                "to there and would free nothing",
            ),
            (self.unknown_there, "1 file there is", "{} files there are", unknown),
            (self.empty, "1 empty file", "{} empty files", "not compared"),
            (self.symlinks, "1 symbolic link", "{} symbolic links", "not compared"),
            (self.special, "1 special file", "{} special files", "not compared"),
        ] {
            if number > 0 {
                let who = if number == 1 { one.into() } else { many.replace("{}", &count(number)) };
                text.push_str(&format!("\n  {who} {what}"));
            }
        }
        text
    }
}
