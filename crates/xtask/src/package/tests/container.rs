//! Tests of the container image.

use std::process::Command;

use testkit::TempTree;

use super::system::{packages, source};
use crate::package::output;

/// The image can be built, and its program runs.
#[test]
fn an_image_is_built_and_run() {
    let Some(_) = packages() else { return };
    let folder = TempTree::new();
    let buildah = |args: &[&str]| {
        let mut buildah = Command::new("buildah");
        buildah.args(["--storage-driver", "vfs", "--root"]).arg(folder.join("images"));
        buildah.arg("--runroot").arg(folder.join("run")).args(args).current_dir(source());
        output(buildah)
    };
    if let Err(e) = buildah(&["--version"]) {
        return testkit::skipped(e);
    }
    buildah(&[
        "build",
        "--isolation",
        "chroot",
        "--file",
        "packaging/Containerfile",
        "--tag",
        "lop",
        ".",
    ])
    .expect("an image");
    let container = buildah(&["from", "lop"]).expect("a container");
    let root = buildah(&["mount", container.trim()]).expect("mounted");
    let mut lop = Command::new("chroot");
    lop.arg(root.trim()).args(["/usr/bin/lop", "--version"]);
    let version = output(lop).expect("runs");
    assert!(version.starts_with("lop "), "{version}");
    buildah(&["umount", container.trim()]).expect("unmounted");
    buildah(&["rm", container.trim()]).expect("removed");
}
