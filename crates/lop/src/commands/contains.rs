//! `lop contains`: checks whether all files in one directory also exist in another directory.

use std::collections::HashSet;

use catalog::{Catalog, FileMatch, FileState, KnownFile};
use dupes::{
    AliasKeyReader, Content, ContentLocation, Verdict, Walked, dirs_of, is_inside, locate_contents,
    outside,
};
use fsops::FileKey;
use serde::Serialize;
use walk::{FileId, Problem, Tree};

use crate::args::ContainsArgs;
use crate::commands::uniques::{ListAnswer, print_list};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::formats::Listed;
use crate::quantity::{count, counted, size};
use crate::questions::aliases::{Distinct, TreeAliases};
use crate::questions::catalog::open;
use crate::questions::folder::{SystemDirs, walk_dir};
use crate::questions::inspect::Inspector;
use crate::questions::knowledge::{Knowledge, UnknownFiles};
use crate::questions::location::Location;
use crate::questions::quarantine::count_quarantined;
use crate::questions::verify::{Counting, Tally, Verified};
use crate::questions::work::files;
use crate::settings::Settings;

/// Runs the command.
pub(crate) fn run(args: &ContainsArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let catalog = open(settings)?;
    let mut tree = walk_dir(&args.one, SystemDirs::Entered, settings)?;
    let quarantined = count_quarantined(&mut tree, settings)?;
    let mut one = Side { quarantined, ..Side::new(Content::Unknown, tree, &catalog)? };
    // A damaged file in the second directory does not count as a copy.
    let mut other =
        Side::new(Content::Alone, walk_dir(&args.other, SystemDirs::LeftOut, settings)?, &catalog)?;
    if is_inside(&one.tree, &other.tree) {
        let message =
            "the second directory is the first one or inside it; compare with a directory outside";
        return Err(CommandError::usage(message));
    }
    let distinct = Distinct::new(&args.distinct.dirs)?;
    let views = other.mark_views_of(&one.tree, &distinct);
    let mut found = locate_contents(one.walked(), other.walked());
    one.note_bad_copies(&other, &found);
    let verified =
        args.verify.then(|| verify(&mut one, &other, &views, &mut found, settings)).transpose()?;
    let problems: Vec<&Problem> = one.tree.problems.iter().chain(&other.tree.problems).collect();
    let tally = verified.as_ref().map(|(_, tally)| *tally);
    let summary = Summary { tally, ..Summary::new(&one, &other, &found, problems.len() as u64) };
    let exit = verified.iter().fold(summary.exit(), |exit, (verified, _)| verified.exit(exit));
    let answer = ListAnswer { exit, why: summary.why(), problems, text: summary.text() };
    print_list(listed(&one, &found), &summary, &answer, &args.list, settings)
}

/// One of the two directories, with the answers of the catalog about its files.
struct Side {
    tree: Tree,
    /// Number of files in quarantine. Zero for the second directory, because files in quarantine do not count as
    /// copies.
    quarantined: u64,
    records: Vec<FileMatch>,
    knowledge: Vec<Knowledge>,
    contents: Vec<Content>,
}

impl Side {
    /// Looks up the files of a directory in the catalog. The content of a file that was found damaged or unreadable is
    /// set to `bad`.
    fn new(bad: Content, tree: Tree, catalog: &Catalog) -> Result<Side, CommandError> {
        let records = catalog.match_files(&tree)?;
        let content = |record: &FileMatch| match record.known() {
            Some(KnownFile { state: FileState::Known, content, .. }) => {
                content.map_or(Content::Alone, Content::Known)
            }
            Some(KnownFile { state: FileState::Damaged | FileState::Unreadable, .. }) => bad,
            _ => Content::Unknown,
        };
        let contents = records.iter().map(content).collect();
        let knowledge = records.iter().map(Knowledge::of).collect();
        Ok(Side { tree, quarantined: 0, records, knowledge, contents })
    }

