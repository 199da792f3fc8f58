//! `lop ls`: lists a directory, with the number of duplicates of each file and the totals of each subdirectory.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use catalog::{Catalog, Entry, Totals};
use dupes::State;
use fsops::{Dir, DirBuffer, Kind, Stat};
use serde::Serialize;

use crate::args::{ListSort, LsArgs};
use crate::error::{CommandError, io_text};
use crate::exit::Exit;
use crate::output::formats::{JsonPath, Listed, document};
use crate::output::stdout;
use crate::quantity::{count, counted, size};
use crate::questions::aliases::Distinct;
use crate::questions::catalog::open;
use crate::questions::copies::{CopyCounts, PendingSizes};
use crate::questions::knowledge::{Knowledge, UnknownFiles, state_of};
use crate::settings::Settings;

/// Runs the command.
pub(crate) fn run(args: &LsArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let catalog = open(settings)?;
    let unlisted = |e| CommandError::failed(args.dir.display().to_string()).because(e);
    let absolute = args.dir.canonicalize().map_err(unlisted)?;
    let mut waiting = vec![(args.dir.clone(), absolute)];
    let mut lister = Lister {
        catalog: &catalog,
        listings: Vec::new(),
        knowledge: Vec::new(),
        copy_counts: CopyCounts::new(Distinct::new(&args.distinct.dirs)?),
        waiting: PendingSizes::new(&catalog)?,
        failed: 0,
    };
    while let Some((dir, absolute)) = waiting.pop() {
        let below = match lister.list(&dir, &absolute)? {
            Ok(below) => below,
            Err(e) if dir == args.dir => return Err(unlisted(e)),
            Err(e) => {
                lister.failed += 1;
                let path = dir.as_os_str().as_bytes();
                settings.complain(&[path, b": cannot list: ", io_text(&e).as_bytes()].concat());
                continue;
            }
        };
        if args.recursive {
            let below = below.iter().rev().map(|name| (dir.join(name), absolute.join(name)));
            waiting.extend(below);
        }
    }
    let mut listings = std::mem::take(&mut lister.listings);
    for listing in &mut listings {
        listing.sort(args.sort);
    }
    stdout::print(|out| {
        if settings.json {
            return writeln!(out, "{}", document(&Document::new(&listings)));
        }
        listings.iter().try_for_each(|listing| listing.write_text(out, settings))
    })?;
    Ok(lister.conclude(settings))
}

/// The contents of one directory.
struct Listing(Vec<Item>);

/// A file or a directory.
enum Item {
    File(Listed),
    /// A directory, with the totals of the remembered files below it. `None` if there are no such files.
    Folder(Vec<u8>, Option<Totals>),
}

impl Item {
    fn path(&self) -> &[u8] {
        match self {
            Item::File(file) => &file.path,
            Item::Folder(path, _) => path,
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Item::File(file) => file.size,
            Item::Folder(_, totals) => totals.as_ref().map_or(0, |totals| totals.bytes),
        }
    }
}

impl Listing {
    fn sort(&mut self, by: ListSort) {
        let bytes = |item: &Item| if by == ListSort::Size { item.bytes() } else { 0 };
        self.0.sort_by(|a, b| {
            Reverse(bytes(a)).cmp(&Reverse(bytes(b))).then_with(|| a.path().cmp(b.path()))
        });
    }

    fn write_text(&self, out: &mut impl Write, settings: &Settings) -> std::io::Result<()> {
        let all = self.0.iter().fold(0u64, |sum, item| sum.saturating_add(item.bytes()));
        for item in &self.0 {
            let (duplicates, known, note) = match item {
                Item::File(file) => (file.duplicates, true, file.state.map(Into::into)),
                Item::Folder(_, None) => (None, false, Some("not in the catalog".into())),
                Item::Folder(_, Some(totals)) => {
                    let files = counted(totals.files, "file", "files");
                    (Some(totals.duplicates), true, Some(files))
                }
            };
            let duplicates = duplicates.map_or("?".into(), count);
            let (bytes, share) = if known {
                (size(item.bytes()), format!("{}%", share(item.bytes(), all)))
            } else {
                ("?".into(), "?".into())
            };
            write!(out, "{duplicates:>9}  {bytes:>9}  {share:>4}  ")?;
            out.write_all(&settings.stdout.names.show_line(item.path()))?;
            if matches!(item, Item::Folder(..)) {
                out.write_all(b"/")?;
            }
            match note {
                Some(note) => writeln!(out, "  ({note})")?,
                None => writeln!(out)?,
            }
        }
        Ok(())
    }
}

/// Returns the percentage of `part` in `all`, rounded down.
fn share(part: u64, all: u64) -> u128 {
    u128::from(part) * 100 / u128::from(all.max(1))
}

#[derive(Serialize)]
struct Document<'a> {
    files: Vec<&'a Listed>,
    dirs: Vec<JsonFolder<'a>>,
}

#[derive(Serialize)]
struct JsonFolder<'a> {
    #[serde(flatten)]
    path: JsonPath<'a>,
    /// `None` if the catalog has no files below the directory.
    #[serde(flatten)]
    totals: Option<JsonTotals>,
}

#[derive(Serialize)]
struct JsonTotals {
    files: u64,
    bytes: u64,
    duplicates: u64,
}

