//! Decides which file of a group is kept, which files are acted on, and what to warn about.
//!
//! Works on metadata alone and opens no file. At least one file of a group is always kept.

use std::collections::{BTreeMap, HashSet};

use content::Digest;
use fsops::{FileKey, Stat};

use crate::plan::kind::{Amount, Kind};
use crate::plan::rules::{Candidate, Rule, choose};
use crate::plan::target::{Group, Target};

/// One name of a file that has duplicates.
#[derive(Clone, Debug)]
pub struct Member {
    /// The file as it is now.
    pub target: Target,
    /// The file's metadata.
    pub stat: Stat,
    /// Whether the kernel of this machine maintains the file system's metadata
    /// ([`fsops::Volume::is_local`]).
    pub is_local: bool,
    /// The reason why the file may not be changed. `None` if it may be changed.
    pub protected: Option<Protection>,
    /// The index of the first named path that contains the file.
    pub root: usize,
    /// Whether removing the file frees no disk space, because all of its extents are shared or its
    /// bytes are inside the inode. False until the file has been inspected.
    pub frees_nothing: bool,
    /// Whether the extended attributes differ from those of the kept file. False until the file has
    /// been inspected.
    pub other_xattrs: bool,
}

impl Member {
    /// Creates a member that is on a local file system and may be changed.
    pub fn new(target: Target, stat: Stat) -> Member {
        Member {
            target,
            stat,
            is_local: true,
            protected: None,
            root: usize::MAX,
            frees_nothing: false,
            other_xattrs: false,
        }
    }
}

/// The reason why a file may not be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Protection {
    /// The file is below a directory that the user protected.
    Requested,
    /// The file is outside of the named paths.
    Outside,
    /// The user decided to keep this file of the group. Contains the reason to show.
    Decided(String),
}

/// The reason why a file is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeepReason {
    /// The file may not be changed.
    Protected(Protection),
    /// This rule chose the file.
    Rule(String),
    /// No rule distinguished the files, and this file comes first by path.
    First,
    /// The file has names outside of the named paths.
    Elsewhere,
}

impl std::fmt::Display for KeepReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            KeepReason::Protected(Protection::Requested) => f.write_str("protected"),
            KeepReason::Protected(Protection::Outside) => f.write_str("not below a named path"),
            KeepReason::Rule(rule) | KeepReason::Protected(Protection::Decided(rule)) => {
                f.write_str(rule)
            }
            KeepReason::First => f.write_str("first by path"),
            KeepReason::Elsewhere => f.write_str("has names elsewhere"),
        }
    }
}

/// The planned actions on a group, or on the files of a group that are on one file system.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The file that the other files are compared with.
    pub keep: Member,
    /// The reason for keeping that file.
    pub why: KeepReason,
    /// Other names and files that are kept.
    pub stay: Vec<(Member, KeepReason)>,
    /// The names to act on. Names of one inode are adjacent.
    pub others: Vec<Member>,
    /// The digest of the content, if it is known.
    pub digest: Option<Digest>,
}

impl From<Plan> for Group {
    fn from(plan: Plan) -> Group {
        Group {
            keep: plan.keep.target,
            others: plan.others.into_iter().map(|other| other.target).collect(),
            digest: plan.digest,
        }
    }
}

/// Plans the actions on a group. Returns one plan per file system if the kind works only within one
/// file system. Returns no plan if there is no file to act on.
///
/// At least one file is kept, whatever the rules say. Files of different sizes are never in one
/// plan, even if the caller says that they are equal.
pub fn plan(members: Vec<Member>, kind: Kind, rules: &[Rule]) -> Vec<Plan> {
    parts(members, kind).filter_map(|members| part(members, rules)).collect()
}

/// Does the same as [`plan`] for a group about which the user decided. Plans nothing for files
/// beside which no file stays by decision ([`Protection::Decided`]), because the rules must not
/// choose the kept file then. `rules` only choose the file that the others are compared with.
pub fn plan_decided(members: Vec<Member>, kind: Kind, rules: &[Rule]) -> Vec<Plan> {
    let is_decided = |member: &Member| matches!(member.protected, Some(Protection::Decided(_)));
    parts(members, kind)
        .filter(|members| members.iter().any(is_decided))
        .filter_map(|members| part(members, rules))
        .collect()
}

