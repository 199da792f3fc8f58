//! Tests of `lop-fleet inventory`: buckets as hosts.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use export::{StoredDigest, import};
use flate2::Compression;
use flate2::write::GzEncoder;
use md5::{Digest, Md5};
use serde_json::{Value, json};
use testkit::{Output, S3, Sandbox, TempTree, python};

use crate::hosts::Hosts;
use crate::{json as document, run};

/// Writes an inventory in Parquet, as its manifest is described by Amazon, with `DuckDB`.
const PARQUET_SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/oracles/inventory.py");

const SCHEMA: &str = "Bucket, Key, VersionId, IsLatest, IsDeleteMarker, Size, LastModifiedDate, ETag, StorageClass, \
                      IsMultipartUploaded, EncryptionStatus";

/// Returns the MD5 digest of some bytes.
fn md5(bytes: &[u8]) -> String {
    StoredDigest::Md5(Md5::digest(bytes).into()).to_string()
}

/// Returns a line about the current version of an object that has the content of `letter`, of `size` bytes.
fn line(key: &str, letter: char, size: usize) -> String {
    let etag = md5(letter.to_string().repeat(size).as_bytes());
    format!(
        "\"photos\",\"{key}\",\"v1\",\"true\",\"false\",\"{size}\",\"2026-11-01T12:00:00.000Z\",\"{etag}\",\"STANDARD\",\"false\",\"SSE-S3\"\n"
    )
}

/// The objects of the bucket `photos`: a twice, b once, one that was uploaded in parts, one with a key of the user, an
/// empty one, an old version and a delete marker.
fn lines() -> String {
    let parts = line("big+film.mkv", 'c', 500)
        .replace("\",\"STANDARD\",\"false\"", "-2\",\"STANDARD\",\"true\"");
    [
        line("2026/a.jpg", 'a', 1000),
        line("2026/copy+of+a%2Bb.jpg", 'a', 1000),
        line("2026//odd%0Aname", 'b', 77),
        parts,
        line("secret", 'd', 300).replace("SSE-S3", "SSE-KMS"),
        line("2026/", 'e', 0),
        line("2026/a.jpg", 'f', 999).replace("\"v1\",\"true\"", "\"v0\",\"false\""),
        "\"photos\",\"gone\",\"v2\",\"true\",\"true\",\"\",\"2026-11-01T12:00:00.000Z\",\"\",\"\",\"\",\"\"\n".into(),
    ]
    .concat()
}

/// Writes an inventory in CSV as a store does: the manifest is not in the folder of the data. Returns the path of the
/// manifest.
fn write_csv(dir: &Path, schema: &str, parts: &[&str]) -> PathBuf {
    let data = dir.join("inv/photos/daily/data");
    fs::create_dir_all(&data).expect("made");
    let files: Vec<Value> = (0..)
        .zip(parts)
        .map(|(number, lines)| {
            let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
            gzip.write_all(lines.as_bytes()).expect("written");
            let bytes = gzip.finish().expect("written");
            fs::write(data.join(format!("{number}.csv.gz")), &bytes).expect("written");
            let key = format!("inv/photos/daily/data/{number}.csv.gz");
            json!({"key": key, "size": bytes.len(), "MD5checksum": md5(&bytes)})
        })
        .collect();
    let manifest = json!({
        "sourceBucket": "photos",
        "destinationBucket": "arn:aws:s3:::inventories",
        "version": "2016-11-30",
        "creationTimestamp": "1793448000000",
        "fileFormat": "CSV",
        "fileSchema": schema,
        "files": files,
    });
    let dir = dir.join("inv/photos/daily/2026-11-01T00-00Z");
    fs::create_dir_all(&dir).expect("made");
    let path = dir.join("manifest.json");
    fs::write(&path, manifest.to_string()).expect("written");
    path
}

/// Runs `lop-fleet inventory`.
fn export_bucket(options: &[&str], manifest: &Path, dir: &Path) -> Output {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    sandbox.command().arg("inventory").args(options).arg(manifest).arg(dir).run()
}

/// A folder with the exports of `hosts` and of the bucket.
fn with_bucket(hosts: &Hosts) {
    let temp = TempTree::new();
    export_bucket(&[], &write_csv(temp.path(), SCHEMA, &[&lines()]), hosts.dir.path()).success();
}

