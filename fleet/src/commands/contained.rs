//! `lop-fleet uniques` and `lop-fleet contains`: which files of a directory are nowhere else.

use std::collections::{BTreeSet, HashSet};
use std::error::Error;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use export::{Names, Stored};
use fleet::{Answers, Elsewhere, Options, Part, Selection, compare};
use runtime::Progress;
use runtime::quantity::{count, counted};
use serde::Serialize;

use crate::Exit;
use crate::args::{ContainsArgs, UniquesArgs};
use crate::exports::{Distinct, newest};
use crate::output::{JsonPath, Output, shown};

/// Memory for the inodes of a pass, in bytes.
const MEMORY: u64 = 1 << 30;

/// Runs `lop-fleet uniques`.
pub(crate) fn uniques(args: &UniquesArgs, output: Output) -> Result<Exit, Box<dyn Error>> {
    let (exports, has_problems) = newest(&args.dir, &[])?;
    let wanted = Place::find(&HostPath::parse(&args.wanted)?, &exports)?;
    let others = exports.iter().filter(|export| export.host != wanted.export.host);
    // The wanted directory comes first, so that no other host has its own files.
    let all = std::iter::once(wanted.part()).chain(others.map(Part::whole)).collect();
    let distinct = Distinct::new(all, MEMORY)?;
    let answer = Answer::find(&wanted, distinct.parts().split_off(1))?;
    answer.print("on another host", "on no other host", has_problems, output)
}

/// Runs `lop-fleet contains`.
pub(crate) fn contains(args: &ContainsArgs, output: Output) -> Result<Exit, Box<dyn Error>> {
    let wanted = HostPath::parse(&args.wanted)?;
    let container = HostPath::parse(&args.container)?;
    let (exports, has_problems) =
        newest(&args.dir, &[wanted.host.clone(), container.host.clone()])?;
    let (wanted, container) = (Place::find(&wanted, &exports)?, Place::find(&container, &exports)?);
    // On one host, a hard link counts as contained. The same file on a share that two hosts have scanned does not.
    let is_one_host = wanted.export.host == container.export.host;
    let distinct = Distinct::new(vec![wanted.part(), container.part()], MEMORY)?;
    let seen = distinct.seen_in(1);
    let inodes = container.inodes.iter().filter(|inode| is_one_host || !seen.contains(inode));
    let inodes = inodes.copied().collect();
    let container = Part { export: container.export, inodes: Selection::Only(&inodes) };
    let answer = Answer::find(&wanted, vec![container])?;
    let there = shown(&args.container.to_string_lossy());
    answer.print(&format!("in {there}"), &format!("not in {there}"), has_problems, output)
}

/// A host and an absolute path, written as `HOST:PATH`.
struct HostPath<'a> {
    text: std::path::Display<'a>,
    host: String,
    /// Without a slash at the end.
    path: &'a [u8],
}

impl<'a> HostPath<'a> {
    fn parse(text: &'a OsStr) -> Result<HostPath<'a>, String> {
        let mut parts = text.as_bytes().splitn(2, |&byte| byte == b':');
        let (host, path) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let text = Path::new(text).display();
        if !path.starts_with(b"/") {
            return Err(format!("{text}: give a host and an absolute path, such as nas:/srv"));
        }
        let end = path.iter().rposition(|&byte| byte != b'/').map_or(0, |last| last + 1);
        Ok(HostPath { text, host: String::from_utf8_lossy(host).into_owned(), path: &path[..end] })
    }
}

/// A directory of a host.
struct Place<'a> {
    export: &'a Stored,
    /// Its absolute path, without a slash at the end.
    path: &'a [u8],
    inodes: HashSet<i64>,
}

