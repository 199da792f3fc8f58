//! A journal that is read: what was to be done, and what came of it.
//!
//! A run may have been of millions of files. In memory is only where in the journal each of them is.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use fsops::{Context, FileKey, Log, Op};

use crate::error::Error;
use crate::journal::{FORMAT, Intent, Record};
use crate::kind::Kind;

/// What has become of an intent, as far as the journal tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nothing was noted: the run was cut off.
    Open,
    Done,
    NotDone,
    Undone,
    Purged,
}

/// Where an intent is, and what came of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) fate: Fate,
    length: u32,
    at: u64,
}

/// An intent and how far its undo has come.
#[derive(Debug)]
pub(crate) struct Noted {
    pub(crate) intent: Intent,
    /// The inode of a copy that was made to undo it.
    pub(crate) made: Option<u64>,
}

/// A journal that was read.
#[derive(Debug)]
pub(crate) struct Past {
    path: PathBuf,
    file: std::fs::File,
    pub(crate) by: Kind,
    pub(crate) started_ms: i64,
    pub(crate) ended_ms: Option<i64>,
    pub(crate) freed: u64,
    /// Whether an undo was begun and is not over.
    pub(crate) undoing: bool,
    pub(crate) stores: BTreeMap<u32, (Vec<u8>, u64)>,
    /// By the number of the intent.
    pub(crate) entries: BTreeMap<u64, Entry>,
    /// Of files that had several names when the run began, the identity.
    pub(crate) linked: HashMap<u64, FileKey>,
    /// Those identities.
    keys: HashSet<FileKey>,
    /// Inodes of copies.
    made: HashMap<u64, u64>,
}

impl Past {
    /// Returns whether a journal's last line says that all it tells of is over.
    pub(crate) fn is_over(path: &Path) -> Result<bool, Error> {
        /// More than such a line has.
        const TAIL: u64 = 4096;
        let file = fsops::File::open(path).context(Op::Open, || path)?;
        let size = file.stat().context(Op::Stat, || path)?.size;
        let mut tail = vec![0; 4096];
        let read = file.read_at(&mut tail, size.saturating_sub(TAIL)).context(Op::Read, || path)?;
        let lines = tail[..read].strip_suffix(b"\n").unwrap_or_default();
        let last = lines.rsplit(|&b| b == b'\n').next().unwrap_or_default();
        Ok(matches!(
            serde_json::from_slice(last),
            Ok(Record::End { .. } | Record::UndoEnd | Record::Purged { .. })
        ))
    }

