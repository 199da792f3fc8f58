//! Compares the lists of all hosts, and writes the answers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use export::Error;
use fsops::{Context, Dir, Op};
use runtime::Progress;

use crate::files::{
    self, AnswerHeader, AnsweredList, FOLDER, Kind, ListHeader, ListedNumbers, Opened, numbers_of,
};

/// The result of comparing the lists of all hosts.
#[derive(Debug, Default)]
pub struct Answered {
    /// The hosts with lists, sorted by name.
    pub hosts: Vec<HostCounts>,
    /// Hosts whose lists cannot be used. Their old answers stay.
    pub problems: Vec<Error>,
}

/// The numbers of listed and shared numbers of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostCounts {
    /// Its name.
    pub host: String,
    /// Number of listed sizes, and how many of them another host has listed, too.
    pub sizes: [u64; 2],
    /// The same for heads.
    pub heads: [u64; 2],
    /// Size in bytes of the answers that were written; 0 if they had not changed.
    pub bytes: u64,
}

/// Compares the lists of all hosts below `out`, the folder of all exports, and writes an answer for each
/// host. An answer that has not changed is not written again.
///
/// Reads all lists once, side by side. Needs a buffer for each list, and a bit for each listed number.
///
/// # Errors
///
/// Fails if `out` cannot be listed, if another process answers the same hosts, if two hosts use different keys, if an
/// answer cannot be written, or if the user asked to stop. A host whose lists cannot be used is a problem, not an
/// error.
pub fn answer(out: &Path, progress: &Progress) -> Result<Answered, Error> {
    let dir = Dir::open(out).context(Op::Open, || out)?;
    if !dir.lock().context(Op::Lock, || out)? {
        return Err(Error::Busy(out.into()));
    }
    let answered = answer_alone(out, progress);
    dir.unlock();
    answered
}

/// Does this while no other process writes answers: two processes would write to the same temporary files.
fn answer_alone(out: &Path, progress: &Progress) -> Result<Answered, Error> {
    let mut answered = Answered::default();
    let mut folders = Vec::new();
    for path in host_folders(out)? {
        match HostLists::open(path) {
            Ok(host) => folders.extend(host),
            Err(error) => answered.problems.push(error),
        }
    }
    check_keys(out, &folders)?;
    answered.hosts = folders
        .iter()
        .map(|folder| HostCounts { host: folder.host.clone(), ..HostCounts::default() })
        .collect();
    let names: Vec<String> = folders.iter().map(|folder| folder.host.clone()).collect();
    for kind in Kind::ALL {
        let mut merge = Merge::default();
        let lists = folders.iter_mut().map(|folder| std::mem::take(folder.lists(kind)));
        let answers = merge.answers(lists.collect(), progress)?;
        for ((folder, counts), answer) in folders.iter().zip(&mut answered.hosts).zip(answers) {
            let numbers = match kind {
                Kind::Sizes => &mut counts.sizes,
                Kind::Heads => &mut counts.heads,
            };
            *numbers = [answer.lists.iter().map(|list| list.numbers).sum(), answer.shared];
            if answer.lists.is_empty() {
                continue;
            }
            let (host, hosts, lists) = (folder.host.clone(), names.clone(), answer.lists);
            let header = AnswerHeader { kind, host, lists, hosts };
            let written =
                files::write(&folder.dir, &folder.path, &kind.answer(), header, &answer.bits)?;
            counts.bytes += written.unwrap_or(0);
        }
    }
    Ok(answered)
}

/// Returns the folders of surveys, sorted.
fn host_folders(out: &Path) -> Result<Vec<PathBuf>, Error> {
    let listed = || -> io::Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for entry in fs::read_dir(out)? {
            let path = entry?.path().join(FOLDER.to_string_lossy().as_ref());
            if path.is_dir() {
                paths.push(path);
            }
        }
        paths.sort();
        Ok(paths)
    };
    Ok(listed().context(Op::List, || out)?)
}

/// Checks that all lists were made with the same key. Otherwise no heads would be equal.
fn check_keys(out: &Path, hosts: &[HostLists]) -> Result<(), Error> {
    let Some(first) = hosts.first() else { return Ok(()) };
    match hosts.iter().find(|other| other.key_id != first.key_id) {
        None => Ok(()),
        Some(other) => {
            let reason = format!(
                "the surveys of {} and {} have different keys and cannot be compared",
                first.host, other.host
            );
            Err(Error::Invalid { path: out.into(), reason })
        }
    }
}

/// The lists of a host.
struct HostLists {
    host: String,
    key_id: Option<String>,
    dir: Dir,
    path: PathBuf,
    sizes: Vec<Opened<ListHeader>>,
    heads: Vec<Opened<ListHeader>>,
}

