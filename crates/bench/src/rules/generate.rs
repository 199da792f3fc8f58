//! Makes the rules from a seed.
//!
//! The counts of entries, keys, patterns and keys below `Documents` are exact. The other
//! proportions are those of the real file within a few percent.

use crate::corpus::Dice;

use super::names::{leaf, program};
use super::{Base, Entry, Key, PATTERNS, Reach, RuleSet};

/// The counts of winapp2.ini of July 2026.
const ENTRIES: usize = 4_067;
const KEYS: usize = 14_118;
const DOCUMENTS: usize = 349;

/// One in this many entries has files on the made disk.
pub(crate) const INSTALLED: usize = 12;

/// The seed of the rules.
const SEED: u64 = 2026;

/// The bases with their shares in percent.
const BASES: [(Base, u64); 7] = [
    (Base::Local, 38),
    (Base::Roaming, 27),
    (Base::ProgramFiles, 14),
    (Base::ProgramData, 9),
    (Base::Profile, 5),
    (Base::Windows, 4),
    (Base::LocalLow, 3),
];

/// Patterns for names, without the one for every name.
const NAMES: [&str; 16] = [
    "*.log",
    "*.tmp",
    "*.dmp",
    "*.old",
    "*.bak",
    "*.etl",
    "debug.log",
    "setup_*.log",
    "*.cache",
    "trace*.txt",
    "*.log.*",
    "report*.xml",
    "update.log",
    "*_old.dat",
    "~*.tmp",
    "stats.json",
];

/// Components with wildcards.
const WILD: [&str; 5] = ["*", "*", "Profile *", "v*", "*.default"];

/// Returns the rules. Each call returns the same ones.
pub(crate) fn generate() -> RuleSet {
    let mut dice = Dice::new(SEED);
    let keys = spread(&mut dice, ENTRIES, KEYS);
    let mut names = spread(&mut dice, KEYS, PATTERNS).into_iter();
    let mut maker = Maker { dice, documents: DOCUMENTS };
    let entry = |(number, keys)| maker.entry(number, keys, &mut names);
    RuleSet { entries: keys.into_iter().enumerate().map(entry).collect() }
}

/// Returns rules for the tree that consists of junk only: twenty programs, each with a cache in
/// every profile.
pub(crate) fn junk_rules() -> RuleSet {
    let entry = |number| Entry {
        name: program(number),
        detect: None,
        keys: vec![Key {
            base: Base::Local,
            dir: vec![program(number), leaf(0)],
            names: vec!["*.tmp".into()],
            reach: Reach::Below,
        }],
        keep: None,
        has_registry_key: false,
        is_installed: true,
    };
    RuleSet { entries: (0..20).map(entry).collect() }
}

/// Distributes `total` things over `places`, at least one each.
fn spread(dice: &mut Dice, places: usize, total: usize) -> Vec<usize> {
    let mut counts = vec![1; places];
    for _ in places..total {
        counts[dice.index(places)] += 1;
    }
    counts
}

struct Maker {
    dice: Dice,
    /// Number of keys below `Documents` that are still to be made.
    documents: usize,
}

impl Maker {
    fn entry(
        &mut self,
        number: usize,
        keys: usize,
        names: &mut impl Iterator<Item = usize>,
    ) -> Entry {
        let is_installed = number.is_multiple_of(INSTALLED);
        let product = program(3_000 + number);
        let mut path = vec![product.clone()];
        if self.dice.below(100) < 66 {
            path.insert(0, program(number / 3));
        }
        let base = self.base();
        let mut made: Vec<Key> = Vec::new();
        for at in 0..keys {
            let names = names.next().expect("as many as keys");
            let is_document = number % INSTALLED == INSTALLED / 2 && self.documents > 0;
            self.documents -= usize::from(is_document);
            let key = match made.last().filter(|last| !last.takes_all()) {
                Some(last) if !is_document && self.dice.below(100) < 80 => {
                    Key { names: self.some_names(names), reach: self.reach(), ..last.clone() }
                }
                _ if is_document => self.key(Base::Documents, &path, at, names),
                _ => {
                    let base = if self.dice.below(100) < 92 { base } else { self.base() };
                    self.key(base, &path, at, names)
                }
            };
            made.push(key);
        }
        let wanted = self.dice.below(100) < 6 || number.is_multiple_of(60);
        let keep = made.iter().position(|key| key.takes_all() && key.reach != Reach::Itself);
        Entry {
            name: format!("{product} {}", number + 1),
            detect: (self.dice.below(4) > 0).then(|| (base, path.join("\\"))),
            keep: keep.filter(|_| wanted).map(|key| (key, "settings.keep".into())),
            keys: made,
            has_registry_key: self.dice.below(100) < 30,
            is_installed,
        }
    }

