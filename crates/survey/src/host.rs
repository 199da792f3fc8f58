//! The lists of one host, and the answers to them.

use std::collections::HashMap;
use std::ffi::CStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use export::{Error, Key, check_host};
use fsops::{Context, Dir, Op};

use crate::files::{
    self, AnswerHeader, AnsweredList, FOLDER, Kind, ListHeader, Opened, numbers_of,
};
use crate::sorted::compress;

/// Maximum number of lists of a kind. If a host would need more, it writes one list of all numbers.
const MOST_LISTS: usize = 16;

/// The files of one host in a survey. Other processes cannot change the lists of this host meanwhile.
#[derive(Debug)]
pub struct HostSurvey {
    dir: Dir,
    path: PathBuf,
    host: String,
    key_id: Option<String>,
}

/// The numbers of a host that another host has listed, too.
#[derive(Debug, Default)]
pub struct Shared {
    /// The numbers, in ascending order.
    numbers: Vec<u64>,
    /// Names of the hosts whose lists were compared, without this host.
    pub hosts: Vec<String>,
    /// Number of listed numbers to which the answer does not refer, because it is older.
    pub unanswered: u64,
}

impl Shared {
    /// Returns whether another host has listed this number.
    pub fn contains(&self, number: u64) -> bool {
        self.numbers.binary_search(&number).is_ok()
    }

    /// Returns how many numbers another host has listed.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Returns whether no other host has listed any number.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }
}

/// Lists that were written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// Number of listed numbers.
    pub numbers: u64,
    /// Size in bytes of the files that were written; 0 if the lists had not changed.
    pub bytes: u64,
}

impl HostSurvey {
    /// Opens the survey of a host below `out`, the folder of all exports, and locks it. Creates missing
    /// folders.
    ///
    /// # Errors
    ///
    /// Fails if `host` cannot be the name of a folder, if another process uses the survey of this host, or if a folder
    /// cannot be created. Missing parents may have been created.
    pub fn open(out: &Path, host: &str, key: Option<&Key>) -> Result<HostSurvey, Error> {
        check_host(host)?;
        let path = out.join(host).join(FOLDER.to_string_lossy().as_ref());
        fsops::create_dir_private(&path)?;
        let dir = Dir::open(&path).context(Op::Open, || &path)?;
        if !dir.lock().context(Op::Lock, || &path)? {
            return Err(Error::Busy(path));
        }
        Ok(HostSurvey { dir, path, host: host.into(), key_id: key.map(|key| key.id().into()) })
    }

    /// Returns the numbers that another host has listed, or `None` if there is no answer yet. If a list is
    /// damaged, there are none, and [`HostSurvey::publish`] replaces all lists.
    ///
    /// # Errors
    ///
    /// Fails if a list or the answer cannot be read, or if the answer is damaged.
    pub fn shared(&self, kind: Kind) -> Result<Option<Shared>, Error> {
        let answer = files::open::<AnswerHeader>(&self.dir, &self.path, &kind.answer())?;
        let Some(mut answer) = answer else { return Ok(None) };
        let invalid = |reason: String| {
            let path = self.path.join(kind.answer().to_string_lossy().as_ref());
            Error::Invalid { path, reason }
        };
        let hosts = answer.header.hosts.iter().filter(|host| **host != self.host);
        let mut shared = Shared { hosts: hosts.cloned().collect(), ..Shared::default() };
        let mut bits = Vec::new();
        answer.body.read_to_end(&mut bits).context(Op::Read, || &self.path)?;
        let lists = match self.lists(kind) {
            Err(Error::Invalid { .. }) => Vec::new(),
            lists => lists?,
        };
        let mut lists: HashMap<String, Opened<ListHeader>> =
            lists.into_iter().map(|list| (list.blake3.clone(), list)).collect();
        let mut at = 0u64;
        for AnsweredList { blake3, numbers: count } in &answer.header.lists {
            let (first, after) = (at, at.saturating_add(*count));
            at = after;
            if bits.len() as u64 * 8 < after {
                return Err(invalid("is too short".into()));
            }
            let Some(list) = lists.remove(blake3) else { continue };
            let mut numbers = numbers_of(list);
            for place in first..after {
                let Some(number) = numbers.read().context(Op::Read, || &self.path)? else { break };
                if bit(&bits, place) {
                    shared.numbers.push(number);
                }
            }
        }
        shared.unanswered = lists.values().map(|list| list.header.numbers).sum();
        shared.numbers.sort_unstable();
        Ok(Some(shared))
    }

    /// Lists numbers, which must ascend strictly.
    ///
    /// Numbers that are already listed stay where they are, so that an answer and copies of the
    /// lists stay valid: only new numbers are written. If more than an eighth of the listed numbers is
    /// obsolete, all lists are replaced.
    ///
    /// # Errors
    ///
    /// Fails if a list cannot be read or written. Lists are then missing or unchanged.
    pub fn publish(&self, kind: Kind, numbers: &[u64]) -> Result<Published, Error> {
        let header = |numbers: &[u64]| ListHeader {
            kind,
            host: self.host.clone(),
            key_id: self.key_id.clone(),
            numbers: numbers.len() as u64,
        };
        // Damaged lists are replaced.
        let (mut listed, mut lists, mut is_usable) = (Vec::new(), 0, true);
        for list in self.lists(kind).unwrap_or_default() {
            lists += 1;
            is_usable &= list.header.key_id == self.key_id;
            let mut old = numbers_of(list);
            while let Some(number) = old.read().context(Op::Read, || &self.path)? {
                listed.push(number);
            }
        }
        listed.sort_unstable();
        let new: Vec<u64> =
            numbers.iter().copied().filter(|n| listed.binary_search(n).is_err()).collect();
        let obsolete = listed.len() + new.len() - numbers.len();
        let write = |number, numbers: &[u64]| {
            let (name, body) = (kind.list(number), compress(numbers));
            files::write(&self.dir, &self.path, &name, header(numbers), &body)
        };
        let mut published = Published { numbers: numbers.len() as u64, bytes: 0 };
        if is_usable && lists > 0 && obsolete <= listed.len() / 8 && lists < MOST_LISTS {
            if !new.is_empty() {
                published.bytes = write(lists, &new)?.unwrap_or(0);
            }
            return Ok(published);
        }
        if kind == Kind::Heads && numbers.is_empty() && lists == 0 {
            return Ok(published);
        }
        // The first list is replaced last. If the process is killed before, the others are missing.
        for number in 1..=MOST_LISTS {
            self.remove(&kind.list(number))?;
        }
        published.bytes = write(0, numbers)?.unwrap_or(0);
        Ok(published)
    }

    fn lists(&self, kind: Kind) -> Result<Vec<Opened<ListHeader>>, Error> {
        files::lists(&self.dir, &self.path, kind)
    }

    fn remove(&self, name: &CStr) -> Result<(), Error> {
        match self.dir.remove_name(name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => Ok(removed.context(Op::Remove, || &self.path)?),
        }
    }
}

/// Returns whether bit number `place` is set.
fn bit(bits: &[u8], place: u64) -> bool {
    let byte = usize::try_from(place / 8).ok().and_then(|at| bits.get(at));
    byte.is_some_and(|byte| byte >> (place % 8) & 1 == 1)
}

impl Drop for HostSurvey {
    fn drop(&mut self) {
        self.dir.unlock();
    }
}
