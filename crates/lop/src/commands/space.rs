//! `lop space`: shows the disk space of directories, how much of it is reclaimable, and how they have grown.

mod layout;
mod outline;
mod table;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use action::run::Runs;
use catalog::Catalog;
use runtime::{age, epoch};
use serde::Serialize;
use space::{By, Compared, Comparisons, DirId, Space, TOP, Totals};

use crate::args::{SpaceArgs, SpaceOrder};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::formats::{JsonList, JsonPath, to_json};
use crate::output::{stdout, terminal};
use crate::paths::possible_paths;
use crate::quantity::{counted, local_time, size};
use crate::questions::catalog::open;
use crate::questions::inspect::Inspector;
use crate::questions::scope::nothing_remembered;
use crate::settings::Settings;
use outline::{Choice, Item, Line, outline};
use table::{Table, relative};

/// Maximum number of directories to print as text without `--limit`. With a heading, the counts of the other
/// directories and a summary, they fit on a terminal of 24 lines.
const DEFAULT_DIRS: usize = 15;

/// Runs the command.
pub(crate) fn run(args: &SpaceArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let catalog = open(settings)?;
    let mut space = Space::load(&catalog)?;
    // Growth needs no journals, so journals that cannot be examined do not stop the command.
    let changed_ms = Runs::last_change_ms(&Catalog::runs_dir(&settings.catalog()?)).unwrap_or(None);
    let comparisons = space.compare_scans(&catalog, args.since.map(before_now), changed_ms)?;
    let (tops, unknown) = find(&args.dirs, &space, settings)?;
    let offline = offline(&catalog, &space)?;
    let default_limit = if settings.json { usize::MAX } else { DEFAULT_DIRS };
    let limit = args.limit.unwrap_or(default_limit);
    let (by, joins_chains) = (order(args.by), !settings.json);
    let choice = Choice { by, depth: args.depth, limit, joins_chains };
    let shown: Vec<Shown> = tops
        .into_iter()
        .map(|(given, top)| Shown {
            given,
            top,
            lines: outline(&space, top, choice),
            offline: &offline,
        })
        .collect();
    let answer = Answer { space: &space, shown: &shown, comparisons: &comparisons };
    let printed = stdout::print(|out| {
        if settings.json {
            answer.write_json(out)
        } else {
            answer.write_text(out, choice.by, settings)
        }
    })?;
    if printed && !settings.json {
        answer.summary(args).iter().for_each(|line| settings.summarize(line.as_bytes()));
    }
    Ok(settings.partial_if(unknown, Exit::Done, "some of the directories are not in the catalog"))
}

/// Returns the time that was `age` ago, in milliseconds since the epoch.
fn before_now(age: Duration) -> i64 {
    SystemTime::now().checked_sub(age).map_or(0, epoch::ms)
}

fn order(by: SpaceOrder) -> By {
    match by {
        SpaceOrder::Size => By::Size,
        SpaceOrder::Reclaimable => By::Reclaimable,
        SpaceOrder::Grown => By::Grown,
        SpaceOrder::Files => By::Files,
    }
}

/// A directory as it is printed, and its number.
type Top = (Vec<u8>, DirId);

/// Finds the directories that the user named, and reports those that are not in the catalog. Also returns whether there
/// are such directories.
///
/// # Errors
///
/// Fails if none of the directories is in the catalog.
fn find(
    typed: &[PathBuf],
    space: &Space,
    settings: &Settings,
) -> Result<(Vec<Top>, bool), CommandError> {
    if typed.is_empty() {
        let top = space.lowest_with_all(TOP);
        return Ok((vec![(space.path(top), top)], false));
    }
    let (mut found, mut unknown) = (Vec::new(), Vec::new());
    for path in typed {
        // A directory on a disk that is not mounted may be in the catalog although it does not exist.
        let paths = possible_paths(path)?;
        match paths.iter().find_map(|path| space.find(path)) {
            Some(dir) => found.push((path.as_os_str().as_encoded_bytes().to_vec(), dir)),
            None => unknown.push(path),
        }
    }
    match unknown.as_slice() {
        [first, ..] if found.is_empty() => return Err(not_found(first)),
        _ => {}
    }
    for path in &unknown {
        settings.report(&not_found(path));
    }
    Ok((found, !unknown.is_empty()))
}

fn not_found(path: &Path) -> CommandError {
    if path.exists() && !path.is_dir() {
        return CommandError::new(Exit::Catalog, format!("{}: not a directory", path.display()));
    }
    nothing_remembered(path)
}

/// Returns the lowest directory with all files of each disk that is not mounted.
fn offline(catalog: &Catalog, space: &Space) -> Result<Vec<DirId>, CommandError> {
    let mut inspector = Inspector::default();
    let mut offline = Vec::new();
    for (volume, dir) in space.volumes(catalog)? {
        if inspector.is_offline_at(&volume, &space.path(dir)) {
            offline.push(dir);
        }
    }
    Ok(offline)
}

/// A directory that the user named, and the lines to show for it.
struct Shown<'a> {
    /// The directory as it is printed.
    given: Vec<u8>,
    top: DirId,
    lines: Vec<Line>,
    /// Directories of disks that are not mounted.
    offline: &'a [DirId],
}

