//! A hard disk's mechanics in front of a file: what a hard disk would have taken.
//!
//! Machines to measure on have no such disk, and the order in which a program reads shows on no
//! other. [`Disk::mount`] shows a directory with two files: `disk`, which is the backing file with
//! every read and write going through a model of a 7200 rpm disk with one head ([`Head`]), and
//! `stats`, a line of text with what the head did. A loop device and a file system go on top of
//! `disk` (see [`crate::image`]).
//!
//! The figure to compare is [`Usage::busy_s`]: the seconds such a disk would have been busy,
//! whatever this machine does meanwhile. That the head takes a part of that time
//! ([`Settings::scale`]) only makes requests wait together as they would on a real one.
//!
//! # Who serves
//!
//! Threads of this process: one that talks to the kernel, the head, and a few that move the bytes. No
//! other thread takes part, so the rest of the process may use the files like any other program,
//! with two exceptions. The backing file MUST NOT be on what the disk carries. And nothing that
//! the threads need may wait for the mounted disk: under a shortage of memory the kernel may want
//! to write to it before it gives them any, so leave it some.
//!
//! # Order of ending
//!
//! First what is mounted on the loop device, then the loop device (`losetup -d`), then the [`Disk`].
//! While something has `disk` open the directory cannot be unmounted: [`Disk::unmount`] says so, and
//! dropping takes it out of sight only and serves on until the last user is gone or the process
//! ends. A process that ends earlier leaves a loop device on which everything fails with EIO.

mod model;
mod server;
mod transfer;
mod trouble;

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

use fuser::{BackgroundSession, Config, MountOption};

pub use self::model::{Head, Mechanics, Usage};
pub use self::trouble::Trouble;

use self::server::{DISK_NAME, Server};
use self::transfer::SharedHead;
use self::trouble::Health;
use crate::Failure;

/// The kernel's side of FUSE.
const DEVICE: &str = "/dev/fuse";

/// How much of a disk it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The part of the disk's time that requests really take.
    ///
    /// 0.03 unless said otherwise: much smaller, and the programs' own computing looks large beside
    /// the waiting, which changes how many requests wait together.
    pub scale: f64,
    /// Bytes of the whole disk, of which the backing file is the beginning.
    ///
    /// 4 times the backing file unless said otherwise: on an image that fills its disk, seeks would
    /// be longer than those among files that take a part of a disk.
    pub span_bytes: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { scale: 0.03, span_bytes: None }
    }
}

/// A mounted disk, served by this process; dropping it unmounts it.
#[derive(Debug)]
#[must_use = "dropping it unmounts it"]
pub struct Disk {
    point: PathBuf,
    head: SharedHead,
    health: Health,
    /// None once it is unmounted.
    session: Option<BackgroundSession>,
    threads: Vec<JoinHandle<()>>,
}

