//! Trees, options, and ways to mirror that the tests share.

use std::cell::Cell;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use device::{Disks, Io, Threads};
use mirror::{Change, Options, Outcome, Roots, Source, mirror};
use runtime::Progress;
use testkit::{Compare, Snapshot, TreeBuilder, assert_same};
use walk::Globs;
use wire::{Incoming, Outgoing};

/// Returns the usual options with the given number of workers.
pub(crate) fn with(threads: usize) -> Options {
    Options {
        dry_run: false,
        delete: false,
        max_delete: None,
        allow_empty: false,
        checksum: false,
        verify: false,
        fsync: false,
        one_file_system: false,
        include: Globs::default(),
        exclude: Globs::default(),
        bandwidth: Arc::default(),
        own: walk::OwnFiles::default(),
        content_hints: None,
        threads: Threads { first: threads, grows: false },
        disks: Arc::new(Disks::new(if Variant::now() == Variant::DiskOrder {
            Io::Hdd
        } else {
            Io::Auto
        })),
        open_dirs: 8,
    }
}

pub(crate) fn usual() -> Options {
    with(2)
}

pub(crate) fn deleting() -> Options {
    Options { delete: true, allow_empty: true, ..usual() }
}

pub(crate) fn globs(patterns: &[&str]) -> Globs {
    let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
    Globs::new(&patterns).expect("patterns")
}

/// The way in which the trees of a test are mirrored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// On one host.
    OneHost,
    /// With a sender and a receiver that are connected by pipes, as between two hosts.
    TwoHosts,
    /// Within one host, from a source that is treated as a cold hard disk.
    DiskOrder,
}

thread_local! {
    static VARIANT: Cell<Variant> = const { Cell::new(Variant::OneHost) };
    static SENT: Cell<u64> = const { Cell::new(0) };
}

impl Variant {
    pub(crate) fn now() -> Variant {
        VARIANT.get()
    }

    /// Runs a test that mirrors in this variant.
    pub(crate) fn of(self, test: impl FnOnce()) {
        let before = VARIANT.replace(self);
        test();
        VARIANT.set(before);
    }
}

/// Runs a test that mirrors between two hosts.
pub(crate) fn between_hosts(test: impl FnOnce()) {
    Variant::TwoHosts.of(test);
}

/// Returns whether the test mirrors between two hosts.
pub(crate) fn is_between_hosts() -> bool {
    Variant::now() == Variant::TwoHosts
}

/// Returns the number of file bytes that the last run sent.
pub(crate) fn sent() -> u64 {
    SENT.get()
}

/// Mirrors and also returns the reported changes. Failures are allowed.
pub(crate) fn mirror_reporting(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
    base: Option<&Path>,
    options: &Options,
) -> (Outcome, Vec<Change>) {
    let reported = Mutex::new(Vec::new());
    let tell = |change: &Change| reported.lock().expect("no panic").push(change.clone());
    let outcome = if is_between_hosts() {
        through_pipes(from.as_ref(), to.as_ref(), base, options, &tell)
    } else {
        let roots = Roots::check(from.as_ref(), to.as_ref(), base, options.dry_run);
        let roots = roots.expect("may be mirrored");
        let (outcome, ended) =
            mirror(&roots, options, &Progress::default(), mirror::User::reporting_to(&tell));
        ended.expect("not interrupted");
        outcome
    };
    (outcome, reported.into_inner().expect("no panic"))
}

/// Mirrors. Failures are allowed.
pub(crate) fn try_mirror(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
    options: &Options,
) -> Outcome {
    mirror_reporting(from, to, None, options).0
}

/// Mirrors, and asserts that nothing failed.
pub(crate) fn run(from: impl AsRef<Path>, to: impl AsRef<Path>, options: &Options) -> Outcome {
    let outcome = try_mirror(from, to, options);
    assert!(outcome.problems.is_empty() && outcome.counts.failed == 0, "{:?}", outcome.problems);
    outcome
}

/// Asserts that two trees are equal in every respect, including holes.
pub(crate) fn assert_alike(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let (from, to) = (from.as_ref(), to.as_ref());
    let (before, after) = (Snapshot::of(from), Snapshot::of(to));
    assert_same(&before, &after, Compare::ALL);
    assert_eq!(before.link_groups(), after.link_groups());
    for (path, entry) in &before.entries {
        let sparse = entry.sha256.is_some() && entry.size_bytes > 200_000;
        // A path that is longer than the kernel accepts cannot be looked up.
        let blocks = |root: &Path| Some(root.join(os(path)).symlink_metadata().ok()?.blocks());
        if let (true, Some(of), Some(is)) = (sparse, blocks(from), blocks(to)) {
            assert!(is <= of + 400, "{}: {of} blocks became {is}", path.escape_ascii());
        }
    }
}

fn os(path: &[u8]) -> &std::ffi::OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(path)
}

