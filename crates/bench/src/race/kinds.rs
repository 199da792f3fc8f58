//! The kinds of races: their trees, storage and numbers of rounds.

use std::path::Path;

use crate::Failure;
use crate::corpus::Spec;
use crate::scenario::{Cache, Device, Order, Work};
use crate::system::tool;

use Cache::{Cold, Warm};
use Device::{AsIs, Btrfs, Ext4, Hdd, Xfs};
use Order::{Created, Shuffled};

/// A named set of comparisons.
#[derive(Debug)]
pub struct Kind {
    /// The name on the command line, and of the folder that holds the record.
    pub name: &'static str,
    /// The description for help texts.
    pub about: &'static str,
    rows: fn() -> Vec<Row>,
}

/// One kind of work on one tree and device, raced in each state of the caches.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// The work.
    pub work: Work,
    /// The tree.
    pub(crate) spec: Spec,
    /// The storage.
    pub device: Device,
    /// The states of the caches, in the order in which they are raced.
    pub(crate) caches: &'static [Cache],
    /// The number of timed runs of each tool in each state.
    pub rounds: u32,
}

/// A setup in short: work, corpus, names, scale, order, device, caches, rounds.
type Row = (Work, &'static str, Option<u64>, f64, Order, Device, &'static [Cache], u32);

/// The number of files of a Windows disk without junk.
const EMPTY_DISK: u64 = 5;

const WARM: &[Cache] = &[Warm];
const COLD: &[Cache] = &[Cold];
const BOTH: &[Cache] = &[Warm, Cold];

