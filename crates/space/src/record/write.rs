//! Encodes the directories that a walk found.

use walk::{DirId, FileId, FileRecord, Root, Tree};

use super::{UNITS, VERSION, expected};
use crate::links::{Candidate, Repeats, each_file};
use crate::part::key;
use crate::shape::{Shape, UNREACHABLE};
use crate::space::Sizes;

/// Compression level: the default of zstd.
const LEVEL: i32 = 3;

/// Encodes the sizes of the directories that a walk found below a root.
///
/// Does not include files that were added from the catalog, because they were not found below the
/// root.
pub fn encode(tree: &Tree, root: &Root) -> Vec<u8> {
    // Other roots are their own parents, and therefore not below this one.
    let dirs = (0..).zip(tree.dirs());
    let parents: Vec<u32> =
        dirs.map(|(at, dir)| dir.parent.map_or(at, |parent| parent.0)).collect();
    let name = |dir| tree.dir_name(DirId(dir)).map(std::ffi::CStr::to_bytes).unwrap_or_default();
    let (shape, order) = Shape::arrange(&parents, name, root.dir.0);
    let sizes = sizes(tree, &shape, &order.numbers);
    let names: Vec<&[u8]> = order.positions.iter().map(|&dir| name(dir)).collect();
    pack(&columns(&shape, &names, &sizes))
}

/// Returns the sizes of each directory. A list of all names would take as much memory as the tree, so
/// only files that may have several names are listed.
fn sizes(tree: &Tree, shape: &Shape, numbers: &[u32]) -> Vec<Sizes> {
    let key_of = |file: &FileRecord| {
        key(tree.device_of(file.dir).number, file.inode, file.size, file.mtime_ns)
    };
    let mut repeats = Repeats::for_about(tree.files().len());
    tree.files().iter().for_each(|file| repeats.add(key_of(file)));
    let size_of = |position: u32| {
        let size = tree.files()[position as usize].size;
        Sizes::of_file((size, tree.allocated(FileId(position))))
    };
    let mut sizes = vec![Sizes::default(); shape.parents.len()];
    let mut candidates = Vec::new();
    for (position, file) in (0..).zip(tree.files()) {
        let (dir, key) = (numbers[file.dir.0 as usize], key_of(file));
        if dir == UNREACHABLE {
            continue;
        }
        if repeats.may_have(key) {
            candidates.push(Candidate { key, position, dir });
        } else {
            sizes[dir as usize].add(size_of(position));
        }
    }
    candidates.sort_unstable();
    each_file(&candidates, shape, |names, dir| {
        sizes[dir as usize].add(size_of(names[0].position));
    });
    sizes
}

fn columns(shape: &Shape, names: &[&[u8]], sizes: &[Sizes]) -> Vec<u8> {
    let mut out = Vec::new();
    let fits = |unit: &u32| sizes.iter().all(|own| own.allocated.is_multiple_of(1 << unit));
    let unit = UNITS.into_iter().find(fits).unwrap_or(0);
    push(sizes.len() as u64, &mut out);
    push(unit.into(), &mut out);
    // The number of each directory on the path to the last one, and the name of its last child.
    let mut path: Vec<(u32, &[u8])> = vec![(0, b"")];
    for (dir, name) in (0..).zip(names).skip(1) {
        let mut up = 0;
        while path.last().is_some_and(|last| last.0 != shape.parents[dir as usize]) {
            path.pop();
            up += 1;
        }
        push(up, &mut out);
        let before = path.last_mut().map(|parent| std::mem::replace(&mut parent.1, name));
        let before = before.unwrap_or_default();
        let same = before.iter().zip(*name).take_while(|(a, b)| a == b).count();
        push(same as u64, &mut out);
        push((name.len() - same) as u64, &mut out);
        out.extend_from_slice(&name[same..]);
        path.push((dir, b""));
    }
    for own in sizes {
        push(own.files.into(), &mut out);
    }
    for own in sizes {
        push(own.bytes, &mut out);
    }
    for own in sizes {
        let more = (own.allocated >> unit).wrapping_sub(expected(own.bytes, unit)).cast_signed();
        push((more << 1 ^ more >> 63).cast_unsigned(), &mut out);
    }
    out
}

fn pack(columns: &[u8]) -> Vec<u8> {
    let mut out = vec![VERSION];
    push(columns.len() as u64, &mut out);
    let packed = zstd::bulk::compress(columns, LEVEL);
    out.extend_from_slice(&packed.expect("memory can be compressed"));
    out
}

/// Appends a varint.
fn push(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}