impl<'a> Document<'a> {
    fn new(listings: &'a [Listing]) -> Document<'a> {
        let (mut files, mut dirs) = (Vec::new(), Vec::new());
        for item in listings.iter().flat_map(|listing| &listing.0) {
            match item {
                Item::File(file) => files.push(file),
                Item::Folder(path, totals) => {
                    let totals =
                        totals.as_ref().map(|&Totals { files, bytes, duplicates, .. }| {
                            JsonTotals { files, bytes, duplicates }
                        });
                    dirs.push(JsonFolder { path: JsonPath::new(path), totals });
                }
            }
        }
        Document { files, dirs }
    }
}

struct Lister<'a> {
    catalog: &'a Catalog,
    listings: Vec<Listing>,
    /// One answer for each listed file, except for empty files that are not in the catalog.
    knowledge: Vec<Knowledge>,
    copy_counts: CopyCounts,
    waiting: PendingSizes,
    failed: u64,
}

impl Lister<'_> {
    /// Lists a directory, and returns the names of its subdirectories. The inner result is an error if the directory
    /// cannot be listed.
    fn list(
        &mut self,
        path: &Path,
        absolute: &Path,
    ) -> Result<std::io::Result<Vec<OsString>>, CommandError> {
        let (dir, live) = match Dir::open(path).and_then(|dir| read(&dir).map(|live| (dir, live))) {
            Ok(found) => found,
            Err(e) => return Ok(Err(e)),
        };
        let absolute = absolute.as_os_str().as_bytes();
        let remembered = self.catalog.files_in(absolute)?.unwrap_or_default();
        let mut remembered: BTreeMap<Vec<u8>, Entry> =
            remembered.into_iter().map(|entry| (entry.name().to_vec(), entry)).collect();
        let totals = self.catalog.totals_in(absolute)?.into_iter();
        let mut totals: BTreeMap<Vec<u8>, Totals> =
            totals.map(|totals| (totals.name.clone(), totals)).collect();
        let (mut items, mut below) = (Vec::new(), Vec::new());
        for (name, kind) in live {
            let file_name = OsStr::from_bytes(name.to_bytes());
            match kind {
                Kind::Dir => {
                    let path = path.join(file_name).into_os_string().into_vec();
                    items.push(Item::Folder(path, totals.remove(name.to_bytes())));
                    below.push(file_name.to_owned());
                }
                Kind::File => {
                    let Ok(now) = dir.stat_child(&name) else { continue };
                    let entry = remembered.remove(name.to_bytes());
                    let file = self.listed(path.join(file_name), &now, entry.as_ref())?;
                    items.push(Item::File(file));
                }
                _ => {}
            }
        }
        self.listings.push(Listing(items));
        Ok(Ok(below))
    }

    fn listed(
        &mut self,
        path: PathBuf,
        now: &Stat,
        entry: Option<&Entry>,
    ) -> Result<Listed, CommandError> {
        let mut knowledge = entry.map_or(Knowledge::NotInCatalog, |entry| {
            Knowledge::Is(if entry.is_unchanged(now) {
                state_of(entry.state)
            } else {
                State::Changed
            })
        });
        let same = entry.filter(|_| knowledge.is_known());
        let copy_counts = same.map(|entry| self.copy_counts.of(self.catalog, entry)).transpose()?;
        let none = copy_counts.filter(|copy_counts| copy_counts.duplicates == 0);
        if let Some(doubt) = none.and_then(|copy_counts| copy_counts.doubt) {
            knowledge = doubt;
        } else if none.is_some()
            && self.waiting.has(now.size, self.catalog, &mut self.copy_counts.inspector)?
        {
            knowledge = Knowledge::Is(State::Pending);
        }
        let duplicates =
            copy_counts.filter(|_| knowledge.is_known()).map(|copy_counts| copy_counts.duplicates);
        // A scan skips empty files by default, so an empty file does not count as unknown if it is not in the catalog.
        let is_left_out = knowledge == Knowledge::NotInCatalog && now.size == 0;
        if !is_left_out {
            self.knowledge.push(knowledge);
        }
        Ok(Listed {
            path: path.into_os_string().into_vec(),
            size: now.size,
            duplicates,
            digest: same.and_then(|entry| entry.digest),
            state: if is_left_out { Some("empty") } else { knowledge.mark() },
        })
    }

    /// Prints the number of files without an answer, and returns the exit code.
    fn conclude(&self, settings: &Settings) -> Exit {
        let unknown = UnknownFiles::of(self.knowledge.iter().copied());
        let unlisted = (self.failed > 0).then(|| {
            format!("{} could not be listed", counted(self.failed, "directory", "directories"))
        });
        unknown.lines().iter().for_each(|line| settings.summarize(line.as_bytes()));
        let exit = unknown.exit(self.knowledge.len() as u64, Exit::Done);
        let exit = exit.partial_if(unlisted.is_some());
        let why: Vec<String> = unknown.lines().into_iter().chain(unlisted).collect();
        settings.print_exit_record(exit, &why.join("; "));
        exit
    }
}

/// Returns the sorted names in a directory.
fn read(dir: &Dir) -> std::io::Result<Vec<(CString, Kind)>> {
    let mut names = Vec::new();
    dir.for_each(&mut DirBuffer::default(), |item| names.push((item.name.to_owned(), item.kind)))?;
    for (name, kind) in &mut names {
        if *kind == Kind::Unknown {
            *kind = dir.stat_child(name).map_or(Kind::Unknown, |stat| stat.kind);
        }
    }
    names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    Ok(names)
}