    /// Reads a journal; one that was cut off before it began tells of no run.
    pub(crate) fn read(path: &Path) -> Result<Option<Past>, Error> {
        let open = || Log::reader(path).context(Op::Open, || path);
        let mut reader = BufReader::with_capacity(1 << 20, open()?);
        let bad = |why: &str| Error::Journal { path: path.into(), why: why.into() };
        let mut past: Option<Past> = None;
        let (mut line, mut at) = (Vec::new(), 0);
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line).context(Op::Read, || path)?;
            if read == 0 {
                return Ok(past);
            }
            match &mut past {
                Some(past) => past.take(&line, at),
                None => match serde_json::from_slice(&line) {
                    Ok(Record::Begin { format, .. }) if format > FORMAT => {
                        return Err(bad("it was written by a later version"));
                    }
                    Ok(Record::Begin { by, started_ms, .. }) => {
                        past = Some(Past::new(path, open()?, by, started_ms));
                    }
                    Ok(_) => return Err(bad("it does not begin as one")),
                    Err(_) if line.last() != Some(&b'\n') => {}
                    Err(e) => return Err(bad(&e.to_string())),
                },
            }
            at += read as u64;
        }
    }

    fn new(path: &Path, file: std::fs::File, by: Kind, started_ms: i64) -> Past {
        Past {
            path: path.into(),
            file,
            by,
            started_ms,
            ended_ms: None,
            freed: 0,
            undoing: false,
            stores: BTreeMap::new(),
            entries: BTreeMap::new(),
            linked: HashMap::new(),
            keys: HashSet::new(),
            made: HashMap::new(),
        }
    }

    /// Takes a line that is at a place of the journal; one that was cut off says nothing.
    fn take(&mut self, line: &[u8], at: u64) {
        if line.starts_with(br#"{"record":"will","#) {
            // The tag is one more key to it, and passed over faster than it is looked for.
            if let Ok(intent) = serde_json::from_slice(line) {
                self.will(&intent, at, line.len());
            }
            return;
        }
        let Ok(record) = serde_json::from_slice(line) else { return };
        match record {
            Record::Begin { .. } => {}
            Record::Will(intent) => self.will(&intent, at, line.len()),
            Record::Store { store, path, fsid } => {
                self.stores.insert(store, (path.0, fsid));
            }
            Record::Did { n, freed } => {
                self.freed = self.freed.saturating_add(freed);
                self.settle(n, Fate::Done);
            }
            Record::Not { n, .. } => self.settle(n, Fate::NotDone),
            Record::Undone { n } => self.settle(n, Fate::Undone),
            Record::Purged { n } => self.settle(n, Fate::Purged),
            Record::Made { n, inode } => {
                self.made.insert(n, inode);
            }
            Record::UndoBegin => self.undoing = true,
            Record::UndoEnd => self.undoing = false,
            Record::End { ended_ms, .. } => self.ended_ms = Some(ended_ms),
        }
    }

    fn will(&mut self, &Intent { n, ref was, .. }: &Intent, at: u64, length: usize) {
        let Ok(length) = u32::try_from(length) else { return };
        let key = was.key();
        // The run itself may have taken all names but this one before.
        if was.links > 1 || self.keys.contains(&key) {
            self.linked.insert(n, key);
            self.keys.insert(key);
        }
        self.entries.insert(n, Entry { fate: Fate::Open, length, at });
    }

    fn settle(&mut self, n: u64, fate: Fate) {
        if let Some(entry) = self.entries.get_mut(&n) {
            entry.fate = fate;
        }
    }

    /// Reads what was to be done with a file.
    pub(crate) fn noted(&self, n: u64) -> Result<Noted, Error> {
        let bad = |why: String| Error::Journal { path: self.path.clone(), why };
        let Some(entry) = self.entries.get(&n) else { return Err(bad(format!("no intent {n}"))) };
        let mut line = vec![0; entry.length as usize];
        self.file.read_exact_at(&mut line, entry.at).context(Op::Read, || &self.path)?;
        match serde_json::from_slice(&line).map_err(|e| bad(e.to_string()))? {
            Record::Will(intent) => Ok(Noted { intent: *intent, made: self.made.get(&n).copied() }),
            _ => Err(bad(format!("no intent {n}"))),
        }
    }

    /// Returns the numbers of intents with this fate, ascending.
    pub(crate) fn with_fate(&self, fate: Fate) -> impl DoubleEndedIterator<Item = u64> {
        let entries = self.entries.iter();
        entries.filter(move |(_, entry)| entry.fate == fate).map(|(&n, _)| n)
    }
}

#[cfg(test)]
mod tests {
    use super::{Fate, Past};

    #[test]
    #[expect(clippy::disallowed_methods, reason = "writes to a test's own tree")]
    fn what_was_cut_off_says_nothing_and_the_rest_holds() {
        let version = r#""device":1,"inode":2,"size":3,"mtime_ns":4,"ctime_ns":5"#;
        let will = |n: u64, before: &str| {
            format!(
                r#"{{{before}"n":{n},"kind":"delete","path":"/b{n}","keep":"/a","store":null,
                "was":{{{version},"atime_ns":0,"mode":33188,"uid":0,"gid":0,"links":1}},
                "kept":{{{version}}},"kept_fsid":0}}"#
            )
            .replace('\n', " ")
        };
        let lines = [
            r#"{"record":"begin","format":1,"run":1,"id":"x","by":"delete","started_ms":1}"#.into(),
            will(1, r#""record":"will","#),
            will(2, r#" "record" : "will", "#),
            will(3, r#""record":"will","#)[..70].into(),
            // All that is looked at is there, and something else is not.
            will(4, r#""record":"will","#).replace(r#""keep":"/a","#, ""),
            r#"{"record":"did","n":2,"freed":3}"#.into(),
            r#"{"record":"did","n":1"#.into(),
        ];
        let folder = testkit::TempTree::new();
        let path = folder.join("1.jsonl");
        std::fs::write(&path, lines.join("\n")).expect("written");
        let past = Past::read(&path).expect("is read").expect("is a run");
        let fates: Vec<_> = past.entries.iter().map(|(&n, entry)| (n, entry.fate)).collect();
        assert_eq!(fates, [(1, Fate::Open), (2, Fate::Done)]);
        for n in [1, 2] {
            let path = past.noted(n).expect("is there").intent.path.0;
            assert_eq!(path, format!("/b{n}").into_bytes());
        }
        assert!(past.noted(3).is_err());
    }
}
