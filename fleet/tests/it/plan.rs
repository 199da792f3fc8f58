//! Tests of `lop-fleet plan`.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use export::Names;
use testkit::{Output, Sandbox, TempTree, TreeBuilder};

use crate::collect::lop;
use crate::hosts::Hosts;
use crate::{SECRET, json};

fn plan(args: &[&str], dir: &Path, host: &str) -> Output {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    sandbox.command().args(["plan", "--by", "hardlink"]).args(args).arg(dir).arg(host).run()
}

#[test]
fn a_plan_is_carried_out_on_its_host_and_only_there() {
    let Some(lop) = lop() else { return };
    let scratch = TempTree::new();
    let [laptop, nas] = ["laptop", "nas"].map(|host| scratch.join(host));
    TreeBuilder::new().seeded("photo", 1, 50_000).seeded("own", 4, 60_000).make(&laptop);
    TreeBuilder::new()
        .seeded("a/photo", 1, 50_000)
        .seeded("b/photo", 1, 50_000)
        .seeded("b/twice", 2, 5_000)
        .hard_link("b/twice", "b/link")
        .seeded("a/twice", 2, 5_000)
        .seeded("changed later", 3, 7_000)
        .seeded("as before", 3, 7_000)
        .make(&nas);
    let fleet = scratch.join("fleet");
    for (host, tree) in [("laptop", &laptop), ("nas", &nas)] {
        let sandbox = Sandbox::new(&lop);
        let catalog = scratch.join(format!("{host}.db"));
        let run = |args: &[&str], path: &Path| {
            let command = sandbox.command().args(args).arg("--catalog").arg(&catalog);
            command.arg(path).run().success();
        };
        run(&["scan", "--hash-all"], tree);
        run(&["export", "--host", host], &fleet);
    }
    let saved = scratch.join("nas.plan");
    let saved_text = saved.display().to_string();
    let output = plan(&["--json", "--keep", "path:a", "--save-plan", &saved_text], &fleet, "nas");
    output.success();
    let document = json(&output);
    // Both names of the file with a hard link.
    assert_eq!(document["actions"], 4, "{document}");
    let elsewhere = document["elsewhere"].as_array().expect("a list");
    assert_eq!(elsewhere.len(), 1, "the copy on the laptop is no reason to remove the last one");
    assert_eq!(elsewhere[0]["path"], nas.join("a/photo").display().to_string());

    fs::write(nas.join("changed later"), vec![1; 7_000]).expect("written");
    let before = fs::read(nas.join("changed later")).expect("a file");
    let sandbox = Sandbox::new(&lop);
    let catalog = scratch.join("nas.db");
    let apply = sandbox.command().args(["dedupe", "--apply", "--plan"]).arg(&saved);
    apply.arg("--catalog").arg(&catalog).run().code(3);
    let inode = |name: &str| fs::metadata(nas.join(name)).expect("exists").ino();
    assert_eq!(inode("a/photo"), inode("b/photo"));
    assert_eq!((inode("a/twice"), inode("a/twice")), (inode("b/twice"), inode("b/link")));
    assert_ne!(inode("changed later"), inode("as before"));
    assert_eq!(fs::read(nas.join("changed later")).expect("a file"), before);
    assert!(laptop.join("photo").exists() && laptop.join("own").exists());

    let again = plan(&["--save-plan", &saved_text], &fleet, "nas");
    again.code(1);
    assert!(again.stderr_str().contains("cannot write"), "an existing file stays: {again:?}");
}

#[test]
fn a_plan_needs_a_known_host_readable_names_and_a_rule_that_works_there() {
    let mut hosts = Hosts::new();
    hosts.export_names("nas", &[(b"/a", 1, (9, 1, 1)), (b"/b", 2, (9, 1, 1))], Names::Plain, None);
    hosts.export("laptop", &[(9, 1, 1)]);
    let saved = hosts.dir.join("new.plan").display().to_string();
    let plan = |args: &[&str], host: &str| {
        plan(&[&["--save-plan", &saved], args].concat(), hosts.dir.as_ref(), host)
    };
    for (args, host, message) in [
        (&[] as &[&str], "other", "no complete export of other"),
        (&[], "laptop", "not exported as they are"),
        (&["--keep", "device:/"], "nas", "only on the host itself"),
        (&["--keep", "nonsense"], "nas", "not a rule"),
    ] {
        let output = plan(args, host);
        output.code(1);
        assert!(output.stderr_str().contains(message), "{output:?}");
        assert!(!Path::new(&saved).exists());
    }
    let output = plan(&["--min-size", "10"], "nas");
    output.success();
    assert_eq!(fs::read(&saved).expect("a plan"), b"", "an empty plan changes nothing");
}

#[test]
fn a_keyed_digest_is_not_taken_for_the_digest_of_the_content() {
    let mut hosts = Hosts::new();
    let names: &[(&[u8], u64, _)] = &[(b"/a", 1, (9, 1, 1)), (b"/\xff", 2, (9, 1, 1))];
    hosts.export_names("nas", names, Names::Plain, SECRET);
    let saved = hosts.dir.join("new.plan");
    let saved_text = saved.display().to_string();
    plan(&["--save-plan", &saved_text], hosts.dir.as_ref(), "nas").success();
    let text = fs::read_to_string(&saved).expect("a plan");
    assert_eq!(text.lines().count(), 1);
    assert!(text.contains("base64") && !text.contains("digest"), "{text}");
}
