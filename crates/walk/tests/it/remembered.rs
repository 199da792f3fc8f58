//! Tests of files from a catalog that are added to a tree.

use fsops::{FileKey, Volume};
use testkit::{PathBytes, TreeBuilder};
use walk::Remembered;

use crate::found::{found, ids};

const FILE: Remembered = Remembered { size: 1, inode: 2, mtime_ns: 3, ctime_ns: 4 };

#[test]
fn remembered_files_are_added_after_the_others() {
    let tree = TreeBuilder::new().file("a", "1").file("d/b", "22").make_temp();
    let mut walked = found(&tree);
    let before: Vec<_> = ids(&walked).map(|id| walked.path(id)).collect();
    let device = FileKey { device: 7 << 32 | 1, inode: 99 };
    let volume = Volume { fsid: 5, magic: 6 };
    let root = walked.remember_root();
    let home = walked.remember_dir(root, c"home");
    let odd = walked.remember_dir(home, c"odd \xff");
    walked.place_dir(home, Some((device, volume)));
    let one = walked.remember_file(home, c"one", FILE);
    walked.place_dir(odd, None);
    let two = walked.remember_file(odd, c"two", FILE);
    walked.place_dir(root, Some((device, volume)));
    let last = walked.remember_file(root, c"last", FILE);
    assert_eq!(walked.path(one), b"/home/one");
    assert_eq!(walked.absolute_path(two), b"/home/odd \xff/two");
    assert_eq!(walked.path(last), b"/last");
    assert_eq!(walked.key(one), FileKey { device: device.device, inode: 2 });
    assert_ne!(walked.key(one), walked.key(two));
    assert_eq!(walked.key(one), walked.key(last));
    let after: Vec<_> = ids(&walked).map(|id| walked.path(id)).collect();
    assert_eq!(after[..before.len()], before);
    assert!(ids(&walked).all(|id| walked.is_remembered(id) == (id.0 as usize >= before.len())));
}

#[test]
fn remembered_directories_share_the_devices_of_the_walk() {
    let tree = TreeBuilder::new().file("a", "1").make_temp();
    let mut walked = found(&tree);
    let device = walked.devices()[0];
    let root = walked.remember_root();
    walked.place_dir(root, Some((FileKey { device: device.number, inode: 2 }, device.volume)));
    let file = walked.remember_file(root, c"f", FILE);
    assert_eq!(walked.devices().len(), 1);
    assert_eq!(walked.device_of(walked.file(file).dir), &device);
    assert!(tree.path().path_bytes().starts_with(b"/"));
}
