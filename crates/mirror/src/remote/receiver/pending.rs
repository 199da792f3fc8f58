//! A pending request: a file whose content the receiver requested, and what it told the sender about the bytes it has.

use std::ffi::CString;

use fsops::{Kind, Stat, Time};
use wire::{KnownPrefix, Loss, Meta};

use crate::engine::dir_state::Waiter;
use crate::engine::entry::Entry;
use crate::model::content::ContentCandidate;
use crate::model::reason::Reason;
use wire::Differences;

/// A pending request.
#[derive(Debug)]
pub(crate) struct PendingRequest {
    pub(crate) waiter: Waiter,
    /// How the entry that the file replaces differs.
    pub(crate) replaces: Option<Differences>,
    /// The bytes that the sender was told the destination has.
    pub(crate) have: Option<KnownPrefix>,
    pub(crate) basis: Basis,
}

/// The file whose digest was sent with a request.
#[derive(Clone, Debug)]
pub(crate) enum Basis {
    Absent,
    /// The destination's entry of the same name. It is only adjusted if it equals the source's file.
    Existing(Box<(Stat, Differences)>),
    /// The file of the same name in the base tree.
    Base,
    /// A file in the same directory that may be a prefix of the requested file: left by an interrupted run, or the file
    /// before it grew.
    Prefix(Box<CString>),
    /// A file elsewhere in the destination that may have the whole content.
    Candidate(Box<ContentCandidate>),
}

impl Basis {
    /// Returns whether the basis is used as a whole, and not written to.
    pub(crate) fn is_complete_file(&self) -> bool {
        matches!(self, Basis::Existing(_) | Basis::Base | Basis::Candidate(_))
    }
}

/// Returns metadata of the sender in the form of this host.
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
    // The kernel takes larger numbers of nanoseconds for something else than a time.
    Time { s: time.s, ns: time.ns.min(999_999_999) }
}

impl PendingRequest {
    /// Returns the name that the request is for.
    pub(crate) fn entry(&self) -> Entry<'_> {
        Entry::of(&self.waiter.shared, self.waiter.index)
    }

    /// Returns the metadata from the listing.
    pub(crate) fn listed_stat(&self) -> Stat {
        let stat = self.entry().remote.map(|remote| remote.stat);
        stat.unwrap_or_else(|| stat_of(&Meta::default()))
    }

    /// Returns the metadata from when the sender opened the file, for the listed inode. The kind is unknown if the
    /// listed file has several names and another file has taken this one: the other names do not belong to that file.
    pub(crate) fn opened_stat(&self, meta: &Meta) -> Stat {
        // Which names are linked to each other depends only on the listings.
        let Stat { inode, links, born_ns, .. } = self.listed_stat();
        let now = stat_of(meta);
        let kind = if links > 1 && now.inode != inode { Kind::Unknown } else { now.kind };
        Stat { inode, links, born_ns, kind, ..now }
    }
}

/// Returns the reason why an entry of the source is not available, or `None` if it disappeared.
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
