//! Pending requests for file content, and the local files that they build on.

use std::ffi::CString;

use fsops::{Kind, Stat, Time};
use wire::{KnownPrefix, Loss, Meta};

use crate::engine::dir_state::Waiter;
use crate::engine::entry::Entry;
use crate::model::content::ContentCandidate;
use crate::model::reason::Reason;
use wire::Differences;

/// A request for file content that the sender has not fully answered.
#[derive(Debug)]
pub(crate) struct PendingRequest {
    pub(crate) waiter: Waiter,
    /// The differences between the source file and the destination entry that it replaces, if any.
    pub(crate) replaces: Option<Differences>,
    /// The prefix of the file that the destination already has, according to the request.
    pub(crate) have: Option<KnownPrefix>,
    pub(crate) basis: Basis,
}

/// The local file whose digest the request contains.
#[derive(Clone, Debug)]
pub(crate) enum Basis {
    Absent,
    /// The destination entry of the same name. If it is identical to the source file, only its
    /// metadata is adjusted.
    Existing(Box<(Stat, Differences)>),
    /// The file of the same name in the base tree.
    Base,
    /// A file in the same directory that may be a prefix of the requested file. Either an
    /// interrupted run left it, or the source file has grown since the last run.
    Prefix(Box<CString>),
    /// Another file in the destination that may have the same content.
    Candidate(Box<ContentCandidate>),
}

impl Basis {
    /// Returns whether the basis is a complete file that must not be written to.
    pub(crate) fn is_complete_file(&self) -> bool {
        matches!(self, Basis::Existing(_) | Basis::Base | Basis::Candidate(_))
    }
}

/// Converts the sender's metadata to a [`Stat`].
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
    // The kernel gives larger nanosecond values a special meaning, such as `UTIME_NOW`.
    Time { s: time.s, ns: time.ns.min(999_999_999) }
}

impl PendingRequest {
    /// Returns the entry whose content is requested.
    pub(crate) fn entry(&self) -> Entry<'_> {
        Entry::of(&self.waiter.shared, self.waiter.index)
    }

    /// Returns the metadata from the listing.
    pub(crate) fn listed_stat(&self) -> Stat {
        let stat = self.entry().remote.map(|remote| remote.stat);
        stat.unwrap_or_else(|| stat_of(&Meta::default()))
    }

    /// Returns the metadata from when the sender opened the file, but with the inode from the
    /// listing. The kind is unknown if the listed file has several names and the requested name now
    /// refers to another file. The remaining names do not belong to that other file.
    pub(crate) fn opened_stat(&self, meta: &Meta) -> Stat {
        // Hard links are grouped by the listed inodes alone.
        let Stat { inode, links, born_ns, .. } = self.listed_stat();
        let now = stat_of(meta);
        let is_other = (now.inode, now.born_ns) != (inode, born_ns);
        let kind = if links > 1 && is_other { Kind::Unknown } else { now.kind };
        Stat { inode, links, born_ns, kind, ..now }
    }
}

/// Returns the reason why a source entry is unavailable, or `None` if it disappeared or was left
/// out.
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
