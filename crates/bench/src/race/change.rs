//! Races that change file systems. Every run starts from a fresh image. The time until the file
//! system has written everything is measured as well.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Race, Setup, hdd_settings, sweep};
use crate::Failure;
use crate::corpus::{Counts, Merged};
use crate::image::{Image, Mounted, drop_caches};
use crate::record::{Ending, Role};
use crate::scenario::{Cache, Device, Work};
use crate::tools::Entrant;

/// An image that is removed at the end of the comparison.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // Ignoring a failure does no harm, because the next comparison overwrites the file.
        drop(fs::remove_file(&self.0));
    }
}

/// The tree that is copied.
struct Source<'a> {
    mounted: &'a Mounted,
    counts: &'a Counts,
}

impl Source<'_> {
    fn tree(&self) -> PathBuf {
        self.mounted.path().join("tree")
    }
}

/// A timed run of a scenario.
#[derive(Clone, Copy)]
struct TimedRun<'a> {
    scenario: &'a str,
    cache: Cache,
    round: u32,
}

impl Race {
    /// Races copying tools. The tree stays mounted, on the simulated disk if there is one. The copy
    /// goes to an empty image. For [`Work::Again`], it goes to the image that the same tool filled
    /// in its untimed run.
    pub(super) fn mirror(&mut self, setup: &Setup) -> Result<(), Failure> {
        let (image, counts) = Image::of(&setup.spec, setup.device, &self.options.store)?;
        let hdd = hdd_settings(setup.device);
        let mounted = image.mount(&self.options.store.join("mnt"), hdd.as_ref())?;
        let source = Source { mounted: &mounted, counts: &counts };
        let entrants = self.entrants(setup.work);
        let _copies: Vec<Scratch> =
            entrants.iter().map(|entrant| Scratch(self.copy_of(entrant))).collect();
        let scenario = |&cache: &Cache| self.scenario(setup, cache, &counts);
        let ids: Vec<String> = setup.caches.iter().map(scenario).collect();
        let mut answers = Vec::new();
        for entrant in &entrants {
            answers.push(self.first_copy(setup, entrant, &source, &ids[0])?);
        }
        self.note_answers(&ids, &answers.join("; "));
        for (&cache, id) in setup.caches.iter().zip(&ids) {
            for round in 1..=self.rounds(setup) {
                let run = TimedRun { scenario: id, cache, round };
                for entrant in &entrants {
                    self.copy(setup, entrant, &source, run)?;
                }
            }
        }
        Ok(())
    }

    /// Races tools that link, delete or clean. Each run, including an untimed one, gets a separate copy of
    /// the image.
    pub(super) fn in_place(&mut self, setup: &Setup) -> Result<(), Failure> {
        let (image, counts) = Image::of(&setup.spec, setup.device, &self.options.store)?;
        let copy = Scratch(self.options.store.join("fresh.img"));
        if setup.work == Work::Apply {
            sweep::write_rules(&self.options.store, setup, &self.options.store.join("mnt/tree"))?;
        }
        let is_checked_once = setup.work == Work::Link;
        let hdd = hdd_settings(setup.device);
        let mut faults = Vec::new();
        for (number, &cache) in setup.caches.iter().enumerate() {
            let id = self.scenario(setup, cache, &counts);
            // An untimed run is needed only to check links once. Other work is checked after every
            // run, and the caches are prepared before every run.
            let first = u32::from(number > 0 || !is_checked_once);
            for round in first..=self.rounds(setup) {
                for entrant in self.entrants(setup.work) {
                    let image = image.copy(&copy.0)?;
                    let mounted = image.mount(&self.options.store.join("mnt"), hdd.as_ref())?;
                    let tree = mounted.path().join("tree");
                    ready(&mounted, &tree, cache, setup.work)?;
                    let places = self.places(tree.clone());
                    let before = mounted.usage();
                    let mut usage = self.run(entrant, &places, Some(mounted.path()))?;
                    let disk_usage =
                        mounted.usage().zip(before).map(|(after, before)| after - before);
                    // Checking a merged tree means reading all of it, which takes longer than the
                    // run itself, so this is done only once.
                    if usage.ending == Ending::Done && (!is_checked_once || round == 0) {
                        let done = done(setup, entrant, &tree);
                        usage.ending = if done.is_ok() { Ending::Done } else { Ending::Failed };
                        let fault = done.unwrap_or_else(Some);
                        faults.extend(fault.map(|fault| format!("{} {fault}", entrant.name)));
                    }
                    self.record(&id, entrant, round, &usage, disk_usage);
                }
            }
            let fine = match setup.work {
                Work::Apply => {
                    "after each run that was done, all junk had left the tree, and nothing else"
                }
                Work::Link => "after the untimed runs every content was there, in one file",
                _ => "after each run that was done, nothing of the tree was left",
            };
            let answers = if faults.is_empty() { fine.to_owned() } else { faults.join("; ") };
            self.note_answers(&[id], &answers);
        }
        Ok(())
    }