impl<'a> Place<'a> {
    fn find(place: &HostPath<'a>, exports: &'a [Stored]) -> Result<Place<'a>, Box<dyn Error>> {
        let HostPath { text, host, path } = place;
        let export = exports.iter().find(|export| export.host == *host);
        let export =
            export.ok_or_else(|| format!("{text}: there is no complete export of this host"))?;
        if export.names != Names::Plain {
            return Err(format!("{text}: the names of {host} were not exported as they are").into());
        }
        let inodes = export.inodes_below(path)?.ok_or_else(|| {
            format!("{text}: the export {} has no such directory", export.path.display())
        })?;
        Ok(Place { export, path, inodes })
    }

    fn part(&self) -> Part<'_> {
        Part { export: self.export, inodes: Selection::Only(&self.inodes) }
    }

    /// Returns the paths of inodes that are below the directory.
    fn paths(&self, inodes: &BTreeSet<i64>) -> Result<Vec<JsonPath>, Box<dyn Error>> {
        let all = self.export.paths(inodes)?.into_values().flatten();
        let is_below = |path: &Vec<u8>| {
            path.strip_prefix(self.path).is_some_and(|rest| rest.starts_with(b"/"))
        };
        let mut paths: Vec<Vec<u8>> = all.filter(is_below).collect();
        paths.sort_unstable();
        Ok(paths.into_iter().map(JsonPath::new).collect())
    }
}

/// The files of a directory that are nowhere else. Empty files are left out.
#[derive(Serialize)]
struct Answer {
    /// Number of files that were compared.
    files: usize,
    /// Number of these that are elsewhere.
    elsewhere: usize,
    /// The paths of files that are nowhere else.
    uniques: Vec<JsonPath>,
    /// The paths of files that may be elsewhere, but have not been compared.
    unknown: Vec<JsonPath>,
    #[serde(skip)]
    counts: [usize; 2],
}

impl Answer {
    /// Compares the files of `wanted` with those of `others`.
    fn find<'a>(
        wanted: &'a Place<'a>,
        mut others: Vec<Part<'a>>,
    ) -> Result<Answer, Box<dyn Error>> {
        let number = u32::try_from(others.len())?;
        others.push(wanted.part());
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let options = Options { memory: MEMORY, threads, min_size: 1 };
        let answers = compare(&others, &options, || Answers::new(number), &Progress::default())?;
        let (mut elsewhere, mut uniques, mut unknown) = (0, BTreeSet::new(), BTreeSet::new());
        wanted.export.each_inode(None, |inode| {
            if wanted.inodes.contains(&inode.inode_id) {
                match answers.of(inode) {
                    Some(Elsewhere::Copied) => elsewhere += 1,
                    Some(Elsewhere::Nowhere) => drop(uniques.insert(inode.inode_id)),
                    Some(Elsewhere::Unknown) => drop(unknown.insert(inode.inode_id)),
                    None => {}
                }
            }
        })?;
        Ok(Answer {
            files: elsewhere + uniques.len() + unknown.len(),
            elsewhere,
            counts: [uniques.len(), unknown.len()],
            uniques: wanted.paths(&uniques)?,
            unknown: wanted.paths(&unknown)?,
        })
    }

    /// Prints the answer. `place` tells where copies are, and `missing`
    /// that there is none.
    fn print(
        &self,
        place: &str,
        missing: &str,
        has_problems: bool,
        output: Output,
    ) -> Result<Exit, Box<dyn Error>> {
        let mut text = Vec::new();
        for path in &self.uniques {
            text.extend([&output.line(path.bytes()), b"\n".as_slice()].concat());
        }
        for path in &self.unknown {
            text.extend([&output.line(path.bytes()), b"  (not compared)\n".as_slice()].concat());
        }
        output.print(self, &text)?;
        let [uniques, unknown] = self.counts;
        let number = |files: usize| count(files as u64);
        output.note(&format!(
            "{}: {} {place}, {} {missing}, {} not compared",
            counted(self.files as u64, "file", "files"),
            number(self.elsewhere),
            number(uniques),
            number(unknown)
        ));
        Ok(match (uniques, unknown, has_problems) {
            (1.., ..) => Exit::No,
            (0, 1.., _) | (0, 0, true) => Exit::Partial,
            (0, 0, false) => Exit::Done,
        })
    }
}
