//! `lop dups`: lists the files below a directory that have a duplicate.

use std::path::Path;

use serde::Serialize;

use crate::args::DupsArgs;
use crate::commands::uniques::{ListAnswer, listed, print_list};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::quantity::{count, counted, size};
use crate::questions::aliases::Distinct;
use crate::questions::folder::{Copies, Folder, SystemDirs};
use crate::questions::knowledge::UnknownFiles;
use crate::settings::Settings;

/// Runs the command.
pub(crate) fn run(args: &DupsArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let distinct = Distinct::new(&args.distinct.dirs)?;
    let folder = Folder::load(&args.dir, SystemDirs::LeftOut, distinct, settings)?;
    let is_copy = |copies: &Copies| copies.duplicates > 0;
    let listed = listed(&folder, is_copy, |_| None);
    let number = |wanted: &dyn Fn(&Copies) -> bool| {
        folder.files.iter().filter(|copies| wanted(copies)).count() as u64
    };
    let unknown = folder.files.iter().filter(|copies| !is_copy(copies)).map(|c| c.knowledge);
    let summary = Summary {
        files: folder.files.len() as u64,
        duplicates: number(&is_copy),
        bytes: folder.bytes(is_copy),
        only_inside: number(&Copies::is_only_inside),
        only_system_dirs: number(&|copies| is_copy(copies) && copies.in_system_dir),
        unknown: UnknownFiles::of(unknown),
        problems: folder.tree.problems.len() as u64,
    };
    let answer = ListAnswer {
        exit: summary.unknown.exit(summary.files, Exit::Done),
        why: summary.unknown.lines(),
        problems: folder.tree.problems.iter().collect(),
        text: summary.text(&args.dir),
    };
    print_list(listed, &summary, &answer, &args.list, settings)
}

#[derive(Serialize)]
struct Summary {
    files: u64,
    duplicates: u64,
    bytes: u64,
    /// Duplicates whose copies are all below the directory.
    only_inside: u64,
    /// Duplicates whose copies outside the directory are all in the trash or another system directory.
    only_system_dirs: u64,
    /// Files without an answer.
    #[serde(flatten)]
    unknown: UnknownFiles,
    problems: u64,
}

impl Summary {
    fn text(&self, dir: &Path) -> String {
        let files = counted(self.files, "file", "files");
        let mut text = if self.duplicates > 0 {
            let have = if self.duplicates == 1 { "has a duplicate" } else { "have duplicates" };
            format!("{} of {files} ({}) {have}", count(self.duplicates), size(self.bytes))
        } else if self.unknown.all > 0 {
            format!("None of {files} is known to have a duplicate")
        } else {
            format!("None of {files} has a duplicate")
        };
        let inside = match self.only_inside {
            0 => String::new(),
            n if n == self.duplicates => format!(", all inside {}", dir.display()),
            n => format!(", {} only inside {}", count(n), dir.display()),
        };
        text.push_str(&inside);
        if self.only_system_dirs > 0 {
            let (number, dir) = (count(self.only_system_dirs), dir.display());
            let have = if self.only_system_dirs == 1 { "has" } else { "have" };
            text.push_str(&format!(
                "\n  {number} of these {have} copies outside {dir} only in trash or system folders"
            ));
        }
        text.push_str(&self.unknown.text());
        text
    }
}
