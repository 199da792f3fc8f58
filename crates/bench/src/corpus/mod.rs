//! Trees that are planned, made and checked by name.
//!
//! A corpus is the same tree for everyone. The name of a corpus, its scale and its number of names
//! determine the tree down to the last byte. Only inode numbers and positions on the disk depend on
//! the machine. Every new tree is read back and compared with its plan, except for `fleet`, `survey`
//! and `many-empty`, which have no plan.

mod adverse;
mod articles;
mod check;
mod content;
mod dice;
mod fleet;
mod links;
mod make;
mod many_empty;
mod merged;
mod plan;
mod review;
pub(crate) mod seal;
pub(crate) mod served;
mod server;
mod survey;
pub(crate) mod windows;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub(crate) use dice::Dice;
pub use merged::Merged;
pub use plan::{Counts, Plan};

use crate::Failure;
use crate::scenario::Order;

/// The seed of all random choices in the corpora.
const SEED: u64 = 2018;

/// A tree that can be made.
pub struct Corpus {
    /// The name on the command line.
    pub name: &'static str,
    /// The description for help texts.
    pub about: &'static str,
    /// The default number of names: the published number, if there is one.
    pub names: u64,
    maker: Maker,
}

enum Maker {
    /// Plans the tree from the number of names, the scale and the seed.
    Plan(fn(u64, f64, u64) -> Plan),
    /// The hostile tree of the tests, which has no plan.
    Hostile,
    /// A tree that has no plan: its version, and the function that makes it from the number of names,
    /// the scale and the seed.
    Unplanned(&'static str, fn(&Path, u64, f64, u64) -> Result<Counts, Failure>),
}

/// All corpora.
pub const CORPORA: [Corpus; 23] = [
    Corpus {
        name: "server2018",
        about: "a home server, to the counts published in 2018 and 2022",
        names: 154_205,
        maker: Maker::Plan(|names, scale, seed| {
            server::plan(server::Makeup::of(names), scale, seed)
        }),
    },
    Corpus {
        name: "no-dups-135",
        about: "48,000 files in 135 directories, none a duplicate, five hard-linked",
        names: articles::NO_DUPS_135.names,
        maker: Maker::Plan(|names, scale, seed| articles::NO_DUPS_135.plan(names, scale, seed)),
    },
    Corpus {
        name: "few-dups-762",
        about: "31,000 files in 762 directories, 208 duplicates in 39 sets",
        names: articles::FEW_DUPS_762.names,
        maker: Maker::Plan(|names, scale, seed| articles::FEW_DUPS_762.plan(names, scale, seed)),
    },
    Corpus {
        name: "photos",
        about: "18,500 pictures and films of up to 552 MB in 395 directories, no duplicate",
        names: articles::PHOTOS.names,
        maker: Maker::Plan(|names, scale, seed| articles::PHOTOS.plan(names, scale, seed)),
    },
    Corpus {
        name: "huge-mixed",
        about: "900,000 files in 12,599 directories, many of them hard links and duplicates",
        names: articles::HUGE_MIXED.names,
        maker: Maker::Plan(|names, scale, seed| articles::HUGE_MIXED.plan(names, scale, seed)),
    },
    Corpus {
        name: "same-size",
        about: "unlike files of one size",
        names: 100_000,
        maker: Maker::Plan(|names, scale, _| adverse::same_size(names, scale)),
    },
    Corpus {
        name: "late",
        about: "files that differ in one byte, near the end or in the middle",
        names: 800,
        maker: Maker::Plan(|names, scale, _| adverse::late(names, scale)),
    },
    Corpus {
        name: "vm-images",
        about: "large files with long equal beginnings and with holes",
        names: 24,
        maker: Maker::Plan(|names, scale, _| adverse::vm_images(names, scale)),
    },
    Corpus {
        name: "links",
        about: "99 directories, each a 10 MB file and 32,766 hard links to it",
        names: 99 * links::NAMES_PER_DIR,
        maker: Maker::Plan(|names, scale, _| links::links(names, scale)),
    },
    Corpus {
        name: "snapshots",
        about: "twenty generations of a hard-linked backup, one file in a hundred new in each",
        names: 1_000_000,
        maker: Maker::Plan(links::snapshots),
    },
    Corpus {
        name: "empty",
        about: "empty files, a thousand to a directory",
        names: 1_000_000,
        maker: Maker::Plan(|names, _, _| adverse::empty(names)),
    },
    Corpus {
        name: "many-empty",
        about: "empty files, a thousand to a directory and a thousand directories to a folder",
        names: 100_000_000,
        maker: Maker::Unplanned(many_empty::VERSION, many_empty::make),
    },
    Corpus {
        name: "flat-empty",
        about: "empty files in one directory",
        names: 1_000_000,
        maker: Maker::Plan(|names, _, _| adverse::flat_empty(names)),
    },
    Corpus {
        name: "tiny-dirs",
        about: "empty files, two to a directory",
        names: 300_000,
        maker: Maker::Plan(|names, _, _| adverse::tiny_dirs(names)),
    },
    Corpus {
        name: "chains",
        about: "empty files, one to a directory, 500 directories one in the other",
        names: 50_000,
        maker: Maker::Plan(|names, _, _| adverse::chains(names)),
    },
    Corpus {
        name: "flat",
        about: "one directory of small files",
        names: 1_000_000,
        maker: Maker::Plan(|names, _, seed| adverse::flat(names, seed)),
    },
    Corpus {
        name: "windows-disk",
        about: "a Windows disk with four users, a fifth of the files junk of 338 programs",
        names: 500_000,
        maker: Maker::Plan(windows::disk),
    },
    Corpus {
        name: "windows-junk",
        about: "a Windows disk with junk of twenty programs in four profiles, and nothing else",
        names: 100_000,
        maker: Maker::Plan(|names, _, _| windows::junk_only(names)),
    },
    Corpus {
        name: "review",
        about: "a file server with copied folders and backups: 120,000 groups in 100,000 folders",
        names: 1_000_000,
        maker: Maker::Plan(review::review),
    },
    Corpus {
        name: "served",
        about: "101,000 files of 8 KiB, 64 of 1 MiB and one of 4 GiB, for web servers",
        names: served::NAMES,
        maker: Maker::Plan(|names, scale, _| served::served(names, scale)),
    },
    Corpus {
        name: "fleet",
        about: "exports of 100 hosts with 1,000,000 inodes each, of which 60 % have shared contents",
        names: fleet::ROWS,
        maker: Maker::Unplanned(fleet::VERSION, fleet::make),
    },
    Corpus {
        name: "survey",
        about: "the lists of 10 hosts in a survey, with 10,000,000 heads each, of which 60 % are common",
        names: survey::HEADS,
        maker: Maker::Unplanned(survey::VERSION, survey::make),
    },
    Corpus {
        name: "hostile",
        about: "odd names, kinds and rights: what broke some tool once",
        names: 70,
        maker: Maker::Hostile,
    },
];

/// The complete specification of one tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// The name of one of [`CORPORA`].
    pub corpus: String,
    /// The approximate number of names. The other counts scale in proportion.
    pub names: u64,
    /// The scale of file sizes; 1 is the published size.
    pub scale: f64,
    /// The order in which the files are written.
    pub order: Order,
}

