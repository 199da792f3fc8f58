//! The races of `lop export` and of `lop-fleet`.
//!
//! An export is made of a catalog that `lop scan` wrote. `lop-fleet report` and an engine for queries
//! group the exports of many hosts. Both must find the groups with which the exports were made.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::review::BINARY;
use super::{Race, Setup};
use crate::Failure;
use crate::corpus::Counts;
use crate::record::{Count, Ending, Role, Unit};
use crate::scenario::{Cache, Work};
use crate::stats::float;
use crate::tools::Entrant;

/// The query for `DuckDB`.
const SCRIPT: &str = include_str!("../../scripts/groups.py");

/// The bytes of all tables of an export, as [`Count::what`].
pub(crate) const TABLE_BYTES: &str = "bytes of the tables";

/// The groups that a program found, in the format of `lop-fleet report --json`.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Found {
    groups: u64,
    redundant: Redundant,
    shared_groups: u64,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Redundant {
    files: u64,
    bytes: u128,
}

impl Race {
    /// Exports a catalog, with and without names.
    pub(super) fn export(&mut self, setup: &Setup) -> Result<(), Failure> {
        let (tree, counts) = self.scanned(setup)?;
        let id = self.scenario(setup, Cache::Warm, &counts);
        let places = self.places(tree);
        let mut answers = Vec::new();
        for round in 0..=self.rounds(setup) {
            for entrant in self.entrants(Work::Export) {
                let usage = self.run(entrant, &places, Some(self.options.store.path()))?;
                self.record(&id, entrant, round, &usage, None);
                if usage.ending != Ending::Done {
                    self.complaints.push(format!("{id}: {} failed", entrant.name));
                } else if round == 0 {
                    answers.push(self.check_export(&id, entrant, &places.file, &counts)?);
                }
            }
        }
        let lop = &self.options.programs.lop;
        let size = fs::metadata(lop).map_err(|e| Failure::at(lop, e))?.len();
        self.read_off(&id, 1, BINARY, Unit::Bytes, float(size));
        self.note_answers(&[id], &answers.join("; "));
        Ok(())
    }

    /// Compares an export with the tree, and notes its size. Returns the result in words.
    fn check_export(
        &mut self,
        id: &str,
        entrant: &Entrant,
        folder: &Path,
        counts: &Counts,
    ) -> Result<String, Failure> {
        let fleet = export::Fleet::all(folder).map_err(|e| Failure::at(folder, e))?;
        let [export] = &fleet.exports[..] else {
            return Err(Failure::at(folder, format!("has {} exports", fleet.exports.len())));
        };
        let (inodes, names) = (export.rows("inodes"), export.rows("names"));
        let expected = if export.names == export::Names::None { 0 } else { counts.names };
        if (inodes, names) != (counts.inodes, expected) {
            let complaint = format!("{id}: {} has {inodes} inodes, {names} names", entrant.name);
            self.complaints.push(complaint);
        }
        let count = export.all_files().map(|(_, file)| file.bytes).sum();
        let (scenario, tool) = (id.to_owned(), entrant.name.to_owned());
        println!("  {}: {TABLE_BYTES}: {count}", entrant.name);
        self.record.counts.push(Count { scenario, tool, what: TABLE_BYTES.into(), count });
        Ok(format!(
            "{} exports {inodes} of {} inodes and {names} of {} names",
            entrant.name, counts.inodes, counts.names
        ))
    }

    /// Races programs that group the exports of many hosts.
    pub(super) fn fleet(&mut self, setup: &Setup) -> Result<(), Failure> {
        let (exports, counts) = setup.spec.ensure(self.options.store.path())?;
        let places = self.places(exports);
        fs::create_dir_all(&places.rules)
            .and_then(|()| fs::write(places.rules.join("groups.py"), SCRIPT))
            .map_err(|e| Failure::at(&places.rules, e))?;
        let id = self.scenario(setup, Cache::Warm, &counts);
        let mut found: Vec<(&'static Entrant, Option<Found>)> = Vec::new();
        for round in 0..=self.rounds(setup) {
            for entrant in self.entrants(Work::Fleet) {
                let usage = self.run(entrant, &places, None)?;
                self.record(&id, entrant, round, &usage, None);
                if usage.ending != Ending::Done && entrant.role == Role::Ours {
                    self.complaints.push(format!("{id}: {} failed", entrant.name));
                }
                if round == 0 {
                    let text = fs::read(self.options.store.join("output")).unwrap_or_default();
                    found.push((entrant, serde_json::from_slice(&text).ok()));
                }
            }
        }
        let answers = self.compare_groups(&id, &counts, &found);
        self.note_answers(&[id], &answers);
        Ok(())
    }

    /// Compares the groups of each program with those of the exports, and with those of lop-fleet.
    /// Returns the result in words.
    fn compare_groups(
        &mut self,
        id: &str,
        counts: &Counts,
        found: &[(&'static Entrant, Option<Found>)],
    ) -> String {
        let ours = found.iter().find(|(entrant, _)| entrant.role == Role::Ours);
        let ours = ours.and_then(|(_, found)| found.as_ref());
        let mut answers = vec![format!(
            "the exports contain {} groups with {} files",
            counts.groups, counts.in_groups
        )];
        for (entrant, found) in found {
            let name = entrant.name;
            let said = match found {
                None => "found nothing".to_owned(),
                Some(found) if !found.agrees_with(counts) => {
                    let files = found.groups + found.redundant.files;
                    format!("found {} of {files} files", found.groups)
                }
                Some(found) if Some(found) != ours => {
                    "found other hosts or bytes than lop-fleet".to_owned()
                }
                Some(found) => {
                    answers.push(format!(
                        "{name} found all groups, {} of them on several hosts",
                        found.shared_groups
                    ));
                    continue;
                }
            };
            if entrant.role == Role::Ours {
                self.complaints.push(format!("{id}: {name} {said}"));
            }
            answers.push(format!("{name} {said}"));
        }
        answers.join("; ")
    }
}

impl Found {
    fn agrees_with(&self, counts: &Counts) -> bool {
        let files = self.groups + self.redundant.files;
        (self.groups, files) == (counts.groups, counts.in_groups)
    }
}

#[cfg(test)]
mod tests {
    use super::{Counts, Found, Redundant};

    #[test]
    fn reports_are_read_and_compared_with_the_exports() {
        let report =
            r#"{"groups":2,"hosts":[],"redundant":{"files":3,"bytes":7},"shared_groups":1}"#;
        let found: Found = serde_json::from_str(report).expect("a report");
        let redundant = Redundant { files: 3, bytes: 7 };
        assert_eq!(found, Found { groups: 2, redundant, shared_groups: 1 });
        let counts = Counts { groups: 2, in_groups: 5, ..Counts::default() };
        assert!(found.agrees_with(&counts));
        assert!(!found.agrees_with(&Counts { in_groups: 6, ..counts }));
    }
}
