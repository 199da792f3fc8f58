//! `lop export` to a store, with the program lop that the main workspace has built.

use std::fs;
use std::path::Path;

use testkit::{Output, Sandbox, TempTree, TreeBuilder};

use super::{URL, World, files};
use crate::collect::lop;
use crate::{json, run};

/// Scans some files, and exports them to `url` as `nas`.
fn export(world: &World, lop: &Path, temporary: &Path, args: &[&str], url: &str) -> Output {
    let sandbox = Sandbox::new(lop);
    let home = TempTree::new();
    TreeBuilder::new()
        .seeded("data/one", 1, 10_000)
        .seeded("data/two", 1, 10_000)
        .make(home.join("tree"));
    let catalog = home.join("catalog.db");
    let scan = sandbox.command().args(["scan", "--catalog"]).arg(&catalog);
    scan.arg(home.join("tree")).run().success();
    let fleet = Path::new(env!("CARGO_BIN_EXE_lop-fleet")).parent().expect("a folder");
    let command = sandbox.command().args(args).args(["export", "--host", "nas", "--catalog"]);
    let command = command.arg(&catalog).arg(url).env("PATH", fleet).env("TMPDIR", temporary);
    let variables = world.s3.variables().into_iter();
    variables.fold(command, |command, (name, value)| command.env(name, value)).run()
}

#[test]
fn an_export_goes_to_the_store_and_leaves_no_folder() {
    let (Some(lop), Some(world)) = (lop(), World::new()) else { return };
    let temporary = TempTree::new();
    let output = export(&world, &lop, temporary.as_ref(), &["--json"], URL);
    output.success();
    let summary = &json(&output)["summary"];
    let place = summary["path"].as_str().expect("a place");
    assert!(place.starts_with(&format!("{URL}/nas/2")) && place.ends_with('Z'), "{place}");
    assert_eq!(summary["files"], 2);
    assert_eq!(fs::read_dir(&temporary).expect("a folder").count(), 0);
    world.collect().success();
    assert_eq!(files(&world.collection()), world.download());
    run(&["check"], &world.collection()).success();
    let text = export(&world, &lop, temporary.as_ref(), &[], URL);
    assert!(
        text.success().stdout_str().starts_with(&format!("2 files of nas exported to {URL}/nas/"))
    );
}

#[test]
fn a_failed_upload_is_explained_and_leaves_no_folder() {
    let (Some(lop), Some(world)) = (lop(), World::new()) else { return };
    let temporary = TempTree::new();
    let output = export(&world, &lop, temporary.as_ref(), &[], "s3://no-such-bucket/x");
    output.code(1);
    assert!(
        output.stderr_str().contains("lop: cannot upload the export: s3://no-such-bucket/x"),
        "{output:?}"
    );
    assert!(output.stderr_str().contains("(NoSuchBucket)"), "{output:?}");
    assert_eq!(output.stdout_str(), "");
    assert_eq!(fs::read_dir(&temporary).expect("a folder").count(), 0);
}