impl Disk {
    /// Mounts the disk on the directory `point` and serves it until it is dropped.
    ///
    /// # Errors
    ///
    /// The settings make no disk; `backing` is empty or cannot be read and written; `point` is no
    /// directory; there is no `/dev/fuse`, or neither root's rights nor `fusermount3` to use it.
    /// Nothing is mounted then.
    pub fn mount(backing: &Path, point: &Path, settings: &Settings) -> Result<Self, Failure> {
        let (file, size_bytes) = open_backing(backing)?;
        let head = SharedHead::new(Head::new(Mechanics::DESKTOP, span(settings, size_bytes)?));
        check_point(point)?;
        let health = Health::default();
        let (desk, threads) = transfer::start(head.clone(), &health, file, settings.scale)
            .map_err(|e| Failure::new(format!("threads for a disk: {e}")))?;
        let server = Server::new(head.clone(), desk, size_bytes);
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("lop-hdd".to_owned())];
        let session = fuser::spawn_mount(server, point, &config)
            .map_err(|e| Failure::at(point, reason(&e)))?;
        Ok(Self { point: point.to_path_buf(), head, health, session: Some(session), threads })
    }

    /// Returns the path of the file to put a loop device on.
    pub fn file(&self) -> PathBuf {
        self.point.join(DISK_NAME)
    }

    /// Returns what the head did since the disk was mounted.
    pub fn usage(&self) -> Usage {
        self.head.usage()
    }

    /// Returns that, and where its head is, in bytes.
    pub fn state(&self) -> (Usage, u64) {
        self.head.state()
    }

    /// Makes something wrong with a part of it, in bytes.
    pub fn afflict(&self, part: Range<u64>, trouble: Trouble) {
        self.health.add(part, trouble);
    }

    /// Ends whatever is wrong with it.
    pub fn heal(&self) {
        self.health.heal();
    }

    /// Returns how many requests wait for it to be healed ([`Trouble::Silence`]).
    pub fn unanswered(&self) -> usize {
        self.health.unanswered()
    }

    /// Unmounts it and waits for its threads.
    ///
    /// # Errors
    ///
    /// Something still uses it; what dropping does in that case is done. (Where `fusermount3` did the
    /// mounting nobody is told so: that waits for the last user.)
    pub fn unmount(mut self) -> Result<(), Failure> {
        self.end()
    }

    fn end(&mut self) -> Result<(), Failure> {
        let Some(session) = self.session.take() else { return Ok(()) };
        self.heal();
        if let Err(e) = session.umount_and_join() {
            detach(&self.point);
            return Err(Failure::at(&self.point, format!("cannot be unmounted: {e}")));
        }
        join(&mut self.threads);
        Ok(())
    }

    /// Waits until somebody unmounts it.
    fn wait(mut self) -> Result<(), Failure> {
        let ended = self.session.take().map_or(Ok(()), BackgroundSession::join);
        join(&mut self.threads);
        ended.map_err(|e| Failure::at(&self.point, format!("could not be served any more: {e}")))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Whoever wants to know calls `unmount`.
        drop(self.end());
    }
}

/// Mounts the disk on the directory `point` and serves it until it is unmounted (`umount`).
///
/// # Errors
///
/// As [`Disk::mount`]; and when the kernel ends the connection otherwise.
pub fn serve(backing: &Path, point: &Path, settings: &Settings) -> Result<(), Failure> {
    Disk::mount(backing, point, settings)?.wait()
}

fn open_backing(path: &Path) -> Result<(File, u64), Failure> {
    let file = OpenOptions::new().read(true).write(true).open(path);
    let file = file.map_err(|e| Failure::at(path, e))?;
    let metadata = file.metadata().map_err(|e| Failure::at(path, e))?;
    if !metadata.is_file() || metadata.len() == 0 {
        return Err(Failure::at(path, "not a file with bytes for a disk"));
    }
    Ok((file, metadata.len()))
}

/// Returns the bytes of the whole disk, once the settings make sense.
fn span(settings: &Settings, size_bytes: u64) -> Result<u64, Failure> {
    let Settings { scale, span_bytes } = *settings;
    if !(0.0..=1000.0).contains(&scale) {
        return Err(Failure::new(format!("scale {scale} of a disk's time is not from 0 to 1000")));
    }
    let span_bytes = span_bytes.unwrap_or(size_bytes.saturating_mul(4));
    if span_bytes < size_bytes {
        let reason = format!("a disk of {span_bytes} bytes cannot begin with {size_bytes}");
        return Err(Failure::new(reason));
    }
    Ok(span_bytes)
}

fn check_point(point: &Path) -> Result<(), Failure> {
    if !point.metadata().map_err(|e| Failure::at(point, e))?.is_dir() {
        return Err(Failure::at(point, "not a directory"));
    }
    match Path::new(DEVICE).try_exists() {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::new(format!("no {DEVICE}: this kernel has FUSE not loaded"))),
        Err(e) => Err(Failure::at(Path::new(DEVICE), e)),
    }
}

/// Returns why a mount failed; point and device were there.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => format!("needs root, or the right to {DEVICE}: {error}"),
        io::ErrorKind::NotFound => format!("needs root or fusermount3: {error}"),
        _ => format!("cannot be mounted: {error}"),
    }
}

/// Takes a mount that is in use out of sight; the kernel ends it with its last user.
fn detach(point: &Path) {
    let mut command = Command::new("umount");
    command.arg("--lazy").arg(point).stdout(Stdio::null()).stderr(Stdio::null());
    // If this fails too it stays in sight, and `end` reports that it could not be unmounted.
    drop(command.status());
}

/// Waits for threads that end by themselves.
fn join(threads: &mut Vec<JoinHandle<()>>) {
    for thread in threads.drain(..) {
        // One that panicked has dropped its replies, which told the kernel EIO.
        drop(thread.join());
    }
}
