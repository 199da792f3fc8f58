//! Finds equal directories by numbering their listings from the bottom up.
//!
//! The listing of a directory maps each name to the content of the file or the shape of the
//! subdirectory. Listings are compared in full rather than by a digest, so equal shapes prove that
//! directories are equal.

use std::collections::HashMap;

use runtime::{Interrupted, Progress};
use walk::Tree;

use super::index::{FolderIndex, NONE, number};

/// A name, the content or shape that it refers to, and whether it is a directory.
type Entry = (u32, u32, bool);

/// Returns the shape of each directory. Equal directories have the same shape. The shape of a
/// directory that is not whole, or that has a file without a duplicate, is [`NONE`]. The shape of a
/// directory is greater than the shapes of all directories below it.
pub(super) fn shapes(
    tree: &Tree,
    index: &FolderIndex,
    progress: &Progress,
) -> Result<Vec<u32>, Interrupted> {
    let mut names: HashMap<&[u8], u32> = HashMap::new();
    let mut name = |bytes| {
        let next = number(names.len());
        *names.entry(bytes).or_insert(next)
    };
    let mut listings: HashMap<Box<[Entry]>, u32> = HashMap::new();
    let mut shapes = vec![NONE; index.dirs.len()];
    let mut listing: Vec<Entry> = Vec::new();
    for dir_number in (0..number(index.dirs.len())).rev() {
        progress.check()?;
        let dir = &index.dirs[dir_number as usize];
        if !dir.may_be_redundant() {
            continue;
        }
        listing.clear();
        for file in &index.files[dir.files.start as usize..dir.own_end as usize] {
            listing.push((name(tree.name(file.id).to_bytes()), file.content, false));
        }
        for child in index.children(dir_number) {
            let (id, shape) = (index.dirs[child as usize].id, shapes[child as usize]);
            if shape != NONE {
                let bytes = tree.dir_name(id).unwrap_or_default().to_bytes();
                listing.push((name(bytes), shape, true));
            }
        }
        listing.sort_unstable();
        let next = number(listings.len());
        shapes[dir_number as usize] = match listings.get(listing.as_slice()) {
            Some(&known) => known,
            None => *listings.entry(listing.as_slice().into()).or_insert(next),
        };
    }
    Ok(shapes)
}
