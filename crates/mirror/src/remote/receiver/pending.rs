//! A file whose content a receiver asked for, and what it said that it has of it.

use std::ffi::CString;

use fsops::{Kind, Stat, Time};
use wire::{Have, Loss, Meta};

use crate::engine::dir_state::Waiter;
use crate::engine::entry::Entry;
use crate::model::change::Differences;
use crate::model::content::ContentCandidate;
use crate::model::reason::Reason;

/// A file whose content was asked for.
#[derive(Debug)]
pub(crate) struct PendingRequest {
    pub(crate) waiter: Waiter,
    /// How what it takes the place of differs.
    pub(crate) replaces: Option<Differences>,
    /// What was said that there is of it.
    pub(crate) have: Option<Have>,
    pub(crate) basis: Basis,
}

/// What a digest was sent of.
#[derive(Clone, Debug)]
pub(crate) enum Basis {
    Absent,
    /// The file that has the name at the destination, which is to be adjusted if it is equal.
    Existing(Box<(Stat, Differences)>),
    /// The file in the tree that may be linked to.
    Base,
    /// A file of this name in the same directory that may be the beginning of it: what a run left that was cut off,
    /// or what it was before it grew.
    Prefix(Box<CString>),
    /// A file elsewhere in the destination that may have all of its content.
    Candidate(Box<ContentCandidate>),
}

impl Basis {
    /// Returns whether it is of use as a whole, and need not be written to.
    pub(crate) fn is_complete_file(&self) -> bool {
        matches!(self, Basis::Existing(_) | Basis::Base | Basis::Candidate(_))
    }
}

/// Returns metadata as the file system of this host would tell them.
pub(crate) fn stat_of(meta: &Meta) -> Stat {
    Stat {
        device: u64::from(meta.device),
        inode: meta.inode,
        mount: 0,
        kind: Kind::of_mode(meta.mode),
        size: meta.size,
        allocated: if meta.sparse { 0 } else { meta.size },
        links: meta.links,
        mtime: time_of(meta.mtime),
        ctime_ns: 0,
        atime: time_of(meta.atime),
        mode: meta.mode,
        uid: meta.uid,
        gid: meta.gid,
        born_ns: meta.born_ns,
        special: meta.special,
    }
}

fn time_of(time: wire::Time) -> Time {
    // More would be something else than a time to the kernel.
    Time { s: time.s, ns: time.ns.min(999_999_999) }
}

impl PendingRequest {
    /// Returns the name that it was asked for.
    pub(crate) fn entry(&self) -> Entry<'_> {
        Entry::of(&self.waiter.shared, self.waiter.index)
    }

    /// Returns the metadata when it was listed.
    pub(crate) fn listed_stat(&self) -> Stat {
        let stat = self.entry().remote.map(|remote| remote.stat);
        stat.unwrap_or_else(|| stat_of(&Meta::default()))
    }

    /// Returns the metadata when it was opened, for the file that was listed. That is no file if the name is one of
    /// several and another file has it now: the others are not names of that.
    pub(crate) fn opened_stat(&self, meta: &Meta) -> Stat {
        // What names are linked to each other follows from the listings alone.
        let Stat { inode, links, born_ns, .. } = self.listed_stat();
        let now = stat_of(meta);
        let kind = if links > 1 && now.inode != inode { Kind::Unknown } else { now.kind };
        Stat { inode, links, born_ns, kind, ..now }
    }
}

/// Returns why something of the source is not to be had; nothing if it is just gone.
pub(crate) fn reason_of(loss: Loss) -> Option<Reason> {
    let (op, error) = match loss {
        Loss::Vanished | Loss::LeftOut(_) => return None,
        Loss::MadeUp => return Some(Reason::MadeUp),
        Loss::Changed => return Some(Reason::Changed),
        Loss::Failed(op, error) => (op, error),
    };
    let op = match op {
        wire::Op::Open => fsops::Op::Open,
        wire::Op::List => fsops::Op::List,
        wire::Op::Stat => fsops::Op::Stat,
        wire::Op::Read => fsops::Op::Read,
    };
    Some(Reason::Source { op, source: std::io::Error::from_raw_os_error(error.0) })
}
