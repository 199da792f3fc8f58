//! `lop-fleet growth`: how the files of each host have grown from export to export.

use std::error::Error;
use std::path::Path;

use export::{Fleet, Stored};
use runtime::quantity::{count, size};
use serde::Serialize;

use crate::Exit;
use crate::args::GrowthArgs;
use crate::output::{Output, complain, shown};
use crate::table::table;

/// Runs the command.
pub(crate) fn run(args: &GrowthArgs, output: Output) -> Result<Exit, Box<dyn Error>> {
    let (exports, problems) = exports(&args.dir, &args.hosts)?;
    let document = Document { exports };
    for problem in &problems {
        complain(problem);
    }
    if document.exports.is_empty() {
        return Err(format!("{}: no complete export of these hosts", args.dir.display()).into());
    }
    output.print(&document, document.text().as_bytes())?;
    Ok(if problems.is_empty() { Exit::Done } else { Exit::Partial })
}

/// Reads the sizes of all exports of the named hosts, or of all hosts if `hosts` is empty. The exports are sorted by
/// host and time. The second part of the result contains the errors of the exports that cannot be used.
///
/// # Errors
///
/// Fails if the folder cannot be listed.
pub(crate) fn exports(
    dir: &Path,
    hosts: &[String],
) -> Result<(Vec<Export>, Vec<export::Error>), export::Error> {
    let Fleet { exports: mut all, mut problems } = Fleet::all(dir)?;
    all.retain(|export| hosts.is_empty() || hosts.contains(&export.host));
    let mut exports: Vec<Export> = Vec::new();
    for export in &all {
        match export.amount() {
            Ok(amount) => exports.push(Export::new(export, amount, exports.last())),
            Err(error) => problems.push(error),
        }
    }
    Ok((exports, problems))
}

#[derive(Serialize)]
struct Document {
    exports: Vec<Export>,
}

/// The number and the total size of the files in an export.
#[derive(Serialize)]
pub(crate) struct Export {
    pub(crate) host: String,
    #[serde(rename = "export_id")]
    id: String,
    /// In milliseconds since the epoch.
    pub(crate) created_ms: i64,
    files: u64,
    /// The total size of the files.
    pub(crate) bytes: u64,
    /// The difference to the export of the host before this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    grown: Option<Growth>,
}

#[derive(Serialize)]
struct Growth {
    files: i128,
    bytes: i128,
}

impl Export {
    fn new(export: &Stored, (files, bytes): (u64, u64), before: Option<&Export>) -> Export {
        let before = before.filter(|before| before.host == export.host);
        let grown = before.map(|before| Growth {
            files: i128::from(files) - i128::from(before.files),
            bytes: i128::from(bytes) - i128::from(before.bytes),
        });
        let (host, id) = (export.host.clone(), export.export_id.clone());
        Export { host, id, created_ms: export.created_ms, files, bytes, grown }
    }
}

impl Document {
    fn text(&self) -> String {
        let heading = ["HOST", "EXPORT", "FILES", "SIZE", "FILES GROWN", "SIZE GROWN"];
        let mut rows = vec![heading.map(str::to_owned).to_vec()];
        for export in &self.exports {
            let grown = |of: fn(&Growth) -> i128, shown: fn(u64) -> String| {
                export.grown.as_ref().map_or_else(String::new, |grown| signed(of(grown), shown))
            };
            rows.push(vec![
                shown(&export.host),
                shown(&export.id),
                count(export.files),
                size(export.bytes),
                grown(|grown| grown.files, count),
                grown(|grown| grown.bytes, size),
            ]);
        }
        table(&rows)
    }
}

/// Returns a difference with its sign.
fn signed(difference: i128, shown: fn(u64) -> String) -> String {
    let sign = match difference {
        0 => "",
        1.. => "+",
        _ => "-",
    };
    let amount = u64::try_from(difference.unsigned_abs()).unwrap_or(u64::MAX);
    format!("{sign}{}", shown(amount))
}
