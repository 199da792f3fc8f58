//! How much there is to mirror, for who wants to know how long it will take.

use std::collections::HashSet;
use std::time::Instant;

use fsops::{Dir, DirBuffer, Kind};

use crate::Options;
use crate::job::takes;
use crate::roots::Source;

/// What there is to mirror.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Names, the top directory's not included.
    pub names: u64,
    /// Bytes of regular files, each counted once.
    pub bytes: u64,
}

/// Counts what is to be mirrored; nothing if that takes longer than until `end`.
///
/// What cannot be read is not counted, and not reported: that is for [`crate::mirror`].
pub fn survey(source: &Source, options: &Options, end: Instant) -> Option<Survey> {
    let mut survey = Survey::default();
    let (mut dirs, mut buffer) = (vec![Vec::new()], DirBuffer::default());
    let mut linked = HashSet::new();
    while let Some(path) = dirs.pop() {
        let opened = if path.is_empty() {
            source.top.dir.open_child(c".")
        } else {
            source.top.dir.open_below(&path)
        };
        let Ok(dir) = opened else { continue };
        let Ok(stat) = dir.stat() else { continue };
        if options.one_file_system && stat.device != source.top.stat.device {
            continue;
        }
        let mut late = false;
        let _listed = dir.for_each(&mut buffer, |item| {
            let name = item.name.to_bytes();
            let path = [&path[..], name].join(&b'/');
            let path = path.strip_prefix(b"/").unwrap_or(&path);
            let is_dir = item.kind == Kind::Dir;
            if late || !takes(options, name, || path.to_vec(), is_dir) {
                return;
            }
            survey.names += 1;
            if is_dir {
                dirs.push(path.to_vec());
            } else if !linked.contains(&item.inode) {
                survey.bytes += size(&dir, &item, &mut linked);
            }
            late = survey.names % 256 == 0 && Instant::now() > end;
        });
        if late || Instant::now() > end {
            return None;
        }
    }
    Some(survey)
}

/// Returns the size of a file, and notes it if it has several names. Where another device has the same
/// number the sum is too small: it is an estimate.
fn size(dir: &Dir, item: &fsops::DirItem<'_>, linked: &mut HashSet<u64>) -> u64 {
    let Ok(stat) = dir.stat_child(item.name) else { return 0 };
    if stat.links > 1 {
        linked.insert(stat.inode);
    }
    if stat.kind == Kind::File { stat.size } else { 0 }
}