/// All kinds. With these sizes, all races together take about five and a half hours on two cores.
pub const KINDS: [Kind; 18] = [
    Kind {
        name: "find",
        about: "duplicates on the machine's own disk, warm and cold",
        rows: own_disk,
    },
    Kind {
        name: "cold",
        about: "duplicates on the machine's own disk, cold: the trees that `find` races warm only",
        rows: own_disk_cold,
    },
    Kind {
        name: "hdd",
        about: "duplicates on a simulated hard disk",
        rows: || {
            vec![
                // With cold caches, all tools together take a quarter of an hour.
                (Work::Find, "server2018", None, 1.0, Shuffled, Hdd, COLD, 1),
                (Work::Find, "server2018", None, 1.0, Shuffled, Hdd, WARM, 5),
            ]
        },
    },
    Kind {
        name: "images",
        about: "duplicates on ext4, XFS and btrfs",
        rows: || {
            vec![
                (Work::Find, "server2018", Some(60_000), 0.3, Shuffled, Ext4, BOTH, 5),
                (Work::Find, "server2018", Some(60_000), 0.3, Shuffled, Xfs, BOTH, 5),
                (Work::Find, "server2018", Some(60_000), 0.3, Shuffled, Btrfs, BOTH, 5),
            ]
        },
    },
    Kind {
        name: "growth",
        about: "time against the size of the tree, from a thousand to a million files",
        rows: || {
            vec![
                (Work::Find, "huge-mixed", Some(1_000), 0.1, Created, AsIs, WARM, 5),
                (Work::Find, "huge-mixed", Some(10_000), 0.1, Created, AsIs, WARM, 5),
                (Work::Find, "huge-mixed", Some(100_000), 0.1, Created, AsIs, WARM, 5),
                (Work::Find, "huge-mixed", Some(1_000_000), 0.1, Created, AsIs, WARM, 5),
            ]
        },
    },
    Kind {
        name: "link",
        about: "duplicates made hard links, on ext4 and on a simulated hard disk",
        rows: || {
            vec![
                // At full size, each run takes two minutes, most of them spent on making a fresh
                // image.
                (Work::Link, "server2018", Some(60_000), 0.3, Shuffled, Ext4, BOTH, 5),
                (Work::Link, "server2018", Some(60_000), 0.3, Shuffled, Hdd, COLD, 1),
            ]
        },
    },
    Kind {
        name: "mirror",
        about: "copies of trees of hard links, of small files and of large ones, first and again",
        rows: || {
            vec![
                (Work::Mirror, "links", Some(327_670), 1.0, Created, Ext4, WARM, 5),
                (Work::Again, "links", Some(327_670), 1.0, Created, Ext4, WARM, 5),
                // The peers need minutes for the whole corpus.
                (Work::Mirror, "links", None, 1.0, Created, Ext4, WARM, 1),
                (Work::Mirror, "snapshots", Some(200_000), 1.0, Shuffled, Ext4, BOTH, 3),
                (Work::Copy, "few-dups-762", Some(150_000), 0.016, Created, Ext4, BOTH, 3),
                (Work::Copy, "vm-images", None, 0.5, Created, Ext4, BOTH, 3),
                (Work::Mirror, "snapshots", Some(60_000), 1.0, Shuffled, Hdd, COLD, 1),
                (Work::Copy, "few-dups-762", Some(30_000), 0.05, Shuffled, Hdd, COLD, 1),
            ]
        },
    },
    Kind {
        name: "mirror-ssh",
        about: "copies to and from a host that is reached with ssh, which is this one",
        rows: || {
            vec![
                (Work::Push, "links", Some(327_670), 1.0, Created, Ext4, WARM, 3),
                (Work::Pull, "links", Some(327_670), 1.0, Created, Ext4, WARM, 3),
                (Work::Push, "links", None, 1.0, Created, Ext4, WARM, 1),
                (Work::Pull, "links", None, 1.0, Created, Ext4, WARM, 1),
                (Work::Push, "few-dups-762", Some(150_000), 0.016, Created, Ext4, WARM, 3),
                (Work::Pull, "few-dups-762", Some(150_000), 0.016, Created, Ext4, WARM, 3),
            ]
        },
    },
    Kind {
        name: "delete",
        about: "trees deleted, from a hundred thousand to ten million names, on ext4",
        rows: || {
            vec![
                (Work::Delete, "empty", Some(100_000), 1.0, Created, Ext4, COLD, 3),
                (Work::Delete, "empty", Some(1_000_000), 1.0, Created, Ext4, BOTH, 3),
                // Each tool takes minutes.
                (Work::Delete, "empty", Some(10_000_000), 1.0, Created, Ext4, COLD, 1),
            ]
        },
    },
    Kind {
        name: "delete-systems",
        about: "trees deleted, on XFS, btrfs and a simulated hard disk",
        rows: || {
            vec![
                (Work::Delete, "snapshots", Some(1_000_000), 1.0, Shuffled, Hdd, COLD, 1),
                (Work::Delete, "empty", Some(300_000), 1.0, Created, Xfs, BOTH, 3),
                (Work::Delete, "empty", Some(300_000), 1.0, Created, Btrfs, BOTH, 3),
            ]
        },
    },
    Kind {
        name: "delete-shapes",
        about: "trees deleted that are flat, full of tiny directories, deep, or hard-linked, on ext4",
        rows: || {
            vec![
                (Work::Delete, "tiny-dirs", Some(100_000), 1.0, Created, Ext4, BOTH, 3),
                (Work::Delete, "chains", Some(50_000), 1.0, Created, Ext4, BOTH, 3),
                (Work::Delete, "flat-empty", Some(1_000_000), 1.0, Created, Ext4, BOTH, 3),
                (Work::Delete, "snapshots", Some(100_000), 1.0, Shuffled, Ext4, BOTH, 3),
            ]
        },
    },
    Kind {
        name: "sweep",
        about: "junk found by rules and moved away, on made Windows disks",
        rows: || {
            vec![
                (Work::Sweep, "windows-disk", None, 1.0, Created, AsIs, WARM, 5),
                (Work::Anywhere, "windows-disk", None, 1.0, Created, AsIs, WARM, 5),
                (Work::Load, "windows-junk", Some(EMPTY_DISK), 1.0, Created, AsIs, WARM, 9),
                (Work::Apply, "windows-junk", None, 1.0, Created, Ext4, WARM, 5),
            ]
        },
    },
    Kind {
        name: "review",
        about: "a million files reviewed in a browser, and their disk space",
        rows: || {
            vec![
                (Work::Space, "review", None, 1.0, Created, AsIs, WARM, 5),
                (Work::Review, "review", None, 1.0, Created, AsIs, WARM, 5),
            ]
        },
    },
    Kind {
        name: "serve",
        about: "files sent over HTTP: requests for each second of processor time, and latencies",
        rows: || vec![(Work::Serve, "served", None, 1.0, Created, AsIs, WARM, 5)],
    },
    Kind {
        name: "fleet",
        about: "a catalog exported, and the exports of 100 hosts grouped by contents",
        rows: || {
            vec![
                (Work::Export, "review", None, 1.0, Created, AsIs, WARM, 5),
                (Work::Fleet, "fleet", Some(1_000_000), 1.0, Created, AsIs, WARM, 5),
                (Work::Fleet, "fleet", Some(10_000_000), 1.0, Created, AsIs, WARM, 5),
                (Work::Fleet, "fleet", None, 1.0, Created, AsIs, WARM, 5),
            ]
        },
    },
    Kind {
        name: "fleet-survey",
        about: "the lists of 10 hosts in a survey answered, and their sizes",
        rows: || vec![(Work::Survey, "survey", None, 1.0, Created, AsIs, WARM, 5)],
    },
    Kind {
        name: "fleet-spark",
        about: "the exports of 100 hosts grouped by contents on a Spark cluster on this machine",
        // A run takes minutes.
        rows: || vec![(Work::Spark, "fleet", None, 1.0, Created, AsIs, WARM, 1)],
    },
    Kind {
        name: "smoke",
        about: "everything once and small, to see that it works; nothing is recorded",
        rows: || {
            vec![
                (Work::Find, "server2018", Some(1_500), 0.1, Created, AsIs, WARM, 1),
                (Work::Find, "server2018", Some(1_500), 0.1, Shuffled, Hdd, COLD, 1),
                (Work::Find, "late", Some(16), 0.1, Created, Xfs, COLD, 1),
                (Work::Link, "server2018", Some(1_500), 0.1, Created, Ext4, WARM, 1),
                (Work::Mirror, "links", Some(1_000), 0.01, Created, Ext4, WARM, 1),
                (Work::Again, "links", Some(1_000), 0.01, Created, Ext4, WARM, 1),
                (Work::Copy, "few-dups-762", Some(1_000), 0.01, Shuffled, Hdd, COLD, 1),
                (Work::Push, "links", Some(1_000), 0.01, Created, Ext4, WARM, 1),
                (Work::Pull, "links", Some(1_000), 0.01, Created, Ext4, WARM, 1),
                (Work::Delete, "snapshots", Some(1_000), 0.1, Created, Ext4, WARM, 1),
                (Work::Sweep, "windows-disk", Some(1_000), 0.1, Created, AsIs, WARM, 1),
                (Work::Anywhere, "windows-disk", Some(1_000), 0.1, Created, AsIs, WARM, 1),
                (Work::Load, "windows-junk", Some(EMPTY_DISK), 1.0, Created, AsIs, WARM, 1),
                (Work::Apply, "windows-junk", Some(1_000), 1.0, Created, Ext4, WARM, 1),
                (Work::Space, "review", Some(2_000), 1.0, Created, AsIs, WARM, 1),
                (Work::Review, "review", Some(2_000), 1.0, Created, AsIs, WARM, 1),
                (Work::Serve, "served", Some(2_000), 0.01, Created, AsIs, WARM, 1),
                (Work::Export, "review", Some(2_000), 1.0, Created, AsIs, WARM, 1),
                (Work::Fleet, "fleet", Some(4_000), 1.0, Created, AsIs, WARM, 1),
                (Work::Spark, "fleet", Some(4_000), 1.0, Created, AsIs, WARM, 1),
                (Work::Survey, "survey", Some(4_000), 1.0, Created, AsIs, WARM, 1),
            ]
        },
    },
];

