//! How reliable the answer about a file is, and how many files have no answer.
//!
//! A file whose content is unknown must never be reported as unique, because it may have a copy. Commands count unknown
//! files separately, print the reasons, and return a different exit code.

use catalog::{FileMatch, FileState, UnreliableCounts};
use dupes::State;
use serde::Serialize;

use crate::exit::Exit;
use crate::output::formats::is_zero;
use crate::quantity::count;

/// How reliable the answer about an existing file and its copies is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Knowledge {
    /// The file is not in the catalog.
    #[default]
    NotInCatalog,
    /// The file is in the catalog and has this state. The answer is reliable only for [`State::Same`].
    Is(State),
    /// The file is known, but its only copies have changed.
    CopiesChanged,
    /// The file is known, but its only copies may be aliases of the file itself.
    CopiesAreAliases,
    /// The file has no usable copy, because its only copies are damaged or unreadable.
    CopiesBad,
}

impl Knowledge {
    /// Returns the answer that a catalog record gives about the file itself.
    pub(crate) fn of(record: &FileMatch) -> Knowledge {
        match record {
            FileMatch::Missing => Knowledge::NotInCatalog,
            FileMatch::Changed => Knowledge::Is(State::Changed),
            FileMatch::Unchanged(known) => Knowledge::Is(state_of(known.state)),
        }
    }

    /// Returns whether the answer about the file and its copies is reliable.
    pub(crate) fn is_known(self) -> bool {
        matches!(self, Knowledge::Is(State::Same) | Knowledge::CopiesBad)
    }

    /// Returns a short remark about the file, or `None` if it is unchanged.
    pub(crate) fn mark(self) -> Option<&'static str> {
        match self {
            Knowledge::NotInCatalog => Some("not in the catalog"),
            Knowledge::Is(state) => mark(state),
            Knowledge::CopiesChanged => Some("its copies changed since the scan"),
            Knowledge::CopiesAreAliases => Some(SAME_FILE),
            Knowledge::CopiesBad => Some("its copies elsewhere are damaged or unreadable"),
        }
    }
}

/// Returns a short remark about a state, or `None` for an unchanged file.
pub(crate) fn mark(state: State) -> Option<&'static str> {
    match state {
        State::Same => None,
        State::Changed => Some("changed since the scan"),
        State::Gone => Some("gone"),
        State::Offline => Some("offline"),
        State::Unknown => Some("cannot be examined"),
        State::Alias => Some("may be the same file under another path"),
        State::Pending => Some("not compared yet"),
        State::Damaged => Some("damaged"),
        State::Unreadable => Some("unreadable"),
    }
}

/// Returns the state of a file whose metadata is the same as in the catalog.
pub(crate) fn state_of(known: FileState) -> State {
    match known {
        FileState::Known => State::Same,
        FileState::Pending => State::Pending,
        FileState::Damaged => State::Damaged,
        FileState::Unreadable => State::Unreadable,
    }
}

/// Remark about a file whose only copies may be aliases of the file.
const SAME_FILE: &str = "its copy elsewhere may be the same file under another path";

/// The number of files without an answer, in total and by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct UnknownFiles {
    /// All files without an answer.
    #[serde(rename = "unknown")]
    pub(crate) all: u64,
    /// Files in `all` that changed since the scan, are gone or cannot be examined.
    pub(crate) stale_files: u64,
    /// Files in `all` that have not been compared yet.
    pub(crate) pending: u64,
    /// Files in `all` that were found damaged or unreadable.
    pub(crate) damaged: u64,
    /// Files in `all` that may be aliases of another file.
    #[serde(rename = "views", skip_serializing_if = "is_zero")]
    aliases: u64,
    /// Files in `all` that are in quarantine.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) quarantined: u64,
    /// Files on a disk that is not mounted. They are not part of `all`.
    #[serde(skip_serializing_if = "is_zero")]
    offline: u64,
    /// Files in `stale_files` that are gone.
    #[serde(skip)]
    gone: u64,
    /// Files in `all` whose copies have changed.
    #[serde(skip)]
    copies_changed: u64,
}

impl UnknownFiles {
    /// Counts files by the state of their answers.
    pub(crate) fn of(files: impl Iterator<Item = Knowledge>) -> UnknownFiles {
        let mut unknown = UnknownFiles::default();
        for knowledge in files {
            unknown.add(knowledge);
        }
        unknown
    }

    /// Returns the counts plus `files` files in quarantine. The content of files in quarantine is unknown.
    pub(crate) fn with_quarantined(self, files: u64) -> UnknownFiles {
        UnknownFiles { all: self.all + files, quarantined: self.quarantined + files, ..self }
    }

    fn add(&mut self, knowledge: Knowledge) {
        let counter = match knowledge {
            Knowledge::Is(State::Same) | Knowledge::CopiesBad => return,
            // The answer about a file on an unmounted disk is known: the file does not count as a copy, because it is
            // not available.
            Knowledge::Is(State::Offline) => {
                self.offline += 1;
                return;
            }
            Knowledge::NotInCatalog => None,
            Knowledge::CopiesChanged => Some(&mut self.copies_changed),
            Knowledge::Is(State::Alias) | Knowledge::CopiesAreAliases => Some(&mut self.aliases),
            Knowledge::Is(State::Changed | State::Unknown) => Some(&mut self.stale_files),
            Knowledge::Is(State::Gone) => {
                self.gone += 1;
                Some(&mut self.stale_files)
            }
            Knowledge::Is(State::Pending) => Some(&mut self.pending),
            Knowledge::Is(State::Damaged | State::Unreadable) => Some(&mut self.damaged),
        };
        if let Some(counter) = counter {
            *counter += 1;
        }
        self.all += 1;
    }