/// Splits a group into the parts for which separate plans are made.
fn parts(members: Vec<Member>, kind: Kind) -> impl Iterator<Item = Vec<Member>> {
    let mut parts: BTreeMap<(u64, u64), Vec<Member>> = BTreeMap::new();
    for member in members {
        let device = if kind.needs_one_file_system() { member.stat.device } else { 0 };
        parts.entry((device, member.stat.size)).or_default().push(member);
    }
    parts.into_values()
}

/// Plans to turn the names of one file into separate files. The first name by path keeps the inode.
/// If the file also has unknown names, those names keep the inode instead. Returns `None` if the
/// file has only one name.
pub fn separate(mut names: Vec<Member>) -> Option<Plan> {
    names.sort_by(|a, b| a.target.path.cmp(&b.target.path));
    let keep = names.first()?.clone();
    if keep.stat.links < 2 {
        return None;
    }
    let elsewhere = u64::from(keep.stat.links) > names.len() as u64;
    if elsewhere {
        // The copies are made from the kept name, so the kept name must be separated last.
        names.rotate_left(1);
    } else {
        names.remove(0);
    }
    let why = if elsewhere { KeepReason::Elsewhere } else { KeepReason::First };
    Some(Plan { keep, why, stay: Vec::new(), others: names, digest: None })
}

fn part(members: Vec<Member>, rules: &[Rule]) -> Option<Plan> {
    let mut inodes: BTreeMap<FileKey, Vec<Member>> = BTreeMap::new();
    for member in members {
        inodes.entry(member.stat.key()).or_default().push(member);
    }
    let mut files: Vec<Vec<Member>> = inodes.into_values().collect();
    for names in &mut files {
        names.sort_by(|a, b| a.target.path.cmp(&b.target.path));
    }
    // If one name of an inode may not be changed, all names of the inode are kept.
    let protection = |names: &[Member]| names.iter().find_map(|name| name.protected.clone());
    let (protected, free): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|names| protection(names).is_some());
    let (mut stay, mut go) = (Vec::new(), free);
    let (kept, why) = if protected.is_empty() {
        if go.len() < 2 {
            return None;
        }
        let (at, reason) = chosen(&go, rules);
        (go.remove(at), reason.map_or(KeepReason::First, KeepReason::Rule))
    } else {
        let mut protected = protected;
        let kept = protected.remove(chosen(&protected, rules).0);
        for names in protected {
            let why = protection(&names).map_or(KeepReason::First, KeepReason::Protected);
            stay.extend(names.into_iter().map(|name| (name, why.clone())));
        }
        let why = protection(&kept).map_or(KeepReason::First, KeepReason::Protected);
        (kept, why)
    };
    if go.is_empty() {
        return None;
    }
    go.sort_by(|a, b| a[0].target.path.cmp(&b[0].target.path));
    let mut names = kept.into_iter();
    let keep = names.next()?;
    stay.splice(0..0, names.map(|name| (name, why.clone())));
    let others = go.into_iter().flatten().collect();
    Some(Plan { keep, why, stay, others, digest: None })
}

fn chosen(files: &[Vec<Member>], rules: &[Rule]) -> (usize, Option<String>) {
    let paths: Vec<Vec<&[u8]>> = files
        .iter()
        .map(|names| names.iter().map(|name| name.target.path.as_slice()).collect())
        .collect();
    let seen: Vec<Candidate<'_>> = files
        .iter()
        .zip(&paths)
        .map(|(names, paths)| Candidate {
            paths,
            mtime_ns: names[0].stat.mtime_ns(),
            device: names[0].stat.device,
            is_local: names[0].is_local,
            root: names.iter().map(|name| name.root).min().unwrap_or(0),
        })
        .collect();
    choose(&seen, rules)
}

/// A reason to warn the user because an action loses metadata or is unusual.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Warning {
    /// The kept file has a different owner or group.
    Owner,
    /// The kept file has different permissions.
    Mode,
    /// The kept file has a different modification time.
    Mtime,
    /// The kept file has different extended attributes.
    Xattrs,
    /// The kept file is on a different device.
    Device,
    /// The file has names that lop does not know, so the action frees nothing.
    Links,
}

