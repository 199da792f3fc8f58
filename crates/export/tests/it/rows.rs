//! Catalogs as plain rows.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;

use catalog::{
    Catalog, FileRow, FileState, StoredContent, StoredProblem, StoredScan, StoredVolume, Writer,
};
use content::{Digest, Head};
use export::{Exported, Names, Options};
use runtime::Progress;
use testkit::{Dice, TempTree};

/// All rows of a catalog.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rows {
    pub(crate) volumes: Vec<StoredVolume>,
    pub(crate) scans: Vec<StoredScan>,
    pub(crate) roots: Vec<(Vec<u8>, i64)>,
    pub(crate) problems: Vec<StoredProblem>,
    /// Id, parent and name.
    pub(crate) dirs: Vec<(i64, i64, Vec<u8>)>,
    pub(crate) contents: Vec<StoredContent>,
    pub(crate) files: Vec<(i64, Vec<u8>, FileRow)>,
}

/// A file of which nothing but the metadata is known.
pub(crate) const FILE: FileRow = FileRow {
    volume: 1,
    inode: 7,
    size: 100,
    mtime_ns: 1,
    ctime_ns: 2,
    head: None,
    allocated: 4096,
    content: None,
    state: FileState::Known,
};

impl Rows {
    /// Makes a catalog of the rows.
    pub(crate) fn write(&self, path: &Path) -> Catalog {
        let writer = Writer::open(path, |_| {}).expect("a new catalog");
        let filled = writer.restore(|restorer| {
            self.volumes.iter().try_for_each(|row| restorer.volume(row))?;
            self.scans.iter().try_for_each(|row| restorer.scan(row))?;
            self.roots.iter().try_for_each(|(path, scan)| restorer.root(path, *scan))?;
            self.problems.iter().try_for_each(|row| restorer.problem(row))?;
            self.dirs.iter().try_for_each(|(id, parent, name)| restorer.dir(*id, *parent, name))?;
            self.contents.iter().try_for_each(|row| restorer.content(row))?;
            let (sender, batches) = sync_channel(1);
            let files = self.files.iter().map(|(dir, name, row)| (*dir, name.as_slice(), *row));
            sender.send(files.collect()).expect("has room");
            drop(sender);
            restorer.files(batches)
        });
        filled.expect("the catalog is written");
        Catalog::open(path).expect("a catalog")
    }

    /// Reads all rows of a catalog.
    pub(crate) fn read(catalog: &Catalog) -> Rows {
        let mut rows = Rows {
            volumes: catalog.volume_rows().expect("rows"),
            scans: catalog.last_scan_rows().expect("rows"),
            roots: catalog.root_rows().expect("rows"),
            ..Rows::default()
        };
        let problems = catalog.each_problem_row::<catalog::Error>(|row| {
            rows.problems.push(row);
            Ok(())
        });
        problems.expect("rows");
        let dirs = catalog.each_dir_row(|id, parent, name| {
            rows.dirs.push((id, parent, name.to_vec()));
        });
        dirs.expect("rows");
        catalog.each_content_row(|row| rows.contents.push(row)).expect("rows");
        let files = catalog.each_file_row::<catalog::Error>(|dir, name, row| {
            rows.files.push((dir, name.to_vec(), *row));
            Ok(())
        });
        files.expect("rows");
        rows
    }

