//! Tests of `lop-fleet upload` and of `lop-fleet collect` with an object store on this machine.

mod errors;
mod export;
mod hostile;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use testkit::{Output, S3, Sandbox, TempTree};

use crate::hosts::Hosts;
use crate::{json, run, two_hosts};

/// The place in the store in which the tests keep exports.
const URL: &str = "s3://bucket/fleet/all";

/// An object store, and a folder for what is collected from it.
struct World {
    s3: S3,
    dir: TempTree,
}

impl World {
    /// Starts a server. Returns `None` if it cannot be started.
    fn new() -> Option<World> {
        Some(World { s3: S3::start()?, dir: TempTree::new() })
    }

    /// Runs the program with the variables of the store.
    fn fleet(&self, args: &[&str]) -> Output {
        let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
        let command = sandbox.command().args(args);
        let variables = self.s3.variables().into_iter();
        variables.fold(command, |command, (name, value)| command.env(name, value)).run()
    }

    fn upload(&self, hosts: &Hosts) -> Output {
        self.fleet(&["upload", "--json", path(hosts.dir.as_ref()), URL])
    }

    fn collect(&self) -> Output {
        self.fleet(&["collect", "--json", path(&self.collection()), URL])
    }

    fn collection(&self) -> PathBuf {
        self.dir.join("collection")
    }

    /// Returns the names of all objects, without the prefix.
    fn objects(&self) -> Vec<String> {
        let script = "
for item in s3.list_objects_v2(Bucket='bucket', Prefix='fleet/all/').get('Contents', []):
    print(item['Key'].removeprefix('fleet/all/'))
";
        self.s3.script(script, &[]).stdout_str().lines().map(str::to_owned).collect()
    }

    /// Returns the content of all objects, as another client downloads them.
    fn download(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let to = TempTree::new();
        let script = "
for item in s3.list_objects_v2(Bucket='bucket', Prefix='fleet/all/')['Contents']:
    file = os.path.join(sys.argv[1], item['Key'].removeprefix('fleet/all/'))
    os.makedirs(os.path.dirname(file), exist_ok=True)
    s3.download_file('bucket', item['Key'], file)
";
        self.s3.script(script, &[path(to.as_ref())]).success();
        files(to.as_ref())
    }

    /// Changes an object of the store with Python: `body` is its bytes, and becomes what is stored.
    fn change(&self, object: &str, change: &str) {
        let script = format!(
            "
key = 'fleet/all/' + sys.argv[1]
body = bytearray(s3.get_object(Bucket='bucket', Key=key)['Body'].read())
{change}
s3.put_object(Bucket='bucket', Key=key, Body=bytes(body))
"
        );
        self.s3.script(&script, &[object]).success();
    }

    fn remove(&self, object: &str) {
        let script = "s3.delete_object(Bucket='bucket', Key='fleet/all/' + sys.argv[1])";
        self.s3.script(script, &[object]).success();
    }
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Returns all files below a folder, with their paths there.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(next) = dirs.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten() {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                let name = path.strip_prefix(dir).expect("below").to_owned();
                files.insert(name, fs::read(&path).expect("readable"));
            }
        }
    }
    files
}

/// Returns the exports of a host in a folder, oldest first.
fn exports(dir: &Path, host: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir.join(host)).into_iter().flatten();
    let mut exports: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    exports.sort();
    exports
}

/// Returns the name of the newest export of a host.
fn newest(hosts: &Hosts, host: &str) -> String {
    let all = exports(hosts.dir.as_ref(), host);
    all.last().expect("one").file_name().expect("a name").to_str().expect("ASCII").to_owned()
}

