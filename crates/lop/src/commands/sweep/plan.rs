//! `--plan`: writes the matches to a plan, and takes exactly the entries of a plan.
//!
//! Before an entry of a plan is taken, it is examined again. An entry that differs from its line in any way stays.

use std::borrow::Cow;
use std::ffi::{CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use action::journal::JsonBytes;
use fsops::{Dir, Op, Stat};
use runtime::Progress;
use runtime::epoch::now_ms;
use sweep::sums::TreeSums;

use super::act;
use super::conclusion::Report;
use super::engine::Found;
use super::plan_file::{self, EntryKind, EntryLine, Section, TargetLine};
use super::rule_book::RuleBook;
use super::summary::Summary;
use super::taking::{Batch, Taking, TreeProof};
use super::target::{Target, split_relative};
use crate::args::SweepArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::monitored;
use crate::output::formats::{FORMAT_VERSION, summary_document};
use crate::output::problems::{self, PathProblem, failed_to};
use crate::protected::Protected;
use crate::settings::Settings;

/// An entry that is not taken, or not written to the plan.
pub(super) struct LeftAlone {
    path: Vec<u8>,
    why: Why,
}

enum Why {
    Failed(Op, io::Error),
    Changed,
    /// A protected folder contains the entry or is in it.
    Protected(String),
}

impl PathProblem for LeftAlone {
    fn path(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.path)
    }

    fn reason(&self) -> String {
        match &self.why {
            Why::Failed(op, source) => failed_to(*op, source),
            Why::Changed => "has changed since it was matched, and was left alone".into(),
            Why::Protected(why) => format!("{why}, and was left alone"),
        }
    }
}

/// Writes the matches to a plan. Returns the totals of the plan. [`Summary::failed`] is the number of matches that are
/// not in the plan, because they changed in the meantime or could not be examined.
///
/// # Errors
///
/// Fails if a target cannot be examined or the file cannot be written, or on an interrupt.
pub(super) fn save(
    file: &Path,
    found: &[Found],
    book: &RuleBook,
    settings: &Settings,
) -> Result<Summary, CommandError> {
    let (sections, left) = monitored(settings, |progress| {
        let (mut sections, mut left) = (Vec::new(), Vec::new());
        for found in found {
            sections.push(section(found, book, progress, &mut left)?);
        }
        Ok((sections, left))
    })?;
    problems::print(&left, settings);
    plan_file::save(file, &sections)?;
    let mut summary = Summary { failed: left.len() as u64, ..Summary::default() };
    for entry in sections.iter().flat_map(|section| &section.entries) {
        summary.matches += 1;
        summary.files += entry.files;
        summary.bytes = summary.bytes.saturating_add(entry.bytes);
    }
    Ok(summary)
}

fn section(
    found: &Found,
    book: &RuleBook,
    progress: &Progress,
    left: &mut Vec<LeftAlone>,
) -> Result<Section, CommandError> {
    let Found { target, preview, .. } = found;
    let line = TargetLine {
        format_version: FORMAT_VERSION,
        target: JsonBytes(target.absolute.clone()),
        fsid: fsid(target)?,
        inode: target.stat.inode,
        created_ms: now_ms(),
    };
    let (mut inspector, mut entries) = (Inspector::new(target), Vec::new());
    for one in &preview.matches {
        progress.check()?;
        let inspected = inspector.inspect(&one.path).and_then(|now| {
            let is_same = now.stat.same_file(&one.stat) && now.stat.mtime == one.stat.mtime;
            if is_same { Ok((now.sums(progress)?, now)) } else { Err(Why::Changed) }
        });
        match inspected {
            Err(why) => left.push(LeftAlone { path: target.shown_path(&one.path), why }),
            Ok((TreeSums { files, dirs, size, newest_ns }, Inspected { stat, kind, .. })) => {
                entries.push(EntryLine {
                    format_version: FORMAT_VERSION,
                    path: JsonBytes(one.path.clone()),
                    rule: book.rules[one.rule as usize].id.clone(),
                    kind,
                    inode: stat.inode,
                    mtime_ns: stat.mtime_ns(),
                    size,
                    files,
                    dirs,
                    bytes: one.frees,
                    newest_ns,
                });
            }
        }
    }
    Ok(Section { target: line, entries })
}

/// Takes the entries of a plan.
///
/// # Errors
///
/// Fails if the plan or a target cannot be used. Nothing is changed in that case. Otherwise fails like any run.
pub(super) fn carry_out(
    file: &Path,
    args: &SweepArgs,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    let sections = plan_file::read(file)?;
    let (targets, protected) = (targets(&sections, args)?, Protected::configured(settings)?);
    let (batches, left) = monitored(settings, |progress| {
        let (mut batches, mut left) = (Vec::new(), Vec::new());
        for (section, target) in sections.iter().zip(&targets) {
            batches.push(batch(section, target, &protected, progress, &mut left)?);
        }
        Ok((batches, left))
    })?;
    problems::print(&left, settings);
    let before = Summary { failed: left.len() as u64, ..Summary::default() };
    act::take(&batches, args, settings, &Report { before, document: &summary_document })
}