impl Shown<'_> {
    /// Returns what to print for a directory on the line below `above`.
    fn label(&self, space: &Space, dir: DirId, above: DirId) -> Vec<u8> {
        if dir == self.top { self.given.clone() } else { relative(space, dir, above) }
    }

    fn path(&self, space: &Space, dir: DirId) -> Vec<u8> {
        let mut path = self.given.clone();
        walk::push_component(&mut path, &relative(space, dir, self.top));
        if dir == self.top { self.given.clone() } else { path }
    }

    fn is_offline(&self, space: &Space, dir: DirId) -> bool {
        self.offline.iter().any(|&top| space.is_at_or_below(dir, top))
    }
}

struct Answer<'a> {
    space: &'a Space,
    shown: &'a [Shown<'a>],
    comparisons: &'a Comparisons,
}

impl Answer<'_> {
    fn write_text(&self, out: &mut impl io::Write, by: By, settings: &Settings) -> io::Result<()> {
        let has_growth = self.relevant().next().is_some();
        let columns = terminal::columns(settings.stdout.terminal.then(io::stdout));
        let page = (settings.stdout, columns);
        let table = Table::new(self.space, by, has_growth, self.shown, page);
        table.write_heading(out)?;
        self.shown.iter().try_for_each(|shown| table.write(out, shown))
    }

    fn write_json(&self, out: &mut impl io::Write) -> io::Result<()> {
        let mut list = JsonList::new(out, "dirs");
        for shown in self.shown {
            for line in &shown.lines {
                let Item::Dir { dir, .. } = line.item else { continue };
                let path = shown.path(self.space, dir);
                let offline = shown.is_offline(self.space, dir);
                list.item(&JsonDir::new(&path, self.space.totals(dir), offline))?;
            }
        }
        let compared = self.relevant().map(|compared| JsonCompared {
            path: JsonPath::new(&compared.root),
            since_ms: compared.since_ms,
            ended_ms: compared.until_ms,
        });
        list.finish(&to_json(&Summary { compared: compared.collect() }))
    }

    /// Returns the comparisons that contribute to the growth of a shown directory.
    fn relevant(&self) -> impl Iterator<Item = &Compared> {
        self.comparisons.compared.iter().filter(|compared| self.concerns(compared.dir))
    }

    /// Returns the roots of shown directories in which files may have changed since the last scan.
    fn outdated(&self) -> impl Iterator<Item = DirId> {
        self.comparisons.outdated.iter().copied().filter(|&root| self.concerns(root))
    }

    /// Returns whether the growth of a root contributes to that of a shown directory.
    fn concerns(&self, root: DirId) -> bool {
        self.shown.iter().any(|shown| {
            let space = self.space;
            space.is_at_or_below(root, shown.top) || space.is_at_or_below(shown.top, root)
        })
    }

    /// Returns the lines of the summary.
    fn summary(&self, args: &SpaceArgs) -> Vec<String> {
        let mut lines = Vec::new();
        if let [shown] = self.shown {
            let Totals { files, allocated, reclaimable, grown, .. } = self.space.totals(shown.top);
            let files = counted(files, "file", "files");
            let mut text =
                format!("{files}, {} on disk, {} reclaimable", size(allocated), size(reclaimable));
            let grown = grown.unwrap_or(0);
            if grown != 0 {
                let verb = if grown > 0 { "grown" } else { "shrunk" };
                text.push_str(&format!(", {verb} by {}", size(grown.unsigned_abs())));
            }
            lines.push(text);
        }
        for compared in self.relevant() {
            let root = String::from_utf8_lossy(&compared.root);
            lines.push(format!("Grown since {}: {root}", local_time(compared.since_ms)));
        }
        lines.extend(self.why_no_growth(args));
        lines
    }

    /// Returns a line for each reason why growth is not shown.
    fn why_no_growth(&self, args: &SpaceArgs) -> Vec<String> {
        let outdated = self.outdated().map(|root| {
            let root = String::from_utf8_lossy(&self.space.path(root)).into_owned();
            format!("Growth unknown until the next scan, because a run has changed files: {root}")
        });
        let mut lines: Vec<String> = outdated.collect();
        if lines.is_empty() && self.relevant().next().is_none() {
            match args.since {
                Some(age) => {
                    let age = age::to_text(age);
                    lines.push(format!("No earlier scan that is at least {age} old"));
                }
                None if args.by == SpaceOrder::Grown => {
                    lines.push("No earlier scan to compare with".into());
                }
                None => {}
            }
        }
        lines
    }
}

#[derive(Serialize)]
struct JsonDir<'a> {
    #[serde(flatten)]
    path: JsonPath<'a>,
    files: u64,
    names: u64,
    bytes: u64,
    allocated_bytes: u64,
    reclaimable_bytes: u64,
    grown_bytes: Option<i64>,
    oldest_ns: Option<i64>,
    newest_ns: Option<i64>,
    offline: bool,
}

impl JsonDir<'_> {
    fn new(path: &[u8], totals: Totals, offline: bool) -> JsonDir<'_> {
        JsonDir {
            path: JsonPath::new(path),
            files: totals.files,
            names: totals.names,
            bytes: totals.bytes,
            allocated_bytes: totals.allocated,
            reclaimable_bytes: totals.reclaimable,
            grown_bytes: totals.grown,
            oldest_ns: totals.oldest_ns,
            newest_ns: totals.newest_ns,
            offline,
        }
    }
}

#[derive(Serialize)]
struct Summary<'a> {
    compared: Vec<JsonCompared<'a>>,
}

#[derive(Serialize)]
struct JsonCompared<'a> {
    #[serde(flatten)]
    path: JsonPath<'a>,
    since_ms: i64,
    ended_ms: i64,
}
