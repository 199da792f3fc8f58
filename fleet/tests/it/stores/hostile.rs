//! Damaged, incomplete and forged exports in a store.

use std::fs;

use super::{URL, World, exports, files, newest, path};
use crate::hosts::Hosts;
use crate::{json, run, two_hosts};

/// Returns a store with two exports of a host, and the names of both.
fn two_exports() -> Option<(World, Hosts, [String; 2])> {
    let world = World::new()?;
    let mut hosts = Hosts::new();
    hosts.export("nas", &[(1000, 1, 1)]);
    let old = newest(&hosts, "nas");
    world.upload(&hosts).success();
    hosts.export("nas", &[(1000, 1, 1), (7, 0, 0)]);
    world.upload(&hosts).success();
    let new = newest(&hosts, "nas");
    Some((world, hosts, [old, new]))
}

/// Collects, and asserts that the older export was used because of `reason`.
#[track_caller]
fn assert_falls_back(world: &World, hosts: &Hosts, [old, new]: &[String; 2], reason: &str) {
    let output = world.collect();
    output.code(3);
    assert_eq!(json(&output)["hosts"][0]["export_id"], old.as_str(), "{output:?}");
    assert_eq!(output.stderr_str().lines().count(), 1, "{output:?}");
    assert!(output.stderr_str().starts_with(&format!("lop-fleet: {URL}/nas/{new}")), "{output:?}");
    assert!(output.stderr_str().contains(reason), "{output:?}");
    assert_eq!(exports(&world.collection(), "nas"), [world.collection().join("nas").join(old)]);
    let of_old = files(&hosts.dir.join("nas").join(old));
    assert_eq!(files(&world.collection().join("nas").join(old)), of_old);
    run(&["check"], &world.collection()).success();
}

#[test]
fn changed_bytes_are_found() {
    let Some((world, hosts, ids)) = two_exports() else { return };
    world.change(&format!("nas/{}/inodes-1.parquet", ids[1]), "body[20] ^= 1");
    assert_falls_back(&world, &hosts, &ids, "inodes-1.parquet: its BLAKE3 digest differs");
}

#[test]
fn a_longer_and_a_shorter_file_are_found() {
    let Some((world, hosts, ids)) = two_exports() else { return };
    world.change(&format!("nas/{}/inodes-1.parquet", ids[1]), "body += b'x'");
    assert_falls_back(&world, &hosts, &ids, "bytes, but the manifest has");
    fs::remove_dir_all(world.collection()).expect("removed");
    world.change(&format!("nas/{}/inodes-1.parquet", ids[1]), "body = b''");
    assert_falls_back(&world, &hosts, &ids, "has 0 bytes, but the manifest has");
}

#[test]
fn a_missing_file_is_found() {
    let Some((world, hosts, ids)) = two_exports() else { return };
    world.remove(&format!("nas/{}/inodes-1.parquet", ids[1]));
    assert_falls_back(&world, &hosts, &ids, "incomplete: it has no file inodes-1.parquet");
    fs::remove_dir_all(world.collection()).expect("removed");
    world.remove(&format!("nas/{}/_MANIFEST.json", ids[1]));
    assert_falls_back(&world, &hosts, &ids, "incomplete: it has no file _MANIFEST.json");
}

