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
        let size = loaded.tree.file(file).size;
        let is_known = loaded.state(file) == FileState::Known;
        // A file with a content but without a head was changed so shortly before its scan that only another
        // scan can tell whether it has changed again.
        let has_content = loaded.fingerprints.content(file.0).is_some();
        if size < self.min_size || !is_known || has_content || loaded.tree.is_offline(file) {
            return None;
        }
        match loaded.fingerprints.head(file.0) {
            // If the head is the whole file, its digest costs no further read.
            None if self.has_size(size) && size == head_length(size) => Some(Part::Whole),
            None => self.has_size(size).then_some(Part::Head),
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
