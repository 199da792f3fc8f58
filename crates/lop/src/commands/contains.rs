//! `lop contains`: whether everything in one directory is in another one too.

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
use crate::commands::uniques::{Answer, Listing, print_list};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::folder::{SystemDirs, walk_dir};
use crate::formats::Listed;
use crate::look::Looker;
use crate::quantity::{count, counted, size};
use crate::remembered::open;
use crate::settings::Settings;
use crate::sources::files;
use crate::stored::count_stored;
use crate::unknown::{Standing, Unknown};
use crate::verifying::{Counting, Place, Tally, Verified, standing};
use crate::views::{Distinct, Shown};

/// Runs the command.
pub(crate) fn run(args: &ContainsArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let catalog = open(settings)?;
    let mut tree = walk_dir(&args.one, SystemDirs::Entered, settings)?;
    let stored = count_stored(&mut tree, settings)?;
    let mut one = Side { stored, ..Side::look(Content::Unknown, tree, &catalog)? };
    // A damaged file there does not count as a copy.
    let mut other = Side::look(
        Content::Alone,
        walk_dir(&args.other, SystemDirs::LeftOut, settings)?,
        &catalog,
    )?;
    if is_inside(&one.tree, &other.tree) {
        let message = "the second directory is the first, or in it: nothing there would be left";
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
    let answer = Answer { exit, why: summary.why(), problems, text: summary.text() };
    print_list(Listing::of(listed(&one, &found)), &summary, &answer, &args.list, settings)
}

/// One of the two directories as it is now.
struct Side {
    tree: Tree,
    /// Number of files in quarantine; counted in the first directory only.
    stored: u64,
    records: Vec<FileMatch>,
    standings: Vec<Standing>,
    contents: Vec<Content>,
}

impl Side {
    /// Asks the catalog about a directory, in which `bad` stands for the content of files that were
    /// found damaged or unreadable.
    fn look(bad: Content, tree: Tree, catalog: &Catalog) -> Result<Side, CommandError> {
        let records = catalog.match_files(&tree)?;
        let content = |record: &FileMatch| match record.known() {
            Some(KnownFile { state: FileState::Known, content, .. }) => {
                content.map_or(Content::Alone, Content::Known)
            }
            Some(KnownFile { state: FileState::Damaged | FileState::Unreadable, .. }) => bad,
            _ => Content::Unknown,
        };
        let contents = records.iter().map(content).collect();
        let standings = records.iter().map(Standing::of).collect();
        Ok(Side { tree, stored: 0, records, standings, contents })
    }

    fn walked(&self) -> Walked<'_> {
        Walked { tree: &self.tree, contents: &self.contents }
    }

    /// Marks files that may be second paths to files of `one`, and returns their identities.
    fn mark_views_of(&mut self, one: &Tree, distinct: &Distinct) -> HashSet<FileKey> {
        let shown = Shown::new(one, distinct);
        let (sights, mut views) = (AliasKeyReader::read(), HashSet::new());
        for (file, content) in files(&self.tree).into_iter().zip(&mut self.contents) {
            let Content::Known(number) = *content else { continue };
            if shown.has(&self.tree.absolute_path(file), &sights.of(&self.tree, file)) {
                *content = Content::Alias(number);
                views.insert(self.tree.key(file));
            }
        }
        views
    }

    fn standing(&self, file: FileId) -> Standing {
        self.standings[file.0 as usize]
    }

    /// Returns the content that a file had before it was found damaged or unreadable.
    fn bad_content(&self, file: FileId) -> Option<i64> {
        match self.records[file.0 as usize].known()? {
            KnownFile { state: FileState::Damaged | FileState::Unreadable, content, .. } => content,
            _ => None,
        }
    }

    /// Notes which of the missing files had a copy on the other side that was found bad.
    fn note_bad_copies(&mut self, other: &Side, found: &[ContentLocation]) {
        let there = outside(&self.tree, &other.tree).into_iter();
        let bad: HashSet<i64> = there.filter_map(|file| other.bad_content(file)).collect();
        for ((content, standing), place) in self.contents.iter().zip(&mut self.standings).zip(found)
        {
            if let (Content::Known(content), ContentLocation::Missing) = (content, place)
                && bad.contains(content)
            {
                *standing = Standing::CopiesBad;
            }
        }
    }
}