/// Opens the target of each section. If the user gave TARGETs, one of them is the target, wherever it is mounted now.
fn targets(sections: &[Section], args: &SweepArgs) -> Result<Vec<Target>, CommandError> {
    let is_same = |target: &Target, line: &TargetLine| {
        Ok::<_, CommandError>(target.stat.inode == line.inode && fsid(target)? == line.fsid)
    };
    let mut targets = Vec::new();
    for Section { target: line, .. } in sections {
        let stored = Path::new(OsStr::from_bytes(&line.target.0));
        let mut found = None;
        if args.targets.is_empty() {
            let target = Target::open(stored)?;
            found = is_same(&target, line)?.then_some(target);
        }
        for path in &args.targets {
            let target = Target::open(path)?;
            if is_same(&target, line)? {
                found = Some(target);
                break;
            }
        }
        let Some(target) = found else {
            let text = format!(
                "{} is not the directory that the plan was made for; nothing was changed",
                stored.display()
            );
            return Err(CommandError::new(Exit::Refused, text).hint(
                "mount the disk there, or name the directory where it is mounted now as TARGET",
            ));
        };
        targets.push(target);
    }
    Ok(targets)
}

fn fsid(target: &Target) -> Result<u64, CommandError> {
    let failed = |e| {
        CommandError::failed(format!(
            "cannot examine {}",
            super::report::shown_bytes(&target.given)
        ))
        .because(e)
    };
    Ok(target.dir.volume().map_err(failed)?.fsid)
}

fn batch<'a>(
    section: &'a Section,
    target: &'a Target,
    protected: &Protected,
    progress: &Progress,
    left: &mut Vec<LeftAlone>,
) -> Result<Batch<'a>, CommandError> {
    let (mut inspector, mut entries) = (Inspector::new(target), Vec::new());
    for line in &section.entries {
        progress.check()?;
        if let Some(why) = protected.objection(&target.absolute_path(&line.path.0)) {
            left.push(LeftAlone {
                path: target.shown_path(&line.path.0),
                why: Why::Protected(why),
            });
            continue;
        }
        match inspector.inspect(&line.path.0) {
            Ok(now) if now.is_line(line) => entries.push(Taking {
                path: &line.path.0,
                rule: &line.rule,
                was: now.stat,
                proof: match line.kind {
                    EntryKind::Directory => TreeProof::Sums(sums_of(line)),
                    _ => TreeProof::Since(line.newest_ns),
                },
                files: line.files,
                bytes: line.bytes,
            }),
            inspected => {
                let why = inspected.err().unwrap_or(Why::Changed);
                left.push(LeftAlone { path: target.shown_path(&line.path.0), why });
            }
        }
    }
    Ok(Batch { target, entries })
}

fn sums_of(line: &EntryLine) -> TreeSums {
    let &EntryLine { files, dirs, size, newest_ns, .. } = line;
    TreeSums { files, dirs, size, newest_ns }
}

/// The current state of an entry.
struct Inspected {
    dir: Arc<Dir>,
    name: CString,
    stat: Stat,
    kind: EntryKind,
}

impl Inspected {
    /// Returns whether the entry is as its line in the plan says. The sums of a directory are compared later, right
    /// before the directory is taken.
    fn is_line(&self, line: &EntryLine) -> bool {
        let same_size = self.kind == EntryKind::Directory || self.stat.size == line.size;
        (self.stat.inode, self.stat.mtime_ns(), self.kind) == (line.inode, line.mtime_ns, line.kind)
            && same_size
    }

    /// Returns the sums of a directory. A file is the only entry of its sums.
    fn sums(&self, progress: &Progress) -> Result<TreeSums, Why> {
        if self.kind != EntryKind::Directory {
            let (size, newest_ns) = (self.stat.size, self.stat.mtime_ns());
            return Ok(TreeSums { files: 1, dirs: 0, size, newest_ns });
        }
        let top =
            self.dir.open_child_same_mount(&self.name).map_err(|e| Why::Failed(Op::Open, e))?;
        TreeSums::of(&top, progress).map_err(|e| Why::Failed(Op::List, e))
    }
}

/// Examines the entries of one target.
struct Inspector<'a> {
    target: &'a Target,
    /// The directory of the last entry.
    last: Option<(Vec<u8>, Arc<Dir>)>,
}

impl<'a> Inspector<'a> {
    fn new(target: &'a Target) -> Inspector<'a> {
        Inspector { target, last: None }
    }

    fn inspect(&mut self, path: &[u8]) -> Result<Inspected, Why> {
        let (above, name) = split_relative(path);
        let dir = self.open(above).map_err(|e| Why::Failed(Op::Open, e))?;
        let name = CString::new(name).map_err(|e| Why::Failed(Op::Stat, e.into()))?;
        let stat = dir.stat_child(&name).map_err(|e| Why::Failed(Op::Stat, e))?;
        // Another mount, or something that no rule takes.
        let is_here = stat.mount == self.target.stat.mount;
        let kind = EntryKind::of(stat.kind).filter(|_| is_here).ok_or(Why::Changed)?;
        Ok(Inspected { dir, name, stat, kind })
    }

    fn open(&mut self, path: &[u8]) -> io::Result<Arc<Dir>> {
        if let Some((last, dir)) = &self.last
            && last == path
        {
            return Ok(Arc::clone(dir));
        }
        let below = if path.is_empty() { b".".as_slice() } else { path };
        let dir = Arc::new(self.target.dir.open_below_same_mount(below)?);
        self.last = Some((path.to_vec(), Arc::clone(&dir)));
        Ok(dir)
    }
}
