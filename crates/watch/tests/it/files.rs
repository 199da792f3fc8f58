//! Writes files that are watched.
//!
//! A process that another test starts meanwhile would keep the file open for a moment. The kernel would report the
//! close late, maybe after the test has asked for a position. The functions here therefore prevent starts of
//! processes.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use testkit::{TreeBuilder, without_forks};

pub(crate) fn write(path: impl AsRef<Path>, text: &str) {
    let _quiet = without_forks();
    fs::write(path, text).expect("written");
}

pub(crate) fn append(path: impl AsRef<Path>) {
    let _quiet = without_forks();
    let file = OpenOptions::new().append(true).open(path);
    file.and_then(|mut file| file.write_all(b"more")).expect("appended");
}

pub(crate) fn make(tree: &TreeBuilder, top: &Path) {
    let _quiet = without_forks();
    tree.make(top);
}
