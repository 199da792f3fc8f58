//! Looks for a directory that has everything another one has.

use std::ops::Range;

use super::holdings::Holdings;
use super::standing::Standing;

/// For each directory so many places are tried as the one that contains it: those that have the
/// content of it with the fewest copies, in the order of their paths. And so many ways are tried from
/// there down to the smallest that does.
///
/// With 1,000 no more was found than with 16, neither in two copies of /usr (236,000 files) nor in four
/// snapshots of these by hard links.
pub const PLACES: usize = 16;

/// Returns a directory that has, in files that stand, every item of `place`, and is neither above nor
/// below it; of those that were tried the first, made as small as it can be.
pub(super) fn container(holdings: &Holdings, standing: &mut Standing, place: u32) -> Option<u32> {
    let copies = |item: u32| holdings.slots(item).len();
    let rarest = holdings.below(place).iter().map(|file| file.item).min_by_key(|&i| copies(i))?;
    let all = 0..u32::try_from(holdings.files.len()).unwrap_or(u32::MAX);
    let apart = |at| holdings.apart(at, place);
    let mut found = first_with_all(holdings, standing, place, rarest, &all, apart)?;
    loop {
        let within = holdings.dirs[found as usize].files.clone();
        let below = |at| (at != found).then(|| holdings.child_towards(found, at));
        match first_with_all(holdings, standing, place, rarest, &within, below) {
            Some(smaller) => found = smaller,
            None => return Some(found),
        }
    }
}

/// Goes through the files of item `rarest` in a range and returns the first directory that `wanted`
/// gives for the place of one and that has every item of `place`.
fn first_with_all(
    holdings: &Holdings,
    standing: &mut Standing,
    place: u32,
    rarest: u32,
    within: &Range<u32>,
    wanted: impl Fn(u32) -> Option<u32>,
) -> Option<u32> {
    let own = &holdings.dirs[place as usize].files;
    let (mut at, mut tried) = (within.start, 0);
    while tried < PLACES {
        let found = standing.first_from(holdings, rarest, at).filter(|&p| p < within.end)?;
        if own.contains(&found) {
            at = own.end;
            continue;
        }
        tried += 1;
        let Some(candidate) = wanted(holdings.files[found as usize].place) else {
            at = found + 1;
            continue;
        };
        if has_all(holdings, standing, place, candidate) {
            return Some(candidate);
        }
        at = holdings.dirs[candidate as usize].files.end;
    }
    None
}

fn has_all(holdings: &Holdings, standing: &mut Standing, place: u32, candidate: u32) -> bool {
    let within = &holdings.dirs[candidate as usize].files;
    holdings.below(place).iter().all(|file| standing.has(holdings, file.item, within))
}
