//! Trees of hard links, which slow down copying and deleting more than anything else.

use super::content::Content;
use super::dice::Dice;
use super::plan::Plan;

/// Number of names in one directory of `links`: a file and 32,766 additional hard links to it.
pub(super) const NAMES_PER_DIR: u64 = 32_767;
/// The size of the file in each directory of `links` at scale 1.
const LINKED_BYTES: f64 = 10_000_000.0;
/// Generations of `snapshots`.
const GENERATIONS: u64 = 20;

/// Plans `links`: directories that each contain a file of 10 MB and 32,766 additional hard links to
/// it. The article about cpdup and rsync had 99 such directories.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes of files")]
pub(super) fn links(names: u64, scale: f64) -> Plan {
    let mut plan = Plan::new();
    let size = ((LINKED_BYTES * scale) as u64).max(16);
    for first in (0..names).step_by(usize::try_from(NAMES_PER_DIR).expect("few")) {
        let number = first / NAMES_PER_DIR;
        let dir = plan.dir(format!("d{number:03}"));
        let inode = plan.file(dir, "file", Content::plain(size, number + 1));
        for link in 1..NAMES_PER_DIR.min(names - first) {
            plan.link(dir, format!("link{link:05}"), inode);
        }
    }
    plan
}

/// Plans `snapshots`: twenty generations of a backup. An unchanged file is a hard link to the file
/// of the previous generation. In each generation, one file in a hundred is new.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes of files")]
pub(super) fn snapshots(names: u64, scale: f64, seed: u64) -> Plan {
    let mut dice = Dice::new(seed);
    let mut plan = Plan::new();
    let files = names.div_ceil(GENERATIONS);
    let mut content = 0;
    let mut fresh = |dice: &mut Dice| {
        content += 1;
        Content::plain(((dice.size(4_000.0, 1.8) * scale) as u64).max(16), content)
    };
    let mut latest: Vec<u32> = Vec::new();
    for generation in 0..GENERATIONS {
        for file in 0..files {
            let path =
                format!("snap.{generation:02}/home/dir{:04}/sub{}", file / 100, file / 25 % 4);
            let dir = plan.dir(path);
            let name = format!("file{:02}", file % 100);
            match latest.get(usize::try_from(file).expect("an index")).copied() {
                Some(inode) if dice.below(100) > 0 => plan.link(dir, name, inode),
                Some(_) => {
                    let inode = plan.file(dir, name, fresh(&mut dice));
                    latest[usize::try_from(file).expect("an index")] = inode;
                }
                None => latest.push(plan.file(dir, name, fresh(&mut dice))),
            }
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::{NAMES_PER_DIR, links, snapshots};

    #[test]
    fn links_has_as_many_names_as_published() {
        let counts = links(99 * NAMES_PER_DIR, 0.001).counts();
        assert_eq!(counts.names, 3_243_933);
        assert_eq!((counts.dirs, counts.inodes, counts.linked), (99, 99, 99));
    }

    #[test]
    fn a_snapshot_shares_nearly_all_files_with_the_previous_one() {
        let counts = snapshots(20_000, 1.0, 1).counts();
        assert_eq!(counts.names, 20_000);
        assert!((1_100..1_300).contains(&counts.inodes), "{counts}");
    }
}
