//! `lop file`: shows the duplicates of single files.

use std::collections::HashMap;
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use catalog::{Catalog, Entry};
use dupes::{AliasDetector, State};
use fsops::Stat;
use serde::Serialize;

use crate::args::FileArgs;
use crate::error::{CommandError, io_text};
use crate::exit::Exit;
use crate::output::formats::{Listed, document_with};
use crate::output::stdout;
use crate::quantity::{counted, size};
use crate::questions::aliases::{Distinct, may_show_others};
use crate::questions::catalog::open;
use crate::questions::copies::PendingSizes;
use crate::questions::inspect::Inspector;
use crate::questions::knowledge::{Knowledge, UnknownFiles, mark, state_of};
use crate::settings::Settings;

/// The answer about one file.
#[derive(Serialize)]
struct FileAnswer {
    #[serde(flatten)]
    file: Listed,
    /// Number of hard links in `others`: the other names of the file, and all names of its copies except one per copy.
    hard_links: u64,
    /// Other names of the file, and all names of the files with the same content.
    others: Vec<Listed>,
    /// If no copy is known, the reason why there may be one.
    #[serde(skip)]
    doubt: Option<Knowledge>,
}

/// Reason why there is no answer about a file.
enum Unanswered {
    /// The catalog has no reliable answer.
    Unknown(Knowledge),
    /// The file cannot be examined.
    Failed(String),
}

impl Unanswered {
    fn text(&self) -> String {
        let text = match self {
            Unanswered::Failed(text) => return text.clone(),
            Unanswered::Unknown(Knowledge::NotInCatalog) => "not in the catalog; scan it first",
            Unanswered::Unknown(Knowledge::Is(State::Pending)) => {
                "not compared with all others yet; run 'lop scan' again"
            }
            Unanswered::Unknown(Knowledge::Is(State::Damaged)) => {
                "damaged: it differs from what was scanned; scan it again"
            }
            Unanswered::Unknown(Knowledge::Is(State::Unreadable)) => {
                "could not be read when it was compared; scan it again"
            }
            Unanswered::Unknown(_) => "changed since the scan; scan it again",
        };
        text.into()
    }
}

/// Runs the command.
pub(crate) fn run(args: &FileArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let catalog = open(settings)?;
    let mut query = FileQuery {
        catalog: &catalog,
        inspector: Inspector::default(),
        waiting: PendingSizes::new(&catalog)?,
        distinct: Distinct::new(&args.distinct.dirs)?,
    };
    let (mut answers, mut unknown, mut failed) = (Vec::new(), Vec::new(), 0);
    for path in &args.paths {
        match query.answer(path)? {
            Ok(answer) => {
                unknown.extend(answer.doubt);
                answers.push(answer);
            }
            Err(why) => {
                let text = why.text();
                let path = path.as_os_str().as_bytes();
                settings.complain(&[path, b": ", text.as_bytes()].concat());
                match why {
                    Unanswered::Unknown(knowledge) => unknown.push(knowledge),
                    Unanswered::Failed(_) => failed += 1,
                }
            }
        }
    }
    stdout::print(|out| {
        if settings.json {
            return writeln!(out, "{}", document_with("files", &answers));
        }
        answers.iter().try_for_each(|answer| write_text(out, answer, settings))
    })?;
    let unknown = UnknownFiles::of(unknown.into_iter());
    let exit = unknown.exit(args.paths.len() as u64, Exit::Done).partial_if(failed > 0);
    let failed =
        (failed > 0).then(|| format!("{} could not be examined", counted(failed, "file", "files")));
    let why: Vec<String> = unknown.lines().into_iter().chain(failed).collect();
    settings.print_exit_record(exit, &why.join("; "));
    Ok(exit)
}

struct FileQuery<'a> {
    catalog: &'a Catalog,
    inspector: Inspector,
    waiting: PendingSizes,
    distinct: Distinct,
}