    fn copy_of(&self, entrant: &Entrant) -> PathBuf {
        self.options.store.join(&format!("copy-{}.img", entrant.name))
    }

    /// Copies once into a new image and keeps it. Returns a sentence about the correctness of the
    /// copy.
    fn first_copy(
        &mut self,
        setup: &Setup,
        entrant: &Entrant,
        source: &Source,
        scenario: &str,
    ) -> Result<String, Failure> {
        let mounted = self.empty_copy(setup.device, entrant, source.counts)?;
        let places = self.places(source.tree());
        let usage = self.run(entrant, &places, Some(mounted.path()))?;
        self.record(scenario, entrant, 0, &usage, None);
        let name = entrant.name;
        Ok(match setup.spec.check(&places.copy) {
            _ if usage.ending != Ending::Done => format!("{name} failed"),
            Ok(_) => format!("the copy by {name} has every name, link and byte"),
            Err(reason) => format!("the copy by {name} is wrong: {reason}"),
        })
    }

    fn empty_copy(
        &self,
        device: Device,
        entrant: &Entrant,
        counts: &Counts,
    ) -> Result<Mounted, Failure> {
        let image = Image::make(&self.copy_of(entrant), device, counts)?;
        let mounted = image.mount(&self.options.store.join("copy"), None)?;
        // Some tools create the directory and others require it.
        let tree = mounted.path().join("tree");
        fs::create_dir(&tree).map_err(|e| Failure::at(&tree, e))?;
        Ok(mounted)
    }

    fn copy(
        &mut self,
        setup: &Setup,
        entrant: &Entrant,
        source: &Source,
        run: TimedRun,
    ) -> Result<(), Failure> {
        let mounted = if setup.work == Work::Again {
            Image::at(self.copy_of(entrant)).mount(&self.options.store.join("copy"), None)?
        } else {
            self.empty_copy(setup.device, entrant, source.counts)?
        };
        if setup.work == Work::Again && run.cache == Cache::Warm {
            read_all(mounted.path(), false).map_err(|e| Failure::at(mounted.path(), e))?;
        }
        ready(source.mounted, &source.tree(), run.cache, setup.work)?;
        let places = self.places(source.tree());
        let before = source.mounted.usage();
        let usage = self.run(entrant, &places, Some(mounted.path()))?;
        let disk_usage = source.mounted.usage().zip(before).map(|(after, before)| after - before);
        self.record(run.scenario, entrant, run.round, &usage, disk_usage);
        Ok(())
    }
}

/// Checks the result of a run. Returns an optional remark if the result is correct, or otherwise
/// the reason why it is wrong.
fn done(setup: &Setup, entrant: &Entrant, tree: &Path) -> Result<Option<String>, String> {
    if setup.work == Work::Delete {
        let is_left = tree.symlink_metadata().is_ok();
        return if is_left { Err("left something behind".into()) } else { Ok(None) };
    }
    if setup.work == Work::Apply {
        return sweep::applied(setup, entrant, tree).map(|()| None);
    }
    let Merged { gone, several } = setup.spec.merged(tree).map_err(|e| format!("failed: {e}"))?;
    // Only the quarantine of lop moves names away.
    if gone > 0 && entrant.role != Role::Aside {
        return Err(format!("lost {gone} names"));
    }
    Ok((several > 0).then(|| format!("left {several} contents in more than one file")))
}

/// Prepares the caches for a run. For warm caches, reads all metadata, and also the contents if the
/// work needs them. Cold caches are empty.
fn ready(mounted: &Mounted, tree: &Path, cache: Cache, work: Work) -> Result<(), Failure> {
    rustix::fs::sync();
    match cache {
        Cache::Warm => read_all(tree, work == Work::Link).map_err(|e| Failure::at(tree, e)),
        Cache::Cold => mounted.remount().and_then(|()| drop_caches()),
    }
}

/// Reads the metadata of everything below a directory, and the contents of files if `inside` is
/// set.
fn read_all(dir: &Path, inside: bool) -> std::io::Result<()> {
    let mut unlisted = vec![dir.to_path_buf()];
    while let Some(dir) = unlisted.pop() {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_dir() {
                unlisted.push(entry.path());
            } else if inside && metadata.is_file() {
                std::io::copy(&mut fs::File::open(entry.path())?, &mut std::io::sink())?;
            }
        }
    }
    Ok(())
}