/// Reads each file that has a copy in the other directory, together with one of its copies, and updates `one` and
/// `found` with the result.
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
    let mut looker = Looker::default();
    let place = |path: &[u8]| match looker.dir_key(path) {
        Ok(dir) if inside.contains(&dir) => Place::Inside,
        Ok(dir) if there.contains(&dir) => match looker.stat(path) {
            Ok(stat) if !views.contains(&stat.key()) => Place::Outside,
            _ => Place::View,
        },
        _ => Place::Elsewhere,
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
        one.standings[at] = standing(verdict);
        match verdict {
            Verdict::Copied => sizes.push(one.tree.file(file).size),
            Verdict::Alone | Verdict::Undecided => one.contents[at] = Content::Alone,
            Verdict::Damaged | Verdict::Unreadable | Verdict::Changed => {
                one.contents[at] = Content::Unknown;
            }
        }
    }
    *found = locate_contents(one.walked(), other.walked());
    for (place, standing) in found.iter_mut().zip(&one.standings) {
        if *standing == Standing::CopiesChanged {
            *place = ContentLocation::Undecided;
        }
    }
    let tally = verified.tally(sizes.into_iter());
    Ok((verified, tally))
}

/// Returns the files that are not known to be in the other directory, sorted by path.
fn listed(one: &Side, found: &[ContentLocation]) -> Vec<Listed> {
    let lost = files(&one.tree).into_iter().zip(found).filter_map(|(file, place)| match place {
        ContentLocation::Copied | ContentLocation::Linked => None,
        ContentLocation::Missing => {
            let bad = Some(one.standing(file)).filter(|known| *known == Standing::CopiesBad);
            Some((file, bad.and_then(Standing::mark)))
        }
        ContentLocation::Alias => Some((file, Standing::CopiesAreViews.mark())),
        ContentLocation::Undecided => Some((file, Some("a file of its size there is not known"))),
        ContentLocation::Unknown => Some((file, one.standing(file).mark())),
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
    /// Files of the first directory.
    files: u64,
    /// Of these, those that are not in the second.
    missing: u64,
    /// Bytes in the missing ones.
    bytes: u64,
    /// Of the first directory, files that the catalog does not know as they are now.
    #[serde(flatten)]
    unknown: Unknown,
    /// What was read, with `--verify`.
    #[serde(flatten)]
    tally: Option<Tally>,
    /// Of the first directory, files that may be among those of the second that are not known.
    unsettled: u64,
    /// Files that are in the second directory as another name of the same inode.
    hard_links: u64,
    /// Files of the second directory that the catalog does not know as they are now.
    unknown_there: u64,
    /// Whether the catalog has no file of the second directory.
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
        let unknown = with(ContentLocation::Unknown).map(|file| one.standing(file));
        let views = with(ContentLocation::Alias).map(|_| Standing::CopiesAreViews);
        let skipped = &one.tree.skipped;
        Summary {
            files: found.len() as u64 + one.stored,
            missing: number(ContentLocation::Missing),
            bytes: sizes.fold(0, u64::saturating_add),
            tally: None,
            unknown: Unknown::of(unknown.chain(views)).with_quarantined(one.stored),
            unsettled: number(ContentLocation::Undecided),
            hard_links: number(ContentLocation::Linked),
            unknown_there: Unknown::of(there.iter().map(|file| other.standing(*file))).all,
            nothing_there: there.iter().all(|file| other.standing(*file) == Standing::Missing),
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

    /// Returns why not everything has an answer.
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
        let there = "as large as files there that are not known";
        for (number, one, many, what) in [
            (self.unsettled, "1 file is", "{} files are", there),
            (
                self.hard_links,
                "1 is a hard link",
                "{} are hard links",
                "to there and would free nothing",
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
