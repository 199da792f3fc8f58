//! Decides what to do with a name: keep it, link it, adjust its metadata, or create it.
//!
//! A regular file with several names is copied under the first name that a worker processes.
//! [`crate::hardlinks::groups`] lets the other names wait until they can be linked. This module only collects
//! subdirectories. Workers start to mirror them when the parent directory is complete.

use std::ffi::CStr;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use fsops::{Dir, Kind, Op, Stat};
use wire::{Differences, LeftOut};

use crate::engine::batch::BatchItem;
use crate::engine::dir_cache::Side;
use crate::engine::dir_state::{DirState, SharedBatch, Waiter};
use crate::engine::entry::Entry;
use crate::engine::worker::Worker;
use crate::engine::worker::source::{ComparedFile, ContentComparison};
use crate::hardlinks::birth::Identity;
use crate::hardlinks::groups::{GroupState, Leader};
use crate::hardlinks::table::SourceInode;
use crate::model::change::CreatedEntry;
use crate::model::dir_node::{CHANGED, DRY_RUN_ONLY, DirNode};
use crate::model::reason::Reason;
use crate::model::selection::{is_quarantine, selects};
use crate::model::settled::{DestInode, Failure, Settled, destination};
use crate::remote::receiver::pending::Basis;

impl Worker<'_> {
    /// Processes a listed name.
    pub(crate) fn process(&mut self, shared: &Arc<SharedBatch>, index: usize) {
        let BatchItem { inode, is_dir, .. } = shared.batch.get(index);
        let entry = Entry::of(shared, index);
        if !self.source.admits(self, entry, is_dir) {
            return;
        }
        if self.is_own_file(&entry.dir.node, entry.name) {
            return self.skip_own_file(entry, inode, is_dir);
        }
        if is_dir {
            return self.add_dir(entry, inode);
        }
        self.outcome.has_files = true;
        let inode = entry.dir.traits.lists_inodes.then_some(inode);
        self.reconcile(entry, inode);
    }

    /// Returns whether a destination name is reserved for one of lop's own files, even if that file does not exist.
    pub(crate) fn is_own_file(&self, node: &DirNode, name: &CStr) -> bool {
        let dest = node.metadata().and_then(|metadata| metadata.dest_stat);
        dest.is_some_and(|dest| self.job.options.own.has(dest.key(), name.to_bytes()))
    }

    /// Skips a name that is reserved for one of lop's own files.
    fn skip_own_file(&mut self, entry: Entry<'_>, inode: u64, is_dir: bool) {
        if is_dir {
            self.source.skip_dir(self, inode);
        }
        self.outcome.counts.names += 1;
        let path = || entry.dir.node.child_path(entry.name.to_bytes());
        self.outcome.leave_out(LeftOut::Catalog, path);
    }

    /// Returns whether the patterns select a name for mirroring and deletion.
    pub(crate) fn is_selected(&self, entry: Entry<'_>, is_dir: bool) -> bool {
        let bytes = entry.name.to_bytes();
        selects(self.job.options, bytes, || entry.dir.node.child_path(bytes), is_dir)
    }

    /// Adds a subdirectory.
    fn add_dir(&mut self, entry: Entry<'_>, inode: u64) {
        let replaces = entry.dest.is_some() && !entry.is_obstructed();
        let is_free =
            if replaces { self.check_replaceable(entry) } else { self.check_name_free(entry) };
        if let Err(failure) = is_free {
            self.source.count_missing_dir(self, entry, inode);
            return self.record_done(entry, Some(failure));
        }
        self.adopt_unfinished_dir(entry);
        self.source.add_dir(self, entry, inode);
        self.outcome.counts.names += 1;
    }

    /// Processes names that have finished waiting for a file or its content.
    pub(crate) fn process_waiters(&mut self) {
        while let Some(waiter) = self.waiters.pop() {
            self.process_waiter(&waiter);
        }
    }

    pub(crate) fn process_waiter(&mut self, waiter: &Waiter) {
        let Waiter { shared, index } = waiter;
        self.reconcile(Entry::of(shared, *index), None);
        self.release_dir(&shared.dir);
    }

    /// Makes the destination match the source for a name that is not a directory. `inode` is the inode number from the
    /// listing, if it is reliable. It only tells which file the name may wait for: since the listing, another file may
    /// have got the number.
    pub(crate) fn reconcile(&mut self, entry: Entry<'_>, inode: Option<u64>) {
        let key = |inode| SourceInode { device: entry.dir.traits.source_device, inode };
        if let Some(key) = inode.map(key)
            && matches!(self.job.link_groups.state(key), GroupState::InProgress)
        {
            return self.wait(entry, key);
        }
        let stat = match self.source.stat(self, entry) {
            Ok(stat) => stat,
            Err(failure) => return self.record_done(entry, Some(failure)),
        };
        if stat.kind == Kind::Dir {
            return self.add_dir(entry, stat.inode);
        }
        if stat.links < 2 {
            let settled = self.create_or_update(entry, &stat);
            return self.conclude(entry, &stat, settled);
        }
        self.reconcile_linked(entry, key(stat.inode), &stat);
    }

    /// Makes the destination match the source for one name of a hard-linked file.
    fn reconcile_linked(&mut self, entry: Entry<'_>, key: SourceInode, stat: &Stat) {
        match self.job.link_groups.begin(key, Identity::of(stat)) {
            GroupState::Placed(leader) => return self.link_or_copy(entry, key, &leader, stat),
            GroupState::InProgress => return self.wait(entry, key),
            GroupState::Unknown => {}
        }
        let settled = self.create_or_update(entry, stat);
        self.conclude(entry, stat, settled);
    }

    /// Completes the work on a name, unless its content is still pending.
    pub(crate) fn conclude(
        &mut self,
        entry: Entry<'_>,
        stat: &Stat,
        settled: Result<Settled, Failure>,
    ) {
        let settled = match settled {
            Ok(Settled::Pending) => return,
            Ok(Settled::Done(inode)) => Ok(inode),
            Err(failure) => Err(failure),
        };
        self.note_content(entry, settled.is_ok());
        if stat.kind == Kind::File {
            let rest = stat.size.saturating_sub(std::mem::take(&mut self.counted_bytes));
            self.job.progress.bytes_done.fetch_add(rest, Relaxed);
        }
        if stat.links < 2 {
            return self.record_done(entry, settled.err());
        }
        let key = SourceInode { device: entry.dir.traits.source_device, inode: stat.inode };
        let waiters = match settled {
            Ok(inode) => {
                let leader = Leader::new(
                    &entry.dir.node,
                    &entry.provisional_name(&self.job.temp_names),
                    inode,
                    stat,
                );
                if stat.links > entry.dir.traits.max_links {
                    self.job.link_groups.expect_copies(key);
                }
                let waiters = self.job.link_groups.finish(key, &leader, stat.links - 1);
                self.record_done(entry, None);
                waiters
            }
            Err(failure) => {
                self.record_done(entry, Some(failure));
                self.job.link_groups.abandon(key)
            }
        };
        self.waiters.extend(waiters);
    }

    fn wait(&mut self, entry: Entry<'_>, key: SourceInode) {
        self.waiters.extend(self.job.link_groups.wait(key, entry.waiter()));
    }

    /// Counts a processed name, and records its failure if there is one.
    pub(crate) fn record_done(&mut self, entry: Entry<'_>, failure: Option<Failure>) {
        self.outcome.counts.names += 1;
        if let Some(reason) = failure.and_then(Failure::into_reason) {
            self.fail(&entry.dir.node, entry.name.to_bytes(), reason);
        }
    }

    /// Creates an entry in the destination, or updates the existing one, so that it matches the source.
    pub(crate) fn create_or_update(
        &mut self,
        entry: Entry<'_>,
        stat: &Stat,
    ) -> Result<Settled, Failure> {
        match entry.dest {
            None => self.create_entry(entry, stat, None),
            Some(dest) if dest.kind == Kind::Dir => {
                self.check_replaceable(entry)?;
                let differences = Differences { kind: true, ..Differences::default() };
                self.create_entry(entry, stat, Some(differences))
            }
            Some(_) => self.update(entry, stat),
        }
    }

    /// Fails unless the destination's entry may be removed to make room for an entry of another kind. The patterns must
    /// select the entry. If it is a directory, `--delete` is required too.
    pub(crate) fn check_replaceable(&self, entry: Entry<'_>) -> Result<(), Failure> {
        let Some(dest) = entry.dest else { return Ok(()) };
        let is_dir = dest.kind == Kind::Dir;
        if is_dir && !self.job.options.delete {
            return Err(Failure::Failed(Reason::Obstructed));
        }
        match (self.is_selected(entry, is_dir), is_dir) {
            (true, _) => Ok(()),
            (false, false) => Err(Failure::Failed(Reason::Excluded)),
            (false, true) if is_quarantine(entry.name.to_bytes()) => {
                Err(Failure::Failed(purge::Reason::Store.into()))
            }
            (false, true) => Err(Failure::Failed(Reason::HoldsExcluded)),
        }
    }

    /// Updates an existing entry in the destination if it differs from the source.
    fn update(&mut self, entry: Entry<'_>, stat: &Stat) -> Result<Settled, Failure> {
        let failed = destination(Op::Stat);
        let dir = self.open(Side::Destination, &entry.dir.node).map_err(&failed)?;
        let now = match dir.stat_child(entry.name) {
            Ok(now) => now,
            Err(e) if e.kind() == ErrorKind::NotFound => {
                return self.create_entry(entry, stat, None);
            }
            Err(e) => return Err(failed(e)),
        };
        if now.kind == Kind::Dir {
            return Err(Failure::Failed(Reason::Obstructed));
        }
        let mut differences = self.compare(entry, stat, &now)?;
        // Other names of the file may belong to another source file, or be outside the destination.
        let shared = now.links > 1;
        // When files are reused, a file that stays is claimed, so that no other name can take it.
        let may_be_taken = self.job.options.content_hints.is_some() && stat.kind == Kind::File;
        let claims = shared || may_be_taken;
        differences.links = claims && !self.job.claimed_inodes.claim(now.key());
        let mut recreate = differences.kind || differences.content || differences.links;
        if shared && differences.any() && !recreate && !differences.time {
            let has = dir.child_xattrs(entry.name).map_err(destination(Op::Read))?;
            if self.copy_would_be_equal(entry, stat, &now, has)? {
                return Ok(Settled::Done(DestInode::Known(now.inode)));
            }
        }
        recreate |= shared && differences.any();
        if !recreate && differences.time && self.may_reuse(entry, stat) {
            return self.update_time(entry, stat, &dir, now, differences);
        }
        if recreate || differences.time && stat.kind == Kind::File {
            return self.create_entry(entry, stat, Some(differences));
        }
        // The content of a local source was compared above.
        let compares = self.job.options.checksum && !self.source.is_local();
        if compares && stat.kind == Kind::File && stat.size > 0 {
            let file = dir.open_regular(entry.name).map_err(destination(Op::Open))?;
            let basis = Basis::Existing(Box::new((now, differences)));
            let replaces = Some(Differences { content: true, ..differences });
            let with = ComparedFile { file: &file, size: stat.size, replaces, basis };
            if let ContentComparison::Requested = self.source.compare_file(self, entry, with)? {
                return Ok(Settled::Pending);
            }
        }
        if differences.any() {
            self.adjust(entry, stat, &now, differences)?;
        }
        Ok(Settled::Done(DestInode::Known(now.inode)))
    }

    /// Compares the content of a file whose metadata differs. If the content is the same, only sets the metadata.
    fn update_time(
        &mut self,
        entry: Entry<'_>,
        stat: &Stat,
        dir: &Dir,
        now: Stat,
        differences: Differences,
    ) -> Result<Settled, Failure> {
        let file = dir.open_regular(entry.name).map_err(destination(Op::Open))?;
        let (size, replaces) = (stat.size, Some(differences));
        let basis = Basis::Existing(Box::new((now, differences)));
        let with = ComparedFile { file: &file, size, replaces, basis };
        match self.source.compare_file(self, entry, with)? {
            ContentComparison::Requested => Ok(Settled::Pending),
            ContentComparison::Different => self.create_entry(entry, stat, replaces),
            ContentComparison::Same => {
                self.adjust(entry, stat, &now, differences)?;
                Ok(Settled::Done(DestInode::Known(now.inode)))
            }
        }
    }

    /// Counts and reports a created entry. If a directory has the entry's name, this happens after that directory has
    /// been removed.
    pub(crate) fn record_made(&mut self, entry: Entry<'_>, made: CreatedEntry) {
        let node = &entry.dir.node;
        node.set(CHANGED);
        if entry.is_obstructed() {
            return self.job.extraneous().add_obstacle(node, entry.name, made);
        }
        self.outcome.count(&made);
        self.job.report(|| made.change(node.child_path(entry.name.to_bytes())));
    }

    /// Returns whether changes in this directory are only simulated. The directory itself may not exist.
    pub(crate) fn is_dry_run(&self, dir_state: &DirState) -> bool {
        self.job.options.dry_run || dir_state.node.is(DRY_RUN_ONLY)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use testkit::TreeBuilder;
    use walk::Globs;

    use crate::Options;
    use crate::engine::fixture::{Fixture, entry, plain};
    use crate::model::reason::Reason;
    use crate::model::settled::Failure;

    /// Returns the reason why the destination's entry `a` may not be replaced.
    fn refusal(tree: &TreeBuilder, options: &Options) -> Option<Reason> {
        Fixture::new(tree).with_top(options, |worker, shared| {
            match worker.check_replaceable(entry(shared, c"a")) {
                Ok(()) => None,
                Err(Failure::Failed(reason)) => Some(reason),
                Err(other) => panic!("{other:?} is not for the user"),
            }
        })
    }

    #[test]
    fn a_directory_is_only_replaced_with_delete_and_only_as_a_whole() {
        let tree = || TreeBuilder::new().file("from/a", "a").file("to/a/in", "old");
        assert!(matches!(refusal(&tree(), &plain()), Some(Reason::Obstructed)));
        let deleting = Options { delete: true, ..plain() };
        assert!(refusal(&tree(), &deleting).is_none());
        let exclude = Globs::new(&["a/".to_string()]).expect("a pattern");
        let excluding = Options { exclude, ..deleting };
        assert!(matches!(refusal(&tree(), &excluding), Some(Reason::HoldsExcluded)));
    }

    #[test]
    fn a_file_is_replaced_without_delete_unless_patterns_leave_it_out() {
        let tree = || TreeBuilder::new().file("from/a/in", "new").file("to/a", "old");
        assert!(refusal(&tree(), &plain()).is_none());
        let include = Globs::new(&["b".to_string()]).expect("a pattern");
        let including = Options { include, ..plain() };
        assert!(matches!(refusal(&tree(), &including), Some(Reason::Excluded)));
    }

    #[test]
    fn a_file_with_several_names_is_copied_once() {
        let fixture = Fixture::new(
            &TreeBuilder::new().hard_links("content", &["from/a", "from/b", "from/c"]).dir("to"),
        );
        let counts = fixture.process_top(&plain()).counts;
        assert_eq!((counts.names, counts.files, counts.linked), (3, 1, 2), "{counts:?}");
        let metadata = std::fs::metadata(fixture.tree.join("to/b")).expect("exists");
        assert_eq!(metadata.nlink(), 3);
    }

    #[test]
    fn a_listed_inode_number_alone_does_not_make_a_name_a_link() {
        let tree = TreeBuilder::new().hard_links("a", &["from/a", "from/b"]).file("from/c", "c");
        let fixture = Fixture::new(&tree.dir("to"));
        let inode = std::fs::metadata(fixture.tree.join("from/a")).expect("exists").ino();
        fixture.with_top(&plain(), |worker, shared| {
            worker.reconcile(entry(shared, c"a"), Some(inode));
            // When the directory was listed, this name still belonged to the inode.
            worker.reconcile(entry(shared, c"c"), Some(inode));
        });
        assert_eq!(std::fs::read(fixture.tree.join("to/c")).expect("read"), b"c");
    }

    #[test]
    fn an_equal_file_stays_and_a_different_one_is_replaced() {
        let tree = TreeBuilder::new().file("from/a", "same").file("to/a", "same");
        let tree = tree.mtime("from/a", 5, 5).mtime("to/a", 5, 5);
        let tree = tree.file("from/b", "new").file("to/b", "older");
        let fixture = Fixture::new(&tree);
        let inode = |name| std::fs::metadata(fixture.tree.join(name)).expect("exists").ino();
        let (a, b) = (inode("to/a"), inode("to/b"));
        let counts = fixture.process_top(&plain()).counts;
        assert_eq!((counts.names, counts.files, counts.failed), (2, 1, 0), "{counts:?}");
        assert!(inode("to/a") == a && inode("to/b") != b);
    }
}