/// Returns the trees on the machine's own disk that `find` races.
fn own_disk() -> Vec<Row> {
    vec![
        (Work::Find, "server2018", None, 1.0, Shuffled, AsIs, BOTH, 5),
        (Work::Find, "no-dups-135", None, 0.1, Created, AsIs, &[Warm], 5),
        (Work::Find, "few-dups-762", None, 0.1, Created, AsIs, &[Warm], 5),
        (Work::Find, "photos", None, 0.05, Created, AsIs, BOTH, 5),
        (Work::Find, "huge-mixed", Some(300_000), 0.1, Created, AsIs, &[Warm], 5),
        (Work::Find, "same-size", None, 1.0, Created, AsIs, &[Warm], 5),
        (Work::Find, "late", Some(400), 1.0, Created, AsIs, &[Warm], 5),
        (Work::Find, "vm-images", None, 0.5, Created, AsIs, &[Warm], 5),
        (Work::Find, "flat", Some(100_000), 1.0, Created, AsIs, &[Warm], 5),
    ]
}

/// Returns those trees of [`own_disk`] that `find` races only with warm caches, but with cold
/// caches.
fn own_disk_cold() -> Vec<Row> {
    let cold = |(work, corpus, names, scale, order, device, caches, rounds): Row| {
        (caches == WARM).then_some((work, corpus, names, scale, order, device, COLD, rounds.min(3)))
    };
    own_disk().into_iter().filter_map(cold).collect()
}

