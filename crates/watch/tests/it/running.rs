//! A watcher in a thread, and questions to it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use testkit::{TEST_TIMEOUT, TempTree};
use watch::{Answer, Changes, Control, Entries, Options, Position, Unknown, Watched, Watcher, ask};

/// A running watcher. Dropping it ends it.
pub(crate) struct Running {
    pub(crate) catalog: PathBuf,
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) watched: Vec<Watched>,
    pub(crate) control: Control,
    thread: Option<JoinHandle<std::io::Result<()>>>,
    _home: TempTree,
}

impl Running {
    /// Starts a watcher of some directories.
    pub(crate) fn start(roots: &[&Path]) -> Running {
        let home = TempTree::new();
        let catalog = home.path().join("catalog.db");
        let roots: Vec<_> = roots.iter().map(|root| root.canonicalize().expect("a root")).collect();
        let own = vec![catalog.clone()];
        let options = Options { catalog: catalog.clone(), roots: roots.clone(), own };
        let watcher = Watcher::start(options).expect("started");
        let (watched, control) = (watcher.watched(), watcher.control());
        let thread = Some(std::thread::spawn(move || watcher.run()));
        Running { catalog, roots, watched, control, thread, _home: home }
    }

    pub(crate) fn ask(&self, since: Option<Position>) -> Answer {
        ask(&self.catalog, &self.roots, since, TEST_TIMEOUT).expect("an answer")
    }

    pub(crate) fn position(&self) -> Position {
        self.ask(None).position
    }

    pub(crate) fn changes(&self, since: Position) -> Result<Changes, Unknown> {
        self.ask(Some(since)).changes
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.control.stop();
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            ended.expect("a thread").expect("no panic").expect("no error");
        }
    }
}

/// Returns whether changes tell that an entry has to be checked. `before` is its metadata before the
/// changes, if it had any.
pub(crate) fn covers(changes: &Changes, path: &Path, before: Option<&fs::Metadata>) -> bool {
    let now = fs::symlink_metadata(path).ok();
    let inodes = [before, now.as_ref()].into_iter().flatten().map(|found| {
        let device = found.dev();
        let (major, minor) = (libc_major(device), libc_minor(device));
        (major << 32 | minor, found.ino())
    });
    let has_inode = |key: (u64, u64)| changes.inodes.contains(&key);
    let is_named = changes.dirs.iter().any(|dir| {
        let Ok(rest) = path.strip_prefix(dir.path()) else { return false };
        let mut rest = rest.components().map(|part| part.as_os_str().as_encoded_bytes());
        match (&dir.entries, rest.next()) {
            (Entries::Tree, _) => true,
            (_, None) => false,
            (Entries::All, Some(_)) => rest.next().is_none(),
            (Entries::Names(names), Some(first)) => {
                let is_deeper = rest.next().is_some();
                names.iter().any(|(name, is_dir)| name == first && (*is_dir || !is_deeper))
            }
        }
    });
    is_named || inodes.into_iter().any(has_inode)
}

/// The encoding of glibc (`gnu_dev_major` in sys/sysmacros.h).
fn libc_major(device: u64) -> u64 {
    device >> 8 & 0xFFF | device >> 32 & !0xFFF
}

fn libc_minor(device: u64) -> u64 {
    device & 0xFF | device >> 12 & !0xFF
}
