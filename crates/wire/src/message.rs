//! The messages. Their order here is their number in the protocol: new ones go to the end, with a new version.

use serde::{Deserialize, Serialize};

use crate::report::{Change, LeftOut, Problem, Removal, Summary};

/// What the side that was started at the command line wants of the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct Open {
    /// What the other side is to do.
    pub role: Role,
    /// The directory there.
    pub path: Vec<u8>,
    /// Options of `lop mirror`, of which each side heeds those that are for it.
    pub dry_run: bool,
    /// `--delete`
    pub delete: bool,
    /// `--max-delete`
    pub max_delete: Option<u64>,
    /// `--allow-empty-source`
    pub allow_empty: bool,
    /// Whether to ask before anything is removed.
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
    /// Whether each change is to be told.
    pub lists: bool,
    /// The destination, if the other side is to send.
    pub place: Option<Place>,
}

/// A pattern as it was typed, and others that it stands for too, all counted from the top directory.
pub type Pattern = (String, Vec<String>);

/// A directory, for the other side to see that it is one of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The identity that Linux gave itself when it booted.
    pub boot: String,
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
}

/// What a side does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// It has the source.
    Send,
    /// It has the destination.
    Receive,
}

/// What the other side answers to [`Open`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// It begins; where the destination is, if it is there.
    Ready(Option<Place>),
    /// It does not; whether that is as it would not be right, and why.
    Refused {
        /// It could, but will not.
        on_purpose: bool,
        /// A sentence for the user.
        text: String,
    },
}

/// What the sender says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromSender<'a> {
    /// A directory that was listed, or the top one, is gone into now.
    #[serde(borrow)]
    Enter(Enter<'a>),
    /// Names of a directory that was entered.
    Names(Names<'a>),
    /// All names of a directory were sent.
    Leave {
        /// Its number.
        dir: u64,
        /// Whether these are all that it has.
        whole: bool,
    },
    /// A directory that was listed cannot be gone into.
    Closed {
        /// Its number.
        dir: u64,
        /// Why.
        loss: Loss,
    },
    /// Something of a directory could not be read.
    Failed {
        /// The directory.
        dir: u64,
        /// The name in it; nothing for the directory itself.
        name: &'a [u8],
        /// Why.
        loss: Loss,
    },
    /// A file, all of it: the bytes follow the message.
    File {
        /// What it answers.
        request: u64,
        /// What it was like when it was opened.
        meta: Meta,
        /// Whether it was the same when it had been read.
        stable: bool,
        /// BLAKE3 of the bytes, if copies are to be verified.
        digest: Option<[u8; 32]>,
    },
    /// A file of which the bytes follow in pieces, from `from` on: those before are the ones that the receiver has.
    Begin {
        /// What it answers.
        request: u64,
        /// What it was like when it was opened.
        meta: Meta,
        /// Bytes that are not sent.
        from: u64,
    },
    /// Bytes of a file, which follow the message; what is between two pieces is a hole.
    Piece {
        /// What it answers.
        request: u64,
        /// Where they are in the file.
        at: u64,
    },
    /// It changed while it was read, and is sent from its beginning again.
    Again {
        /// What it answers.
        request: u64,
        /// What it is like now.
        meta: Meta,
    },
    /// There is no more of it.
    End {
        /// What it answers.
        request: u64,
        /// Whether it was the same when it had been read.
        stable: bool,
        /// BLAKE3 of all of it, if copies are to be verified.
        digest: Option<[u8; 32]>,
    },
    /// It cannot be sent.
    Lost {
        /// What it answers.
        request: u64,
        /// Why.
        loss: Loss,
    },
    /// The answer to [`FromReceiver::Done`].
    Bye {
        /// Which patterns matched something of the source: a bit for each of the first 32 of `--include`, and
        /// from the 33rd bit on of `--exclude`.
        matched: u64,
    },
    /// The answer to [`FromReceiver::Ask`], after [`FromSender::Bye`].
    Consent {
        /// Whether it may be removed.
        given: bool,
    },
}

/// What the receiver says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromReceiver<'a> {
    /// Asks for the content of a file.
    Fetch {
        /// A number that is not under way.
        request: u64,
        /// The listing that it is in.
        window: u64,
        /// Its place among the names there.
        item: u32,
        /// What the receiver has of it, perhaps.
        have: Option<Have>,
    },
    /// A listing is dealt with.
    Release {
        /// Which.
        window: u64,
    },
    /// Nothing more is needed.
    Done,
    /// Something was changed.
    #[serde(borrow)]
    Changed(Change<'a>),
    /// How far it is.
    Progress {
        /// Names dealt with.
        names: u64,
        /// Bytes of files dealt with.
        bytes: u64,
        /// Entries removed.
        removed: u64,
        /// What came of it so far, at least.
        so_far: Summary,
    },
    /// Something could not be mirrored; after [`FromReceiver::Done`].
    Problem(Problem<'a>),
    /// What came of it; the last message.
    Finished(Summary),
    /// Asks whether this may be removed, if that is to be asked; after [`FromSender::Bye`].
    #[serde(borrow)]
    Ask(Removal<'a>),
    /// Something was left out, though no pattern says so; after [`FromReceiver::Done`].
    LeftOut {
        /// Why.
        why: LeftOut,
        /// The path below the top.
        path: &'a [u8],
    },
}

/// A directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enter<'a> {
    /// The number that it was listed with; 0 for the top one.
    pub dir: u64,
    /// What it is like.
    #[serde(borrow)]
    pub facts: Facts<'a>,
    /// Whether what is in it is sent.
    pub is_entered: bool,
}

/// Metadata with attributes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts<'a> {
    /// The metadata.
    pub meta: Meta,
    /// Extended attributes.
    #[serde(borrow)]
    pub xattrs: Vec<Xattr<'a>>,
    /// Whether these are the ACLs alone, as the others could not be read or are too many.
    pub partial: bool,
}

/// An extended attribute: name and value.
pub type Xattr<'a> = (&'a [u8], &'a [u8]);

/// A moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Time {
    /// Seconds since the epoch.
    pub s: i64,
    /// Nanoseconds after that.
    pub ns: u32,
}