impl Warning {
    /// Returns a short description of the warning.
    pub fn text(self) -> &'static str {
        match self {
            Warning::Owner => "other owner",
            Warning::Mode => "other mode",
            Warning::Mtime => "other mtime",
            Warning::Xattrs => "other attributes",
            Warning::Device => "kept on another device",
            Warning::Links => "has further names",
        }
    }
}

impl Plan {
    /// Returns all names in this order: the kept file, the other kept names, and the names to act
    /// on.
    pub fn members(&self) -> Vec<&Member> {
        let stay = self.stay.iter().map(|(member, _)| member);
        std::iter::once(&self.keep).chain(stay).chain(&self.others).collect()
    }

    /// Returns a plan that keeps the chosen files, the protected files, and nothing else. `chosen`
    /// contains indices into [`Plan::members`]. Returns `None` if nothing was chosen, or if no name
    /// is left to act on.
    pub fn keep_chosen(self, chosen: &[usize]) -> Option<Plan> {
        let keys: HashSet<FileKey> = {
            let members = self.members();
            chosen
                .iter()
                .filter_map(|&at| members.get(at))
                .map(|member| member.stat.key())
                .collect()
        };
        let kept = std::iter::once((self.keep, self.why)).chain(self.stay);
        let all = kept.map(|(member, why)| (member, Some(why)));
        let all = all.chain(self.others.into_iter().map(|member| (member, None)));
        let (mut stay, mut others) = (Vec::new(), Vec::new());
        for (member, why) in all {
            match why {
                Some(why @ KeepReason::Protected(_)) => stay.push((member, why)),
                _ if keys.contains(&member.stat.key()) => {
                    stay.push((member, KeepReason::Rule("chosen".into())));
                }
                _ => others.push(member),
            }
        }
        if stay.is_empty() || others.is_empty() || keys.is_empty() {
            return None;
        }
        let (keep, why) = stay.remove(0);
        Some(Plan { keep, why, stay, others, digest: self.digest })
    }

    /// Returns the names to act on, each with its warnings.
    pub fn warned(&self, kind: Kind) -> impl Iterator<Item = (&Member, Vec<Warning>)> {
        let names =
            self.files().flat_map(|names| names.iter().map(move |name| (name, names.len())));
        names.map(move |(other, names)| (other, self.warnings(other, names, kind)))
    }

    fn warnings(&self, other: &Member, names: usize, kind: Kind) -> Vec<Warning> {
        let (kept, stat) = (&self.keep.stat, &other.stat);
        let differs = [
            (Warning::Owner, (kept.uid, kept.gid) != (stat.uid, stat.gid)),
            (Warning::Mode, kept.mode != stat.mode),
            (Warning::Mtime, kept.mtime_ns() != stat.mtime_ns()),
            (Warning::Xattrs, other.other_xattrs),
            (Warning::Device, kept.device != stat.device),
            (Warning::Links, u64::from(stat.links) > names as u64),
        ];
        let all = differs.into_iter().filter(|&(_, is)| is && kind.loses_metadata());
        all.map(|(warning, _)| warning).collect()
    }

    /// Returns the names to act on, grouped by inode.
    fn files(&self) -> impl Iterator<Item = &[Member]> {
        self.others.chunk_by(|a, b| a.stat.key() == b.stat.key())
    }

    /// Returns the amount of work that the plan takes.
    pub fn amount(&self, kind: Kind) -> Amount {
        Amount::of(kind, self.keep.stat.size, self.others.len())
    }

    /// Returns how many bytes of disk space the action occupies, judging by metadata.
    pub fn takes(&self, kind: Kind) -> u64 {
        let copies = if kind == Kind::Separate { self.others.len() as u64 } else { 0 };
        self.keep.stat.allocated.saturating_mul(copies)
    }

    /// Returns how many bytes of disk space the action frees, judging by metadata.
    pub fn frees(&self, kind: Kind) -> u64 {
        if kind.fills_quarantine() || kind == Kind::Separate {
            return 0;
        }
        let goes = |names: &&[Member]| {
            let first = &names[0];
            let all_go = u64::from(first.stat.links) <= names.len() as u64;
            !first.frees_nothing && (kind == Kind::Reflink || all_go)
        };
        self.files()
            .filter(goes)
            .fold(0, |bytes, names| bytes.saturating_add(names[0].stat.allocated))
    }
}