impl FileQuery<'_> {
    /// Returns what the catalog knows about a file, or the reason why there is no answer.
    fn answer(&mut self, path: &Path) -> Result<Result<FileAnswer, Unanswered>, CommandError> {
        let now = match Stat::of_path(path) {
            Ok(now) if now.kind == fsops::Kind::File => now,
            Ok(_) => return Ok(Err(Unanswered::Failed("not a regular file".into()))),
            Err(e) => return Ok(Err(Unanswered::Failed(io_text(&e)))),
        };
        let name = path.file_name().unwrap_or_default();
        let dir = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let dir = match dir.canonicalize() {
            Ok(dir) => dir.into_os_string().into_vec(),
            Err(e) => return Ok(Err(Unanswered::Failed(io_text(&e)))),
        };
        let Some(entry) = self.catalog.file(&dir, name.as_bytes())? else {
            return Ok(Err(Unanswered::Unknown(Knowledge::NotInCatalog)));
        };
        let state = if entry.is_unchanged(&now) { state_of(entry.state) } else { State::Changed };
        if state != State::Same {
            return Ok(Err(Unanswered::Unknown(Knowledge::Is(state))));
        }
        let others = self.others(&entry, now.links)?;
        let duplicates = others.duplicates;
        if duplicates == 0 && self.waiting.has(entry.size, self.catalog, &mut self.inspector)? {
            return Ok(Err(Unanswered::Unknown(Knowledge::Is(State::Pending))));
        }
        let path = path.as_os_str().as_bytes().to_vec();
        let file = listed(&entry, path, Some(duplicates), None);
        let doubt = others.doubt.filter(|_| others.duplicates == 0);
        let Others { listed, hard_links, .. } = others;
        Ok(Ok(FileAnswer { file, others: listed, hard_links, doubt }))
    }

    /// Returns the other remembered names of a file, and the files with the same content, sorted by path. `links` is
    /// the link count of the file.
    fn remembered(&self, entry: &Entry, links: u32) -> Result<Vec<Entry>, CommandError> {
        let mut entries = match entry.content {
            Some(content) => self.catalog.files_with(content)?,
            None => Vec::new(),
        };
        let names = entries.iter().filter(|other| inode(other) == inode(entry)).count() as u64;
        if u64::from(links) > names.max(1) {
            // Names that were not compared have no content number, so they are looked up by inode.
            entries.retain(|other| inode(other) != inode(entry));
            entries.extend(self.catalog.names_of(&[inode(entry)].into())?);
        }
        entries.retain(|other| other.path != entry.path);
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    /// Examines the other names of a file, and the files with the same content. `links` is the link count of the file.
    fn others(&mut self, entry: &Entry, links: u32) -> Result<Others, CommandError> {
        let entries = self.remembered(entry, links)?;
        let FileQuery { inspector, distinct, .. } = self;
        let mut inodes: Vec<Vec<(Entry, State)>> = Vec::new();
        let mut at_of: HashMap<(i64, u64), usize> = HashMap::new();
        let mut counted = Counted::new(inspector, entry, &entries, distinct);
        for other in entries {
            let state = match inspector.state(&other) {
                State::Same if counted.has(inspector, &other) => State::Alias,
                state => state,
            };
            let next = inodes.len();
            let at = match state {
                State::Same => *at_of.entry(inode(&other)).or_insert(next),
                _ => next,
            };
            if at == next {
                inodes.push(Vec::new());
            }
            inodes[at].push((other, state));
        }
        let mut others = Others::default();
        for names in inodes {
            others.add(names, inode(entry));
        }
        Ok(others)
    }
}

/// Returns the identity of a remembered file.
fn inode(entry: &Entry) -> (i64, u64) {
    (entry.volume, entry.inode)
}