impl Spec {
    /// Returns the specification of a corpus. The default of `names` is the published number.
    ///
    /// # Errors
    ///
    /// The corpus does not exist.
    pub fn new(
        corpus: &str,
        names: Option<u64>,
        scale: f64,
        order: Order,
    ) -> Result<Self, Failure> {
        let known = by_name(corpus)?;
        let names = names.unwrap_or(known.names);
        if names == 0 || !(scale > 0.0 && scale.is_finite()) {
            return Err(Failure::new("a corpus needs a positive scale and number of names"));
        }
        Ok(Self { corpus: corpus.to_owned(), names, scale, order })
    }

    /// Returns a folder name that is unique to this tree.
    pub(crate) fn folder_name(&self) -> String {
        let Self { corpus, names, scale, .. } = self;
        let order = match self.order {
            Order::Created => "",
            Order::Shuffled => "-shuffled",
        };
        format!("{corpus}-{names}-{scale}{order}")
    }

    /// Returns the plan of the tree, or `None` for a tree without a plan.
    ///
    /// # Errors
    ///
    /// The corpus does not exist.
    pub fn plan(&self) -> Result<Option<Plan>, Failure> {
        Ok(match by_name(&self.corpus)?.maker {
            Maker::Plan(plan) => Some(plan(self.names, self.scale, SEED)),
            Maker::Hostile | Maker::Unplanned(..) => None,
        })
    }

