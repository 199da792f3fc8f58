//! Writes related directories for `report --dirs`: as text, JSON or CSV.

use std::io::{self, Write};

use dupes::{Folder, Related, Relation};
use serde::Serialize;
use walk::Tree;

use super::{JsonList, JsonPath};
use crate::args::Format;
use crate::output::stream::Stream;
use crate::quantity::{count, counted, size};

/// Writes related directories. `summary` is a JSON text. Formats that can only hold groups of paths are replaced by
/// text.
pub(crate) fn write_related(
    format: Format,
    mut out: impl Write,
    stream: Stream,
    tree: &Tree,
    related: &[Related],
    summary: &str,
) -> io::Result<()> {
    match format {
        Format::Json => write_json(out, tree, related, summary),
        Format::Csv => write_csv(out, stream, tree, related),
        Format::Text | Format::Fdupes | Format::Nul => {
            for (n, related) in related.iter().enumerate() {
                if n > 0 {
                    out.write_all(b"\n")?;
                }
                write_text(&mut out, stream, tree, related)?;
            }
            Ok(())
        }
    }
}

fn word(relation: Relation) -> &'static str {
    match relation {
        Relation::Equal => "equal",
        Relation::Contained => "contained",
        Relation::Overlapping => "overlapping",
    }
}

fn write_text(
    out: &mut impl Write,
    stream: Stream,
    tree: &Tree,
    related: &Related,
) -> io::Result<()> {
    stream.write_heading(out, &heading(related))?;
    for folder in &related.folders {
        if related.relation == Relation::Equal {
            out.write_all(b"  ")?;
        } else {
            write!(out, "  {:>3} %  ", folder.percent())?;
        }
        stream.names.write_line(out, &tree.dir_path(folder.dir), &uncompared(folder))?;
    }
    Ok(())
}

fn heading(related: &Related) -> String {
    let (files, bytes) = (counted(related.files, "file", "files"), size(related.bytes));
    let gain = format!("{} reclaimable", size(related.reclaimable));
    match related.relation {
        Relation::Equal => {
            let folders = count(related.folders.len() as u64);
            format!("{folders} equal directories of {files}, {bytes}, {gain}")
        }
        Relation::Contained => format!("Contained in the second: {files}, {bytes}, {gain}"),
        Relation::Overlapping => format!("In common: {files}, {bytes}, {gain}"),
    }
}

/// Returns how many files were not compared, and why. The text is empty if all files were compared.
fn uncompared(folder: &Folder) -> String {
    let said: Vec<String> = [(folder.changed, "changed"), (folder.unknown, "not in the catalog")]
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{} {what}", count(*number)))
        .collect();
    said.join(", ")
}

#[derive(Serialize)]
struct JsonRelated<'a> {
    relation: &'static str,
    percent: u64,
    files: u64,
    bytes: u64,
    reclaimable_bytes: u64,
    dirs: Vec<JsonFolder<'a>>,
}

#[derive(Serialize)]
struct JsonFolder<'a> {
    #[serde(flatten)]
    path: JsonPath<'a>,
    percent: u64,
    files: u64,
    bytes: u64,
    shared_files: u64,
    shared_bytes: u64,
    changed: u64,
    unknown: u64,
}

fn write_json(out: impl Write, tree: &Tree, related: &[Related], summary: &str) -> io::Result<()> {
    let mut list = JsonList::new(out, "related");
    for related in related {
        let paths: Vec<Vec<u8>> = related.folders.iter().map(|f| tree.dir_path(f.dir)).collect();
        let dirs = related.folders.iter().zip(&paths).map(|(folder, path)| JsonFolder {
            path: JsonPath::new(path),
            percent: folder.percent(),
            files: folder.files,
            bytes: folder.bytes,
            shared_files: folder.shared_files,
            shared_bytes: folder.shared_bytes,
            changed: folder.changed,
            unknown: folder.unknown,
        });
        list.item(&JsonRelated {
            relation: word(related.relation),
            percent: related.folders[0].percent(),
            files: related.files,
            bytes: related.bytes,
            reclaimable_bytes: related.reclaimable,
            dirs: dirs.collect(),
        })?;
    }
    list.finish(summary)
}

const COLUMNS: [&str; 11] = [
    "group",
    "relation",
    "percent",
    "files",
    "bytes",
    "shared_files",
    "shared_bytes",
    "reclaimable_bytes",
    "changed",
    "unknown",
    "path",
];

fn write_csv(out: impl Write, stream: Stream, tree: &Tree, related: &[Related]) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(COLUMNS)?;
    for (group, related) in (1u64..).zip(related) {
        for folder in &related.folders {
            let numbers = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>();
            let Folder { files, bytes, shared_files, shared_bytes, changed, unknown, .. } = *folder;
            let mut row = vec![group.to_string(), word(related.relation).into()];
            row.extend(numbers(&[folder.percent(), files, bytes, shared_files, shared_bytes]));
            row.extend(numbers(&[related.reclaimable, changed, unknown]));
            let path = tree.dir_path(folder.dir);
            let fields = row.iter().map(String::as_bytes);
            csv.write_record(fields.chain([&*stream.names.show(&path)]))?;
        }
    }
    csv.flush()
}