#[test]
fn a_forged_manifest_writes_no_file_elsewhere() {
    let Some((world, hosts, ids)) = two_exports() else { return };
    let manifest = format!("nas/{}/_MANIFEST.json", ids[1]);
    let replace = |from: &str, to: &str| {
        let change = format!("assert b'{from}' in body; body = body.replace(b'{from}', b'{to}')");
        world.change(&manifest, &change);
    };
    // The file that the manifest names exists in the store.
    let put = "s3.put_object(Bucket='bucket', Key='fleet/all/nas/inodes-1.parquet', Body=b'x')";
    world.s3.script(put, &[]).success();
    let mut name = "inodes-1.parquet".to_owned();
    for forged in ["../inodes-1.parquet", "/tmp/x.parquet", "a/../../x.parquet", "..", ".x.parquet"]
    {
        replace(&format!("\"{name}\""), &format!("\"{forged}\""));
        assert_falls_back(&world, &hosts, &ids, "names an invalid file");
        name = forged.into();
        fs::remove_dir_all(world.collection()).expect("removed");
    }
    replace(&format!("\"{name}\""), "\"inodes-1.parquet\"");
    let mut host = "\"nas\"".to_owned();
    for forged in ["\"..\"", "\"../x\"", "\"laptop\""] {
        replace(&host, forged);
        let reason = if forged == "\"laptop\"" {
            "that of another export"
        } else {
            "cannot be the name of a host"
        };
        assert_falls_back(&world, &hosts, &ids, reason);
        host = forged.into();
        fs::remove_dir_all(world.collection()).expect("removed");
    }
    replace(&host, "\"nas\"");
    let mut id = ids[1].clone();
    for forged in ["1/../../../x/Z", &ids[0]] {
        replace(&format!("\"{id}\""), &format!("\"{forged}\""));
        let reason =
            if forged == ids[0] { "that of another export" } else { "names an invalid export" };
        assert_falls_back(&world, &hosts, &ids, reason);
        id = forged.to_owned();
        fs::remove_dir_all(world.collection()).expect("removed");
    }
    world.change(&manifest, "body = b'{'");
    assert_falls_back(&world, &hosts, &ids, "not a valid manifest");
    assert_eq!(fs::read_dir(&world.dir).expect("a folder").count(), 1, "only the collection");
}

#[test]
fn hosts_with_other_names_are_refused() {
    let Some((world, _hosts, ids)) = two_exports() else { return };
    let put = "s3.put_object(Bucket='bucket', Key='fleet/all/' + sys.argv[1], Body=b'x')";
    world.s3.script(put, &[&format!("a b/{}/_MANIFEST.json", ids[0])]).success();
    world.s3.script(put, &[&format!("_old/{}/_MANIFEST.json", ids[0])]).success();
    let output = world.collect();
    output.code(3);
    assert!(output.stderr_str().contains("cannot be the name of a host"), "{output:?}");
    assert_eq!(exports(&world.collection(), "nas").len(), 1);
    assert!(!output.stderr_str().contains("_old"), "{output:?}");
    // The client refuses to list a name that leads out of the folder.
    world.s3.script(put, &[&format!("../{}/_MANIFEST.json", ids[0])]).success();
    let output = world.collect();
    output.code(1);
    assert_eq!(output.stderr_str().lines().count(), 1, "{output:?}");
    assert!(output.stderr_str().contains(URL), "{output:?}");
    assert_eq!(fs::read_dir(&world.dir).expect("a folder").count(), 1, "only the collection");
}

#[test]
fn an_incomplete_folder_is_not_replaced() {
    let Some((world, _hosts, ids)) = two_exports() else { return };
    let export = world.collection().join("nas").join(&ids[1]);
    fs::create_dir_all(&export).expect("made");
    fs::write(export.join("mine"), "x").expect("written");
    let output = world.collect();
    output.code(1);
    assert!(output.stderr_str().contains("remove this folder"), "{output:?}");
    assert_eq!(fs::read_dir(&export).expect("a folder").count(), 1);
}

#[test]
fn hosts_and_stores_are_collected_together() {
    let Some(world) = World::new() else { return };
    world.upload(&two_hosts()).success();
    let collection = world.collection();
    let collect = |hosts: &[&str]| {
        let args = ["collect", "--json", "--no-survey", "--rsh", "false", path(&collection)];
        world.fleet(&[&args, hosts].concat())
    };
    let output = collect(&["desktop", URL, "nas"]);
    output.code(3);
    let document = json(&output);
    let hosts = document["hosts"].as_array().expect("a list").iter();
    let hosts: Vec<_> =
        hosts.map(|host| (host["host"].as_str(), host["error"].is_null())).collect();
    // Another source has the host nas, too.
    assert_eq!(hosts, [(Some("desktop"), false), (Some("nas"), false), (Some("laptop"), true)]);
    assert!(output.stderr_str().contains("left out, because another source has nas, too"));
    assert_eq!(exports(&collection, "laptop").len(), 1);
}