    /// Makes the tree in `root`, which must be missing or empty, and checks it.
    ///
    /// # Errors
    ///
    /// The tree cannot be made, or it does not match its plan. Entries made so far are left in
    /// place.
    pub fn make(&self, root: &Path) -> Result<Counts, Failure> {
        std::fs::create_dir_all(root).map_err(|e| Failure::at(root, e))?;
        let taken = std::fs::read_dir(root).map_err(|e| Failure::at(root, e))?.next().is_some();
        if taken {
            return Err(Failure::at(root, "is not empty"));
        }
        match by_name(&self.corpus)?.maker {
            Maker::Plan(plan) => {
                let plan = plan(self.names, self.scale, SEED);
                make::make(&plan, root, self.order)?;
                check::check(&plan, root)
            }
            Maker::Hostile => check::hostile(root, &testkit::hostile_tree(root)),
            Maker::Unplanned(_, make) => make(root, self.names, self.scale, SEED),
        }
    }

    /// Compares the tree, or a copy of it, with the plan.
    ///
    /// # Errors
    ///
    /// The tree does not match its plan, or it has no plan.
    pub fn check(&self, root: &Path) -> Result<Counts, Failure> {
        let plan = self.plan()?.ok_or_else(|| Failure::new("this tree has no plan"))?;
        check::check(&plan, root)
    }

    /// Makes the tree in a separate folder below `store`, unless it exists.
    ///
    /// # Errors
    ///
    /// Same as [`make`](Self::make).
    pub(crate) fn ensure(&self, store: &Path) -> Result<(PathBuf, Counts), Failure> {
        let root = store.join(self.folder_name());
        let counts = seal::once(&root, &self.key()?, || self.make(&root))?;
        Ok((root, counts))
    }

    /// Returns a key that is unique to this tree and to the version that made it.
    pub(crate) fn key(&self) -> Result<String, Failure> {
        let made = match by_name(&self.corpus)?.maker {
            Maker::Plan(plan) => plan(self.names, self.scale, SEED).fingerprint(),
            Maker::Hostile => "fixed".to_owned(),
            Maker::Unplanned(version, _) => version.to_owned(),
        };
        Ok(format!("{}-{made}", self.folder_name()))
    }

    /// Returns the groups of identical files in the tree as sets of inode numbers.
    ///
    /// # Errors
    ///
    /// A file is missing, or the tree has no plan.
    pub(crate) fn groups(&self, root: &Path) -> Result<BTreeSet<BTreeSet<u64>>, Failure> {
        let plan = self.plan()?.ok_or_else(|| Failure::new("this tree has no plan"))?;
        check::groups(&plan, root)
    }

    /// Checks a tree whose duplicates were merged. Each planned content must still exist in full in
    /// at least one file.
    ///
    /// # Errors
    ///
    /// Some content is missing or changed, or the tree has no plan.
    pub(crate) fn merged(&self, root: &Path) -> Result<Merged, Failure> {
        let plan = self.plan()?.ok_or_else(|| Failure::new("this tree has no plan"))?;
        merged::merged(&plan, root)
    }
}

/// Returns the corpus with a name.
///
/// # Errors
///
/// The corpus does not exist. The message lists all corpora.
fn by_name(name: &str) -> Result<&'static Corpus, Failure> {
    CORPORA.iter().find(|corpus| corpus.name == name).ok_or_else(|| {
        let names: Vec<_> = CORPORA.iter().map(|corpus| corpus.name).collect();
        Failure::new(format!("no corpus is called {name}; there are {}", names.join(", ")))
    })
}
