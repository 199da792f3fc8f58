//! The messages of sender and receiver.
//!
//! A message's position in its enum is its number in the protocol. New messages go to the end and
//! raise [`crate::VERSION`].

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::report::{Change, Counts, LeftOut, Problem, Removal};

/// The request with which the side that the user started opens the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct Open {
    /// The role of the other side.
    pub role: Role,
    /// The directory on the other side.
    pub path: Vec<u8>,
    /// Options of `lop mirror`. Each side uses those that concern it.
    pub dry_run: bool,
    /// `--delete`
    pub delete: bool,
    /// `--max-delete`
    pub max_delete: Option<u64>,
    /// `--allow-empty-source`
    pub allow_empty: bool,
    /// Whether to ask before anything is removed.
    pub asks: bool,
    /// Whether to ask the user before deleting.
    pub checksum: bool,
    /// `--verify`
    pub verify: bool,
    /// `--fsync`
    pub fsync: bool,
    /// `--one-file-system`
    pub one_file_system: bool,
    /// `--include`
    pub include: Vec<Pattern>,
    /// `--exclude`
    pub exclude: Vec<Pattern>,
    /// `--ignore-case`
    pub ignore_case: bool,
    /// `--link-dest`
    pub link_dest: Option<Vec<u8>>,
    /// `--bwlimit`
    pub bandwidth: Option<u64>,
    /// `--reuse`
    pub reuse: bool,
    /// Whether to report each change.
    pub lists: bool,
    /// The destination, if the other side is the sender.
    pub place: Option<HostDirId>,
}

/// A pattern as the user typed it, and the other patterns that it expands to, all relative to the
/// top directory.
pub type Pattern = (String, Vec<String>);

/// The identity of a directory, by which the other side detects that it is on the same host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostDirId {
    /// The kernel's boot id.
    pub boot: String,
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
}

/// The role of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Sender: has the source.
    Send,
    /// Receiver: has the destination.
    Receive,
}

/// The reply to [`Open`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The session starts. Carries the identity of the destination, if that exists.
    Ready(Option<HostDirId>),
    /// The session does not start.
    Refused {
        /// Whether a safety check refused it, as opposed to a failure.
        on_purpose: bool,
        /// The reason, as a sentence for the user.
        text: String,
    },
}

