//! A simulated hard disk in front of a file. It measures the time that a real disk would have
//! taken.
//!
//! The benchmark machines have no hard disk, and the order of reads matters only on a hard disk.
//! [`Disk::mount`] shows a directory with two files. Every read and write of `disk` goes to the
//! backing file, through a model of a 7200 rpm disk ([`Head`]). `stats` is a line of text about the
//! requests so far. A loop device and a file system go on top of `disk` ([`crate::image`]).
//!
//! The figure to compare is [`Usage::busy_s`], the seconds that such a disk would have been busy,
//! regardless of the load on this machine. Requests take only a fraction of that time
//! ([`Settings::scale`]), which is enough for them to queue up as on a real disk.
//!
//! # Threads
//!
//! This process serves the disk. One thread talks to the kernel, one plays the head, and a few move
//! the bytes. The rest of the process may use the files like any other program, with two
//! exceptions. The backing file MUST NOT be on the simulated disk. These threads MUST NOT depend on
//! the mounted disk in any other way. When memory is short, the kernel may have to write to the
//! simulated disk to free some. If one of these threads is waiting for that memory, both wait
//! forever, so leave some memory free.
//!
//! # Order of unmounting
//!
//! First unmount the file system on the loop device, then detach the loop device (`losetup -d`),
//! then drop the [`Disk`]. The directory cannot be unmounted while `disk` is open:
//! [`Disk::unmount`] returns an error. After that error, dropping the [`Disk`] hides the mount, but
//! the disk is still served until its last user closes it or the process ends. If the process ends
//! earlier, the loop device remains and every access to it fails with EIO.

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

/// The device through which a process talks to FUSE.
const DEVICE: &str = "/dev/fuse";

/// The size and the speed of a simulated disk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The real duration of requests as a fraction of the simulated duration; 0.03 by default.
    ///
    /// With a much smaller fraction, programs spend more time computing than waiting, and fewer of
    /// their requests wait at the same time.
    pub scale: f64,
    /// The size of the whole disk in bytes; 4 times the backing file by default. The backing file
    /// forms the beginning of the disk.
    ///
    /// If the image filled the disk, seeks would be longer than on real disks, where files occupy
    /// only a part.
    pub span_bytes: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { scale: 0.03, span_bytes: None }
    }
}

/// A mounted disk that this process serves. Dropping it unmounts it.
#[derive(Debug)]
#[must_use = "dropping it unmounts it"]
pub struct Disk {
    point: PathBuf,
    head: SharedHead,
    health: Health,
    /// `None` after unmounting.
    session: Option<BackgroundSession>,
    threads: Vec<JoinHandle<()>>,
}

impl Disk {
    /// Mounts the disk on the directory `point` and serves it until the returned [`Disk`] is
    /// dropped.
    ///
    /// # Errors
    ///
    /// - The settings are invalid.
    /// - `backing` is empty, or cannot be read and written.
    /// - `point` is not a directory.
    /// - There is no `/dev/fuse`, or this process has neither root privileges nor `fusermount3`.
    ///
    /// Nothing is mounted after an error.
    pub fn mount(backing: &Path, point: &Path, settings: &Settings) -> Result<Self, Failure> {
        let (file, size_bytes) = open_backing(backing)?;
        let head = SharedHead::new(Head::new(Mechanics::DESKTOP, span(settings, size_bytes)?));
        check_point(point)?;
        let health = Health::default();
        let (queue, threads) = transfer::start(head.clone(), &health, file, settings.scale)
            .map_err(|e| Failure::new(format!("threads for a disk: {e}")))?;
        let server = Server::new(head.clone(), queue, size_bytes);
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("lop-hdd".to_owned())];
        let session = fuser::spawn_mount(server, point, &config)
            .map_err(|e| Failure::at(point, reason(&e)))?;
        Ok(Self { point: point.to_path_buf(), head, health, session: Some(session), threads })
    }

    /// Returns the path of the file that a loop device can use.
    pub fn file(&self) -> PathBuf {
        self.point.join(DISK_NAME)
    }

    /// Returns the usage since the disk was mounted.
    pub fn usage(&self) -> Usage {
        self.head.usage()
    }

    /// Returns the usage and the position of the head in bytes.
    pub fn state(&self) -> (Usage, u64) {
        self.head.state()
    }

    /// Injects a fault into requests to a byte range of the disk.
    pub fn afflict(&self, part: Range<u64>, trouble: Trouble) {
        self.health.add(part, trouble);
    }

    /// Ends all troubles.
    pub fn heal(&self) {
        self.health.heal();
    }

    /// Returns the number of requests that wait until the disk is healed ([`Trouble::Silence`]).
    pub fn unanswered(&self) -> usize {
        self.health.unanswered()
    }

    /// Unmounts the disk and waits for its threads.
    ///
    /// # Errors
    ///
    /// The disk is in use. The mount is then hidden, as if the [`Disk`] had been dropped. This
    /// error does not occur if `fusermount3` mounted the disk, because unmounting then waits for
    /// the last user.
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

    /// Waits until another process unmounts the disk.
    fn wait(mut self) -> Result<(), Failure> {
        let ended = self.session.take().map_or(Ok(()), BackgroundSession::join);
        join(&mut self.threads);
        ended.map_err(|e| Failure::at(&self.point, format!("could not be served any more: {e}")))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Callers that need the error call `unmount` instead.
        drop(self.end());
    }
}

/// Mounts the disk on the directory `point` and serves it until it is unmounted (`umount`).
///
/// # Errors
///
/// Fails for the same reasons as [`Disk::mount`], or if the connection to the kernel breaks.
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

/// Checks the settings and returns the size of the whole disk in bytes.
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

/// Returns the reason for a failed mount. The mount point and the device were already found to
/// exist.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => format!("needs root, or the right to {DEVICE}: {error}"),
        io::ErrorKind::NotFound => format!("needs root or fusermount3: {error}"),
        _ => format!("cannot be mounted: {error}"),
    }
}

/// Hides a mount that is in use. The kernel removes the mount once its last user closes it.
fn detach(point: &Path) {
    let mut command = Command::new("umount");
    command.arg("--lazy").arg(point).stdout(Stdio::null()).stderr(Stdio::null());
    // If this fails too, the mount stays visible, and `end` reports that it could not be unmounted.
    drop(command.status());
}

/// Waits for the threads to end.
fn join(threads: &mut Vec<JoinHandle<()>>) {
    for thread in threads.drain(..) {
        // A thread that panicked has dropped its replies, so the kernel received EIO.
        drop(thread.join());
    }
}
