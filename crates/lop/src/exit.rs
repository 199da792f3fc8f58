//! The exit codes. An exit code never changes its meaning and is never reused.
//!
//! `docs/exit-codes.md` documents the exit codes, and a test compares it with this module.

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    Done = 0,
    Failed = 1,
    Usage = 2,
    Partial = 3,
    Refused = 4,
    Catalog = 5,
    No = 6,
    Interrupted = 130,
}

/// All exit codes with their meanings.
pub(crate) const MEANINGS: [(u8, &str); 8] = [
    (0, "done"),
    (1, "failed"),
    (2, "wrong usage"),
    (
        3,
        "partly done: some entries could not be examined, mirrored or removed, or their state is unknown",
    ),
    (4, "refused by a safety check: nothing was changed"),
    (
        5,
        "the catalog is missing, locked, damaged or of another version, or contains none of the \
         requested files",
    ),
    (6, "the answer is no: uniques or contains found files that have no copy there"),
    (130, "interrupted"),
];

impl Exit {
    /// Returns the number that the shell receives.
    pub(crate) fn code(self) -> u8 {
        self as u8
    }

    /// Returns [`Exit::Partial`] instead of [`Exit::Done`] if `is_partial` is true.
    pub(crate) fn partial_if(self, is_partial: bool) -> Exit {
        if is_partial && self == Exit::Done { Exit::Partial } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::{Exit, MEANINGS};

    #[test]
    fn the_page_documents_exactly_the_registry() {
        let page = include_str!("../../../docs/exit-codes.md");
        let rows: Vec<(u8, &str)> = page
            .lines()
            .filter_map(|line| {
                let mut cells = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ");
                Some((cells.next()?.parse().ok()?, cells.next()?))
            })
            .collect();
        assert_eq!(rows, MEANINGS);
    }

    #[test]
    fn every_code_has_a_meaning() {
        let all = [
            Exit::Done,
            Exit::Failed,
            Exit::Usage,
            Exit::Partial,
            Exit::Refused,
            Exit::Catalog,
            Exit::No,
            Exit::Interrupted,
        ];
        for exit in all {
            assert!(MEANINGS.iter().any(|(code, _)| *code == exit.code()), "{exit:?}");
        }
    }
}
