//! The answers for a host, and what follows from them for its files.

use std::collections::BTreeSet;

use catalog::{FileState, Loaded};
use content::head_length;
use dupes::{Part, wanted};
use export::{Error, Key};
use walk::FileId;

use crate::files::Kind;
use crate::host::{HostSurvey, Published, Shared};
use crate::key::key_of;

/// Files with more bytes of holes than this are not read to their end, because this would take a quarter of
/// an hour or more. `lop scan --hash-all` leaves them out, too.
const MAX_HOLE_BYTES: u64 = 1 << 40;

/// The answers for a host.
#[derive(Debug)]
pub struct Answers {
    sizes: Option<Shared>,
    heads: Option<Shared>,
    min_size: u64,
    key: Option<Key>,
}

impl HostSurvey {
    /// Returns the answers for this host. Files smaller than `min_size`, and empty files, do not take
    /// part in the survey.
    ///
    /// # Errors
    ///
    /// Fails like [`HostSurvey::shared`].
    pub fn answers(&self, min_size: u64, key: Option<Key>) -> Result<Answers, Error> {
        let (sizes, heads) = (self.shared(Kind::Sizes)?, self.shared(Kind::Heads)?);
        Ok(Answers { sizes, heads, min_size: min_size.max(1), key })
    }
}

impl Answers {
    /// Returns the part of a remembered file that has to be read, because another host may have the file.
    pub fn part(&self, loaded: &Loaded, file: FileId) -> Option<Part> {
        let (facts, size) = (&loaded.fingerprints, loaded.tree.file(file).size);
        let (head, content) = (facts.head(file.0), facts.content(file.0));
        let is_known = loaded.state(file) == FileState::Known;
        // Files that differ only behind their heads have contents without digests.
        let has_digest = content.is_some_and(|content| facts.digest(content).is_some());
        // A file with a content but without a head was changed so shortly before its scan that only another
        // scan can tell whether it has changed again.
        let is_recent = content.is_some() && head.is_none();
        let is_ready = is_known && !has_digest && !is_recent && !loaded.tree.is_offline(file);
        if size < self.min_size || !is_ready {
            return None;
        }
        match head {
            // If the head is the whole file, its digest costs no further read.
            None if self.has_size(size) && size == head_length(size) => Some(Part::Whole),
            None => self.has_size(size).then_some(Part::Head),
            Some(_) if size.saturating_sub(loaded.tree.allocated(file)) > MAX_HOLE_BYTES => None,
            Some(head) => {
                let key = key_of(size, head, self.key.as_ref());
                self.heads.as_ref().is_some_and(|heads| heads.contains(key)).then_some(Part::Whole)
            }
        }
    }

    /// Lists the sizes of all files, and the keys of those heads whose size another host has.
    ///
    /// # Errors
    ///
    /// Fails like [`HostSurvey::publish`].
    pub fn publish(&self, survey: &HostSurvey, loaded: &Loaded) -> Result<[Published; 2], Error> {
        let (mut sizes, mut keys) = (Vec::new(), Vec::new());
        for (id, file) in (0u32..).zip(loaded.tree.files()) {
            if file.size < self.min_size {
                continue;
            }
            sizes.push(file.size);
            let head = loaded.fingerprints.head(id).filter(|_| self.has_size(file.size));
            keys.extend(head.map(|head| key_of(file.size, head, self.key.as_ref())));
        }
        for numbers in [&mut sizes, &mut keys] {
            numbers.sort_unstable();
            numbers.dedup();
        }
        let sizes = survey.publish(Kind::Sizes, &sizes)?;
        Ok([sizes, survey.publish(Kind::Heads, &keys)?])
    }

    /// Returns the number of inodes that have to be read.
    pub fn unread(&self, loaded: &Loaded) -> u64 {
        let batches = wanted(&loaded.tree, |file| self.part(loaded, file));
        batches.iter().map(|batch| batch.len() as u64).sum()
    }

    /// Returns the names of the other hosts to whose lists the answers refer, sorted.
    pub fn hosts(&self) -> Vec<String> {
        let shared = [&self.sizes, &self.heads].into_iter().flatten();
        let hosts: BTreeSet<&String> = shared.flat_map(|shared| &shared.hosts).collect();
        hosts.into_iter().cloned().collect()
    }

    /// Returns whether numbers were listed to which the answers do not refer, given what was listed now.
    pub fn are_outdated(&self, listed: [Published; 2]) -> bool {
        let is_outdated = |(shared, listed): (&Option<Shared>, Published)| match shared {
            _ if listed.bytes > 0 => true,
            Some(shared) => shared.unanswered > 0,
            None => listed.numbers > 0,
        };
        [&self.sizes, &self.heads].into_iter().zip(listed).any(is_outdated)
    }

    fn has_size(&self, size: u64) -> bool {
        self.sizes.as_ref().is_some_and(|sizes| sizes.contains(size))
    }
}
