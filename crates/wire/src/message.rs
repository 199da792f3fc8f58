//! The messages of sender and receiver.
//!
//! The position of a message in its enum is its number in the protocol. New messages MUST be added
//! at the end, and require a new [`crate::VERSION`].

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::report::{Change, Counts, LeftOut, Problem, Removal};

/// The request that opens a session. Sent by the lop that the user started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct Open {
    /// The role of the peer.
    pub role: Role,
    /// Path of the top directory on the host of the peer.
    pub path: Vec<u8>,
    /// `--dry-run`
    pub dry_run: bool,
    /// `--delete`
    pub delete: bool,
    /// `--max-delete`
    pub max_delete: Option<u64>,
    /// `--allow-empty-source`
    pub allow_empty: bool,
    /// True to ask the user before deleting anything.
    pub asks: bool,
    /// `--checksum`
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
    /// True to report each change.
    pub lists: bool,
    /// The identity of the destination, if the peer is the sender.
    pub place: Option<HostDirId>,
}

/// A pattern as typed, and its other interpretations as patterns relative to the top directory.
pub type Pattern = (String, Vec<String>);

/// The identity of a directory. The sender uses it to recognise the destination if source and
/// destination are on the same host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostDirId {
    /// Boot ID of the kernel.
    pub boot: String,
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
}

/// The role of a lop in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// Sender, which reads the source.
    Send,
    /// Receiver, which writes the destination.
    Receive,
}

/// The reply to [`Open`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The session starts. Contains the identity of the destination, if the destination exists.
    Ready(Option<HostDirId>),
    /// The session does not start.
    Refused {
        /// True if a safety check refused the session, false if an operation failed.
        on_purpose: bool,
        /// The reason as a sentence for the user.
        text: String,
    },
}

/// A message of the sender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromSender<'a> {
    /// The sender enters the top directory or a directory that it has listed.
    #[serde(borrow)]
    Enter(EnteredDir<'a>),
    /// A batch of names in a directory that the sender has entered.
    Names(FileList<'a>),
    /// The listing of a directory ends.
    Leave {
        /// Number of the directory.
        dir: u64,
        /// True if the listing is complete.
        whole: bool,
    },
    /// A listed directory cannot be entered.
    Closed {
        /// Number of the directory.
        dir: u64,
        /// The reason.
        loss: Loss,
    },
    /// An entry of a directory could not be read.
    Failed {
        /// Number of the directory.
        dir: u64,
        /// Name of the entry in the directory. If the name is empty, the directory itself could not
        /// be read.
        name: &'a [u8],
        /// The reason.
        loss: Loss,
    },
    /// A whole file. Its data follows the message.
    File {
        /// Number of the request for this file.
        request: u64,
        /// Metadata of the file when it was opened.
        meta: Meta,
        /// True if the metadata did not change while the file was read.
        stable: bool,
        /// BLAKE3 hash of the file, if copies should be verified.
        digest: Option<[u8; 32]>,
    },
    /// The start of a file that is sent in pieces. The receiver already has the data before offset
    /// `from`.
    Begin {
        /// Number of the request for this file.
        request: u64,
        /// Metadata of the file when it was opened.
        meta: Meta,
        /// Offset in bytes of the first piece.
        from: u64,
    },
    /// A piece of a file. Its data follows the message. A gap between two pieces is a hole.
    Piece {
        /// Number of the request for this file.
        request: u64,
        /// Offset of the piece in the file, in bytes.
        at: u64,
    },
    /// The file changed while it was read. The sender starts over at the beginning of the file.
    Again {
        /// Number of the request for this file.
        request: u64,
        /// Current metadata of the file.
        meta: Meta,
    },
    /// The end of a file that was sent in pieces.
    End {
        /// Number of the request for this file.
        request: u64,
        /// True if the metadata did not change while the file was read.
        stable: bool,
        /// BLAKE3 hash of the whole file, if copies should be verified.
        digest: Option<[u8; 32]>,
    },
    /// A requested file cannot be sent.
    Lost {
        /// Number of the request for this file.
        request: u64,
        /// The reason.
        loss: Loss,
    },
    /// The reply to [`FromReceiver::Done`].
    Bye {
        /// Bit mask of the patterns that matched an entry of the source. Bits 0 to 31 stand for the
        /// first 32 patterns of `--include`, and bits 32 to 63 for the first 32 patterns of
        /// `--exclude`.
        matched: u64,
    },
    /// The reply to [`FromReceiver::Ask`]. Sent after [`FromSender::Bye`].
    Consent {
        /// True if the user consents to the deletion.
        given: bool,
    },
}

/// A message of the receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromReceiver<'a> {
    /// Requests the content of a file.
    Fetch {
        /// Number of the request. It must differ from the numbers of all other requests in flight.
        request: u64,
        /// Number of the listing batch that contains the file.
        window: u64,
        /// Index of the file in the batch.
        item: u32,
        /// The start of the file, if the receiver may already have it.
        have: Option<KnownPrefix>,
    },
    /// Gives back the credit of a listing batch that the receiver has processed.
    Release {
        /// Number of the batch.
        window: u64,
    },
    /// The receiver will not send further requests.
    Done,
    /// Reports a change in the destination.
    Changed(Cow<'a, Change>),
    /// Reports progress.
    Progress {
        /// Number of names processed.
        names: u64,
        /// Number of bytes of file data processed.
        bytes: u64,
        /// Number of entries deleted.
        removed: u64,
        /// Counts so far. The final counts are not lower.
        so_far: Counts,
    },
    /// Reports an entry that could not be mirrored. Sent after [`FromReceiver::Done`].
    #[serde(borrow)]
    Problem(Problem<'a>),
    /// The last message.
    Finished {
        /// The final counts.
        counts: Counts,
        /// Bit mask of the patterns that matched an entry, as in [`FromSender::Bye`].
        matched: u64,
        /// Whether the receiver was asked to stop.
        stopped: bool,
    },
    /// Asks the user for consent to a deletion. Sent after [`FromSender::Bye`].
    Ask(Removal),
    /// Reports an entry that was skipped although no pattern excludes it. Sent after
    /// [`FromReceiver::Done`].
    LeftOut {
        /// The reason.
        why: LeftOut,
        /// Path of the entry relative to the top directory.
        path: &'a [u8],
    },
}

/// A directory that the sender enters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnteredDir<'a> {
    /// Number under which the directory was listed, or 0 for the top directory.
    pub dir: u64,
    /// Metadata of the directory.
    #[serde(borrow)]
    pub facts: InodeMetadata<'a>,
    /// True if the sender will list the directory.
    pub is_entered: bool,
}

/// Metadata and extended attributes of an inode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InodeMetadata<'a> {
    /// Metadata.
    pub meta: Meta,
    /// Extended attributes.
    #[serde(borrow)]
    pub xattrs: Vec<Xattr<'a>>,
    /// True if `xattrs` contains only the ACLs, because the other attributes could not be read or
    /// are too large.
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
    /// Number of the device. The sender numbers devices in the order in which it finds them.
    pub device: u16,
    /// Inode number.
    pub inode: u64,
    /// File type and permissions, as in `st_mode`.
    pub mode: u32,
    /// Link count.
    pub links: u32,
    /// User ID of the owner.
    pub uid: u32,
    /// Group ID.
    pub gid: u32,
    /// Size in bytes.
    pub size: u64,
    /// True if the file has holes.
    pub sparse: bool,
    /// Modification time.
    pub mtime: Time,
    /// Access time.
    pub atime: Time,
    /// Birth time in nanoseconds since the epoch, or 0 if unknown.
    pub born_ns: i64,
    /// Device number of a device file, as in `st_rdev`.
    pub special: u64,
}