    /// Counts the changed members of groups, and all unreliable files in the catalog.
    pub(crate) fn of_catalog(
        members: impl Iterator<Item = State>,
        doubts: &UnreliableCounts,
    ) -> UnknownFiles {
        // These files are not counted here, because they are included in `doubts`.
        let is_doubt = |state| matches!(state, State::Pending | State::Damaged | State::Unreadable);
        let members = members.filter(|state| !is_doubt(*state));
        let mut unknown = UnknownFiles::of(members.map(Knowledge::Is));
        unknown.pending = doubts.pending;
        unknown.damaged = doubts.damaged + doubts.unreadable;
        unknown.all += unknown.pending + unknown.damaged;
        unknown
    }

    /// Returns the number of files that are not in the catalog.
    fn missing(&self) -> u64 {
        let of_files = self.stale_files + self.pending + self.damaged + self.copies_changed;
        self.all - of_files - self.aliases - self.quarantined
    }

    /// Returns one line for each reason. Most lines include advice.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.lines_of(["file", "files"])
    }

    /// Returns the same lines as [`UnknownFiles::lines`]. `missing` is the noun for files that are not in the catalog,
    /// in the singular and the plural.
    pub(crate) fn lines_of(&self, missing: [&str; 2]) -> Vec<String> {
        let again = "run 'lop scan' again";
        let files = ["file", "files"];
        [
            (self.missing(), missing, ["is", "are"], "not in the catalog; run 'lop scan' there"),
            (
                self.stale_files - self.gone,
                files,
                ["", ""],
                &format!("changed since the scan; {again}"),
            ),
            (self.gone, files, ["is", "are"], &format!("gone since the scan; {again}")),
            (self.copies_changed, files, ["has", "have"], &format!("copies that changed; {again}")),
            (self.pending, files, ["is", "are"], &format!("not compared yet; {again}")),
            (
                self.damaged,
                files,
                ["is", "are"],
                "damaged or unreadable; 'lop validate' lists them",
            ),
            (
                self.aliases,
                files,
                ["", ""],
                "may be other files under a second path (network, FUSE, overlayfs); if not, pass \
                 their directory with --distinct DIR",
            ),
            (
                self.quarantined,
                files,
                ["is", "are"],
                "in quarantine there; list them with 'lop quarantine list'",
            ),
            (self.offline, files, ["is", "are"], "on a disk that is not mounted"),
        ]
        .into_iter()
        .filter(|(number, ..)| *number > 0)
        .map(|(number, nouns, verbs, text)| {
            let form = usize::from(number > 1);
            let (noun, verb) = (nouns[form], verbs[form]);
            let verb = if verb.is_empty() { String::new() } else { format!("{verb} ") };
            format!("{} {noun} {verb}{text}", count(number))
        })
        .collect()
    }

    /// Returns the lines as text that can be appended to a summary.
    pub(crate) fn text(&self) -> String {
        indented(&self.lines())
    }

    /// Returns the exit code for a question about `files` files. `answer` is the exit code that applies if every file
    /// has an answer.
    pub(crate) fn exit(&self, files: u64, answer: Exit) -> Exit {
        if self.all == 0 || answer != Exit::Done {
            answer
        } else if self.missing() == files {
            Exit::Catalog
        } else {
            Exit::Partial
        }
    }
}

/// Puts a line break and an indentation before each line, so that the text can be appended to a summary.
pub(crate) fn indented(lines: &[String]) -> String {
    lines.iter().flat_map(|line| ["\n  ", line.as_str()]).collect()
}

#[cfg(test)]
mod tests {
    use dupes::State;

    use super::{Knowledge, UnknownFiles};
    use crate::exit::Exit;

    #[test]
    fn each_reason_has_a_line() {
        let files = [
            Knowledge::NotInCatalog,
            Knowledge::NotInCatalog,
            Knowledge::Is(State::Same),
            Knowledge::Is(State::Changed),
            Knowledge::Is(State::Damaged),
            Knowledge::Is(State::Offline),
        ];
        let unknown = UnknownFiles::of(files.into_iter());
        let counted = UnknownFiles {
            all: 4,
            stale_files: 1,
            damaged: 1,
            offline: 1,
            ..UnknownFiles::default()
        };
        assert_eq!(unknown, counted);
        let expected = [
            "2 files are not in the catalog; run 'lop scan' there",
            "1 file changed since the scan; run 'lop scan' again",
            "1 file is damaged or unreadable; 'lop validate' lists them",
            "1 file is on a disk that is not mounted",
        ];
        assert_eq!(unknown.lines(), expected);
    }

    #[test]
    fn unknown_files_change_the_exit_code_unless_the_answer_is_no() {
        let none = UnknownFiles::default();
        assert_eq!((none.exit(0, Exit::Done), none.exit(9, Exit::No)), (Exit::Done, Exit::No));
        let some =
            UnknownFiles::of([Knowledge::NotInCatalog, Knowledge::Is(State::Changed)].into_iter());
        assert_eq!((some.exit(9, Exit::Done), some.exit(9, Exit::No)), (Exit::Partial, Exit::No));
        assert_eq!(some.exit(2, Exit::Done), Exit::Partial, "one of the files is in the catalog");
        let missing = UnknownFiles::of([Knowledge::NotInCatalog; 2].into_iter());
        assert_eq!(missing.exit(2, Exit::Done), Exit::Catalog);
    }
}