#[test]
fn exports_come_back_as_they_were() {
    let Some(world) = World::new() else { return };
    let hosts = two_hosts();
    let original = files(hosts.dir.as_ref());
    let output = world.upload(&hosts);
    output.success();
    let uploaded = json(&output);
    let sent = |key: &str| {
        let hosts = uploaded["hosts"].as_array().expect("a list").iter();
        hosts.map(|host| host[key].as_u64().expect("a number")).sum::<u64>()
    };
    let size = original.values().map(|bytes| bytes.len() as u64).sum::<u64>();
    assert_eq!((sent("files_uploaded"), sent("bytes_uploaded")), (original.len() as u64, size));
    // Another client finds the same bytes.
    assert_eq!(world.download(), original);

    let output = world.collect();
    output.success();
    let collected = json(&output);
    let of = |host: &str| {
        let mut hosts = collected["hosts"].as_array().expect("a list").iter();
        hosts.find(|document| document["host"] == host).expect("the host").clone()
    };
    assert_eq!((&of("laptop")["files"], &of("nas")["files"]), (&5.into(), &4.into()));
    assert_eq!(of("nas")["export_id"], newest(&hosts, "nas"));
    assert_eq!(files(&world.collection()), original);
    run(&["check"], &world.collection()).success();
    let mode = |path: PathBuf| fs::metadata(path).expect("exists").permissions().mode() & 0o777;
    let export = exports(&world.collection(), "nas").remove(0);
    assert_eq!(mode(export.join("_MANIFEST.json")), 0o600);
    assert_eq!(mode(export), 0o700);
    assert!(!world.collection().join("nas/_part").exists());

    // Only what is new is copied.
    let again = json(world.upload(&hosts).success());
    assert!(
        again["hosts"].as_array().expect("a list").iter().all(|host| host["files_uploaded"] == 0)
    );
    let again = json(world.collect().success());
    assert!(
        again["hosts"].as_array().expect("a list").iter().all(|host| host["fetched_bytes"] == 0)
    );
    let mut hosts = hosts;
    hosts.export("nas", &[(7, 0, 0)]);
    let table = world.fleet(&["upload", path(hosts.dir.as_ref()), URL]);
    let lines: Vec<Vec<&str>> = table
        .success()
        .stdout_str()
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines[1], ["laptop", "0", "0", "B", &newest(&hosts, "laptop")]);
    assert_eq!(
        (lines[2][0], lines[2][1], lines[2][4]),
        ("nas", "5", newest(&hosts, "nas").as_str())
    );
    world.collect().success();
    assert_eq!(files(&world.collection()), files(hosts.dir.as_ref()));
}

