//! Tests of the container image.

use std::process::Command;

use testkit::TempTree;

use super::system::{packages, source};
use crate::package::output;

/// The image can be built, and its program scans a folder.
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
    let container = container.trim();
    for name in ["data/one", "data/two"] {
        let license = source().join("LICENSE");
        buildah(&["copy", container, &license.to_string_lossy(), &format!("/{name}")])
            .expect("copied");
    }
    // The image sets the catalog and the folder for temporary files.
    let run = ["run", "--isolation", "chroot", container, "--"];
    let printed = buildah(&[&run[..], &["/usr/bin/lop", "scan", "/data"]].concat()).expect("runs");
    assert!(printed.contains("1 redundant file"), "{printed}");
    let inspected =
        buildah(&["inspect", "--format", "{{.OCIv1.Config}}", container]).expect("a text");
    for expected in ["LOP_CATALOG=/var/lib/lop/catalog.db", "[/usr/bin/lop]", "/var/lib/lop:"] {
        assert!(inspected.contains(expected), "{expected:?} is missing: {inspected}");
    }
    buildah(&["rm", container]).expect("removed");
}
