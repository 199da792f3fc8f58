//! Limits on rule files. They bound the memory and the time that a malformed or malicious file can
//! cost; they are far above the sizes of real rule sets (winapp2.ini has 18,000 patterns).

use super::Dropped;
use crate::rule::pattern::Pattern;

/// The maximum size of a rule file.
pub(super) const MAX_FILE_BYTES: usize = 16 << 20;

/// The maximum length of a path in a rule file, which is that of a path on Linux.
pub(super) const MAX_PATTERN_BYTES: usize = 4096;

/// The maximum number of rules, and of patterns of all rules.
const MAX_PATTERNS: usize = 100_000;

/// The maximum number of components of all patterns. Lists of directories and of names multiply, so
/// a small file could otherwise produce a large number of long patterns.
const MAX_COMPONENTS: usize = 1_000_000;

/// Counts the patterns that a file has produced.
#[derive(Debug, Default)]
pub(super) struct Budget {
    rules: usize,
    patterns: usize,
    components: usize,
}

/// The file exceeds a limit.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the file has more than {MAX_PATTERNS} rules or patterns, or {MAX_COMPONENTS} names in them"
)]
pub(super) struct Exceeded;

/// The reason why an entry does not become a rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The entry is dropped.
    Drop(Dropped),
    /// The whole file is unusable.
    File(Exceeded),
}

impl From<Dropped> for Stop {
    fn from(reason: Dropped) -> Stop {
        Stop::Drop(reason)
    }
}

impl From<Exceeded> for Stop {
    fn from(exceeded: Exceeded) -> Stop {
        Stop::File(exceeded)
    }
}

/// Separates an unusable file from an entry that is dropped.
pub(super) fn or_dropped<T>(result: Result<T, Stop>) -> Result<Result<T, Dropped>, Exceeded> {
    match result {
        Ok(done) => Ok(Ok(done)),
        Err(Stop::Drop(reason)) => Ok(Err(reason)),
        Err(Stop::File(exceeded)) => Err(exceeded),
    }
}

impl Budget {
    /// Counts an entry of the file.
    pub(super) fn rule(&mut self) -> Result<(), Exceeded> {
        self.rules += 1;
        if self.rules > MAX_PATTERNS { Err(Exceeded) } else { Ok(()) }
    }

    /// Counts a pattern that is not used. Producing it took time too.
    pub(super) fn skipped(&mut self) -> Result<(), Exceeded> {
        self.patterns += 1;
        if self.patterns > MAX_PATTERNS { Err(Exceeded) } else { Ok(()) }
    }

    /// Counts a pattern. Callers MUST count a pattern before they make the next one.
    pub(super) fn pattern(&mut self, pattern: Pattern) -> Result<Pattern, Exceeded> {
        self.patterns += 1;
        self.components += pattern.components.len();
        let exceeds = self.patterns > MAX_PATTERNS || self.components > MAX_COMPONENTS;
        if exceeds { Err(Exceeded) } else { Ok(pattern) }
    }
}

/// Converts ascending byte offsets to line numbers.
#[derive(Debug)]
pub(super) struct Lines<'t> {
    text: &'t [u8],
    counted: usize,
    line: u32,
}

impl Lines<'_> {
    /// Counts the lines of a text.
    pub(super) fn new(text: &[u8]) -> Lines<'_> {
        Lines { text, counted: 0, line: 1 }
    }

    /// Returns the line, from 1, of a byte offset. The offset must not be smaller than that of the
    /// previous call.
    pub(super) fn at(&mut self, offset: usize) -> u32 {
        let end = offset.min(self.text.len());
        if let Some(passed) = self.text.get(self.counted..end) {
            for _ in passed.iter().filter(|&&byte| byte == b'\n') {
                self.line = self.line.saturating_add(1);
            }
            self.counted = end;
        }
        self.line
    }
}
