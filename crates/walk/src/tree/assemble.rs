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
    for store in &mut stores {
        bases.push(to_u32(tree.files.len()));
        let files = std::mem::take(&mut store.files);
        if tree.files.is_empty() {
            tree.files = files;
        } else {
            tree.files.extend_from_slice(&files);
            // Frees this copy of the records before the notes grow.
            drop(files);
        }
        if !store.notes.is_empty() {
            tree.notes.resize(bases[bases.len() - 1] as usize, Note::default());
            tree.notes.append(&mut store.notes);
        }
        tree.names.push(std::mem::take(&mut store.names));
        linked.append(&mut store.linked);
        store.allocations.sort();
        tree.allocations.push(std::mem::take(&mut store.allocations));
        tree.problems.append(&mut store.problems);
        tree.stores.append(&mut store.stores);
        tree.skipped_names.append(&mut store.skipped_names);
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
    tree
}
