//! A watcher in a thread, and questions to it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use testkit::{FileSystem, Mount, TEST_TIMEOUT, TempTree, skipped};
use watch::{
    Answer, Changes, Control, Counts, Means, Options, Position, Unknown, Unseen, Watched, Watcher,
    ask, ask_unseen,
};

/// The means that a watcher may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Fanotify,
    Inotify,
}

/// A running watcher. Dropping it ends it.
pub(crate) struct Running {
    pub(crate) catalog: PathBuf,
    pub(crate) roots: Vec<PathBuf>,
    pub(crate) watched: Vec<Watched>,
    pub(crate) control: Control,
    thread: Option<JoinHandle<std::io::Result<()>>>,
    home: Option<TempTree>,
}

impl Running {
    /// Starts a watcher of some directories. Returns `None` if this process may not use fanotify, or cannot use it on
    /// the file system of the temporary directory.
    pub(crate) fn start(by: By, roots: &[&Path]) -> Option<Running> {
        let home = TempTree::new();
        let catalog = home.path().join("catalog.db");
        let mut running = Running::start_at(&catalog, by, roots);
        running.home = Some(home);
        if by == By::Fanotify && !testkit::is_root() {
            skipped("only root may watch whole file systems");
            return None;
        }
        for watched in running.watched.iter().filter(|watched| watched.is_root) {
            if by == By::Fanotify
                && let Some(why) = cannot_use_fanotify(watched)
            {
                skipped(format!("{}: {why}", watched.file_system));
                return None;
            }
            let is_right = match by {
                By::Fanotify => watched.means == Means::Fanotify,
                By::Inotify => matches!(watched.means, Means::Inotify(..)),
            };
            assert!(is_right, "{:?}", running.watched);
        }
        Some(running)
    }

    /// Starts a watcher for a catalog.
    pub(crate) fn start_at(catalog: &Path, by: By, roots: &[&Path]) -> Running {
        let catalog = catalog.to_path_buf();
        let roots: Vec<_> = roots.iter().map(|root| root.canonicalize().expect("a root")).collect();
        let own = vec![catalog.clone(), catalog.with_extension("runs")];
        let options = Options { catalog: catalog.clone(), roots: roots.clone(), own };
        let (started, start) = channel();
        let thread = std::thread::spawn(move || {
            if by == By::Inotify {
                drop_privilege();
            }
            let watcher = Watcher::start(options).expect("started");
            started.send((watcher.watched(), watcher.control())).expect("the test waits");
            watcher.run()
        });
        let (watched, control) = start.recv().expect("started");
        Running { catalog, roots, watched, control, thread: Some(thread), home: None }
    }

    pub(crate) fn ask(&self, since: Option<Position>) -> Answer {
        ask(&self.catalog, &self.roots, since, TEST_TIMEOUT).expect("an answer")
    }

    /// Asks what no scan has seen yet. All roots have the same position.
    pub(crate) fn unseen(&self, since: Option<Position>) -> Unseen {
        let roots =
            self.roots.iter().map(|root| (root.as_os_str().as_encoded_bytes().to_vec(), since));
        ask_unseen(&self.catalog, roots.collect(), TEST_TIMEOUT).expect("an answer")
    }

    /// Returns the counts of the watcher after it has read all events.
    pub(crate) fn counts(&self) -> Counts {
        // The watcher updates the counts after each answer.
        for _ in 0..2 {
            let _unseen = self.unseen(None);
        }
        self.control.status().counts
    }

    /// Waits until the watcher has counted as many changes.
    #[track_caller]
    pub(crate) fn wait_for_counts(&self, counts: Counts) {
        let start = Instant::now();
        while self.control.status().counts != counts {
            assert!(start.elapsed() < TEST_TIMEOUT, "{:?}", self.control.status());
            std::thread::sleep(Duration::from_millis(5));
        }
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

/// The reasons of [`Means::Inotify`] that a machine may have. Any other one is a failure.
const REASONS: [&str; 4] = [
    "only root may watch whole file systems",
    "the kernel cannot watch whole file systems",
    "it is a subvolume of btrfs, whose file system cannot be mounted as a whole",
    "its files have no permanent handles",
];

/// Returns the reason why fanotify cannot be used on the file system of the temporary directory. Returns `None` for a
/// file system that a test has mounted, on which fanotify must work.
fn cannot_use_fanotify(watched: &Watched) -> Option<&str> {
    let Means::Inotify(_, why) = &watched.means else { return None };
    let device = |path: &Path| path.metadata().expect("metadata").dev();
    let root = Path::new(OsStr::from_bytes(&watched.path));
    let is_mounted_by_a_test = device(root) != device(&std::env::temp_dir());
    (!is_mounted_by_a_test && REASONS.contains(&why.as_str())).then_some(why.as_str())
}

/// Makes fanotify refuse this thread, and makes the modes of directories apply to it.
fn drop_privilege() {
    let mut sets = capabilities(None).expect("known");
    let all_files = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    sets.effective.remove(CapabilitySet::SYS_ADMIN | all_files);
    set_capabilities(None, sets).expect("fewer capabilities");
}

/// Calls a test with both means on each file system, and on a subvolume of btrfs that is mounted on its own. Without
/// root, calls it once with inotify.
pub(crate) fn everywhere(test: impl Fn(By, &Path)) {
    if !testkit::is_root() {
        skipped("only root may watch whole file systems and mount");
        test(By::Inotify, TempTree::new().path());
        return;
    }
    for kind in FileSystem::ALL {
        for by in [By::Fanotify, By::Inotify] {
            let mount = match Mount::new(kind, 64 << 20) {
                Ok(mount) => mount,
                Err(reason) => {
                    skipped(format!("{}: {reason}", kind.name()));
                    continue;
                }
            };
            test(by, mount.path());
            if kind == FileSystem::Btrfs {
                let subvolume = mount.path().join("subvolume");
                let mut command = Command::new("btrfs");
                let child = testkit::spawn(command.args(["subvolume", "create"]).arg(&subvolume));
                assert!(child.expect("btrfs-progs").wait().expect("ended").success());
                let target = TempTree::new();
                let alone = Mount::bind(&subvolume, target.path()).expect("mounted");
                test(by, alone.path());
            }
        }
    }
}