    fn walked(&self) -> Walked<'_> {
        Walked { tree: &self.tree, contents: &self.contents }
    }

    /// Marks files that may be aliases of files in `one`, and returns their identities.
    fn mark_views_of(&mut self, one: &Tree, distinct: &Distinct) -> HashSet<FileKey> {
        let aliases = TreeAliases::new(one, distinct);
        let (sights, mut views) = (AliasKeyReader::read(), HashSet::new());
        for (file, content) in files(&self.tree).into_iter().zip(&mut self.contents) {
            let Content::Known(number) = *content else { continue };
            if aliases.has(&self.tree.absolute_path(file), &sights.of(&self.tree, file)) {
                *content = Content::Alias(number);
                views.insert(self.tree.key(file));
            }
        }
        views
    }

    fn knowledge(&self, file: FileId) -> Knowledge {
        self.knowledge[file.0 as usize]
    }

    /// Returns the content that a file had before it was found damaged or unreadable. Returns `None` for any other
    /// file.
    fn bad_content(&self, file: FileId) -> Option<i64> {
        match self.records[file.0 as usize].known()? {
            KnownFile { state: FileState::Damaged | FileState::Unreadable, content, .. } => content,
            _ => None,
        }
    }

    /// Marks the missing files whose copies in `other` were all found damaged or unreadable.
    fn note_bad_copies(&mut self, other: &Side, found: &[ContentLocation]) {
        let there = outside(&self.tree, &other.tree).into_iter();
        let bad: HashSet<i64> = there.filter_map(|file| other.bad_content(file)).collect();
        for ((content, knowledge), place) in
            self.contents.iter().zip(&mut self.knowledge).zip(found)
        {
            if let (Content::Known(content), ContentLocation::Missing) = (content, place)
                && bad.contains(content)
            {
                *knowledge = Knowledge::CopiesBad;
            }
        }
    }
}

/// For each file that has a copy in the other directory, compares the file with one of its copies. Updates `one` and
/// `found` with the results.
fn verify(
    one: &mut Side,
    other: &Side,
    views: &HashSet<FileKey>,
    found: &mut Vec<ContentLocation>,
    settings: &Settings,
) -> Result<(Verified, Tally), CommandError> {
    let copied = |content: &Content, place: ContentLocation| match content {
        Content::Known(content) if place == ContentLocation::Copied => Some(*content),
        _ => None,
    };
    let contents = one.contents.iter().zip(&*found).filter_map(|(c, &place)| copied(c, place));
    let (inside, there) = (dirs_of(&one.tree), dirs_of(&other.tree));
    let mut inspector = Inspector::default();
    let place = |path: &[u8]| match inspector.dir_key(path) {
        Ok(dir) if inside.contains(&dir) => Location::Inside,
        Ok(dir) if there.contains(&dir) => match inspector.stat(path) {
            Ok(stat) if !views.contains(&stat.key()) => Location::Outside,
            _ => Location::Alias,
        },
        _ => Location::Elsewhere,
    };
    let (catalog, contents) = (open(settings)?, contents.collect());
    let (counting, distinct) = (Counting::Outside, Distinct::default());
    let verified = Verified::read(&catalog, &contents, counting, &distinct, place, settings)?;
    let mut sizes = Vec::new();
    for (at, (file, place)) in files(&one.tree).into_iter().zip(&*found).enumerate() {
        if *place != ContentLocation::Copied {
            continue;
        }
        let verdict = verified.verdict(one.tree.key(file));
        one.knowledge[at] = Knowledge::from(verdict);
        match verdict {
            Verdict::Copied => sizes.push(one.tree.file(file).size),
            Verdict::Alone | Verdict::Undecided => one.contents[at] = Content::Alone,
            Verdict::Damaged | Verdict::Unreadable | Verdict::Changed => {
                one.contents[at] = Content::Unknown;
            }
        }
    }
    *found = locate_contents(one.walked(), other.walked());
    for (place, knowledge) in found.iter_mut().zip(&one.knowledge) {
        if *knowledge == Knowledge::CopiesChanged {
            *place = ContentLocation::Undecided;
        }
    }
    let tally = verified.tally(sizes.into_iter());
    Ok((verified, tally))
}

/// Returns the files that are not known to exist in the other directory, sorted by path.
fn listed(one: &Side, found: &[ContentLocation]) -> Vec<Listed> {
    let lost = files(&one.tree).into_iter().zip(found).filter_map(|(file, place)| match place {
        ContentLocation::Copied | ContentLocation::Linked => None,
        ContentLocation::Missing => {
            let bad = Some(one.knowledge(file)).filter(|known| *known == Knowledge::CopiesBad);
            Some((file, bad.and_then(Knowledge::mark)))
        }
        ContentLocation::Alias => Some((file, Knowledge::CopiesAreAliases.mark())),
        ContentLocation::Undecided => {
            Some((file, Some("the second directory has an unknown file of its size")))
        }
        ContentLocation::Unknown => Some((file, one.knowledge(file).mark())),
    });
    let listed = |(file, state)| Listed {
        path: one.tree.path(file),
        size: one.tree.file(file).size,
        duplicates: None,
        digest: None,
        state,
    };
    let mut files: Vec<Listed> = lost.map(listed).collect();
    files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    files
}