/// A message of the sender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromSender<'a> {
    /// The sender enters a directory: the top directory, or one that it has listed.
    #[serde(borrow)]
    Enter(EnteredDir<'a>),
    /// A batch of names of an entered directory.
    Names(FileList<'a>),
    /// The listing of a directory has ended.
    Leave {
        /// The directory's number.
        dir: u64,
        /// Whether the listing is complete.
        whole: bool,
    },
    /// A listed directory cannot be entered.
    Closed {
        /// The directory's number.
        dir: u64,
        /// The reason.
        loss: Loss,
    },
    /// An entry of a directory could not be read.
    Failed {
        /// The directory's number.
        dir: u64,
        /// The name in that directory; empty for the directory itself.
        name: &'a [u8],
        /// The reason.
        loss: Loss,
    },
    /// A whole file, whose bytes follow the message.
    File {
        /// The request that this answers.
        request: u64,
        /// The file's metadata when it was opened.
        meta: Meta,
        /// Whether the metadata was the same after the read.
        stable: bool,
        /// BLAKE3 of the bytes, if copies are to be verified.
        digest: Option<[u8; 32]>,
    },
    /// The start of a file that is sent in pieces, from offset `from`. The receiver already has the
    /// bytes before that.
    Begin {
        /// The request that this answers.
        request: u64,
        /// The file's metadata when it was opened.
        meta: Meta,
        /// Offset in bytes of the first byte that is sent.
        from: u64,
    },
    /// A piece of a file, whose bytes follow the message. A gap between two pieces is a hole.
    Piece {
        /// The request that this answers.
        request: u64,
        /// Offset in the file, in bytes.
        at: u64,
    },
    /// The file changed while it was read. The sender restarts from the beginning.
    Again {
        /// The request that this answers.
        request: u64,
        /// The file's current metadata.
        meta: Meta,
    },
    /// The end of a file that was sent in pieces.
    End {
        /// The request that this answers.
        request: u64,
        /// Whether the metadata was the same after the read.
        stable: bool,
        /// BLAKE3 of the whole file, if copies are to be verified.
        digest: Option<[u8; 32]>,
    },
    /// A requested file cannot be sent.
    Lost {
        /// The request that this answers.
        request: u64,
        /// The reason.
        loss: Loss,
    },
    /// The reply to [`FromReceiver::Done`].
    Bye {
        /// The patterns that matched something in the source: bits 0 to 31 for the first 32 of
        /// `--include`, bits 32 to 63 for the first 32 of `--exclude`.
        matched: u64,
    },
    /// The reply to [`FromReceiver::Ask`], after [`FromSender::Bye`].
    Consent {
        /// Whether the user consents to the deletion.
        given: bool,
    },
}

/// A message of the receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromReceiver<'a> {
    /// Requests the content of a file.
    Fetch {
        /// A number that no request in flight has.
        request: u64,
        /// The number of the listing batch that has the file.
        window: u64,
        /// The index of the file in that batch.
        item: u32,
        /// The part of the file that the receiver may already have.
        have: Option<KnownPrefix>,
    },
    /// Returns the credit of a listing batch that the receiver has processed.
    Release {
        /// The batch's number.
        window: u64,
    },
    /// The receiver needs nothing more.
    Done,
    /// Reports a change of the destination.
    Changed(Cow<'a, Change>),
    /// Reports progress.
    Progress {
        /// Names processed.
        names: u64,
        /// Bytes of files processed.
        bytes: u64,
        /// Entries deleted.
        removed: u64,
        /// The counts so far, each a lower bound.
        so_far: Counts,
    },
    /// Reports an entry that could not be mirrored; after [`FromReceiver::Done`].
    #[serde(borrow)]
    Problem(Problem<'a>),
    /// The last message.
    Finished {
        /// The final counts.
        counts: Counts,
        /// The patterns that matched something, as in [`FromSender::Bye`].
        matched: u64,
        /// Whether the receiver was asked to stop.
        stopped: bool,
    },
    /// Asks the user for consent to a deletion; after [`FromSender::Bye`].
    Ask(Removal),
    /// Reports an entry that was skipped although no pattern excludes it; after
    /// [`FromReceiver::Done`].
    LeftOut {
        /// The reason.
        why: LeftOut,
        /// The path relative to the top directory.
        path: &'a [u8],
    },
}

/// A directory that the sender enters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnteredDir<'a> {
    /// The number under which it was listed; 0 for the top directory.
    pub dir: u64,
    /// The directory's metadata.
    #[serde(borrow)]
    pub facts: InodeMetadata<'a>,
    /// Whether the sender sends its entries.
    pub is_entered: bool,
}

/// Metadata and extended attributes of an inode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InodeMetadata<'a> {
    /// The metadata.
    pub meta: Meta,
    /// Extended attributes.
    #[serde(borrow)]
    pub xattrs: Vec<Xattr<'a>>,
    /// Whether `xattrs` has only the ACLs, because the other attributes could not be read or are
    /// too many.
    pub partial: bool,
}

/// Name and value of an extended attribute.
pub type Xattr<'a> = (&'a [u8], &'a [u8]);

/// A point in time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Time {
    /// Seconds since the epoch.
    pub s: i64,
    /// Nanoseconds within the second.
    pub ns: u32,
}

/// Metadata of an inode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// The sender's number of the device; devices are numbered in the order in which the sender
    /// meets them.
    pub device: u16,
    /// Inode number.
    pub inode: u64,
    /// File type and permissions, as in `st_mode`.
    pub mode: u32,
    /// Link count.
    pub links: u32,
    /// User id of the owner.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Size in bytes.
    pub size: u64,
    /// Whether the file has holes.
    pub sparse: bool,
    /// Modification time.
    pub mtime: Time,
    /// Access time.
    pub atime: Time,
    /// Birth time in nanoseconds since the epoch; 0 if unknown.
    pub born_ns: i64,
    /// Device number of a device node, as in `st_rdev`.
    pub special: u64,
}

/// A batch of a directory's names. Names of one inode are adjacent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileList<'a> {
    /// The directory's number.
    pub dir: u64,
    /// The batch's number, one more than that of the batch before it.
    pub window: u64,
    /// The inodes with their names.
    #[serde(borrow)]
    pub records: Vec<FileListEntry<'a>>,
}

/// An inode and its names in one batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileListEntry<'a> {
    /// The inode.
    #[serde(borrow)]
    pub item: Item<'a>,
    /// Its names in this batch.
    #[serde(borrow)]
    pub names: Vec<&'a [u8]>,
    /// What the sender's catalog remembers of the content, if the receiver can use it.
    pub content: Option<Cow<'a, ContentHint>>,
}

/// What a catalog remembers of a file's content. It is only a hint, as the file may have changed
/// since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentHint {
    /// BLAKE3 of the content.
    pub digest: [u8; 32],
    /// Path of another file with the same content, relative to the top directory; empty if there is
    /// none.
    pub also: Vec<u8>,
}