/// Returns a temporary name that a run could have used for the final name `name`.
pub(crate) fn temp_name_of(name: &str) -> String {
    let hash = blake3::hash(name.as_bytes()).to_hex();
    format!(".lop-part-{}-0123456789abcdef", &hash[..32])
}

/// Returns the temporary names in a directory.
pub(crate) fn temp_names_in(dir: impl AsRef<Path>) -> Vec<std::path::PathBuf> {
    let names = std::fs::read_dir(dir).expect("listed").map(|entry| entry.expect("read").path());
    let is_part = |path: &std::path::PathBuf| {
        path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".lop-part-"))
    };
    names.filter(is_part).collect()
}

/// Returns a tree with an entry of every kind.
pub(crate) fn everything() -> TreeBuilder {
    let mut tree = TreeBuilder::new();
    for i in 0..60u64 {
        let size = [0, 1, 4095, 4096, 70_000, 300_000][(i % 6) as usize];
        tree = tree.seeded(format!("d{}/s{}/f{i}", i % 5, i % 3), i, size);
    }
    tree.seeded("large", 99, 9 << 20)
        .sparse("sparse", 20 << 20, &[(5 << 20, b"island"), ((20 << 20) - 1, b"!")])
        .sparse("hole", 1 << 20, &[])
        .sparse("tail", 1 << 20, &[(0, b"head")])
        .hard_link("large", "x/y/large too")
        .hard_link("large", "x/and again")
        .hard_links("linked", &["a1", "z/a2", "d0/a3"])
        .symlink("link", "nowhere")
        .hard_link("link", "x/link too")
        .symlink("to the root", "/")
        .symlink("to a directory", "d1")
        .fifo("fifo")
        .hard_link("fifo", "x/fifo too")
        .socket("socket")
        .char_device("null", 1, 3)
        .block_device("loop", 7, 200)
        .dir("empty/in empty")
        .dir(b"odd \xff\n".to_vec())
        .file(b"odd \xff\n/new\nline \x1b[1m".to_vec(), "odd")
        .file([b'n'; 255].to_vec(), "long")
        .file("rights/suid", "s")
        .mode("rights/suid", 0o6755)
        .file("rights/none", "n")
        // Only root can read a file without permissions.
        .mode("rights/none", if testkit::is_root() { 0 } else { 0o400 })
        .file("rights/closed/in", "i")
        .mode("rights/closed", 0o555)
        .dir("rights/group")
        .mode("rights/group", 0o2775)
        .dir("rights/sticky")
        .mode("rights/sticky", 0o1777)
        .file("attributes/file", "a")
        .xattr("attributes/file", "user.one", b"1")
        .xattr("attributes/file", "user.binary", b"\0\xff")
        .xattr("attributes", "user.dir", b"d")
        .mtime("a1", 1, 1)
        .mtime("large", 1_234_567_890, 123_456_789)
        .mtime("link", 86_400, 5)
        .mtime("fifo", -1_000, 7)
        .mtime("d2", 1_000_000_000, 999_999_999)
        .mtime("empty", 0, 0)
        .mtime("", 1_500_000_000, 1)
}

/// Sets a flag when dropped, so that other threads end even if an assertion fails.
pub(crate) struct Ends<'a>(pub(crate) &'a std::sync::atomic::AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

fn through_pipes(
    from: &Path,
    to: &Path,
    base: Option<&Path>,
    options: &Options,
    tell: &(dyn Fn(&Change) + Sync),
) -> Outcome {
    let source = Source::open(from).expect("there is a source");
    let roots = Roots::for_remote_source(to, base, options.dry_run).expect("may be mirrored");
    let place = roots.place().and_then(|place| source.check_place(&place).expect("suits"));
    let ((mut requested, to_sender), (mut said, to_receiver)) = (pipe(), pipe());
    std::thread::scope(|scope| {
        let sender = scope.spawn(move || {
            let out = Outgoing::new(to_receiver);
            let progress = Progress::default();
            mirror::send(&source, place, options, &progress, &mut requested, &out)
                .map(|()| progress.bytes_read.load(Relaxed))
        });
        let out = Arc::new(Outgoing::new(to_sender));
        let progress = Progress::default();
        let (outcome, ended) = mirror::receive(
            &roots,
            options,
            &progress,
            mirror::User::reporting_to(tell),
            &mut said,
            &out,
        );
        out.close();
        let sent = sender.join().expect("no panic");
        assert!(ended.is_ok() && sent.is_ok(), "{ended:?} {sent:?}");
        SENT.set(sent.unwrap_or_default());
        outcome
    })
}

fn pipe() -> (Incoming<File>, File) {
    let (from, to) = std::io::pipe().expect("there are pipes");
    (Incoming::new(OwnedFd::from(from).into()), OwnedFd::from(to).into())
}
