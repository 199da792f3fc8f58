//! The FUSE file system: a directory with the files `disk` and `stats`.
//!
//! This module answers requests that do not need the disk immediately. Reads and writes of `disk`
//! go to the threads of [`transfer`](super::transfer).
//!
//! # Requests of the kernel
//!
//! Requests must arrive unchanged from the block layer, neither merged nor split. `disk` is
//! therefore opened for direct I/O, which bypasses the page cache and readahead of this file
//! system. It is also asynchronous: a loop device would otherwise have only one request in flight
//! and leave the drive no choice. Up to 64 requests of up to 1 MiB may be in flight, twice as many
//! as the drive chooses from.

use std::ffi::OsStr;
use std::io;
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyWrite, Request, WriteFlags,
};
use rustix::fs::FallocateFlags;

use super::transfer::{Allocation, RequestQueue, SharedHead, Transfer, What};

/// The name of the simulated disk.
pub(super) const DISK_NAME: &str = "disk";
const STATS_NAME: &str = "stats";

const DISK: INodeNo = INodeNo(2);
const STATS: INodeNo = INodeNo(3);

/// The entries of the directory, in listing order.
const ENTRIES: [(INodeNo, FileType, &str); 4] = [
    (INodeNo::ROOT, FileType::Directory, "."),
    (INodeNo::ROOT, FileType::Directory, ".."),
    (DISK, FileType::RegularFile, DISK_NAME),
    (STATS, FileType::RegularFile, STATS_NAME),
];

/// Maximum number of requests in flight. The kernel queues the others.
const MAX_REQUESTS_IN_FLIGHT: u16 = 64;
/// The largest request: 256 pages, the kernel's limit unless an administrator raised it.
const MAX_REQUEST_BYTES: u32 = 1 << 20;
/// The time for which the kernel may cache attributes. It is zero because `stats` grows.
const CACHE_TIME: Duration = Duration::ZERO;

/// The file system.
#[derive(Debug)]
pub(super) struct Server {
    head: SharedHead,
    queue: RequestQueue,
    size_bytes: u64,
}

impl Server {
    /// Returns a file system that shows a disk of `size_bytes` bytes.
    pub(super) fn new(head: SharedHead, queue: RequestQueue, size_bytes: u64) -> Self {
        Self { head, queue, size_bytes }
    }

    fn stats(&self) -> String {
        let usage = self.head.usage();
        format!(
            "requests {} seeks {} bytes {} disk_seconds {:.3}\n",
            usage.requests, usage.seeks, usage.bytes, usage.busy_s
        )
    }

    fn attributes(&self, inode: INodeNo) -> Result<FileAttr, Errno> {
        match inode {
            INodeNo::ROOT => Ok(attributes(inode, FileType::Directory, 0o755, 0)),
            DISK => Ok(attributes(inode, FileType::RegularFile, 0o600, self.size_bytes)),
            STATS => {
                let size_bytes = self.stats().len() as u64;
                Ok(attributes(inode, FileType::RegularFile, 0o444, size_bytes))
            }
            _ => Err(Errno::ENOENT),
        }
    }

    /// Returns true if the `len` bytes at offset `at` are within the disk.
    fn holds(&self, at: u64, len: u64) -> bool {
        at.checked_add(len).is_some_and(|end| end <= self.size_bytes)
    }
}

/// Returns the attributes, without times, of a file owned by the user of this process.
fn attributes(inode: INodeNo, kind: FileType, perm: u16, size_bytes: u64) -> FileAttr {
    FileAttr {
        ino: inode,
        size: size_bytes,
        blocks: size_bytes.div_ceil(512),
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind,
        perm,
        nlink: if kind == FileType::Directory { 2 } else { 1 },
        uid: rustix::process::geteuid().as_raw(),
        gid: rustix::process::getegid().as_raw(),
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

/// Returns the bytes of `text` for a read of `len` bytes at offset `at`.
fn part(text: &[u8], at: u64, len: u32) -> &[u8] {
    let start = usize::try_from(at).unwrap_or(usize::MAX).min(text.len());
    let end = start.saturating_add(len as usize).min(text.len());
    &text[start..end]
}

impl Filesystem for Server {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let refused = |what: &str| io::Error::other(format!("this kernel's FUSE has no {what}"));
        config
            .add_capabilities(InitFlags::FUSE_ASYNC_DIO)
            .map_err(|_| refused("asynchronous direct I/O"))?;
        config.set_max_write(MAX_REQUEST_BYTES).map_err(|_| refused("writes of 1 MiB"))?;
        config.set_max_background(MAX_REQUESTS_IN_FLIGHT).map_err(|_| refused("queue"))?;
        // The kernel counts whole pages, so 1 byte turns readahead off.
        config.set_max_readahead(1).map(drop).map_err(|_| refused("way to turn readahead off"))
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let named = ENTRIES[2..].iter().find(|entry| name == entry.2);
        let found = named.filter(|_| parent == INodeNo::ROOT).ok_or(Errno::ENOENT);
        match found.and_then(|entry| self.attributes(entry.0)) {
            Ok(attr) => reply.entry(&CACHE_TIME, &attr, Generation(0)),
            Err(e) => reply.error(e),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(inode) {
            Ok(attr) => reply.attr(&CACHE_TIME, &attr),
            Err(e) => reply.error(e),
        }
    }

    fn readdir(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        for (next, (inode, kind, name)) in (1..).zip(ENTRIES) {
            if next > offset && reply.add(inode, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        at: u64,
        len: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if inode == STATS {
            return reply.data(part(self.stats().as_bytes(), at, len));
        }
        let left = self.size_bytes.saturating_sub(at);
        match u32::try_from(left).map_or(len, |left| left.min(len)) {
            0 => reply.data(&[]),
            len => self.queue.transfer(Transfer { at, what: What::Read(len, reply) }),
        }
    }

    fn write(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        at: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if inode != DISK {
            return reply.error(Errno::EACCES);
        }
        if !self.holds(at, data.len() as u64) {
            return reply.error(Errno::ENOSPC);
        }
        self.queue.transfer(Transfer { at, what: What::Write(data.to_vec(), reply) });
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn fallocate(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        at: u64,
        len: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let how = FallocateFlags::from_bits_retain(mode.cast_unsigned());
        let resizing = FallocateFlags::COLLAPSE_RANGE | FallocateFlags::INSERT_RANGE;
        if inode != DISK {
            return reply.error(Errno::EACCES);
        }
        if how.intersects(resizing) {
            return reply.error(Errno::EOPNOTSUPP);
        }
        if !self.holds(at, len) {
            return reply.error(Errno::ENOSPC);
        }
        self.queue.allocate(Allocation { at, len, how, reply });
    }
}
