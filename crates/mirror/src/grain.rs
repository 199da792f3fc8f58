//! How exactly a file system keeps times: to the nanosecond, to 10 milliseconds (exFAT), to a second (ext4 with
//! small inodes), to two (FAT).
//!
//! A copy there never has the time of its original, and would be made anew each time. So where a time looks as if
//! it was cut off, it is tried once what becomes of one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use fsops::{NewFile, Time};

use crate::held::Side;
use crate::node::{Node, TOUCHED};
use crate::part::part_name;
use crate::worker::Worker;

/// Parts of time that file systems keep, in nanoseconds.
const GRAINS: [u64; 7] = [1, 100, 1_000, 1_000_000, 10_000_000, SECOND, 2 * SECOND];
const SECOND: u64 = 1_000_000_000;
const EXACT: u64 = GRAINS[0];

/// A time that all of these cut off: with an odd second, and each digit of its nanoseconds something else than 0.
const TRIED: Time = Time { s: 1_234_567_891, ns: 987_654_321 };

/// What is known of the devices of the destination.
#[derive(Debug, Default)]
pub(crate) struct Grains(Mutex<HashMap<u64, u64>>);

impl Worker<'_> {
    /// Returns whether the time of something at the destination is none that the source's has become there.
    pub(crate) fn has_other_time(
        &mut self,
        node: &Arc<Node>,
        of: Time,
        (now, device): (Time, u64),
    ) -> bool {
        if of == now {
            return false;
        }
        let Some(apparent) = GRAINS.into_iter().find(|&grain| cut_off(of, grain) == now) else {
            return true;
        };
        let Grains(known) = &self.job.grains;
        let known = || known.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known().get(&device).copied();
        let grain = before.unwrap_or_else(|| {
            let (grain, on) = self.try_grain(node, apparent).unwrap_or((EXACT, device));
            known().insert(on, grain);
            if on == device { grain } else { EXACT }
        });
        apparent > grain
    }

    /// Tries what becomes of a time in a directory of the destination; returns also the device that it is on.
    /// Nothing if that cannot be tried: times are taken for what they are then.
    fn try_grain(&mut self, node: &Arc<Node>, apparent: u64) -> Option<(u64, u64)> {
        let to = self.open(Side::Destination, node).ok()?;
        let kept = match to.create_unnamed() {
            Ok(file) => kept_time(&file),
            Err(_) if self.job.options.dry_run => {
                let is_coarse = to.volume().is_ok_and(|volume| volume.has_coarse_times());
                return is_coarse.then_some((apparent, to.stat().ok()?.device));
            }
            Err(_) => {
                let name = part_name(c"how exactly times are kept");
                let file = to.create_file_with(&name, 0o600).ok()?;
                // The directory's time is set again at the end.
                node.set(TOUCHED);
                let kept = kept_time(&file);
                let _left = to.remove_name(&name);
                kept
            }
        };
        let (kept, device) = kept?;
        let grain = GRAINS.into_iter().find(|&grain| cut_off(TRIED, grain) == kept);
        Some((grain.unwrap_or(EXACT), device))
    }
}

fn kept_time(file: &NewFile) -> Option<(Time, u64)> {
    file.set_times(TRIED, TRIED).ok()?;
    let stat = file.stat().ok()?;
    Some((stat.mtime, stat.device))
}

/// Returns what a time is in whole parts.
fn cut_off(time: Time, grain: u64) -> Time {
    if grain <= SECOND {
        let ns = u64::from(time.ns) / grain * grain;
        return Time { s: time.s, ns: u32::try_from(ns).unwrap_or(0) };
    }
    let seconds = i64::try_from(grain / SECOND).unwrap_or(1);
    Time { s: time.s - time.s.rem_euclid(seconds), ns: 0 }
}

#[cfg(test)]
mod tests {
    use fsops::Time;

    use super::{GRAINS, TRIED, cut_off};

    #[test]
    fn every_grain_shows_in_the_time_that_is_tried() {
        let kept: std::collections::BTreeSet<Time> =
            GRAINS.into_iter().map(|grain| cut_off(TRIED, grain)).collect();
        assert_eq!(kept.len(), GRAINS.len());
        assert_eq!(cut_off(Time { s: -3, ns: 5 }, 2_000_000_000), Time { s: -4, ns: 0 });
    }
}