#[derive(Serialize)]
struct Summary {
    /// Files in the first directory.
    files: u64,
    /// Files in the first directory that are not in the second one.
    missing: u64,
    /// Total size of the missing files.
    bytes: u64,
    /// Files in the first directory whose current content is unknown.
    #[serde(flatten)]
    unknown: UnknownFiles,
    /// Figures of the comparison, with `--verify`.
    #[serde(flatten)]
    tally: Option<Tally>,
    /// Files in the first directory that may also be in the second one, because the second one has a file of the same
    /// size whose content is unknown.
    unsettled: u64,
    /// Files in the first directory that have a hard link in the second one.
    hard_links: u64,
    /// Files in the second directory whose current content is unknown.
    unknown_there: u64,
    /// True if the catalog has no files below the second directory.
    #[serde(skip)]
    nothing_there: bool,
    /// Empty files, which are not compared.
    empty: u64,
    /// Symbolic links, which are not compared.
    symlinks: u64,
    /// FIFOs, sockets and devices, which are not compared.
    special_files: u64,
    problems: u64,
}

impl Summary {
    fn new(one: &Side, other: &Side, found: &[ContentLocation], problems: u64) -> Summary {
        let number = |wanted| found.iter().filter(|&&place| place == wanted).count() as u64;
        let with = |wanted: ContentLocation| {
            let all = files(&one.tree).into_iter().zip(found);
            all.filter(move |(_, place)| **place == wanted).map(|(file, _)| file)
        };
        let there = outside(&one.tree, &other.tree);
        let sizes = with(ContentLocation::Missing).map(|file| one.tree.file(file).size);
        let unknown = with(ContentLocation::Unknown).map(|file| one.knowledge(file));
        let views = with(ContentLocation::Alias).map(|_| Knowledge::CopiesAreAliases);
        let skipped = &one.tree.skipped;
        Summary {
            files: found.len() as u64 + one.quarantined,
            missing: number(ContentLocation::Missing),
            bytes: sizes.fold(0, u64::saturating_add),
            tally: None,
            unknown: UnknownFiles::of(unknown.chain(views)).with_quarantined(one.quarantined),
            unsettled: number(ContentLocation::Undecided),
            hard_links: number(ContentLocation::Linked),
            unknown_there: UnknownFiles::of(there.iter().map(|file| other.knowledge(*file))).all,
            nothing_there: there
                .iter()
                .all(|file| other.knowledge(*file) == Knowledge::NotInCatalog),
            empty: skipped.empty,
            symlinks: skipped.symlinks,
            special_files: skipped.special(),
            problems,
        }
    }

    fn exit(&self) -> Exit {
        let unanswered = self.unknown.all + self.unsettled;
        if self.missing > 0 {
            Exit::No
        } else if unanswered == 0 {
            Exit::Done
        } else if unanswered == self.files && self.nothing_there && self.unknown.quarantined == 0 {
            Exit::Catalog
        } else {
            self.unknown.exit(self.files, Exit::Partial)
        }
    }

    /// Returns the reasons why some files have no answer.
    fn why(&self) -> Vec<String> {
        self.unknown.lines().into_iter().chain(self.unknown_there()).collect()
    }

    fn unknown_there(&self) -> Option<String> {
        let are = if self.unknown_there == 1 { "file there is" } else { "files there are" };
        let number = count(self.unknown_there);
        let mut text = format!("{number} {are} not in the catalog or changed since the scan");
        if self.unsettled > 0 {
            text.push_str("; run 'lop scan' there");
        }
        (self.unknown_there > 0).then_some(text)
    }

    fn text(&self) -> String {
        let files = counted(self.files, "file", "files");
        let unanswered = self.unknown.all + self.unsettled;
        let found = self.files - unanswered;
        let mut text = if self.missing > 0 {
            let (number, bytes) = (count(self.missing), size(self.bytes));
            let are = if self.missing == 1 { "is" } else { "are" };
            format!("{number} of {files} ({bytes}) {are} not in the second directory")
        } else if unanswered > 0 {
            let are = if found == 1 { "is" } else { "are" };
            format!("{} of {files} {are} also in the second directory", count(found))
        } else {
            format!("{files}: each is also in the second directory")
        };
        text.push_str(&self.unknown.text());
        text.extend(self.tally.map(|tally| tally.text()));
        for (number, one, many, what) in [
            (self.unsettled, "1 file has", "{} files have", "the size of an unknown file there"),
            (
                self.hard_links,
                "1 is a hard link to a file there",
                "{} are hard links to files there",
                "and would free nothing",
            ),
            (self.empty, "1 empty file", "{} empty files", "not compared"),
            (self.symlinks, "1 symbolic link", "{} symbolic links", "not compared"),
            (self.special_files, "1 special file", "{} special files", "not compared"),
        ] {
            if number > 0 {
                let who = if number == 1 { one.into() } else { many.replace("{}", &count(number)) };
                text.push_str(&format!("\n  {who} {what}"));
            }
        }
        if let Some(there) = self.unknown_there() {
            text.push_str(&format!("\n  {there}"));
        }
        text
    }
}
