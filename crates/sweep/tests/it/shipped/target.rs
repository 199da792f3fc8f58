//! A target that is made from entries below variables.
//!
//! Each variable that occurs in an entry is bound to a directory of its own, so that a case does not
//! depend on how directories are found.

use std::collections::{BTreeSet, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use device::{Disks, Io, Threads};
use fsops::{Dir, Stat};
use runtime::Progress;
use sweep::bindings::{Binding, Bindings};
use sweep::preview::Request;
use sweep::rule::Rule;
use sweep::rule::variable::Variable;
use testkit::{TempTree, TreeBuilder};
use walk::OwnFiles;

const TAG: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55\n# made by a program\n";

/// The contents of files, by kind.
const CONTENTS: &[(&str, &[u8])] = &[
    ("empty", b""),
    ("cfb", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 rest"),
    ("ds-store", b"\0\0\0\x01Bud1 rest"),
    ("apple-double", b"\0\x05\x16\x07\0\x02\0\0 rest"),
    ("xml", b"<?xml version=\"1.0\"?>"),
    ("dolphin", b"[Dolphin]\nVersion=4\n"),
    ("desktop-entry", b"[Desktop Entry]\nIcon=folder-music\n"),
    ("elf-core", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x04\0\x3e\0"),
    ("elf-program", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x3e\0"),
    ("mach-core", b"\xcf\xfa\xed\xfe rest"),
    ("tag", TAG),
    ("no-tag", b"Signature: something else that is long enough\n"),
];

/// The time that ages are counted from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Now {
    /// The time of the test, so that all files are new.
    Real,
    /// A year later, so that all files are old.
    InAYear,
}

/// A target, and the directories that variables are bound to.
pub(super) struct Target {
    temp: TempTree,
    bindings: Bindings,
}

/// The paths of entries that a rule takes, as text.
pub(super) struct Taken(BTreeSet<String>);

impl Taken {
    /// Returns whether an entry is taken by itself or with a directory above it.
    pub(super) fn covers(&self, path: String) -> bool {
        let mut path = path;
        loop {
            if self.0.contains(&path) {
                return true;
            }
            let Some(end) = path.rfind('/') else { return false };
            path.truncate(end);
        }
    }

    /// Returns whether nothing is taken.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Target {
    /// Makes the target of a case.
    pub(super) fn of_case(case: &[(char, &str)]) -> Target {
        let entries: Vec<Entry> = case.iter().map(|(_, text)| Entry::parse(text)).collect();
        Target::new(&entries)
    }

    /// Makes a target. An entry that occurs twice is made once.
    pub(super) fn new(entries: &[Entry]) -> Target {
        let mut made = HashSet::new();
        let mut tree = TreeBuilder::new();
        let bound: BTreeSet<Variable> = entries.iter().map(|entry| entry.variable).collect();
        for variable in bound.iter().filter(|&&variable| variable != Variable::Top) {
            tree = tree.dir(base(*variable).as_str());
        }
        for entry in entries {
            let path = entry.path();
            if made.insert(path.clone()) {
                tree = match &entry.content {
                    Content::Dir => tree.dir(path.as_str()),
                    Content::Bytes(bytes) => tree.file(path.as_str(), bytes.as_slice()),
                    Content::Dangling => tree.dangling_symlink(path.as_str()),
                    Content::Link => tree.symlink(path.as_str(), "."),
                };
            }
        }
        let temp = tree.make_in_memory();
        let binding = |variable: Variable| {
            let path = base(variable);
            let stat = Stat::of_path(&temp.path().join(&path)).expect("the directory exists");
            Binding { variable, path: path.into(), key: stat.key(), profile: None }
        };
        let bound = bound.into_iter().map(binding).collect();
        let bindings = Bindings { bound, ..Bindings::default() };
        Target { temp, bindings }
    }

    /// Sets whether names are compared without regard to case.
    pub(super) fn set_folds(&mut self, folds: bool) {
        self.bindings.folds = folds;
    }

    /// Returns what a rule takes.
    pub(super) fn taken(&self, rule: &Rule, now: Now) -> Taken {
        let root = Dir::open(self.temp.path()).expect("the target exists");
        let device = root.stat().expect("metadata").device;
        let mut time = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
        if matches!(now, Now::InAYear) {
            time += Duration::from_secs(365 * 86_400);
        }
        let request = Request {
            root: &root,
            path: self.temp.path().as_os_str().as_bytes(),
            rules: std::slice::from_ref(rule),
            active: &[true],
            allow: &super::allowed(),
            bindings: &self.bindings,
            own: &OwnFiles::default(),
            avoid: HashSet::new(),
            now_ns: i64::try_from(time.as_nanos()).expect("before 2262"),
            disk: Disks::new(Io::Cached).of(device),
            threads: Threads { first: 1, grows: false },
        };
        let preview = sweep::preview::run(&request, &Progress::default()).expect("not stopped");
        assert!(preview.problems.is_empty(), "{}: {:?}", rule.id, preview.problems);
        let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
        Taken(preview.matches.iter().map(|found| text(&found.path)).collect())
    }
}

/// An entry of a target.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) variable: Variable,
    /// The path below the variable.
    pub(super) below: String,
    pub(super) content: Content,
}

/// The type and the content of an entry.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Dir,
    Bytes(Vec<u8>),
    Dangling,
    Link,
}

impl Entry {
    /// Parses the text of a case.
    pub(super) fn parse(text: &str) -> Entry {
        let (path, kind) = text.split_once(" = ").unwrap_or((text, "text"));
        let parts = path.strip_prefix('{').and_then(|rest| rest.split_once("}/"));
        let (word, below) = parts.unwrap_or_else(|| panic!("{text} begins with no variable"));
        let variable =
            Variable::of_word(word).unwrap_or_else(|| panic!("{text}: no such variable"));
        let (below, content) = match below.strip_suffix('/') {
            Some(dir) => (dir, Content::Dir),
            None => (below, Content::of_kind(kind)),
        };
        Entry { variable, below: below.to_string(), content }
    }

    /// Returns the path relative to the target.
    pub(super) fn path(&self) -> String {
        let path = format!("{}/{}", base(self.variable), self.below);
        path.trim_start_matches('/').to_string()
    }
}

impl Content {
    fn of_kind(kind: &str) -> Content {
        match kind {
            "text" => Content::Bytes(b"text".to_vec()),
            "dangling" => Content::Dangling,
            "link" => Content::Link,
            kind => {
                let content = CONTENTS.iter().find(|(name, _)| *name == kind);
                Content::Bytes(content.unwrap_or_else(|| panic!("unknown kind {kind}")).1.to_vec())
            }
        }
    }
}

/// Returns the directory that a variable is bound to.
fn base(variable: Variable) -> String {
    if variable == Variable::Top { String::new() } else { format!("bound/{}", variable.word()) }
}
