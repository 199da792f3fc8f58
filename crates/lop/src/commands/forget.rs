//! `lop forget`: removes files from the catalog, by path or because their disk is not mounted.

use std::path::PathBuf;

use catalog::{Rows, Writer};
use serde::Serialize;
use walk::FileId;

use crate::args::ForgetArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::stdout;
use crate::paths::{is_at_or_below, possible_paths};
use crate::quantity::counted;
use crate::questions::catalog::open_existing;
use crate::questions::work::files;
use crate::settings::Settings;

/// Runs the command.
pub(crate) fn run(args: &ForgetArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let writer = open_existing(settings)?;
    let mut summary = Summary { forgotten: 0, unknown_paths: 0 };
    if args.offline {
        summary.forgotten = forget_offline(&writer, &args.paths)?;
    } else {
        for path in &args.paths {
            let mut files = 0;
            for path in possible_paths(path)? {
                files += writer.forget_below(&path)?;
            }
            summary.forgotten += files;
            if files == 0 {
                summary.unknown_paths += 1;
                let path = path.as_os_str().as_encoded_bytes();
                settings.complain(&[path, b": not in the catalog"].concat());
            }
        }
    }
    stdout::print_summary_or_text(&summary, &summary.text(), settings)?;
    if summary.unknown_paths == 0 {
        return Ok(Exit::Done);
    }
    let exit = if summary.forgotten == 0 { Exit::Failed } else { Exit::Partial };
    settings.print_exit_record(exit, &summary.text());
    Ok(exit)
}

/// Forgets the files on disks that are not mounted. If `paths` is not empty, only files at or below them are forgotten.
fn forget_offline(writer: &Writer, paths: &[PathBuf]) -> Result<u64, CommandError> {
    let loaded = writer.catalog().load(Rows::All)?;
    let mut below = Vec::new();
    for path in paths {
        below.extend(possible_paths(path)?);
    }
    let tree = &loaded.tree;
    let is_wanted = |&file: &FileId| {
        let path = || tree.absolute_path(file);
        let is_in = |path: &[u8]| below.iter().any(|dir| is_at_or_below(dir, path));
        tree.is_offline(file) && (below.is_empty() || is_in(&path()))
    };
    let gone: Vec<FileId> = files(tree).into_iter().filter(is_wanted).collect();
    writer.forget(&loaded, &gone)?;
    Ok(gone.len() as u64)
}

#[derive(Serialize)]
struct Summary {
    /// Files that were removed from the catalog.
    forgotten: u64,
    /// Paths without any files in the catalog.
    unknown_paths: u64,
}

impl Summary {
    fn text(&self) -> String {
        format!("{} forgotten", counted(self.forgotten, "file", "files"))
    }
}
