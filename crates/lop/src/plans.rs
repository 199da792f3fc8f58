//! From the groups of a catalog to plans: what is known of each file now, what may be changed, which
//! stays.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use action::keep::Rule;
use action::{Group, Kind, Member, Plan, Protection, Target, Version, plan};
use catalog::Loaded;
use content::ContentId;
use device::Io;
use fsops::{FileKey, Mounts, Place, Stat, Watch};
use walk::{DirId, FileId, Tree};

use crate::error::CommandError;
use crate::monitor::Monitor;
use crate::settings::{Settings, Workers};

/// What is asked for.
pub(crate) struct Wishes {
    pub(crate) kind: Kind,
    pub(crate) rules: Vec<Rule>,
    pub(crate) min_size: u64,
    protect: Vec<Vec<u8>>,
    roots: Vec<Vec<u8>>,
}

impl Wishes {
    /// Resolves paths and rules as they were typed.
    pub(crate) fn new(
        kind: Kind,
        rules: &[String],
        min_size: Option<u64>,
        protect: &[PathBuf],
        roots: &[PathBuf],
    ) -> Result<Wishes, CommandError> {
        let rule = |text: &String| {
            Rule::parse(text).map_err(|e| CommandError::usage(format!("--keep: {e}")))
        };
        let rules = rules.iter().map(rule).collect::<Result<_, _>>()?;
        let min_size = min_size.unwrap_or(0);
        Ok(Wishes { kind, rules, min_size, protect: absolute(protect)?, roots: absolute(roots)? })
    }
}

fn absolute(paths: &[PathBuf]) -> Result<Vec<Vec<u8>>, CommandError> {
    let path = |path: &PathBuf| {
        let found = path.canonicalize();
        let found =
            found.map_err(|e| CommandError::failed(path.display().to_string()).because(e))?;
        Ok(found.into_os_string().into_encoded_bytes())
    };
    paths.iter().map(path).collect()
}

/// Groups of files that are what they were when they were compared.
pub(crate) struct Planner {
    pub(crate) loaded: Loaded,
    wishes: Wishes,
    stats: Vec<Option<Stat>>,
    /// Files by content; those of a group are neighbours, groups are in the order of the tree.
    members: Vec<(ContentId, FileId)>,
    protected: Protected,
}

impl Planner {
    /// Looks at the files of a catalog.
    pub(crate) fn new(
        loaded: Loaded,
        wishes: Wishes,
        settings: &Settings,
    ) -> Result<Planner, CommandError> {
        let watch = Arc::new(Watch::default());
        let monitor = Monitor::start(&watch, settings)
            .map_err(|e| CommandError::failed("cannot catch signals").because(e))?;
        let workers = Workers::new(None, Io::Auto);
        let files: Vec<FileId> =
            (0u32..).zip(loaded.tree.files()).map(|(id, _)| FileId(id)).collect();
        let work = dupes::Work::new(&loaded.tree, &loaded.facts, &workers.compare, &watch);
        let stats = dupes::unchanged(&work, &files)?;
        monitor.finish()?;
        let content = |file: FileId| loaded.facts.content(file.0);
        let is_wanted =
            |file: &FileId| stats[file.0 as usize].is_some_and(|stat| stat.size >= wishes.min_size);
        let mut members: Vec<(ContentId, FileId)> = files
            .into_iter()
            .filter(is_wanted)
            .filter_map(|file| content(file).map(|content| (content, file)))
            .collect();
        members.sort_unstable();
        let protected = Protected::new(&loaded.tree, &wishes.protect);
        Ok(Planner { loaded, wishes, stats, members, protected })
    }

    /// Returns what is to be done with each redundant file.
    pub(crate) fn kind(&self) -> Kind {
        self.wishes.kind
    }

    /// Returns the plans, one after the other.
    pub(crate) fn plans(&self) -> impl Iterator<Item = Plan> + Send + '_ {
        self.members.chunk_by(|a, b| a.0 == b.0).filter(|group| group.len() > 1).flat_map(|group| {
            let members = group.iter().filter_map(|&(_, file)| self.member(file)).collect();
            plan(members, self.wishes.kind, &self.wishes.rules)
        })
    }

    /// Returns a plan as what is carried out.
    pub(crate) fn group(&self, plan: Plan) -> Group {
        let content = self.loaded.facts.content(plan.keep.target.tag);
        Group {
            keep: plan.keep.target,
            others: plan.others.into_iter().map(|other| other.target).collect(),
            digest: content.and_then(|content| self.loaded.content(content).0),
        }
    }

    fn member(&self, file: FileId) -> Option<Member> {
        let stat = self.stats[file.0 as usize]?;
        let path = self.loaded.tree.absolute_path(file);
        let below = |dirs: &[Vec<u8>]| dirs.iter().position(|dir| is_below(dir, &path));
        let root = below(&self.wishes.roots);
        let dir = self.loaded.tree.file(file).dir;
        let protected = if below(&self.wishes.protect).is_some()
            || self.protected.contains(&self.loaded.tree, dir)
        {
            Some(Protection::Asked)
        } else if root.is_none() && !self.wishes.roots.is_empty() {
            Some(Protection::Outside)
        } else {
            None
        };
        let version = Version::from(&stat);
        let target = Target { path, version, tag: file.0 };
        Some(Member { target, stat, protected, root: root.unwrap_or(usize::MAX) })
    }
}

/// Directories below the protected ones: another path to one of them is no way around.
#[derive(Default)]
struct Protected {
    dirs: HashSet<DirId>,
    keys: HashSet<FileKey>,
}

impl Protected {
    fn new(tree: &Tree, protect: &[Vec<u8>]) -> Protected {
        let mut protected = Protected::default();
        if protect.is_empty() {
            return protected;
        }
        let mounts = Mounts::read();
        let places: Vec<Place> = protect.iter().flat_map(|dir| mounts.places_below(dir)).collect();
        for (id, dir) in (0u32..).zip(tree.dirs()) {
            let id = DirId(id);
            let path = tree.absolute_dir_path(id);
            let place = mounts.place(&path);
            let is_protected = protect.iter().any(|dir| is_below(dir, &path))
                || place.is_some_and(|place| places.iter().any(|dir| place.is_below(dir)));
            if is_protected {
                protected.dirs.insert(id);
                if dir.inode != 0 {
                    protected.keys.insert(dir_key(tree, id));
                }
            }
        }
        protected
    }

    fn contains(&self, tree: &Tree, dir: DirId) -> bool {
        self.dirs.contains(&dir) || self.keys.contains(&dir_key(tree, dir))
    }
}

fn dir_key(tree: &Tree, id: DirId) -> FileKey {
    FileKey { device: tree.device_of(id).number, inode: tree.dir(id).inode }
}

/// Returns whether `path` is below directory `dir`, or is it, both absolute.
fn is_below(dir: &[u8], path: &[u8]) -> bool {
    let rest = path.strip_prefix(dir);
    rest.is_some_and(|rest| rest.is_empty() || dir.ends_with(b"/") || rest.starts_with(b"/"))
}
