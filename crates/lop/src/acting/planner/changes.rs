//! Determines how a run changed the files of a catalog, so that the catalog can be updated.
//!
//! A run can take hours, and other programs may write to the same directories in the meantime. Such a program may even
//! preserve the size and the modification time of a file that it edits. The new state of a file is therefore recorded
//! only if all changes to the file were made by the run: the file belongs to the group, was unchanged when the run
//! began, and still has the status change time that the run gave it. For any other file the catalog keeps the old
//! entry, and the next scan reads the file.

use std::collections::{HashMap, HashSet};

use action::run::{ApplyOutcome, ChangedFile};
use action::statuses::{Status, Statuses};
use catalog::{CurrentMetadata, FileChange};
use fsops::{FileKey, Kind, Stat};
use walk::FileId;

use super::Planner;
use crate::acting::catalog_update;
use crate::questions::inspect::Inspector;

impl Planner {
    /// Returns the changes to files of the catalog. These are the files that the run changed, and all other names of
    /// the same inodes, because their status change time has changed as well. Each name is returned once.
    pub(crate) fn changes<'o>(
        &'o self,
        outcome: &'o ApplyOutcome,
    ) -> impl Iterator<Item = FileChange> + 'o {
        let further = self.further_names(outcome);
        let names = each_once(&outcome.changed, further, |file| self.linked_key(file));
        let (mut inspector, mut known) = (Inspector::default(), Known::default());
        let inspected_ns = catalog_update::settled_now_ns();
        names.filter_map(move |(file, changed)| {
            let unshared = changed.map_or(0, |changed| changed.unshared);
            if changed.is_some_and(|changed| !changed.is_there) {
                return Some(FileChange { file, now: None, unshared });
            }
            let now = inspector.stat(&self.source.tree().absolute_path(file)).ok()?;
            if now.kind != Kind::File || !known.has(self, file, &now, &outcome.statuses) {
                return None;
            }
            let (mtime_ns, ctime_ns) = (now.mtime_ns(), now.ctime_ns);
            let Stat { inode, allocated, .. } = now;
            let now = CurrentMetadata { inode, mtime_ns, ctime_ns, allocated, inspected_ns };
            Some(FileChange { file, now: Some(now), unshared })
        })
    }

    /// Returns the names of every changed file that had several names, keyed by the file's inode before the run.
    fn further_names(&self, outcome: &ApplyOutcome) -> HashMap<FileKey, Vec<FileId>> {
        let changed = outcome.changed.iter().map(|changed| FileId(changed.tag));
        let keys = changed.filter_map(|file| self.linked_key(file));
        let mut names: HashMap<FileKey, Vec<FileId>> = keys.map(|key| (key, Vec::new())).collect();
        if names.is_empty() {
            return names;
        }
        for &(_, file) in &self.members {
            if let Some(key) = self.linked_key(file)
                && let Some(names) = names.get_mut(&key)
            {
                names.push(file);
            }
        }
        names
    }

    /// Returns the inodes of a group, with their metadata before the run.
    fn inodes_of(&self, group: u32) -> HashMap<FileKey, Stat> {
        let start = self.members.partition_point(|member| member.0 < group);
        let members = self.members[start..].iter().take_while(|member| member.0 == group);
        let stats = members.filter_map(|&(_, file)| self.stat(file));
        stats.map(|stat| (stat.key(), stat)).collect()
    }

    /// Returns the inode that a file had before the run, if that inode had several names.
    fn linked_key(&self, file: FileId) -> Option<FileKey> {
        self.stat(file).filter(|stat| stat.links > 1).map(|stat| stat.key())
    }
}

/// The inodes of one group before the run. They are cached, because the files of a group are usually queried one after
/// the other.
#[derive(Default)]
struct Known {
    group: Option<u32>,
    inodes: HashMap<FileKey, Stat>,
}

impl Known {
    /// Returns whether the inode that `file` refers to now belongs to the file's group and was changed only by the run.
    fn has(&mut self, planner: &Planner, file: FileId, now: &Stat, statuses: &Statuses) -> bool {
        let group = planner.source.group_of(file);
        if self.group != group || group.is_none() {
            self.group = group;
            self.inodes = group.map(|group| planner.inodes_of(group)).unwrap_or_default();
        }
        let by_run = |before: &Stat| {
            let (before_ns, after_ns) = (Some(before.ctime_ns), now.ctime_ns);
            statuses.of(now.key()) == Some(Status { before_ns, after_ns })
        };
        self.inodes.get(&now.key()).is_some_and(|before| before.same_content(now) && by_run(before))
    }
}

/// Returns each name of the changed inodes once. A name that the run changed is returned with its result.
///
/// All unchanged names of an inode are returned after its first changed name. To stay fast for an inode with 100,000
/// changed names, the function goes through the names of an inode only once.
fn each_once(
    changed: &[ChangedFile],
    mut further: HashMap<FileKey, Vec<FileId>>,
    key: impl Fn(FileId) -> Option<FileKey>,
) -> impl Iterator<Item = (FileId, Option<&ChangedFile>)> {
    let own: HashSet<u32> = changed.iter().map(|changed| changed.tag).collect();
    changed.iter().flat_map(move |changed| {
        let file = FileId(changed.tag);
        let mut names = key(file).and_then(|key| further.remove(&key)).unwrap_or_default();
        names.retain(|name| !own.contains(&name.0));
        let further = names.into_iter().map(|name| (name, None));
        std::iter::once((file, Some(changed))).chain(further)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use action::run::ChangedFile;
    use fsops::FileKey;
    use walk::FileId;

    use super::each_once;

    /// With 50,000 names, the test would be slow if the function took quadratic time.
    #[test]
    fn each_name_of_an_inode_is_returned_once() {
        const NAMES: u32 = 50_000;
        let key = |file: FileId| Some(FileKey { device: 1, inode: u64::from(file.0 % 2) });
        let mut further: HashMap<FileKey, Vec<FileId>> = HashMap::new();
        for file in (0..NAMES).map(FileId) {
            further.entry(key(file).expect("a key")).or_default().push(file);
        }
        // All names of inode 0 and one name of inode 1 were changed.
        let tags = (0..NAMES).filter(|tag| tag % 2 == 0 || *tag == 7);
        let changed: Vec<ChangedFile> =
            tags.map(|tag| ChangedFile { tag, is_there: false, unshared: 0 }).collect();
        let names: Vec<_> = each_once(&changed, further, key).collect();
        assert_eq!(names.len(), NAMES as usize);
        assert_eq!(names.iter().filter(|(_, changed)| changed.is_some()).count(), changed.len());
        let mut files: Vec<u32> = names.iter().map(|(file, _)| file.0).collect();
        files.sort_unstable();
        files.dedup();
        assert_eq!(files.len(), NAMES as usize);
    }
}
