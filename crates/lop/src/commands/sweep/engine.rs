//! Matches the rules against the targets.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;

use fsops::{Dir, FileKey, LONGEST_TICK};
use runtime::Progress;
use runtime::epoch::now_ns;
use sweep::bindings::{Bindings, Context};
use sweep::preview::{Match, Preview, Request};
use sweep::rule::Rule;
use sweep::rule::pattern::Base;
use walk::OwnFiles;

use super::rule_book::RuleBook;
use super::target::Target;
use crate::commands::purge::guard;
use crate::error::CommandError;
use crate::protected::Protected;
use crate::settings::{Resources, Settings, home_dirs};

/// The matches of the rules on one target.
pub(super) struct Found {
    pub(super) target: Target,
    pub(super) bindings: Bindings,
    pub(super) preview: Preview,
    /// The time before the target was examined, in nanoseconds since the epoch. With `--delete`, every later change of
    /// an entry has a later timestamp.
    pub(super) matched_ns: i64,
}

/// State that all targets share.
pub(super) struct Engine<'a> {
    pub(super) book: &'a RuleBook,
    resources: &'a Resources,
    /// Lop's own files and the protected folders, which no rule takes.
    kept: OwnFiles,
    pub(super) protected: &'a Protected,
    avoid: HashSet<FileKey>,
    now_ns: i64,
}

impl<'a> Engine<'a> {
    pub(super) fn new(
        book: &'a RuleBook,
        resources: &'a Resources,
        protected: &'a Protected,
        deletes: bool,
        settings: &Settings,
    ) -> Engine<'a> {
        let now_ns = now_ns();
        if deletes {
            thread::sleep(LONGEST_TICK);
        }
        let folders = protected.paths().map(|path| PathBuf::from(OsStr::from_bytes(path)));
        let kept =
            OwnFiles::new(&settings.own_paths().into_iter().chain(folders).collect::<Vec<_>>());
        Engine { book, resources, kept, protected, avoid: guard(settings).keys(), now_ns }
    }

    /// Binds the variables to the directories of a target.
    ///
    /// # Errors
    ///
    /// Fails if the target cannot be examined.
    pub(super) fn bind(target: &Target) -> Result<Bindings, CommandError> {
        let root = Dir::open(Path::new("/")).and_then(|root| root.stat());
        let is_live_root = root.is_ok_and(|root| root.key() == target.stat.key());
        let homes = home_dirs(is_live_root);
        let homes = homes.iter().filter_map(|home| target.relative(home)).collect();
        let bound = sweep::bindings::bind(&target.dir, &Context { homes, is_live_root });
        let shown = Path::new(OsStr::from_bytes(&target.given)).display();
        bound.map_err(|e| CommandError::failed(format!("cannot examine {shown}")).because(e))
    }

    /// Matches the rules against a target.
    ///
    /// # Errors
    ///
    /// Fails if the target cannot be examined, or on an interrupt.
    pub(super) fn examine(
        &self,
        target: Target,
        progress: &Progress,
    ) -> Result<Found, CommandError> {
        let bindings = Engine::bind(&target)?;
        let request = self.request(&target, &bindings, &self.book.active);
        let mut preview = sweep::preview::run(&request, progress)?;
        if !self.protected.is_empty() {
            // The walk recognises a protected folder by its name. If the folder is a mount point, the directory that it
            // shows may have another name here.
            let is_taken =
                |path: &[u8]| self.protected.objection(&target.absolute_path(path)).is_none();
            preview.retain(|found| is_taken(&found.path));
        }
        Ok(Found { target, bindings, preview, matched_ns: self.now_ns })
    }

    /// Returns the request to match rules against a target.
    pub(super) fn request<'r>(
        &'r self,
        target: &'r Target,
        bindings: &'r Bindings,
        active: &'r [bool],
    ) -> Request<'r> {
        Request {
            root: &target.dir,
            path: &target.absolute,
            rules: &self.book.rules,
            active,
            allow: &self.book.allow,
            bindings,
            own: &self.kept,
            avoid: self.avoid.clone(),
            now_ns: self.now_ns,
            disk: self.resources.disks.of(target.stat.device),
            threads: self.resources.threads,
        }
    }
}

impl Found {
    /// Returns whether a variable of a rule is bound on the target, or the rule matches anywhere.
    pub(super) fn can_match(&self, rule: &Rule) -> bool {
        rule.takes.iter().any(|take| match take.pattern.base {
            Base::Variable(variable) => self.bindings.of(variable).next().is_some(),
            Base::Anywhere => true,
        })
    }

    /// Returns the matches, or only those of one rule.
    pub(super) fn matches_of(&self, rule: Option<usize>) -> impl Iterator<Item = &Match> {
        let matches = self.preview.matches.iter();
        matches.filter(move |found| rule.is_none_or(|rule| rule == found.rule as usize))
    }
}