#[test]
fn a_bucket_is_one_more_host() {
    let mut hosts = Hosts::new();
    let temp = TempTree::new();
    let all = lines();
    let (one, other) = all.split_at(all.find("\"photos\",\"big").expect("a line"));
    let manifest = write_csv(temp.path(), SCHEMA, &[one, other]);
    let output = export_bucket(&["--json"], &manifest, hosts.dir.path());
    output.success();
    let exported = document(&output);
    assert_eq!(exported["host"], "photos");
    assert_eq!(
        (exported["files"].as_u64(), exported["without_digest"].as_u64()),
        (Some(5), Some(2))
    );
    hosts.export("nas", &[(1000, 1, 1), (42, 2, 2)]);
    run(&["check"], hosts.dir.path()).success();
    let report = document(&run(&["report", "--json"], hosts.dir.path()));
    let bucket = &report["hosts"][1];
    assert_eq!(bucket["host"], "photos");
    assert_eq!(bucket["all"], json!({"files": 5, "bytes": 2877}));
    // The NAS has a file of 1000 bytes, which cannot be compared with the two objects of this size.
    assert_eq!(bucket["unknown"], json!({"files": 2, "bytes": 2000}));
    assert_eq!(bucket["only_here"], json!({"files": 3, "bytes": 877}));
    assert_eq!(bucket["redundant"], json!({"files": 1, "bytes": 1000}));
    assert_eq!(report["hosts"][0]["unknown"], json!({"files": 1, "bytes": 1000}));
    assert_eq!(report["contents"][0]["digest"], md5(&[b'a'; 1000]));
}

#[test]
fn objects_of_two_buckets_are_compared_and_found() {
    let hosts = Hosts::new();
    with_bucket(&hosts);
    let temp = TempTree::new();
    let manifest = write_csv(temp.path(), SCHEMA, &[&lines().replace("2026//odd", "moved")]);
    export_bucket(&["--host", "backup"], &manifest, hosts.dir.path()).success();
    let report = document(&run(&["report", "--json"], hosts.dir.path()));
    for bucket in 0..2 {
        assert_eq!(report["hosts"][bucket]["elsewhere"], json!({"files": 3, "bytes": 2077}));
        assert_eq!(report["hosts"][bucket]["unknown"], json!({"files": 2, "bytes": 800}));
    }
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    let find = |what: &str| sandbox.command().arg("where").arg(hosts.dir.path()).arg(what).run();
    let expected = "\
backup:/photos/2026/a.jpg
backup:/photos/2026/copy of a+b.jpg
photos:/photos/2026/a.jpg
photos:/photos/2026/copy of a+b.jpg
";
    assert_eq!(find(&md5(&[b'a'; 1000])).success().stdout_str(), expected);
    fs::write(sandbox.path("a file"), [b'a'; 1000]).expect("written");
    assert_eq!(find("a file").success().stdout_str(), expected);
    fs::write(sandbox.path("parts"), [b'c'; 500]).expect("written");
    let output = find("parts");
    output.code(3);
    let line = ": 1 object may be equal, but has no digest of this kind\n";
    assert_eq!(output.stdout_str(), format!("backup{line}photos{line}"));
    assert_eq!(output.stderr_str(), "");
    let contains = |places: &[&str]| {
        sandbox.command().args(["--json", "contains"]).arg(hosts.dir.path()).args(places).run()
    };
    let output = contains(&["photos:/photos/2026", "backup:/photos"]);
    assert_eq!(document(output.success())["elsewhere"], 3);
}

#[test]
fn an_inventory_without_the_encryption_has_no_digests() {
    let hosts = Hosts::new();
    let temp = TempTree::new();
    let schema = SCHEMA.replace(", EncryptionStatus", "");
    let lines = lines()
        .replace(",\"SSE-S3\"\n", "\n")
        .replace(",\"SSE-KMS\"\n", "\n")
        .replace(",\"\"\n", "\n");
    let output = export_bucket(&[], &write_csv(temp.path(), &schema, &[&lines]), hosts.dir.path());
    assert!(output.success().stdout_str().contains("; 5 without a digest"), "{output:?}");
    assert!(
        output.stderr_str().starts_with("hint: without the field EncryptionStatus"),
        "{output:?}"
    );
}

#[test]
fn damaged_and_foreign_inventories_are_refused() {
    let hosts = Hosts::new();
    let temp = TempTree::new();
    let manifest = write_csv(temp.path(), SCHEMA, &[&lines()]);
    let refused = |text: &str| {
        let output = export_bucket(&[], &manifest, hosts.dir.path());
        output.code(1);
        assert!(output.stderr_str().contains(text), "{output:?}");
        assert_eq!(output.stderr_str().lines().count(), 1, "{output:?}");
    };
    let original = fs::read_to_string(&manifest).expect("a manifest");
    let change = |from: &str, to: &str| {
        assert!(original.contains(from), "{original}");
        fs::write(&manifest, original.replace(from, to)).expect("written");
    };
    change("\"CSV\"", "\"ORC\"");
    refused("cannot read inventories in the format ORC");
    change("inv/photos/daily/data/0.csv.gz", "../../../../etc/passwd");
    refused("\"../../../../etc/passwd\" is not the name of a file");
    change("Bucket, Key", "Key, Bucket");
    refused("has an object of another bucket");
    change("IsDeleteMarker, Size", "IsDeleteMarker, Length");
    refused("has no size of");
    change("1793448000000", "yesterday");
    refused("no valid creationTimestamp");
    change("{", "[");
    refused("not the manifest of an S3 Inventory");
    fs::write(&manifest, &original).expect("written");
    let data = temp.join("inv/photos/daily/data/0.csv.gz");
    let mut bytes = fs::read(&data).expect("data");
    *bytes.last_mut().expect("not empty") ^= 1;
    fs::write(&data, bytes).expect("written");
    refused("its MD5 digest differs from the manifest");
    fs::remove_file(&data).expect("removed");
    refused("is missing");
    assert!(!hosts.dir.join("photos").exists());
}

