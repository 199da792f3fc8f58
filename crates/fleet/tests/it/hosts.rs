//! Exports of hosts, made from lists of inodes.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::mpsc::sync_channel;

use catalog::{Catalog, FileRow, FileState, StoredContent, Writer};
use content::{Digest, Head};
use export::{Key, Names, Options};
use runtime::Progress;
use testkit::TempTree;

/// An inode: its size, the number of its head, and the number of its digest; 0 for none.
pub(crate) type Inode = (u64, u64, u64);

/// A folder of exports.
pub(crate) struct Hosts {
    pub(crate) dir: TempTree,
    created_ms: i64,
}

impl Hosts {
    pub(crate) fn new() -> Hosts {
        Hosts { dir: TempTree::new(), created_ms: 1_795_822_381_138 }
    }

    /// Exports a catalog with some inodes as `host`, later than all exports before.
    pub(crate) fn export(&mut self, host: &str, inodes: &[Inode]) {
        self.export_with(host, inodes, None);
    }

    /// Does the same with a key.
    pub(crate) fn export_with(&mut self, host: &str, inodes: &[Inode], secret: Option<&[u8]>) {
        self.created_ms += 1000;
        let scratch = TempTree::new();
        let catalog = catalog(&scratch.join("catalog.db"), inodes);
        let options = Options {
            host: host.into(),
            names: Names::None,
            key: secret.map(|secret| Key::new(secret).expect("long enough")),
            created_ms: self.created_ms,
        };
        let exported = export::export(&catalog, self.dir.as_ref(), &options, &Progress::default());
        exported.expect("exported");
    }
}

/// Makes a catalog with one name for each inode.
fn catalog(path: &Path, inodes: &[Inode]) -> Catalog {
    // The number of a content is that of its digest.
    let mut contents = BTreeMap::new();
    for &(size, _, digest) in inodes.iter().filter(|(.., digest)| *digest > 0) {
        contents.entry(digest).or_insert((size, 0)).1 += 1;
    }
    let writer = Writer::open(path, |_| {}).expect("a new catalog");
    let filled = writer.restore(|restorer| {
        for (&digest, &(size, inodes)) in &contents {
            restorer.content(&StoredContent {
                id: digest.cast_signed(),
                size,
                digest: Some(Digest::of(&digest.to_le_bytes())),
                inodes,
                reclaimable: 0,
            })?;
        }
        let names: Vec<String> = (0..inodes.len()).map(|number| format!("{number:08}")).collect();
        let rows = (1..).zip(inodes).zip(&names).map(|((inode, &(size, head, digest)), name)| {
            let row = FileRow {
                volume: 1,
                inode,
                size,
                mtime_ns: 0,
                ctime_ns: 0,
                head: NonZeroU64::new(head).map(Head),
                allocated: size,
                content: (digest > 0).then_some(digest.cast_signed()),
                state: FileState::Known,
            };
            (1, name.as_bytes(), row)
        });
        let (sender, batches) = sync_channel(1);
        sender.send(rows.collect()).expect("has room");
        drop(sender);
        restorer.files(batches)
    });
    filled.expect("the catalog is written");
    Catalog::open(path).expect("a catalog")
}