/// A batch of names in a directory. Names of the same inode are adjacent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileList<'a> {
    /// Number of the directory.
    pub dir: u64,
    /// Number of the batch. Batches are numbered consecutively.
    pub window: u64,
    /// The inodes and their names.
    #[serde(borrow)]
    pub records: Vec<FileListEntry<'a>>,
}

/// An inode, and its names in a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileListEntry<'a> {
    /// The inode.
    #[serde(borrow)]
    pub item: Item<'a>,
    /// Names of the inode in this batch.
    #[serde(borrow)]
    pub names: Vec<&'a [u8]>,
    /// Content of the file according to the sender's catalog, if the receiver can use this
    /// information.
    pub content: Option<Cow<'a, ContentHint>>,
}

/// Content of a file according to a catalog. This information is only a hint, because the file may
/// have changed since the scan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentHint {
    /// BLAKE3 hash of the content.
    pub digest: [u8; 32],
    /// Path of another file with the same content, relative to the top directory. Empty if there is
    /// none.
    pub also: Vec<u8>,
}

/// A listed entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Item<'a> {
    /// A directory, and the number with which the sender will enter it.
    Dir(u64),
    /// Any other entry: a regular file, a FIFO, a socket, a device, or a symbolic link with its
    /// target. The content of a regular file can be requested.
    Other(#[serde(borrow)] InodeMetadata<'a>, &'a [u8]),
}

/// The start of a file. The receiver may already have this part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownPrefix {
    /// Length in bytes.
    pub length: u64,
    /// BLAKE3 hash of the start of the file.
    pub digest: [u8; 32],
    /// True if the receiver only wants to compare this part and does not need the rest of the file.
    pub only: bool,
}

/// Reason why the sender does not send an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Loss {
    /// The entry no longer exists. This does not count as a failure.
    Vanished,
    /// The entry was replaced by a different file.
    Changed,
    /// The entry is skipped even though no pattern excludes it.
    LeftOut(LeftOut),
    /// A system call failed.
    Failed(Op, Error),
    /// The kernel generates the content when the file is read, so the reported size does not match
    /// the content.
    MadeUp,
}

/// An operation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Op {
    /// Opening the entry.
    Open,
    /// Listing the directory.
    List,
    /// Querying the metadata.
    Stat,
    /// Reading the content.
    Read,
}

/// Linux error number of a failed system call, or 0 for any other error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Error(pub i32);

/// Returns whether a name received from the peer is a single path component other than `.` and
/// `..`.
pub fn is_name(name: &[u8]) -> bool {
    // `NAME_MAX` is 255 on Linux.
    let fits = (1..=255).contains(&name.len());
    fits && name != b"." && name != b".." && !name.iter().any(|&b| b == b'/' || b == 0)
}

#[cfg(test)]
mod tests {
    use super::{FromReceiver, FromSender, Loss, Meta, is_name};
    use crate::{Counts, LeftOut, Removal, encode};

    #[test]
    fn names_are_single_components() {
        for good in [&b"a"[..], b"...", b".a", b"\xff\n", &[b'n'; 255]] {
            assert!(is_name(good), "{good:?}");
        }
        for bad in [&b""[..], b".", b"..", b"/", b"a/b", b"../a", b"a\0", &[b'n'; 256]] {
            assert!(!is_name(bad), "{bad:?}");
        }
    }

    /// Returns the number and name of each message in the tables of the protocol page.
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
    fn message_numbers_match_the_documentation() {
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
            let row = (encoded.expect("encode")[0], name);
            assert!(documented.contains(&row), "{row:?}");
        }
    }
}
