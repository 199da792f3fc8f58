//! Reads heads and beginnings of files, in the order of the disk.

use std::sync::atomic::Ordering::Relaxed;

use content::{Beginning, Scratch, read_head, read_on};
use fsops::File;
use runtime::{Interrupted, Progress};
use walk::{FileId, Problem};

use crate::order::{Arranged, Reach, Wanted, arrange};
use crate::parallel::Work;
use crate::worker::Worker;

/// Reads files as far as they are wanted; returns the beginnings, by file, of those of which more
/// than the head was.
pub(crate) fn read(
    work: &Work<'_>,
    reaches: &[Reach],
    wanted: Vec<Wanted>,
) -> Result<(Beginnings, Vec<Problem>), Interrupted> {
    let Arranged { wanted, twins } = arrange(work, reaches, wanted)?;
    let (mut beginnings, mut problems) = read_all(work, reaches, &wanted)?;
    let (mut same, mut alone) = (Vec::new(), Vec::new());
    work.progress.heads_done.fetch_add(twins.len() as u64, Relaxed);
    for (twin, other) in twins {
        let known = work.facts.head(other.0).zip(beginning_of(&beginnings, other));
        if let Some((head, beginning)) = known {
            work.facts.set_head(twin.file.0, head);
            same.push((twin.file, beginning));
        } else {
            // The other could not be read: whether this one can shows when it is tried.
            alone.push(twin);
        }
    }
    beginnings.extend(same);
    let (more, further) = read_all(work, reaches, &alone)?;
    beginnings.extend(more);
    problems.extend(further);
    beginnings.sort_unstable_by(|a, b| work.progress.compare(a, b));
    Ok((beginnings, problems))
}

/// Reads files in the order given, as far as they are wanted.
fn read_all(
    work: &Work<'_>,
    reaches: &[Reach],
    wanted: &[Wanted],
) -> Result<(Beginnings, Vec<Problem>), Interrupted> {
    let reach = |wanted: &Wanted| &reaches[wanted.reach as usize];
    let (lists, problems) = work.on_threads_ahead(
        wanted,
        64,
        |worker, wanted| open(worker, wanted.file, reach(wanted)),
        |worker, list, wanted, open| read_one(worker, list, wanted.file, reach(wanted), open),
    )?;
    let mut beginnings: Beginnings = lists.into_iter().flatten().collect();
    beginnings.sort_unstable_by(|a, b| work.progress.compare(a, b));
    Ok((beginnings, problems))
}

/// Opens a file and has the kernel fetch what is wanted of it, if that takes a wait.
fn open(worker: &mut Worker<'_>, file: FileId, reach: &Reach) -> Option<File> {
    let open = worker.open(file)?;
    if worker.work.disk(file).is_cold() {
        let range = reach.range(worker.work.tree.file(file).size);
        open.fetch(range.start, range.end - range.start);
    }
    Some(open)
}

fn read_one(
    worker: &mut Worker<'_>,
    beginnings: &mut Beginnings,
    file: FileId,
    reach: &Reach,
    open: Option<File>,
) -> Result<(), Interrupted> {
    let (work, size) = (worker.work, worker.work.tree.file(file).size);
    work.progress.heads_done.fetch_add(1, Relaxed);
    if let (Some(open), 0) = (&open, reach.to) {
        // Whether the file is still what the walk saw is not asked here: what is eliminated claims
        // nothing, and what is not is read again and then asked.
        return worker.read_unchecked(file, open, |open, scratch, progress| {
            work.facts.set_head(file.0, read_head(open, size, scratch, progress)?);
            Ok(())
        });
    }
    let stretch = reach.stretch(size);
    // A file that fails counts as done from its beginning, and what was read of it was counted before.
    let Some(open) = open else {
        work.expect_again(&[file], stretch.before.map_or(0, |(at, _)| at));
        return Ok(());
    };
    let read = |open: &File, scratch: &mut Scratch, progress: &Progress| {
        read_on(open, stretch, scratch, progress)
    };
    let Some(grown) = worker.read_from(file, &open, read)? else {
        work.expect_again(&[file], stretch.to);
        return Ok(());
    };
    if let Some(head) = grown.head {
        work.facts.set_head(file.0, head);
    }
    beginnings.push((file, grown.beginning));
    Ok(())
}

/// Files and how they begin, sorted.
pub(crate) type Beginnings = Vec<(FileId, Beginning)>;

/// Returns how a file begins, if that was read.
pub(crate) fn beginning_of(beginnings: &Beginnings, file: FileId) -> Option<Beginning> {
    let at = beginnings.binary_search_by_key(&file, |&(file, _)| file).ok()?;
    Some(beginnings[at].1)
}