    /// Makes a key with a directory that no other key of the entry has.
    fn key(&mut self, base: Base, path: &[String], at: usize, names: usize) -> Key {
        let mut dir = path.to_vec();
        if base == Base::Profile {
            // A directory in a profile is hidden, as guard 2 of lop requires of a single name.
            dir[0] = format!(".{}", dir[0].to_lowercase());
        }
        // Guard 2 requires two names below a profile and below Windows.
        if dir.len() == 1 && matches!(base, Base::Profile | Base::Windows) {
            dir.push("Data".into());
        }
        if self.dice.below(100) < 34 {
            dir.push(WILD[self.dice.index(WILD.len())].into());
        }
        dir.push(leaf(at));
        if self.dice.below(100) < 8 {
            dir.push("*".into());
        }
        // A key with several patterns names files. One with a single pattern often takes every file.
        let takes_all = names == 1 && self.dice.below(100) < 50;
        if !takes_all {
            return Key { base, dir, names: self.some_names(names), reach: self.reach() };
        }
        let reach = if self.dice.below(100) < 20 { Reach::Itself } else { self.reach() };
        Key { base, dir, names: vec!["*.*".into()], reach }
    }

    fn base(&mut self) -> Base {
        let mut throw = self.dice.below(100);
        for (base, share) in BASES {
            if throw < share {
                return base;
            }
            throw -= share;
        }
        unreachable!("the shares add up to 100")
    }

    fn reach(&mut self) -> Reach {
        if self.dice.below(100) < 42 { Reach::Below } else { Reach::Files }
    }

    /// Returns different patterns of names.
    fn some_names(&mut self, count: usize) -> Vec<String> {
        let first = self.dice.index(NAMES.len());
        let name = |at: usize| match at / NAMES.len() {
            0 => NAMES[(first + at) % NAMES.len()].to_owned(),
            round => format!("part{round}-{at}.log"),
        };
        (0..count).map(name).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{DOCUMENTS, ENTRIES, KEYS, PATTERNS, generate};
    use crate::rules::Base;

    #[test]
    fn the_rules_have_the_published_counts() {
        let counts = generate().counts();
        assert_eq!((counts.entries, counts.keys, counts.patterns), (ENTRIES, KEYS, PATTERNS));
        assert_eq!(counts.documents, DOCUMENTS);
    }

    #[test]
    fn the_rules_have_the_published_proportions() {
        let counts = generate().counts();
        let percent = |part: usize, whole: usize| part * 1_000 / whole;
        assert!((17_500..=18_500).contains(&counts.nodes), "{counts:?}");
        assert!((850..=870).contains(&percent(counts.literal, counts.components)), "{counts:?}");
        assert!((380..=420).contains(&percent(counts.below, counts.keys)), "{counts:?}");
        assert!((30..=120).contains(&percent(counts.itself, counts.keys)), "{counts:?}");
        assert!((20..=40).contains(&percent(counts.keeps, counts.entries)), "{counts:?}");
    }

    #[test]
    fn the_rules_are_the_same_every_time() {
        assert_eq!(generate(), generate());
    }

    #[test]
    fn the_first_patterns_are_a_part_of_the_whole() {
        let (all, ten) = (generate(), generate().first(10));
        assert_eq!(ten.counts().patterns, 10);
        assert_eq!(ten.entries[0], all.entries[0], "the first entry is complete");
        assert!(ten.entries.iter().any(|entry| entry.is_installed));
        assert_eq!(all.first(PATTERNS), all);
    }

    #[test]
    fn rules_with_files_on_the_disk_leave_documents_alone() {
        let rules = generate();
        let installed: Vec<_> = rules.entries.iter().filter(|entry| entry.is_installed).collect();
        assert_eq!(installed.len(), 339);
        let keys = installed.iter().flat_map(|entry| &entry.keys);
        assert_eq!(keys.filter(|key| key.base == Base::Documents).count(), 0);
    }
}