/// A listed entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Item<'a> {
    /// A directory, with the number under which the sender will enter it.
    Dir(u64),
    /// Any other file type: a regular file whose content can be requested, a FIFO, socket or
    /// device, or a symbolic link with its target.
    Other(#[serde(borrow)] InodeMetadata<'a>, &'a [u8]),
}

/// The leading bytes of a file that the receiver may already have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownPrefix {
    /// Their number.
    pub length: u64,
    /// Their BLAKE3.
    pub digest: [u8; 32],
    /// Whether the receiver only asks whether they are equal and wants no bytes.
    pub only: bool,
}

/// Why the sender does not send an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Loss {
    /// It no longer exists. This is not a failure.
    Vanished,
    /// It was replaced by a different file.
    Changed,
    /// It is skipped although no pattern excludes it.
    LeftOut(LeftOut),
    /// A system call failed.
    Failed(Op, Error),
    /// The kernel generates its content on reading, and its size does not tell the number of bytes.
    MadeUp,
}

/// The operation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Op {
    /// Opening it.
    Open,
    /// Listing it.
    List,
    /// Reading its metadata.
    Stat,
    /// Reading its content.
    Read,
}

/// The Linux error number of a failed call; 0 for any other error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Error(pub i32);

/// Returns whether a name from the other side is a single path component other than `.` and `..`.
pub fn is_name(name: &[u8]) -> bool {
    // `NAME_MAX` on Linux.
    let fits = (1..=255).contains(&name.len());
    fits && name != b"." && name != b".." && !name.iter().any(|&b| b == b'/' || b == 0)
}

#[cfg(test)]
mod tests {
    use super::{FromReceiver, FromSender, Loss, Meta, is_name};
    use crate::{Counts, LeftOut, Removal, encode};

    #[test]
    fn a_name_is_one_component() {
        for good in [&b"a"[..], b"...", b".a", b"\xff\n", &[b'n'; 255]] {
            assert!(is_name(good), "{good:?}");
        }
        for bad in [&b""[..], b".", b"..", b"/", b"a/b", b"../a", b"a\0", &[b'n'; 256]] {
            assert!(!is_name(bad), "{bad:?}");
        }
    }

    /// Returns number and name of each message in the tables of the protocol page.
    fn documented() -> Vec<(u8, String)> {
        let page = include_str!("../../../docs/protocol.md");
        let rows = page.lines().filter_map(|line| {
            let mut cells = line.strip_prefix("| ")?.split(" | ");
            let number = cells.next()?.parse().ok()?;
            Some((number, cells.next()?.trim_matches('`').to_string()))
        });
        rows.filter(|(_, name)| name.starts_with(char::is_uppercase)).collect()
    }

    #[test]
    fn the_page_has_the_numbers_of_the_messages() {
        let (loss, meta, request, dir) = (Loss::Vanished, Meta::default(), 0, 0);
        let (stable, digest) = (true, None);
        let of_sender = [
            FromSender::Leave { dir, whole: true },
            FromSender::Closed { dir, loss },
            FromSender::Failed { dir, name: b"", loss },
            FromSender::File { request, meta, stable, digest },
            FromSender::Begin { request, meta, from: 0 },
            FromSender::Piece { request, at: 0 },
            FromSender::Again { request, meta },
            FromSender::End { request, stable, digest },
            FromSender::Lost { request, loss },
            FromSender::Bye { matched: 0 },
            FromSender::Consent { given: true },
        ];
        let of_receiver = [
            FromReceiver::Fetch { request, window: 0, item: 0, have: None },
            FromReceiver::Release { window: 0 },
            FromReceiver::Done,
            FromReceiver::Progress { names: 0, bytes: 0, removed: 0, so_far: Counts::default() },
            FromReceiver::Finished { counts: Counts::default(), matched: 0, stopped: false },
            FromReceiver::Ask(Removal::default()),
            FromReceiver::LeftOut { why: LeftOut::Temporary, path: b"" },
        ];
        let name =
            |debug: String| debug.split([' ', '(', '{']).next().unwrap_or_default().to_string();
        let sent = of_sender.iter().map(|message| (encode(message), name(format!("{message:?}"))));
        let heard =
            of_receiver.iter().map(|message| (encode(message), name(format!("{message:?}"))));
        let documented = documented();
        assert_eq!(documented.len(), 13 + 9);
        for (encoded, name) in sent.chain(heard) {
            let row = (encoded.expect("it is encoded")[0], name);
            assert!(documented.contains(&row), "{row:?}");
        }
    }
}