impl HostLists {
    /// Opens all lists of a host. Returns `None` if it has none.
    fn open(path: PathBuf) -> Result<Option<HostLists>, Error> {
        let dir = Dir::open(&path).context(Op::Open, || &path)?;
        let sizes = files::lists(&dir, &path, Kind::Sizes)?;
        let heads = files::lists(&dir, &path, Kind::Heads)?;
        let Some(ListHeader { host, key_id, .. }) = sizes.first().map(|list| list.header.clone())
        else {
            return Ok(None);
        };
        let folder = path.parent().and_then(Path::file_name);
        if folder.is_none_or(|folder| folder != host.as_str()) {
            let reason = format!("is a copy of the survey of {host}; move it away");
            return Err(Error::Invalid { path, reason });
        }
        if sizes.iter().chain(&heads).any(|list| list.header.key_id != key_id) {
            let reason = "its lists have different keys; run 'lop survey' on this host".into();
            return Err(Error::Invalid { path, reason });
        }
        Ok(Some(HostLists { host, key_id, dir, path, sizes, heads }))
    }

    fn lists(&mut self, kind: Kind) -> &mut Vec<Opened<ListHeader>> {
        match kind {
            Kind::Sizes => &mut self.sizes,
            Kind::Heads => &mut self.heads,
        }
    }
}

/// The answer for one host.
#[derive(Default)]
struct Answer {
    lists: Vec<AnsweredList>,
    /// A bit for each number of each list.
    bits: Vec<u8>,
    /// Number of bits that are set.
    shared: u64,
}

/// A list that is being read.
struct Source {
    host: usize,
    numbers: ListedNumbers,
    /// The next bit of the list in the answer.
    place: u64,
}

/// Reads the lists of all hosts side by side, in ascending order of numbers.
#[derive(Default)]
struct Merge {
    sources: Vec<Source>,
    answers: Vec<Answer>,
    /// The next number of each source.
    heap: BinaryHeap<Reverse<(u64, usize)>>,
}

/// Numbers between two checks of whether the user asked to stop.
const NUMBERS_PER_CHECK: u32 = 1 << 16;

impl Merge {
    /// Returns the answers for the lists of each host.
    fn answers(
        &mut self,
        hosts: Vec<Vec<Opened<ListHeader>>>,
        progress: &Progress,
    ) -> Result<Vec<Answer>, Error> {
        for (host, lists) in hosts.into_iter().enumerate() {
            self.add_host(host, lists)?;
        }
        let (mut same, mut until_check) = (Vec::new(), NUMBERS_PER_CHECK);
        while let Some(&Reverse((number, _))) = self.heap.peek() {
            same.clear();
            while let Some(top) = self.heap.peek_mut().filter(|top| top.0.0 == number) {
                let source = top.0.1;
                same.push(source);
                advance(&mut self.sources[source].numbers, top)?;
            }
            let first = self.sources[same[0]].host;
            let is_shared = same.iter().any(|&source| self.sources[source].host != first);
            for &source in &same {
                let Source { host, place, .. } = &mut self.sources[source];
                if is_shared {
                    self.answers[*host].set(*place);
                }
                *place += 1;
            }
            until_check -= 1;
            if until_check == 0 {
                progress.check()?;
                until_check = NUMBERS_PER_CHECK;
            }
        }
        Ok(std::mem::take(&mut self.answers))
    }

    fn add_host(&mut self, host: usize, lists: Vec<Opened<ListHeader>>) -> Result<(), Error> {
        let (mut answer, mut place) = (Answer::default(), 0);
        for list in lists {
            let (blake3, count) = (list.blake3.clone(), list.header.numbers);
            answer.lists.push(AnsweredList { blake3, numbers: count });
            let mut numbers = numbers_of(list);
            let first = numbers.read().map_err(damaged)?;
            self.heap.extend(first.map(|number| Reverse((number, self.sources.len()))));
            self.sources.push(Source { host, numbers, place });
            place += count;
        }
        let bytes = usize::try_from(place.div_ceil(8)).expect("the numbers fit into memory");
        answer.bits = vec![0; bytes];
        self.answers.push(answer);
        Ok(())
    }
}

/// Replaces the smallest number by the next one of its source.
fn advance(
    numbers: &mut ListedNumbers,
    mut top: PeekMut<'_, Reverse<(u64, usize)>>,
) -> Result<(), Error> {
    match numbers.read().map_err(damaged)? {
        Some(number) => top.0.0 = number,
        None => drop(PeekMut::pop(top)),
    }
    Ok(())
}

/// The error for a list that has the digest of its first line, but whose numbers are not valid.
fn damaged(source: io::Error) -> Error {
    fsops::Error { op: Op::Read, path: "a list of the survey".into(), source }.into()
}

impl Answer {
    fn set(&mut self, place: u64) {
        let byte = usize::try_from(place / 8).expect("the bits fit into memory");
        self.bits[byte] |= 1 << (place % 8);
        self.shared += 1;
    }
}
