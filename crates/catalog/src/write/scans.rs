//! Writes the rows of a scan: its options, roots and problems.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rusqlite::params;
use walk::Tree;

use super::findings::Findings;
use crate::error::{At, Error};
use crate::open::Catalog;
use crate::tables::dirs::range_below;

/// Writes the row of a scan, and the rows of its roots and problems. `known` is the row of the
/// scan, if one exists already. Returns the row.
pub(crate) fn write_scan(
    catalog: &Catalog,
    known: Option<i64>,
    found: &Findings<'_>,
) -> Result<i64, Error> {
    let (db, path) = (&catalog.db, &catalog.path);
    let Findings { tree, problems, record, pending, .. } = *found;
    let scan = known.map_or_else(|| catalog.next_id("scan"), Ok)?;
    db.execute(
        "INSERT OR REPLACE INTO scan \
         (id, started_ms, finished_ms, options, files, bytes, problems, complete) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            scan,
            record.started_ms,
            record.finished_ms,
            record.options,
            record.files.cast_signed(),
            record.bytes.cast_signed(),
            i64::try_from(problems.len()).unwrap_or(i64::MAX),
            pending.is_none(),
        ],
    )
    .at(path)?;
    db.execute("DELETE FROM problem WHERE scan = ?1", [scan]).at(path)?;
    for root in tree.roots().iter().filter(|root| root.whole) {
        let (from, to) = range_below(&root.absolute);
        let below = "(path = ?1 OR path >= ?2 AND path < ?3)";
        for table in ["root", "problem"] {
            let sql = format!("DELETE FROM {table} WHERE {below}");
            db.execute(&sql, params![root.absolute, from, to]).at(path)?;
        }
        let sql = "INSERT INTO root (path, scan, watcher, position) VALUES (?1, ?2, ?3, ?4)";
        let watcher = record.position.map(|position| position.watcher);
        let position = record.position.map(|position| position.number.cast_signed());
        db.execute(sql, params![root.absolute, scan, watcher, position]).at(path)?;
    }
    let sql = "INSERT INTO problem (scan, path, reason) VALUES (?1, ?2, ?3)";
    let mut insert = db.prepare(sql).at(path)?;
    for problem in problems {
        let reason = problem.reason.to_string();
        insert.execute(params![scan, absolute(tree, &problem.path), reason]).at(path)?;
    }
    // Paths that are not below a root (missing paths, and paths from a list) keep only their latest
    // problem.
    let sql = "DELETE FROM problem WHERE scan < ?1 \
               AND path IN (SELECT path FROM problem WHERE scan = ?1)";
    db.execute(sql, [scan]).at(path)?;
    Ok(scan)
}

/// Returns the absolute form of a path. If a path starts with a root as the user typed it, replaces
/// that part by the root's absolute path. Resolves other relative paths against the current
/// directory.
fn absolute(tree: &Tree, path: &[u8]) -> Vec<u8> {
    let under = |given: &[u8]| {
        let rest = path.strip_prefix(given).filter(|_| !given.is_empty())?;
        let whole = rest.is_empty() || given.ends_with(b"/") || rest.starts_with(b"/");
        whole.then_some(rest)
    };
    let best = tree
        .roots()
        .iter()
        .filter_map(|root| under(&root.given).map(|rest| (root, rest)))
        .min_by_key(|(_, rest)| rest.len());
    if let Some((root, rest)) = best {
        [root.absolute.as_slice(), rest].concat()
    } else {
        let absolute = std::path::absolute(OsStr::from_bytes(path));
        absolute.map_or_else(|_| path.to_vec(), |path| path.into_os_string().into_vec())
    }
}