#[test]
fn a_large_file_is_sent_in_parts() {
    let Some(world) = World::new() else { return };
    let bytes: Vec<u8> = (0..5_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let dir = forged("nas", "20261127T230151.123Z", &bytes);
    world.fleet(&["upload", path(dir.as_ref()), URL]).success();
    assert_eq!(world.download(), files(dir.as_ref()));
    let key = "nas/20261127T230151.123Z/inodes-0.parquet";
    let script = "print(s3.head_object(Bucket='bucket', Key='fleet/all/' + sys.argv[1])['ETag'])";
    // The tag of an object ends with its number of parts.
    let tag = world.s3.script(script, &[key]);
    assert!(tag.stdout_str().trim().ends_with("-3\""), "{tag:?}");
    world.collect().success();
    assert_eq!(files(&world.collection()), files(dir.as_ref()));

    // If a part in the middle is damaged, the parts before it are removed, and no object appears.
    let file = dir.join("nas/20261127T230151.123Z/inodes-0.parquet");
    let mut damaged = bytes;
    damaged[10_000_000] ^= 1;
    fs::write(&file, damaged).expect("written");
    world.fleet(&["upload", path(dir.as_ref()), "s3://bucket/other"]).code(1);
    let script = "
print(s3.list_multipart_uploads(Bucket='bucket').get('Uploads', []))
print(s3.list_objects_v2(Bucket='bucket', Prefix='other/').get('Contents', []))
";
    assert_eq!(world.s3.script(script, &[]).stdout_str(), "[]\n[]\n");
}

/// Returns a folder with an export that consists of one file.
fn forged(host: &str, export_id: &str, bytes: &[u8]) -> TempTree {
    let dir = TempTree::new();
    let export = dir.join(host).join(export_id);
    fs::create_dir_all(&export).expect("made");
    fs::write(export.join("inodes-0.parquet"), bytes).expect("written");
    let manifest = serde_json::json!({
        "schema_version": 1, "host": host, "export_id": export_id, "created_ms": 0, "lop": "0",
        "names": "none", "key_id": null, "roots": [], "scans": [], "volumes": [],
        "tables": {"inodes": [{
            "file": "inodes-0.parquet", "rows": 1, "bytes": bytes.len(),
            "blake3": blake3::hash(bytes).to_hex().as_str(),
        }]},
    });
    fs::write(export.join("_MANIFEST.json"), manifest.to_string()).expect("written");
    dir
}

#[test]
fn only_the_named_hosts_are_uploaded() {
    let Some(world) = World::new() else { return };
    let hosts = two_hosts();
    let dir = path(hosts.dir.as_ref());
    world.fleet(&["upload", "--host", "nas", dir, URL]).success();
    assert!(world.objects().iter().all(|object| object.starts_with("nas/")));
    assert_eq!(world.objects().len(), 5);
    let output = world.fleet(&["upload", "--host", "desktop", dir, URL]);
    output.code(1);
    assert!(output.stderr_str().contains("no complete export of desktop"), "{output:?}");
}

#[test]
fn a_damaged_export_is_not_uploaded() {
    let Some(world) = World::new() else { return };
    let hosts = two_hosts();
    let file = exports(hosts.dir.as_ref(), "nas").remove(0).join("inodes-1.parquet");
    let mut bytes = fs::read(&file).expect("a file");
    bytes[20] ^= 1;
    fs::write(&file, bytes).expect("written");
    let output = world.upload(&hosts);
    output.code(3);
    let expected = format!("{}: its BLAKE3 digest differs from the manifest", file.display());
    assert!(output.stderr_str().contains(&expected), "{output:?}");
    let objects = world.objects();
    let has = |end: &str| {
        objects.iter().any(|object| object.starts_with("nas/") && object.ends_with(end))
    };
    assert!(!has("inodes-1.parquet") && !has("_MANIFEST.json"), "{objects:?}");
    assert!(has("inodes-0.parquet"), "the upload was interrupted in the middle");
    // Without a manifest, the export does not count. The other host is there.
    let output = world.collect();
    output.code(3);
    assert!(
        output.stderr_str().contains("incomplete: it has no file _MANIFEST.json"),
        "{output:?}"
    );
    assert_eq!(json(&output)["hosts"][1]["export_id"], serde_json::Value::Null);
    assert!(exports(&world.collection(), "nas").is_empty());
    assert_eq!(exports(&world.collection(), "laptop").len(), 1);
}

#[test]
fn an_interrupted_upload_is_completed_by_the_next_one() {
    let Some(world) = World::new() else { return };
    let hosts = two_hosts();
    world.upload(&hosts).success();
    let export = format!("nas/{}", newest(&hosts, "nas"));
    world.remove(&format!("{export}/_MANIFEST.json"));
    world.remove(&format!("{export}/problems.parquet"));
    world.change(&format!("{export}/contents.parquet"), "body[20] ^= 1");
    world.upload(&hosts).success();
    assert_eq!(world.download(), files(hosts.dir.as_ref()));
}

#[test]
fn another_export_of_the_same_name_is_kept() {
    let Some(world) = World::new() else { return };
    let hosts = two_hosts();
    world.upload(&hosts).success();
    let export = format!("nas/{}", newest(&hosts, "nas"));
    world.change(&format!("{export}/_MANIFEST.json"), "body += b' '");
    let before = world.download();
    let output = world.upload(&hosts);
    output.code(3);
    let expected =
        format!("{URL}/{export} exists and differs from {}", hosts.dir.join(&export).display());
    assert!(output.stderr_str().contains(&expected), "{output:?}");
    assert_eq!(world.download(), before);
}
