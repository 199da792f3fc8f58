//! Exports of hosts, made from lists of inodes or of names.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::mpsc::sync_channel;

use catalog::{
    Catalog, Error, FileRow, FileState, Restorer, StoredContent, StoredProblem, StoredScan,
    StoredVolume, Writer,
};
use content::{Digest, Head};
use export::{Key, Names, Options};
use fsops::Volume;
use runtime::Progress;
use testkit::TempTree;

/// An inode: its size, the number of its head, and the number of its digest; 0 for none.
pub(crate) type Inode = (u64, u64, u64);

/// A name: its absolute path, the number of its inode, and the inode.
pub(crate) type Name<'a> = (&'a [u8], u64, Inode);

/// A folder of exports.
pub(crate) struct Hosts {
    pub(crate) dir: TempTree,
    created_ms: i64,
    /// The id of the file system of the next exports; `None` for one of its own for each host.
    pub(crate) shared_fsid: Option<u64>,
    /// The entries that the scans of the next exports could not examine, and the reason.
    pub(crate) problems: Vec<(Vec<u8>, String)>,
    /// The state of each inode of the next exports, by its number.
    pub(crate) state: fn(u64) -> FileState,
}

impl Hosts {
    pub(crate) fn new() -> Hosts {
        Hosts {
            dir: TempTree::new(),
            created_ms: 1_795_822_381_138,
            shared_fsid: None,
            problems: Vec::new(),
            state: |_| FileState::Known,
        }
    }

    /// Exports a catalog with some inodes as `host`, later than all exports before.
    pub(crate) fn export(&mut self, host: &str, inodes: &[Inode]) {
        self.export_with(host, inodes, None);
    }

    /// Does the same with a key.
    pub(crate) fn export_with(&mut self, host: &str, inodes: &[Inode], secret: Option<&[u8]>) {
        let paths: Vec<String> = (0..inodes.len()).map(|number| format!("/{number:08}")).collect();
        let paths = (1..).zip(inodes).zip(&paths);
        let names: Vec<Name<'_>> =
            paths.map(|((number, &inode), path)| (path.as_bytes(), number, inode)).collect();
        self.export_names(host, &names, Names::None, secret);
    }

    /// Exports a catalog with some names.
    pub(crate) fn export_names(
        &mut self,
        host: &str,
        names: &[Name<'_>],
        exported: Names,
        secret: Option<&[u8]>,
    ) {
        self.created_ms += 1000;
        let scratch = TempTree::new();
        let fsid = self.shared_fsid.unwrap_or_else(|| content::checksum(host.as_bytes()));
        let catalog = self.catalog(&scratch.join("catalog.db"), fsid, names);
        let options = Options {
            host: host.into(),
            names: exported,
            key: secret.map(|secret| Key::new(secret).expect("long enough")),
            created_ms: self.created_ms,
            replaces: false,
        };
        let exported = export::export(&catalog, self.dir.as_ref(), &options, &Progress::default());
        exported.expect("exported");
    }

    fn catalog(&self, path: &Path, fsid: u64, names: &[Name<'_>]) -> Catalog {
        let writer = Writer::open(path, |_| {}).expect("a new catalog");
        let filled = writer.restore(|restorer| {
            let volume = Volume { magic: 0xEF53, fsid };
            restorer.volume(&StoredVolume { id: 1, volume, device: 66_305 })?;
            self.add_problems(restorer)?;
            add_contents(restorer, names)?;
            let dirs = add_dirs(restorer, names)?;
            let rows = names.iter().map(|&(path, inode, of)| {
                let (dir, name) = split(path);
                (dirs[dir], name, FileRow { state: (self.state)(inode), ..row(inode, of) })
            });
            let (sender, batches) = sync_channel(1);
            sender.send(rows.collect()).expect("has room");
            drop(sender);
            restorer.files(batches)
        });
        filled.expect("the catalog is written");
        Catalog::open(path).expect("a catalog")
    }

    /// Adds a scan that could not examine some entries.
    fn add_problems(&self, restorer: &Restorer<'_>) -> Result<(), Error> {
        if self.problems.is_empty() {
            return Ok(());
        }
        restorer.scan(&StoredScan {
            id: 1,
            started_ms: self.created_ms,
            finished_ms: self.created_ms,
            options: String::new(),
            files: 0,
            bytes: 0,
            problems: self.problems.len() as u64,
            complete: true,
        })?;
        restorer.root(b"/", 1)?;
        self.problems.iter().try_for_each(|(path, reason)| {
            let (path, reason) = (path.clone(), reason.clone());
            restorer.problem(&StoredProblem { scan: 1, path, reason })
        })
    }
}

/// Adds the content of each digest. The number of a content is that of its digest.
fn add_contents(restorer: &Restorer<'_>, names: &[Name<'_>]) -> Result<(), Error> {
    let inodes: BTreeSet<(u64, Inode)> =
        names.iter().map(|&(_, number, of)| (number, of)).collect();
    let mut contents = BTreeMap::new();
    for (_, (size, _, digest)) in inodes.into_iter().filter(|(_, (.., digest))| *digest > 0) {
        contents.entry(digest).or_insert((size, 0)).1 += 1;
    }
    for (digest, (size, inodes)) in contents {
        restorer.content(&StoredContent {
            id: digest.cast_signed(),
            size,
            digest: Some(Digest::of(&digest.to_le_bytes())),
            inodes,
            reclaimable: 0,
        })?;
    }
    Ok(())
}

/// Adds the directories of all names. Returns the number of each; the path of the root directory is
/// empty.
fn add_dirs<'a>(
    restorer: &Restorer<'_>,
    names: &[Name<'a>],
) -> Result<BTreeMap<&'a [u8], i64>, Error> {
    let mut dirs: BTreeMap<&[u8], i64> = [(&b""[..], 1)].into();
    for (path, ..) in names {
        let ends = path.iter().enumerate().filter(|&(at, &byte)| at > 0 && byte == b'/');
        for (end, _) in ends {
            let dir = &path[..end];
            if !dirs.contains_key(dir) {
                let id = i64::try_from(dirs.len()).expect("few") + 1;
                let (parent, name) = split(dir);
                restorer.dir(id, dirs[parent], name)?;
                dirs.insert(dir, id);
            }
        }
    }
    Ok(dirs)
}

/// Returns the path of the directory of a path, and its last name.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let slash = path.iter().rposition(|byte| *byte == b'/').expect("an absolute path");
    (&path[..slash], &path[slash + 1..])
}

fn row(inode: u64, (size, head, digest): Inode) -> FileRow {
    FileRow {
        volume: 1,
        inode,
        size,
        mtime_ns: 0,
        ctime_ns: 0,
        head: NonZeroU64::new(head).map(Head),
        allocated: size,
        content: (digest > 0).then_some(digest.cast_signed()),
        state: FileState::Known,
    }
}
