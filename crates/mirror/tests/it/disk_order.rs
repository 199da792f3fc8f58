//! Tests with a source that is treated as a cold hard disk: the order of reads, and the limit on deferred files.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;

use mirror::Action;
use testkit::{FileSystem, Mount, TempTree, is_root, skipped};

use crate::world::{Variant, assert_alike, mirror_reporting, run, with};

#[test]
fn contents_are_read_in_the_order_of_the_disk() {
    if !is_root() {
        return skipped("only root can mount file systems");
    }
    for system in [FileSystem::Ext4, FileSystem::Xfs] {
        let disk = match Mount::new(system, 512 << 20) {
            Ok(disk) => disk,
            Err(reason) => {
                skipped(&reason);
                continue;
            }
        };
        let place = TempTree::new();
        let from = disk.path().join("from");
        let mut files = Vec::new();
        for i in 0..200 {
            let dir = from.join(format!("d{}", i % 7));
            fs::create_dir_all(&dir).expect("made");
            files.push((dir.join(format!("f{i}")), i));
        }
        for (path, _) in &files {
            File::create(path).expect("made");
        }
        // The disk offsets of the files follow neither names nor inode numbers.
        files.sort_by_key(|(_, i)| i * 83 % 200);
        for (path, _) in &files {
            let mut file = File::options().append(true).open(path).expect("opened");
            file.write_all(&[b'x'; 9000]).expect("written");
            file.sync_all().expect("synced");
        }
        Variant::DiskOrder.of(|| {
            let (outcome, reported) = mirror_reporting(&from, place.join("to"), None, &with(1));
            assert_eq!((outcome.counts.files, outcome.counts.failed), (200, 0));
            let top = fsops::Dir::open(from.as_path()).expect("opened");
            let place_of = |path: &[u8]| {
                let cut = path.iter().position(|&b| b == b'/').expect("in a directory");
                let name = std::ffi::CString::new(&path[cut + 1..]).expect("a name");
                let dir = top.open_below(&path[..cut]).expect("opened");
                dir.open_file(&name)
                    .expect("opened")
                    .device_offset(0)
                    .expect("reported")
                    .expect("somewhere")
            };
            let made = reported.iter().filter(|change| change.action == Action::New);
            let paths: Vec<&[u8]> = made.map(|change| &*change.path).collect();
            let files = paths.iter().filter(|path| path.contains(&b'/'));
            let places: Vec<u64> = files.map(|path| place_of(path)).collect();
            assert_eq!(places.len(), 200);
            assert!(places.is_sorted(), "{places:?}");
        });
        assert_alike(&from, place.join("to"));
    }
}

/// The tree has more files than can be deferred, and one file has more names than can be deferred.
#[test]
fn not_everything_is_deferred() {
    let place = TempTree::new();
    let from = place.join("from");
    for dir in ["one", "many"] {
        fs::create_dir_all(from.join(dir)).expect("made");
    }
    fs::write(from.join("one/file"), "content").expect("written");
    for i in 0..17_000 {
        fs::hard_link(from.join("one/file"), from.join(format!("one/{i}"))).expect("linked");
        fs::write(from.join(format!("many/{i}")), i.to_string()).expect("written");
    }
    Variant::DiskOrder.of(|| {
        let outcome = run(&from, place.join("to"), &with(3));
        assert_eq!((outcome.counts.files, outcome.counts.linked), (17_001, 17_000));
    });
    assert_alike(from.join("many"), place.join("to/many"));
    let names = fs::metadata(place.join("to/one/file")).expect("there").nlink();
    assert_eq!(names, 17_001);
}
