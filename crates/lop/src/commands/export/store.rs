//! Exports to an object store: lop writes the export to a private folder, and `lop-fleet upload` copies it.
//!
//! lop itself has no client for object stores. The folder is in the directory for temporary data, because an export of
//! a large catalog does not fit into memory. lop removes the folder when the command ends, even after an error.

use std::env;
use std::ffi::CString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use fsops::Dir;
use runtime::Progress;

use crate::error::CommandError;
use crate::monitor::memory;

/// The program that uploads exports.
const PROGRAM: &str = "lop-fleet";

/// Interval between two checks whether the program has ended.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// A place in an object store.
pub(super) struct Place<'a> {
    url: &'a str,
    program: PathBuf,
}

impl<'a> Place<'a> {
    /// Returns the place `url`.
    ///
    /// # Errors
    ///
    /// Fails if the scheme of the URL is not supported, if `replaces` is true, or if `lop-fleet` is not installed.
    pub(super) fn new(url: &'a str, replaces: bool) -> Result<Place<'a>, CommandError> {
        if !url.starts_with("s3://") {
            let message =
                format!("cannot export to {url}: only folders and s3:// URLs are supported");
            return Err(
                CommandError::usage(message).hint("export to a folder, and copy that folder")
            );
        }
        if replaces {
            let error =
                CommandError::usage("--replace does not remove exports from an object store");
            return Err(error.hint("remove old exports with a lifecycle rule of the bucket"));
        }
        let program = find_program().ok_or_else(|| {
            let message = format!("cannot export to {url}: {PROGRAM} is not installed");
            let hint = "build lop-fleet and put it beside lop: \
                        cargo build --release --manifest-path fleet/Cargo.toml";
            CommandError::failed(message).hint(hint)
        })?;
        Ok(Place { url, program })
    }

    /// Returns the URL of an export.
    pub(super) fn url(&self, export: &Path) -> PathBuf {
        let names = export.iter().rev().take(2).collect::<Vec<_>>();
        names.iter().rev().fold(PathBuf::from(self.url), |url, name| url.join(name))
    }

    /// Uploads the exports in `folder`.
    ///
    /// # Errors
    ///
    /// Fails if `lop-fleet` cannot be started or fails, or if the user asked to stop.
    pub(super) fn upload(&self, folder: &Path, progress: &Progress) -> Result<(), CommandError> {
        let mut command = Command::new(&self.program);
        command.args(["upload", "--json", "--"]).arg(folder).arg(self.url);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let failed = |e: io::Error| {
            CommandError::failed(format!("cannot run {}", self.program.display())).because(e)
        };
        let mut child = command.spawn().map_err(failed)?;
        let status = wait(&mut child, progress).map_err(failed)?;
        progress.check()?;
        if status.success() {
            return Ok(());
        }
        Err(CommandError::failed("cannot upload the export").because(reason(&mut child, status)))
    }
}

/// Waits until the program has ended. Kills it if the user asks to stop. The output for one export fits into a pipe, so
/// this function need not read it in the meantime.
fn wait(child: &mut Child, progress: &Progress) -> io::Result<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if progress.poll_stop() {
            child.kill()?;
            return child.wait();
        }
        thread::sleep(CHECK_INTERVAL);
    }
}

/// Returns the reason of a failure, as the program printed it, in one line.
fn reason(child: &mut Child, status: ExitStatus) -> String {
    let mut text = Vec::new();
    if let Some(stderr) = &mut child.stderr {
        // After a read error, the text so far is still the best reason.
        let _unread = stderr.read_to_end(&mut text);
    }
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().map(|line| line.trim().trim_start_matches("lop-fleet: "));
    let text = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    if text.is_empty() { status.to_string() } else { text }
}

/// Returns the path of `lop-fleet`: beside this program, or in a folder of PATH.
fn find_program() -> Option<PathBuf> {
    let beside = env::current_exe().ok().map(|exe| exe.with_file_name(PROGRAM));
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).filter(|folder| folder.is_absolute());
    let named = folders.map(|folder| folder.join(PROGRAM)).collect::<Vec<_>>();
    beside.into_iter().chain(named).find(|path| path.is_file())
}

/// A private folder for an export, which is removed on drop.
pub(super) struct Scratch {
    parent: Dir,
    name: CString,
    path: PathBuf,
    host: String,
}

impl Scratch {
    /// Creates a folder for an export of `host`.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be created.
    pub(super) fn create(host: &str) -> Result<Scratch, CommandError> {
        let temporary = memory::folder();
        let at = |op, path: &Path, source| {
            CommandError::from(fsops::Error { op, path: path.into(), source })
                .hint("choose another directory for temporary data with TMPDIR")
        };
        let parent = Dir::open(&temporary).map_err(|e| at(fsops::Op::Open, &temporary, e))?;
        for number in 0.. {
            let name = format!("lop-export-{}-{number}", std::process::id());
            let path = temporary.join(&name);
            let name = CString::new(name).expect("no NUL");
            match parent.make_private_dir(&name) {
                Ok(()) => return Ok(Scratch { parent, name, path, host: host.into() }),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && number < 1000 => {}
                Err(e) => return Err(at(fsops::Op::Create, &path, e)),
            }
        }
        unreachable!("the loop has no end")
    }

    /// Returns its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If the export failed early, its folder does not exist. Files that cannot be removed remain private.
        let _missing = export::remove_exports(&self.path, &self.host);
        let _left = self.parent.remove_empty_dir(&self.name);
    }
}
