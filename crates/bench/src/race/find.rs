//! Races of finding: the tree stays as it is, and every answer can be compared.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{Lineup, PATIENCE_S, Race, arm_of};
use crate::Failure;
use crate::corpus::{Counts, Spec};
use crate::image::{Image, Mounted, drop_caches};
use crate::record::{Ending, Role};
use crate::scenario::{Cache, Device, Work};
use crate::tools::{Entrant, Groups};

/// A tree in its place.
struct Ground {
    root: PathBuf,
    counts: Counts,
    mounted: Option<Mounted>,
}

impl Ground {
    /// Makes the state of the caches that a run is to start in.
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
    pub(super) fn find(&mut self, lineup: &Lineup) -> Result<(), Failure> {
        // Answers do not depend on the arm, and come sooner without it.
        let device = if lineup.device == Device::Arm { Device::Ext4 } else { lineup.device };
        let mut ground = self.ground(&lineup.spec, device)?;
        rustix::fs::sync();
        let (answers, walls) = self.untimed(&ground)?;
        println!("  {answers}");
        if device != lineup.device {
            drop(ground);
            ground = self.ground(&lineup.spec, lineup.device)?;
        }
        for &cache in lineup.caches {
            if lineup.device == Device::Arm && cache == Cache::Warm {
                self.untimed(&ground)?;
            }
            let scenario = self.scenario(lineup, cache, &ground.counts, &answers);
            for round in 1..=self.rounds(lineup) {
                for entrant in self.entrants(Work::Find) {
                    let slow = walls.get(entrant.name).is_none_or(|&wall| wall > PATIENCE_S);
                    if round == 1 || !slow {
                        ground.ready(cache)?;
                        self.once(&ground, &scenario, entrant, round)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn once(
        &mut self,
        ground: &Ground,
        scenario: &str,
        entrant: &Entrant,
        round: u32,
    ) -> Result<(), Failure> {
        let before = ground.mounted.as_ref().and_then(Mounted::usage);
        let usage = self.run(entrant, &self.places(ground.root.clone()), None)?;
        let after = ground.mounted.as_ref().and_then(Mounted::usage);
        let arm = after.zip(before).map(|(after, before)| after - before);
        self.record(scenario, entrant, round, &usage, arm);
        Ok(())
    }

    /// Puts the tree where it is wanted.
    fn ground(&self, spec: &Spec, device: Device) -> Result<Ground, Failure> {
        if device == Device::AsIs {
            let (root, counts) = spec.ensure(&self.options.store)?;
            return Ok(Ground { root, counts, mounted: None });
        }
        let (image, counts) = self.image(spec, device)?;
        let mounted = image.mount(&self.options.store.join("mnt"), arm_of(device).as_ref())?;
        Ok(Ground { root: mounted.path().join("tree"), counts, mounted: Some(mounted) })
    }

    /// Returns an image with the tree in its directory `tree`, which is made unless it is there.
    pub(super) fn image(&self, spec: &Spec, device: Device) -> Result<(Image, Counts), Failure> {
        // An arm is in front of what is an image of ext4 like any other.
        let device = if device == Device::Arm { Device::Ext4 } else { device };
        let name = format!("{}-{device:?}.img", spec.folder_name()).to_lowercase();
        Image::with_tree(spec, &self.options.store.join(name), device)
    }

    /// Lets everybody answer once, and compares the answers.
    ///
    /// Returns what came out, in words, and the time that each tool took.
    fn untimed(
        &mut self,
        ground: &Ground,
    ) -> Result<(String, BTreeMap<&'static str, f64>), Failure> {
        let places = self.places(ground.root.clone());
        let mut walls = BTreeMap::new();
        let mut answers: Vec<(&'static str, Role, Result<Groups, String>)> = Vec::new();
        for entrant in self.entrants(Work::Find) {
            let usage = self.run(entrant, &places, None)?;
            if usage.ending == Ending::Stopped {
                answers.push((entrant.name, entrant.role, Err("took too long".into())));
                continue;
            }
            walls.insert(entrant.name, usage.wall_s);
            let output = self.options.store.join("output");
            match entrant.groups(&output, &places.file) {
                Ok(None) => {}
                Ok(Some(groups)) => answers.push((entrant.name, entrant.role, Ok(groups))),
                Err(reason) => {
                    answers.push((entrant.name, entrant.role, Err(reason.to_string())));
                }
            }
        }
        Ok((self.judge(&answers, &ground.counts), walls))
    }

    /// Says who agrees with lop, and notes it if lop disagrees with what the tree is known to hold.
    fn judge(
        &mut self,
        answers: &[(&'static str, Role, Result<Groups, String>)],
        counts: &Counts,
    ) -> String {
        let ours = answers.iter().find(|(_, role, _)| *role == Role::Ours);
        let Some(Ok(ours)) = ours.map(|(_, _, groups)| groups) else {
            self.complaints.push("lop has given no answer".into());
            return "lop has given no answer".into();
        };
        let files: usize = ours.iter().map(std::collections::BTreeSet::len).sum();
        if (ours.len() as u64, files as u64) != (counts.groups, counts.in_groups) {
            self.complaints.push(format!(
                "lop found {} groups of {files} files instead of {} of {}",
                ours.len(),
                counts.groups,
                counts.in_groups
            ));
        }
        let mut others = Vec::new();
        for (name, _, groups) in answers {
            match groups {
                Ok(groups) if groups == ours => {}
                Ok(groups) => {
                    let missed = ours.difference(groups).count();
                    let more = groups.difference(ours).count();
                    others.push(format!("{name} lacks {missed} of them and has {more} others"));
                }
                Err(reason) => others.push(format!("{name} gave no answer ({reason})")),
            }
        }
        let same = answers.len() - others.len();
        let found = format!("{same} tools found the same {} groups of {files} files", ours.len());
        others.insert(0, found);
        others.join("; ")
    }
}