/// Metadata of an inode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// Which of the sender's devices it is on, in the order in which it came to them.
    pub device: u16,
    /// Inode number.
    pub inode: u64,
    /// File type and permissions, as in `st_mode`.
    pub mode: u32,
    /// Names that it has.
    pub links: u32,
    /// The owner's number.
    pub uid: u32,
    /// The group's number.
    pub gid: u32,
    /// Bytes.
    pub size: u64,
    /// Whether there are holes in it.
    pub sparse: bool,
    /// Time of modification.
    pub mtime: Time,
    /// Time of access.
    pub atime: Time,
    /// Time of birth, nanoseconds since the epoch; 0 if that is not known.
    pub born_ns: i64,
    /// Which device it is, if it is one, as in `st_rdev`.
    pub special: u64,
}

/// Names of a directory, those of one inode after each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names<'a> {
    /// The directory's number.
    pub dir: u64,
    /// The listing's own, one more than that of the one before.
    pub window: u64,
    /// What they are.
    #[serde(borrow)]
    pub records: Vec<Record<'a>>,
}

/// An inode, and its names in one listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record<'a> {
    /// What it is.
    #[serde(borrow)]
    pub item: Item<'a>,
    /// Its names here.
    #[serde(borrow)]
    pub names: Vec<&'a [u8]>,
    /// What was known of its content from earlier, if that is of use.
    #[serde(borrow)]
    pub content: Option<Content<'a>>,
}

/// What was known of a content from earlier: a hint, since the file may have changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content<'a> {
    /// BLAKE3 of it.
    pub digest: [u8; 32],
    /// A file that has it too, as a path below the top; nothing if there is none.
    pub also: &'a [u8],
}

/// What has a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Item<'a> {
    /// A directory; which number it will be entered by.
    Dir(u64),
    /// Something that needs no content but this: a regular file of which to ask, a FIFO, a socket, a device, or a
    /// symbolic link with what it is to.
    Other(#[serde(borrow)] Facts<'a>, &'a [u8]),
}

/// What the receiver has of a file, perhaps: bytes from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Have {
    /// How many.
    pub length: u64,
    /// BLAKE3 of them.
    pub digest: [u8; 32],
    /// Whether nothing is to be sent in any case: it is to be known whether they are alike.
    pub only: bool,
}

/// Why something of the source is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Loss {
    /// It is gone, which is no failure.
    Vanished,
    /// It is something else now.
    Changed,
    /// It is left out, though no pattern says so.
    LeftOut(LeftOut),
    /// A call failed.
    Failed(Op, Error),
    /// The kernel makes its content up while it is read, and its size does not tell how much there is.
    MadeUp,
}

/// What was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Op {
    /// To open it.
    Open,
    /// To list it.
    List,
    /// To read its metadata.
    Stat,
    /// To read it.
    Read,
}

/// What the system answered: the number of Linux's errors, 0 for something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Error(pub i32);

/// Returns whether a name that the other side said is one component of a path, and not the directory itself or
/// the one above.
pub fn is_name(name: &[u8]) -> bool {
    // The most that a name can have on Linux (`NAME_MAX`).
    let fits = (1..=255).contains(&name.len());
    fits && name != b"." && name != b".." && !name.iter().any(|&b| b == b'/' || b == 0)
}

#[cfg(test)]
mod tests {
    use super::{FromReceiver, FromSender, Loss, Meta, is_name};
    use crate::LeftOut;
    use crate::{Removal, Summary, encode};

    #[test]
    fn a_name_is_one_component() {
        for good in [&b"a"[..], b"...", b".a", b"\xff\n", &[b'n'; 255]] {
            assert!(is_name(good), "{good:?}");
        }
        for bad in [&b""[..], b".", b"..", b"/", b"a/b", b"../a", b"a\0", &[b'n'; 256]] {
            assert!(!is_name(bad), "{bad:?}");
        }
    }

    /// Returns the rows of the tables of messages, as numbers and names.
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
            FromReceiver::Progress { names: 0, bytes: 0, removed: 0, so_far: Summary::default() },
            FromReceiver::Finished(Summary::default()),
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
