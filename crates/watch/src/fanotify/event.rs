//! Parses the bytes of events: `struct fanotify_event_metadata` and the records that follow it
//! (fanotify(7)).
//!
//! The parser does not rely on the kernel to produce valid bytes. If a length does not fit, the
//! iteration ends with an error, without a panic.

/// An inode: its file system, and its handle on this file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inode<'a> {
    /// The identity of the file system, as in `fsops::Volume`.
    pub(super) fsid: u64,
    /// The type of the handle.
    pub(super) kind: i32,
    pub(super) handle: &'a [u8],
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event<'a> {
    pub(super) mask: u64,
    /// A directory and a name in it, if known. The name `.` means the directory itself.
    pub(super) name: Option<(Inode<'a>, &'a [u8])>,
    /// The file or directory with this name, if known.
    pub(super) inode: Option<Inode<'a>>,
}

/// The error for bytes that do not have the format of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// The version of the format (`FANOTIFY_METADATA_VERSION`).
const VERSION: u8 = 3;

/// The length of `struct fanotify_event_metadata`.
const METADATA_LENGTH: usize = 24;

/// The length of `struct fanotify_event_info_header`.
const HEADER_LENGTH: usize = 4;

/// Returns the events in the bytes of a read.
pub(super) fn parse(bytes: &[u8]) -> impl Iterator<Item = Result<Event<'_>, Malformed>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (event, after) =
            split(rest).map_or((Err(Malformed), &[][..]), |(event, after)| (Ok(event), after));
        rest = after;
        Some(event)
    })
}

/// Returns the first event and the bytes after it.
fn split(bytes: &[u8]) -> Option<(Event<'_>, &[u8])> {
    let length = usize::try_from(u32::from_ne_bytes(chunk(bytes, 0)?)).ok()?;
    let version: [u8; 1] = chunk(bytes, 4)?;
    let records = usize::from(u16::from_ne_bytes(chunk(bytes, 6)?));
    let mask = u64::from_ne_bytes(chunk(bytes, 8)?);
    if version != [VERSION] || records < METADATA_LENGTH {
        return None;
    }
    let (event, after) = bytes.split_at_checked(length)?;
    let mut records = event.get(records..)?;
    let mut found = Event { mask, name: None, inode: None };
    while !records.is_empty() {
        let [kind, _] = chunk(records, 0)?;
        let length = usize::from(u16::from_ne_bytes(chunk(records, 2)?));
        if length < HEADER_LENGTH {
            return None;
        }
        let (record, next) = records.split_at_checked(length)?;
        let record = &record[HEADER_LENGTH..];
        match kind {
            libc::FAN_EVENT_INFO_TYPE_FID => found.inode = Some(inode(record)?.0),
            libc::FAN_EVENT_INFO_TYPE_DFID_NAME => {
                let (dir, name) = inode(record)?;
                found.name = Some((dir, name.split(|&byte| byte == 0).next()?));
            }
            _ => {}
        }
        records = next;
    }
    Some((found, after))
}

/// Returns the inode at the start of a record, and the bytes after it.
fn inode(record: &[u8]) -> Option<(Inode<'_>, &[u8])> {
    let fsid = u64::from_ne_bytes(chunk(record, 0)?);
    let length = usize::try_from(u32::from_ne_bytes(chunk(record, 8)?)).ok()?;
    let kind = i32::from_ne_bytes(chunk(record, 12)?);
    let (handle, rest) = record.get(16..)?.split_at_checked(length)?;
    Some((Inode { fsid, kind, handle }, rest))
}

/// Returns the `N` bytes at an offset.
fn chunk<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Event, Inode, Malformed, parse};

    fn record(kind: u8, fsid: u64, handle: &[u8], name: &[u8]) -> Vec<u8> {
        let length = u16::try_from(20 + handle.len() + name.len()).expect("short");
        let handle_length = u32::try_from(handle.len()).expect("short");
        let head = [&[kind, 0][..], &length.to_ne_bytes(), &fsid.to_ne_bytes()].concat();
        let rest = [&handle_length.to_ne_bytes()[..], &1_i32.to_ne_bytes(), handle, name].concat();
        [head, rest].concat()
    }

    fn event(mask: u64, records: &[Vec<u8>]) -> Vec<u8> {
        let records = records.concat();
        let length = u32::try_from(24 + records.len()).expect("short");
        let head = [&length.to_ne_bytes()[..], &[3, 0], &24_u16.to_ne_bytes()].concat();
        [&head[..], &mask.to_ne_bytes(), &(-1_i32).to_ne_bytes(), &[0; 4], &records].concat()
    }

    const DIR: Inode<'static> = Inode { fsid: 7, kind: 1, handle: b"directory" };
    const FILE: Inode<'static> = Inode { fsid: 7, kind: 1, handle: b"file" };

    #[test]
    fn events_are_parsed() {
        let named =
            event(2, &[record(2, 7, b"directory", b"name\0\0\0"), record(1, 7, b"file", b"")]);
        let nameless = event(4, &[record(1, 7, b"file", b"")]);
        let other = event(8, &[record(77, 7, b"directory", b"")]);
        let found: Result<Vec<_>, _> = parse(&[named, nameless, other].concat())
            .map(|event| {
                event.map(|event| (event.mask, event.name.is_some(), event.inode.is_some()))
            })
            .collect();
        assert_eq!(found, Ok(vec![(2, true, true), (4, false, true), (8, false, false)]));
        let named =
            event(2, &[record(2, 7, b"directory", b"name\0\0\0"), record(1, 7, b"file", b"")]);
        let expected = Event { mask: 2, name: Some((DIR, b"name")), inode: Some(FILE) };
        assert_eq!(parse(&named).collect::<Vec<_>>(), [Ok(expected)]);
    }

    #[test]
    fn cut_events_are_malformed() {
        let named =
            event(2, &[record(2, 7, b"directory", b"name\0\0\0"), record(1, 7, b"file", b"")]);
        for length in 1..named.len() {
            assert_eq!(parse(&named[..length]).collect::<Vec<_>>(), [Err(Malformed)], "{length}");
        }
        let mut newer = named.clone();
        newer[4] = 4;
        assert_eq!(parse(&newer).next(), Some(Err(Malformed)));
    }

    proptest! {
        #[test]
        fn no_bytes_cause_a_panic(mut bytes: Vec<u8>, at in 0..80_usize, byte: u8) {
            let _events = parse(&bytes).count();
            bytes = event(2, &[record(2, 7, b"directory", b"name\0\0\0"), record(1, 7, b"file", b"")]);
            let at = at % bytes.len();
            bytes[at] = byte;
            let _events = parse(&bytes).count();
        }
    }
}
