//! Merges the results of all workers into one tree.

use crate::tree::Tree;
use crate::tree::hard_links::LinkedNames;
use crate::tree::records::{Note, to_u32};
use crate::tree::store::Store;
use crate::tree::table::Directories;

/// Concatenates the stores of the workers and adds the directories.
pub(crate) fn assemble(mut tree: Tree, mut dirs: Directories, stores: Vec<Store>) -> Tree {
    let mut bases = Vec::with_capacity(stores.len());
    let mut linked = LinkedNames::default();
    let mut stores = stores;
    // A spilled table cannot grow in place, so the space for all files is reserved at once.
    let total: usize = stores.iter().map(|store| store.files.len()).sum();
    for store in &mut stores {
        let base = tree.files.len();
        bases.push(to_u32(base));
        let files = std::mem::take(&mut store.files);
        if tree.files.is_empty() {
            tree.files = files;
            tree.files.reserve_exact(total - tree.files.len());
        } else {
            tree.files.extend_from_slice(&files);
            // Frees this copy of the records before the notes grow.
            drop(files);
        }
        if !store.notes.is_empty() {
            tree.notes.reserve_exact(total - tree.notes.len());
            tree.notes.resize(base, Note::default());
            tree.notes.append(&mut std::mem::take(&mut store.notes));
        }
        tree.names.push(std::mem::take(&mut store.names));
        linked.append(&mut store.linked);
        store.allocations.sort();
        tree.allocations.push(std::mem::take(&mut store.allocations));
        tree.problems.append(&mut store.problems);
        tree.stores.append(&mut store.stores);
        tree.skipped_names.append(&mut store.skipped_names);
        tree.looked_up.append(&mut store.looked_up);
        tree.skipped.add(&store.skipped);
    }
    for dir in &mut dirs.records {
        dir.first += bases.get(dir.shard as usize).copied().unwrap_or(0);
    }
    tree.further_names = linked.count_further();
    tree.dirs = dirs.records;
    tree.dir_names = dirs.names;
    tree.devices = dirs.devices;
    tree.problems.sort_by(|a, b| a.path.cmp(&b.path));
    tree.skipped_names.sort();
    tree.looked_up.sort_unstable();
    tree
}
