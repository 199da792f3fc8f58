//! Made Windows disks: one with junk among the files of four users, and one of junk only.
//!
//! The junk belongs to the rules of [`crate::rules`], so the right answer of a sweep is known:
//! [`Junk`]. All other files have names and places that no rule matches.

use std::collections::{BTreeSet, HashSet};

use crate::rules::{self, Base, Entry, Key, Reach};

use super::content::Content;
use super::dice::Dice;
use super::plan::Plan;

/// The users of the made disks.
const USERS: [&str; 4] = ["owner", "office", "guest", "kids"];

/// The bases that every disk has.
const BASES: [Base; 7] = [
    Base::Local,
    Base::Roaming,
    Base::LocalLow,
    Base::ProgramFiles,
    Base::ProgramData,
    Base::Documents,
    Base::Windows,
];

/// The number of files of the disk for each installed program that has junk on it.
const FILES_PER_PROGRAM: u64 = 1_480;

/// At most one in this many files is junk. Names without wildcards occur once in a directory.
const JUNK_SHARE: u64 = 5;

/// Number of files in a directory with junk.
const FILES_PER_DIR: u64 = 12;

/// The files that a sweep would take from a made disk, as paths relative to the disk.
#[derive(Debug, Default)]
pub(crate) struct Junk {
    /// Files that the rules of the generated file take.
    pub(crate) taken: BTreeSet<String>,
    /// Files that a rule would take without its exclusion.
    pub(crate) kept: BTreeSet<String>,
    /// Files that the rules take that match anywhere.
    pub(crate) thumbnails: BTreeSet<String>,
}

/// Returns the number of entries of the rules among which are all that have junk on `windows-disk`.
pub(crate) fn entries_for(names: u64) -> usize {
    usize::try_from(names / FILES_PER_PROGRAM + 1).expect("few") * rules::INSTALLED
}

/// Plans `windows-disk`: a disk of `names` files, a fifth of them junk.
pub(super) fn disk(names: u64, scale: f64, seed: u64) -> Plan {
    Maker::disk(names, scale, seed).plan
}

/// Returns the junk of `windows-disk`.
pub(crate) fn junk(names: u64) -> Junk {
    Maker::disk(names, 1.0, super::SEED).junk
}

/// Plans `windows-junk`: `names` files that the rules of [`rules::junk_rules`] take one by one, in
/// a disk without other files.
pub(super) fn junk_only(names: u64) -> Plan {
    let mut maker = Maker::new(1.0, 0);
    let caches = USERS.len() as u64 * 20;
    maker.system_files();
    let files = names - maker.plan.names.len() as u64;
    for (number, entry) in (0..).zip(&rules::junk_rules().entries) {
        for (at, user) in (0..).zip(USERS) {
            let cache = number * USERS.len() as u64 + at;
            let count = files / caches + u64::from(cache < files % caches);
            let dir = &entry.keys[0].base.directories(&[user])[0];
            let dir = format!("{dir}/{}", entry.keys[0].dir.join("/"));
            for file in 0..count {
                let dir = maker.plan.dir(format!("{dir}/f{:02}", file / 100));
                maker.file(dir, format!("{file:05}.tmp"));
            }
        }
    }
    maker.plan
}

struct Maker {
    dice: Dice,
    plan: Plan,
    junk: Junk,
    scale: f64,
    /// Directories with a file that no rule takes.
    settled: HashSet<u32>,
    /// The number of the next content.
    content: u64,
}

impl Maker {
    fn new(scale: f64, seed: u64) -> Self {
        let (dice, plan, junk) = (Dice::new(seed), Plan::new(), Junk::default());
        Self { dice, plan, junk, scale, settled: HashSet::new(), content: 1 }
    }

    fn disk(names: u64, scale: f64, seed: u64) -> Self {
        let mut maker = Self::new(scale, seed);
        maker.system_files();
        let rules = rules::generate();
        let entries = rules.entries.iter().take(entries_for(names));
        let installed: Vec<&Entry> = entries.filter(|entry| entry.is_installed).collect();
        maker.junk_of(&installed, names / JUNK_SHARE);
        let left = names.saturating_sub(maker.plan.names.len() as u64);
        maker.windows(left * 2 / 5);
        maker.programs(left / 5);
        maker.pictures(left / 10);
        maker.documents(left / 10);
        let left = names.saturating_sub(maker.plan.names.len() as u64);
        maker.application_data(left);
        maker
    }

    /// Adds the files by which Windows and its profiles are recognised, and the directories that
    /// every disk has.
    fn system_files(&mut self) {
        let dir = self.plan.dir("Windows/System32");
        self.file(dir, "ntoskrnl.bin".into());
        for user in USERS {
            let dir = self.plan.dir(format!("Users/{user}"));
            self.file(dir, "NTUSER.DAT".into());
        }
        for path in BASES.iter().flat_map(|base| base.directories(&USERS)) {
            self.plan.dir(path);
        }
    }

    /// Adds the junk of the installed programs: `files` files in total.
    fn junk_of(&mut self, installed: &[&Entry], files: u64) {
        let mut places = Vec::new();
        for entry in installed {
            for (at, key) in entry.keys.iter().enumerate() {
                let keep = entry.keep.as_ref().filter(|(kept, _)| *kept == at);
                for base in key.base.directories(&USERS) {
                    // Not every user has every program.
                    if self.dice.below(3) > 0 {
                        places.push((key, base, keep.map(|(_, name)| name)));
                    }
                }
            }
        }
        let count = places.len() as u64;
        for (number, (key, base, keep)) in (0..).zip(places) {
            let share = files / count + u64::from(number < files % count);
            self.junk_of_key(key, &base, share, keep.map(String::as_str));
        }
    }

