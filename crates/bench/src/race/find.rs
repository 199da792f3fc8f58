//! Races of duplicate finders. The tree does not change, and every answer is checked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use super::{Race, SLOW_RUN_S, Setup, hdd_settings};
use crate::Failure;
use crate::bare_scan;
use crate::corpus::{Counts, Spec};
use crate::image::{Image, Mounted, drop_caches};
use crate::measure::Usage;
use crate::record::{Ending, Role};
use crate::scenario::{Cache, Device, Work};
use crate::tools::{BARE_SCAN, Entrant, Groups, Places};

/// A tree on its storage.
struct PlacedTree {
    root: PathBuf,
    counts: Counts,
    mounted: Option<Mounted>,
}

impl PlacedTree {
    /// Prepares the caches for a run.
    fn ready(&self, cache: Cache) -> Result<(), Failure> {
        if cache == Cache::Cold {
            if let Some(mounted) = &self.mounted {
                mounted.remount()?;
            }
            drop_caches()?;
        }
        Ok(())
    }
}

impl Race {
    pub(super) fn find(&mut self, setup: &Setup) -> Result<(), Failure> {
        // The answers do not depend on the storage, and are found faster without the simulated
        // disk.
        let device = if setup.device == Device::Hdd { Device::Ext4 } else { setup.device };
        let mut placed = self.placed(&setup.spec, device)?;
        rustix::fs::sync();
        let scenario = |&cache: &Cache| self.scenario(setup, cache, &placed.counts);
        let ids: Vec<String> = setup.caches.iter().map(scenario).collect();
        let walls = self.untimed(setup, &placed, &ids)?;
        if device != setup.device {
            drop(placed);
            placed = self.placed(&setup.spec, setup.device)?;
        }
        for (&cache, id) in setup.caches.iter().zip(&ids) {
            if setup.device == Device::Hdd && cache == Cache::Warm {
                self.untimed(setup, &placed, &ids)?;
            }
            for round in 1..=self.rounds(setup) {
                for entrant in self.finders(cache) {
                    let slow = walls.get(entrant.name).is_none_or(|&wall| wall > SLOW_RUN_S);
                    if round == 1 || !slow {
                        placed.ready(cache)?;
                        self.once(&placed, id, entrant, round)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the tools that take part. The bare scan needs warm caches: it reads in the order of
    /// its list, and its time on a cold disk would be that of this order.
    fn finders(&self, cache: Cache) -> Vec<&'static Entrant> {
        let mut finders = self.entrants(Work::Find);
        finders.retain(|entrant| cache == Cache::Warm || entrant.name != BARE_SCAN);
        finders
    }

    fn once(
        &mut self,
        placed: &PlacedTree,
        scenario: &str,
        entrant: &Entrant,
        round: u32,
    ) -> Result<Usage, Failure> {
        let before = placed.mounted.as_ref().and_then(Mounted::usage);
        let usage = self.run(entrant, &self.places(placed.root.clone()), None)?;
        let after = placed.mounted.as_ref().and_then(Mounted::usage);
        let disk_usage = after.zip(before).map(|(after, before)| after - before);
        self.record(scenario, entrant, round, &usage, disk_usage);
        Ok(usage)
    }

    /// Puts the tree on its storage.
    fn placed(&self, spec: &Spec, device: Device) -> Result<PlacedTree, Failure> {
        if device == Device::AsIs {
            let (root, counts) = spec.ensure(self.options.store.path())?;
            return Ok(PlacedTree { root, counts, mounted: None });
        }
        let (image, counts) = Image::of(spec, device, &self.options.store)?;
        let mounted =
            image.mount(&self.options.store.join("mnt"), hdd_settings(device).as_ref())?;
        Ok(PlacedTree { root: mounted.path().join("tree"), counts, mounted: Some(mounted) })
    }

    /// Runs every tool once, compares its answer with the content of the tree, and notes the result
    /// in the scenarios. Returns the time of each tool. Also writes the list for the bare scan, which
    /// gives no answer.
    fn untimed(
        &mut self,
        setup: &Setup,
        placed: &PlacedTree,
        ids: &[String],
    ) -> Result<BTreeMap<&'static str, f64>, Failure> {
        let truth = setup.spec.groups(&placed.root)?;
        let Places { file, list, .. } = self.places(placed.root.clone());
        let files = bare_scan::write_list(&placed.root, &truth)?;
        fs::write(&list, files).map_err(|e| Failure::at(&list, e))?;
        let output = self.options.store.join("output");
        let (mut walls, mut wrong) = (BTreeMap::new(), Vec::new());
        for entrant in self.finders(setup.caches[0]) {
            let usage = self.once(placed, &ids[0], entrant, 0)?;
            if usage.ending != Ending::Stopped {
                walls.insert(entrant.name, usage.wall_s);
            }
            let fault = match usage.ending {
                Ending::Stopped => Some("took too long".to_owned()),
                Ending::Failed => Some("failed".to_owned()),
                Ending::Done => match entrant.groups(&output, &file) {
                    Ok(Some(found)) => difference(&truth, &found),
                    Ok(None) => (entrant.name != BARE_SCAN).then(|| "gave no answer".to_owned()),
                    Err(reason) => Some(format!("gave no answer ({reason})")),
                },
            };
            let Some(fault) = fault else { continue };
            if entrant.role != Role::Peer {
                let tree = setup.spec.folder_name();
                self.complaints.push(format!("{tree}: {} {fault}", entrant.name));
            }
            wrong.push(format!("{} {fault}", entrant.name));
        }
        let files: usize = truth.iter().map(BTreeSet::len).sum();
        let who = if wrong.is_empty() { "all".into() } else { format!("all but {}", wrong.len()) };
        let what = match truth.len() {
            0 => "find that no two files are equal".to_owned(),
            groups => format!("find the {groups} groups of {files} files, and no others"),
        };
        wrong.insert(0, format!("{who} {what}"));
        self.note_answers(ids, &wrong.join("; "));
        Ok(walls)
    }
}

/// Describes the difference between an answer and the correct one; `None` if they are equal.
fn difference(truth: &Groups, found: &Groups) -> Option<String> {
    let (lacks, more) = (truth.difference(found).count(), found.difference(truth).count());
    (lacks + more > 0).then(|| format!("lacks {lacks} of the groups and has {more} others"))
}
