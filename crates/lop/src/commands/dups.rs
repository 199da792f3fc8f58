//! `lop dups`: the files below a directory that have a duplicate.

use serde::Serialize;
use walk::Problem;

use crate::args::DupsArgs;
use crate::commands::uniques::{Listing, print_list};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::folder::{Folder, SystemDirs};
use crate::quantity::{counted, size};
use crate::settings::Settings;

/// Runs the command.
pub(crate) fn run(args: &DupsArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let folder = Folder::look(&args.dir, SystemDirs::LeftOut, settings)?;
    let listing = Listing::new(&folder, |copies| copies.duplicates > 0, |_| None);
    let inside = folder.files(|copies| copies.duplicates > 0 && !copies.outside).len() as u64;
    let summary = Summary {
        files: folder.files.len() as u64,
        duplicates: listing.len(),
        bytes: listing.bytes(),
        only_inside: inside,
        problems: folder.tree.problems.len() as u64,
    };
    let problems: Vec<&Problem> = folder.tree.problems.iter().collect();
    print_list(&problems, listing, &args.list, settings, (&summary, &summary.text()), Exit::Done)
}

#[derive(Serialize)]
struct Summary {
    files: u64,
    duplicates: u64,
    bytes: u64,
    /// Of the duplicates, those whose copies are all below the directory too.
    only_inside: u64,
    problems: u64,
}

impl Summary {
    fn text(&self) -> String {
        let files = counted(self.files, "file", "files");
        if self.duplicates == 0 {
            return format!("None of {files} has a duplicate");
        }
        let mut text = format!(
            "{} of {files} ({}) have duplicates",
            crate::quantity::count(self.duplicates),
            size(self.bytes)
        );
        if self.only_inside > 0 {
            let inside = crate::quantity::count(self.only_inside);
            text.push_str(&format!("; {inside} of them only in there"));
        }
        text
    }
}