    /// Adds files that a key takes in one of its directories, and some files beside them that it
    /// does not take.
    fn junk_of_key(&mut self, key: &Key, base: &str, files: u64, keep: Option<&str>) {
        let dir: Vec<String> = key.dir.iter().map(|name| name.replace('*', "slot 1")).collect();
        let top = format!("{base}/{}", dir.join("/"));
        for number in 0..files {
            let below = number / FILES_PER_DIR;
            let is_below = key.reach != Reach::Files && below > 0;
            let path = if is_below { format!("{top}/b{below}") } else { top.clone() };
            let pattern = &key.names[self.dice.index(key.names.len())];
            let name = match pattern.as_str() {
                "*.*" => format!("entry{number:04}"),
                // Literal names occur only once in a directory.
                name if !name.contains('*') && number % FILES_PER_DIR == 0 => name.to_owned(),
                name if !name.contains('*') => continue,
                name => name.replacen('*', &format!("n{number}"), 1).replace('*', "1"),
            };
            let full = format!("{path}/{name}");
            if self.junk.taken.insert(full) {
                let dir = self.plan.dir(&path);
                self.file(dir, name);
            }
        }
        if let Some(name) = keep.filter(|_| files > 0) {
            let dir = self.plan.dir(&top);
            self.junk.kept.insert(format!("{top}/{name}"));
            self.file(dir, name.to_owned());
        }
        if !key.takes_all() && files > 1 {
            let dir = self.plan.dir(&top);
            if self.settled.insert(dir) {
                self.file(dir, "profile.ini".into());
            }
        }
    }

    /// Adds files of Windows.
    fn windows(&mut self, files: u64) {
        for number in 0..files {
            let dir = match number % 4 {
                0 => format!("Windows/System32/lang{:03}", number / 800),
                _ => format!("Windows/WinSxS/part_{:06}", number / 24),
            };
            let dir = self.plan.dir(dir);
            self.file(dir, format!("lib{number:07}.bin"));
        }
    }

    /// Adds files of programs that no rule is about.
    fn programs(&mut self, files: u64) {
        for number in 0..files {
            let (program, part) = (number / 400, number / 20 % 20);
            let base = if program % 3 == 0 { "Program Files (x86)" } else { "Program Files" };
            let dir = self.plan.dir(format!("{base}/Plain {program:04}/part{part:02}"));
            self.file(dir, format!("res{number:07}.pak"));
        }
    }

    /// Adds pictures. Each directory of pictures has thumbnails.
    fn pictures(&mut self, files: u64) {
        for number in 0..files {
            let (user, album) = (USERS[album_of(number) % USERS.len()], number / 50);
            let path = format!("Users/{user}/Pictures/album{album:04}");
            let dir = self.plan.dir(&path);
            if number % 50 == 0 {
                self.junk.thumbnails.insert(format!("{path}/Thumbs.db"));
                self.file(dir, "Thumbs.db".into());
            } else {
                self.file(dir, format!("img{number:06}.jpg"));
            }
        }
    }

    fn documents(&mut self, files: u64) {
        for number in 0..files {
            let user = USERS[album_of(number) % USERS.len()];
            let dir = self.plan.dir(format!("Users/{user}/Documents/year{:03}", number / 30));
            self.file(dir, format!("letter{number:06}.odt"));
        }
    }

    /// Adds files of programs in the profiles that no rule is about.
    fn application_data(&mut self, files: u64) {
        for number in 0..files {
            let user = USERS[album_of(number) % USERS.len()];
            let base = [Base::Local, Base::Roaming][usize::from(number % 5 == 0)];
            let (program, part) = (number / 500, number / 25 % 20);
            let base = &base.directories(&[user])[0];
            let dir = self.plan.dir(format!("{base}/Plain {program:04}/part{part:02}"));
            self.file(dir, format!("item{number:07}.dat"));
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes of files")]
    fn file(&mut self, dir: u32, name: String) {
        let size = (self.dice.size(300.0, 1.5) * self.scale) as u64;
        let content = Content::plain(size.max(16), self.content);
        self.content += 1;
        self.plan.file(dir, name, content);
    }
}

/// Returns the number of the directory that a file of a user belongs to.
fn album_of(number: u64) -> usize {
    usize::try_from(number / 50).expect("few files")
}

#[cfg(test)]
mod tests {
    use super::{disk, junk, junk_only};
    use crate::corpus::SEED;
    use std::collections::BTreeSet;

    #[test]
    fn a_disk_has_as_many_names_as_requested() {
        for names in [120, 5_000, 40_000] {
            assert_eq!(disk(names, 1.0, SEED).counts().names, names);
            assert_eq!(junk_only(names).counts().names, names);
        }
    }

    #[test]
    fn a_sixth_to_a_fifth_of_a_disk_is_junk() {
        let junk = junk(40_000);
        assert!((6_600..=8_000).contains(&junk.taken.len()), "{}", junk.taken.len());
        assert!(!junk.kept.is_empty() && junk.taken.is_disjoint(&junk.kept));
        assert!((60..70).contains(&junk.thumbnails.len()), "one per fifty pictures");
    }

    #[test]
    fn all_junk_is_on_the_disk() {
        let plan = disk(5_000, 1.0, SEED);
        let paths: BTreeSet<String> = plan.paths().map(|path| path.display().to_string()).collect();
        assert_eq!(paths.len(), plan.names.len(), "no name twice");
        let junk = junk(5_000);
        assert!(junk.taken.is_subset(&paths) && junk.thumbnails.is_subset(&paths));
    }

    #[test]
    fn a_disk_is_the_same_every_time() {
        assert_eq!(disk(2_000, 1.0, SEED).fingerprint(), disk(2_000, 1.0, SEED).fingerprint());
    }
}