#[test]
fn nobody_acts_on_objects_or_takes_them_for_files() {
    let hosts = Hosts::new();
    with_bucket(&hosts);
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    let command = sandbox.command().args(["plan", "--by", "delete", "--save-plan", "plan"]);
    let output = command.arg(hosts.dir.path()).arg("photos").run();
    output.code(1);
    assert!(output.stderr_str().contains("photos is an S3 bucket"), "{output:?}");
    let exports = fs::read_dir(hosts.dir.join("photos")).expect("a folder");
    let export = exports.map(|entry| entry.expect("an entry").path());
    let export = export.into_iter().find(|path| path.join("_MANIFEST.json").is_file());
    let writer = catalog::Writer::open(&sandbox.path("new.db"), |_| {}).expect("a new catalog");
    let imported = import(&export.expect("one"), writer, &runtime::Progress::default());
    let error = imported.expect_err("no files").to_string();
    assert!(error.contains("it describes objects in an S3 bucket"), "{error}");
}

#[test]
fn parquet_and_csv_give_the_same_export() {
    let Some(python) = python() else { return };
    let (hosts, temp) = (Hosts::new(), TempTree::new());
    let csv = write_csv(&temp.join("csv"), SCHEMA, &[&lines()]);
    let parquet = temp.join("parquet/manifest.json");
    fs::create_dir(temp.join("parquet")).expect("made");
    fs::write(temp.join("lines.csv"), lines()).expect("written");
    let output = python
        .command()
        .args(["-B", PARQUET_SCRIPT])
        .arg(temp.join("lines.csv"))
        .arg(&parquet)
        .run();
    output.success();
    for (host, manifest) in [("csv", &csv), ("parquet", &parquet)] {
        export_bucket(&["--host", host], manifest, hosts.dir.path()).success();
    }
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    let rows = |host: &str| {
        let sql = "SELECT i.size, encode(i.digest, 'hex') AS digest, i.mtime_ns, i.content_id, encode(n.name, 'hex') AS name, \
                   d.path FROM inodes i JOIN names n USING (inode_id) JOIN dirs d USING (dir_id) ORDER BY 1, 2, 5, 6";
        let command = sandbox.command().args(["--json", "sql", "--host", host]);
        document(command.arg(hosts.dir.path()).arg(sql).run().success())["rows"].clone()
    };
    assert_eq!(rows("csv").as_array().expect("rows").len(), 5);
    assert_eq!(rows("csv"), rows("parquet"));
}

#[test]
fn an_inventory_in_a_store_gives_the_same_export() {
    let Some(s3) = S3::start() else { return };
    let (local, remote, temp) = (Hosts::new(), Hosts::new(), TempTree::new());
    let manifest = write_csv(temp.path(), SCHEMA, &[&lines()]);
    let put = "
root = sys.argv[1]
for folder, _, files in os.walk(root):
    for name in files:
        path = os.path.join(folder, name)
        s3.upload_file(path, 'bucket', os.path.relpath(path, root))
";
    s3.script(put, &[temp.path().to_str().expect("UTF-8")]).success();
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    let fetch = || {
        let url = "s3://bucket/inv/photos/daily/2026-11-01T00-00Z/manifest.json";
        let command = sandbox.command().args(["inventory", url]).arg(remote.dir.path());
        let variables = s3.variables().into_iter();
        variables.fold(command, |command, (name, value)| command.env(name, value)).run()
    };
    fetch().success();
    export_bucket(&[], &manifest, local.dir.path()).success();
    let diff = Sandbox::new("diff");
    diff.command().arg("-r").arg(local.dir.path()).arg(remote.dir.path()).run().success();
    let deletion = "s3.delete_object(Bucket='bucket', Key='inv/photos/daily/data/0.csv.gz')";
    s3.script(deletion, &[]).success();
    let output = fetch();
    output.code(1);
    let expected =
        "lop-fleet: s3://bucket/inv/photos/daily/data/0.csv.gz: there is no such object\n";
    assert_eq!(output.stderr_str(), expected);
}