/// The other names of a file, and the names of the files with the same content.
#[derive(Default)]
struct Others {
    /// The names of each inode are adjacent, and the inodes are sorted by their first path.
    listed: Vec<Listed>,
    /// Number of other inodes with the same content.
    duplicates: u64,
    hard_links: u64,
    /// If no copy is known, the reason why there may be one.
    doubt: Option<Knowledge>,
}

impl Others {
    /// Adds the names of an inode. `own` is the inode of the file in question.
    fn add(&mut self, names: Vec<(Entry, State)>, own: (i64, u64)) {
        let is_same = names[0].1 == State::Same;
        let is_own = is_same && (names[0].0.volume, names[0].0.inode) == own;
        if is_same {
            let copies = u64::from(!is_own);
            self.duplicates += copies;
            self.hard_links += names.len() as u64 - copies;
        }
        for (at, (other, state)) in names.into_iter().enumerate() {
            let is_changed = matches!(state, State::Changed | State::Unknown | State::Pending);
            if is_changed {
                self.doubt = Some(Knowledge::CopiesChanged);
            } else if state == State::Alias {
                self.doubt.get_or_insert(Knowledge::CopiesAreAliases);
            }
            let state = match at {
                _ if is_own => Some("hard link"),
                1.. => Some("hard link of the copy above"),
                0 => mark(state),
            };
            let path = other.path.clone();
            self.listed.push(listed(&other, path, None, state));
        }
    }
}

/// The file in question and the duplicates counted so far. A file is not counted if it may be an alias of one of these
/// files.
struct Counted<'d> {
    /// `None` if none of the files can be an alias.
    views: Option<AliasDetector>,
    distinct: &'d Distinct,
}

impl<'d> Counted<'d> {
    fn new(
        inspector: &mut Inspector,
        entry: &Entry,
        others: &[Entry],
        distinct: &'d Distinct,
    ) -> Counted<'d> {
        let may_be_alias = |entry: &Entry| may_show_others(entry.file_system);
        if !may_be_alias(entry) && !others.iter().any(may_be_alias) {
            return Counted { views: None, distinct };
        }
        let mut views = AliasDetector::default();
        if !distinct.has(&entry.path)
            && let Ok(sight) = inspector.sight(&entry.path)
        {
            views.add(&sight);
        }
        Counted { views: Some(views), distinct }
    }

    /// Returns whether a file may be an alias of a counted file. If not, the file is counted.
    fn has(&mut self, inspector: &mut Inspector, other: &Entry) -> bool {
        let Some(views) = self.views.as_mut().filter(|_| !self.distinct.has(&other.path)) else {
            return false;
        };
        let Ok(sight) = inspector.sight(&other.path) else { return false };
        let is_view = views.has(&sight);
        if !is_view {
            views.add(&sight);
        }
        is_view
    }
}

fn listed(
    entry: &Entry,
    path: Vec<u8>,
    duplicates: Option<u64>,
    state: Option<&'static str>,
) -> Listed {
    Listed { path, size: entry.size, duplicates, digest: entry.digest, state }
}

fn write_text(out: &mut impl Write, answer: &FileAnswer, settings: &Settings) -> io::Result<()> {
    let names = settings.stdout.names;
    let (start, end) = settings.stdout.bold();
    let mut heading = match answer.file.duplicates.unwrap_or(0) {
        0 if answer.doubt.is_some() => "no known duplicates".into(),
        0 => "no duplicates".into(),
        n => counted(n, "duplicate", "duplicates"),
    };
    if answer.hard_links > 0 {
        heading.push_str(", ");
        heading.push_str(&counted(answer.hard_links, "hard link", "hard links"));
    }
    for part in [start, &names.show_line(&answer.file.path), end] {
        out.write_all(part)?;
    }
    writeln!(out, ": {heading}, {}", size(answer.file.size))?;
    for other in &answer.others {
        write!(out, "  ")?;
        names.write_line(out, &other.path, other.state.unwrap_or_default())?;
    }
    Ok(())
}