    /// Rows with odd names, numbers that are negative as signed numbers, inodes with several names,
    /// contents with and without a digest, and files in every state.
    pub(crate) fn odd(seed: u64) -> Rows {
        let mut dice = Dice::new(seed);
        let mut rows = Rows::default();
        let scan = |id| StoredScan {
            id,
            started_ms: 1_700_000_000_000,
            finished_ms: 1_700_000_001_234,
            options: "exclude 'a\u{301}*'".into(),
            files: 99,
            bytes: u64::MAX >> 1,
            problems: 2,
            complete: id == 1,
        };
        rows.scans = vec![scan(1), scan(2)];
        rows.roots = vec![(b"/r\xff\n".to_vec(), 2), (b"/srv".to_vec(), 1)];
        let volume = |id: i64, fsid| StoredVolume {
            id,
            volume: fsops::Volume { magic: 0xef53, fsid },
            device: u64::MAX - id.cast_unsigned(),
        };
        rows.volumes = vec![volume(1, 0), volume(3, u64::MAX)];
        let problem = |path: &[u8]| StoredProblem {
            scan: 2,
            path: path.to_vec(),
            reason: "Permission denied — \u{1f512}".into(),
        };
        rows.problems = vec![problem(b"/r\xff\n/locked"), problem(b"/srv/\x01")];
        for id in 2..30 {
            let name = [format!("d{id}").as_bytes(), odd_bytes(&mut dice).as_slice()].concat();
            rows.dirs.push((id, 1 + dice.below(id.cast_unsigned() - 1).cast_signed(), name));
        }
        for id in 1..40_i64 {
            let id = if id < 20 { id } else { id + 1000 };
            let digest = (dice.below(2) == 0).then(|| Digest::of(&id.to_le_bytes()));
            let inodes = 1 + u32::try_from(dice.below(3)).expect("small");
            let size = 1 + dice.below(5) * 4096;
            rows.contents.push(StoredContent { id, size, digest, inodes, reclaimable: size / 2 });
        }
        for number in 0..500_u64 {
            let dir = 1 + dice.below(29).cast_signed();
            let name =
                [format!("name {number:04}").as_bytes(), odd_bytes(&mut dice).as_slice()].concat();
            rows.files.push((dir, name, odd_file(&mut dice, &rows.contents)));
        }
        // A second name of every tenth inode.
        for number in (0..500).step_by(10) {
            let row = rows.files[number].2;
            rows.files.push((1 + dice.below(29).cast_signed(), format!("zz{number}").into(), row));
        }
        rows.files.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        rows
    }
}

/// Returns the end of a name.
fn odd_bytes(dice: &mut Dice) -> Vec<u8> {
    let odd: [&[u8]; 5] = [b"", b"\xff\xfe", b"\n\t", "\u{202e}ä".as_bytes(), b" ."];
    odd[usize::try_from(dice.below(5)).expect("small")].to_vec()
}

fn odd_file(dice: &mut Dice, contents: &[StoredContent]) -> FileRow {
    let content = contents[usize::try_from(dice.below(contents.len() as u64)).expect("small")];
    let has_content = dice.below(4) > 0;
    let states = [FileState::Pending, FileState::Damaged, FileState::Unreadable];
    let mut row = FileRow {
        volume: if dice.below(2) == 0 { 1 } else { 3 },
        // Half of them are negative as signed numbers.
        inode: dice.bits(),
        size: if has_content { content.size } else { dice.below(1 << 40) },
        mtime_ns: dice.bits().cast_signed(),
        ctime_ns: dice.bits().cast_signed(),
        head: NonZeroU64::new(dice.bits()).filter(|_| dice.below(4) > 0).map(Head),
        allocated: dice.below(1 << 40),
        content: has_content.then_some(content.id),
        state: FileState::Known,
    };
    if dice.below(10) == 0 {
        // An export says nothing about the content of such a file.
        row.state = states[usize::try_from(dice.below(3)).expect("small")];
        (row.head, row.content) = (None, None);
    }
    row
}

/// A scratch folder with a catalog and a folder for exports.
pub(crate) struct Scratch {
    pub(crate) dir: TempTree,
}

impl Scratch {
    pub(crate) fn new() -> Scratch {
        Scratch { dir: TempTree::new() }
    }

    pub(crate) fn out(&self) -> PathBuf {
        self.dir.join("fleet")
    }

    /// Exports the rows as the host `nas`.
    pub(crate) fn export(&self, rows: &Rows, options: &Options) -> Exported {
        let catalog = rows.write(&self.dir.join("catalog.db"));
        export::export(&catalog, &self.out(), options, &Progress::default()).expect("exported")
    }

    /// Makes the catalog `imported.db` of an export.
    pub(crate) fn import(&self, from: &Path) -> Result<Rows, export::Error> {
        let path = self.dir.join("imported.db");
        let writer = Writer::open(&path, |_| {}).expect("a new catalog");
        export::import(from, writer, &Progress::default())?;
        Ok(Rows::read(&Catalog::open(&path).expect("a catalog")))
    }
}

/// Options for an export with plain names.
pub(crate) fn plain() -> Options {
    Options {
        host: "nas".into(),
        names: Names::Plain,
        key: None,
        created_ms: 1_795_822_381_138,
        replaces: false,
    }
}
