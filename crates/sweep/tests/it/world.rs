//! A target with rules.

use std::collections::{BTreeSet, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use device::{Disks, Io, Threads};
use fsops::{Dir, FileKey, Stat};
use runtime::Progress;
use sweep::bindings::{Binding, Bindings, Context, bind};
use sweep::explain::Explanation;
use sweep::preview::{Preview, Request};
use sweep::rule::pattern::Pattern;
use sweep::rule::variable::Variable;
use sweep::rule::{Conditions, Extent, Risk, Rule, Source, Take};
use testkit::{TempTree, TreeBuilder};
use walk::OwnFiles;

/// A target, and the roles of its directories.
pub(crate) struct World {
    pub(crate) temp: TempTree,
    pub(crate) bindings: Bindings,
    pub(crate) allow: BTreeSet<String>,
    pub(crate) own: OwnFiles,
    pub(crate) avoid: HashSet<FileKey>,
    /// The time that passes before a preview.
    pub(crate) later: Duration,
}

/// Ten years, after which every file is old. Status change times cannot be set.
pub(crate) const TEN_YEARS: Duration = Duration::from_secs(10 * 365 * 86_400);

impl World {
    /// Makes a tree and binds variables to some of its directories.
    pub(crate) fn new(tree: &TreeBuilder, bound: &[(Variable, &str)]) -> World {
        let temp = tree.make_in_memory();
        let key = |path: &str| Stat::of_path(&temp.path().join(path)).expect("a directory").key();
        let bound = bound.iter().map(|&(variable, path)| Binding {
            variable,
            path: path.into(),
            key: key(path),
            profile: None,
        });
        let bindings = Bindings { bound: bound.collect(), ..Bindings::default() };
        World::with(temp, bindings)
    }

    /// Finds the roles of the directories of a tree.
    pub(crate) fn found(temp: TempTree, context: &Context) -> World {
        let root = Dir::open(temp.path()).expect("the target");
        let bindings = bind(&root, context).expect("bindings");
        World::with(temp, bindings)
    }

    fn with(temp: TempTree, bindings: Bindings) -> World {
        let (allow, own) = (BTreeSet::new(), OwnFiles::default());
        World { temp, bindings, allow, own, avoid: HashSet::new(), later: Duration::ZERO }
    }

    /// Returns what the rules would take.
    pub(crate) fn preview(&self, rules: &[Rule]) -> Preview {
        self.preview_at(self.temp.path(), rules)
    }

    /// Returns what the rules would take from the target, which is mounted at a second path.
    pub(crate) fn preview_at(&self, target: &Path, rules: &[Rule]) -> Preview {
        self.with_request(target, rules, |request| {
            sweep::preview::run(request, &Progress::default()).expect("not stopped")
        })
    }

    /// Returns why the rules match a path.
    pub(crate) fn explain(&self, rules: &[Rule], path: &str) -> Vec<Explanation> {
        let work = |request: &Request<'_>| sweep::explain::explain(request, path.as_bytes());
        self.with_request(self.temp.path(), rules, work)
    }

    fn with_request<R>(
        &self,
        target: &Path,
        rules: &[Rule],
        work: impl FnOnce(&Request<'_>) -> R,
    ) -> R {
        let root = Dir::open(target).expect("the target");
        let device = root.stat().expect("metadata").device;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970") + self.later;
        work(&Request {
            root: &root,
            path: target.as_os_str().as_bytes(),
            rules,
            active: &vec![true; rules.len()],
            allow: &self.allow,
            bindings: &self.bindings,
            own: &self.own,
            avoid: self.avoid.clone(),
            now_ns: i64::try_from(now.as_nanos()).expect("before 2262"),
            disk: Disks::new(Io::Cached).of(device),
            threads: Threads { first: 2, grows: false },
        })
    }

    /// Returns the paths of the entries that the rules would take, each with the rule's identifier.
    pub(crate) fn taken(&self, rules: &[Rule]) -> Vec<(String, String)> {
        let preview = self.preview(rules);
        assert!(preview.problems.is_empty(), "{:?}", preview.problems);
        let text = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
        let one = |found: &sweep::preview::Match| {
            (text(&found.path), rules[found.rule as usize].id.clone())
        };
        preview.matches.iter().map(one).collect()
    }

    /// Returns the paths of the entries that the rules would take.
    pub(crate) fn paths(&self, rules: &[Rule]) -> Vec<String> {
        self.taken(rules).into_iter().map(|(path, _)| path).collect()
    }
}

/// Returns a rule that takes what the patterns match.
pub(crate) fn rule(id: &str, takes: &[(&str, Extent)]) -> Rule {
    let takes = takes.iter().flat_map(|&(text, extent)| {
        let patterns = Pattern::parse(text).expect("a pattern");
        patterns.into_iter().map(move |pattern| Take { pattern, extent })
    });
    Rule {
        id: id.into(),
        what: String::new(),
        risk: Risk::Review,
        tags: Vec::new(),
        takes: takes.collect(),
        keeps: Vec::new(),
        conditions: Conditions::default(),
        source: Source::default(),
        reference: String::new(),
    }
}

/// Returns a rule that takes everything in a directory.
pub(crate) fn contents(id: &str, at: &str) -> Rule {
    rule(id, &[(&format!("{at}/*"), Extent::Tree)])
}

/// Adds an exclusion to a rule.
pub(crate) fn keeping(mut rule: Rule, keeps: &[&str]) -> Rule {
    rule.keeps = keeps.iter().flat_map(|text| Pattern::parse(text).expect("a pattern")).collect();
    rule
}