impl Kind {
    /// Returns the kind with this name.
    ///
    /// # Errors
    ///
    /// The kind does not exist. The message lists all kinds.
    pub fn by_name(name: &str) -> Result<&'static Self, Failure> {
        KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
            let names: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
            Failure::new(format!("no race is called {name}; there are {}", names.join(", ")))
        })
    }

    /// Returns the setups to race.
    ///
    /// # Errors
    ///
    /// Never, because the table above names existing corpora.
    pub fn setups(&self) -> Result<Vec<Setup>, Failure> {
        let setup = |(work, corpus, names, scale, order, device, caches, rounds): Row| {
            let spec = Spec::new(corpus, names, scale, order)?;
            Ok(Setup { work, spec, device, caches, rounds })
        };
        (self.rows)().into_iter().map(setup).collect()
    }
}

impl Setup {
    /// Returns the reason why this machine cannot race the setup, if there is one.
    pub(crate) fn unavailable(&self) -> Option<String> {
        let root = self.device != AsIs || self.caches.contains(&Cold);
        if root && !testkit::is_root() {
            return Some("only root can mount images and drop caches".into());
        }
        if self.device == Hdd && !Path::new("/dev/fuse").exists() {
            return Some("there is no /dev/fuse".into());
        }
        let needed: &[&str] = match (self.work, self.device) {
            (Work::Review, _) => &["chromium", "chromedriver"],
            (Work::Serve, _) => &["taskset", "wrk"],
            (_, AsIs) => &[],
            (_, Hdd | Ext4) => &["mkfs.ext4"],
            (_, Xfs) => &["mkfs.xfs"],
            (_, Btrfs) => &["mkfs.btrfs"],
        };
        let missing = needed.iter().find(|program| tool(&["which", program], &[]).is_err());
        missing.map(|program| format!("{program} is not installed"))
    }
}

#[cfg(test)]
mod tests {
    use super::KINDS;
    use crate::scenario::{Device, Work};

    #[test]
    fn every_kind_can_be_raced() {
        for kind in KINDS {
            let setups = kind.setups().expect("existing corpora");
            for setup in setups {
                assert!(setup.rounds > 0 && !setup.caches.is_empty(), "{}", kind.name);
                let reads = [
                    Work::Find,
                    Work::Sweep,
                    Work::Anywhere,
                    Work::Load,
                    Work::Space,
                    Work::Review,
                    Work::Serve,
                    Work::Export,
                    Work::Fleet,
                    Work::Spark,
                    Work::Survey,
                ];
                let images = reads.contains(&setup.work) || setup.device != Device::AsIs;
                assert!(images, "{}: what changes a tree needs images", kind.name);
            }
        }
    }
}
