//! Exports and imports that fail: exit codes, messages, and what they leave.

use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use testkit::{FileSystem, Mount, NOBODY, Output, Signal, TreeBuilder, When, is_root, skipped};

use super::{names_in, scanned};
use crate::lop::{Lop, assert_exit_record};

/// Asserts the exit code, the message and the hint of a failed command.
#[track_caller]
fn assert_fails(output: &Output, code: i32, message: &str, hint: &str) {
    output.code(code);
    assert_eq!(output.stderr_str(), format!("lop: {message}\nhint: {hint}\n"));
    assert_eq!(output.stdout_str(), "");
}

const NO_KEY: &str = "to make a key: head -c 32 /dev/urandom > FILE";

#[test]
fn an_export_without_a_catalog_creates_no_folder() {
    let lop = Lop::new();
    let message = format!("no catalog at {}", lop.catalog().display());
    let hint = "scan something first: lop scan DIR";
    assert_fails(&lop.run(["export", "out"]), 5, &message, hint);
    assert_exit_record(&lop.run(["export", "--json", "out"]), 5);
    assert!(!lop.path("out").exists());
}

#[test]
fn wrong_usage_is_explained_before_anything_is_written() {
    let lop = scanned();
    let allowed = "use letters, digits, '.', '-' and '_', beginning with a letter or a digit";
    for host in ["", "a/b", "..", "_x", "host=1", "a b"] {
        let message = format!("'{host}' cannot be the name of a host: {allowed}");
        let output = lop.run(["export", "--host", host, "out"]);
        assert_fails(&output, 2, &message, "name this host: --host NAME");
    }
    for url in ["gs://bucket/fleet", "file:///srv/fleet", "https://example.org/x"] {
        let message = format!("cannot export to {url}: only folders and s3:// URLs are supported");
        let hint = "export to a folder, and copy that folder";
        assert_fails(&lop.run(["export", url]), 2, &message, hint);
    }
    let message = "--replace does not remove exports from an object store";
    let hint = "remove old exports with a lifecycle rule of the bucket";
    assert_fails(&lop.run(["export", "--replace", "s3://bucket/fleet"]), 2, message, hint);
    let keyed = lop.run(["export", "--names", "keyed", "out"]);
    let hint = "give the key that all hosts use: --key FILE";
    assert_fails(&keyed, 2, "--names keyed needs a key", hint);
    lop.run(["export", "--names", "some", "out"]).code(2);
    lop.run(["export"]).code(2);
    lop.run(["import"]).code(2);
    assert_exit_record(&lop.run(["export", "--json", "--host", "", "out"]), 2);
    assert!(!lop.path("out").exists() && !lop.path("s3:").exists());
}

#[test]
fn an_export_to_a_store_needs_the_program_that_uploads_it() {
    let lop = scanned();
    let temporary = lop.home().join("temporary");
    fs::create_dir(&temporary).expect("made");
    let export = |path: &Path| {
        let command = lop.command().args(["export", "--host", "nas", "s3://bucket/fleet"]);
        command.env("PATH", path).env("TMPDIR", &temporary).run()
    };
    let message = "cannot export to s3://bucket/fleet: lop-fleet is not installed";
    let hint = "build lop-fleet and put it beside lop: \
                cargo build --release --manifest-path fleet/Cargo.toml";
    assert_fails(&export(&lop.home()), 1, message, hint);
    // A program in PATH gets a private folder with the export, and the URL.
    let script = "#!/bin/sh\n/bin/ls -ld \"$4\" >\"$0.log\"; /bin/ls \"$4\" >>\"$0.log\"\n\
                  echo \"$1 $2 $3 $5\" >>\"$0.log\"\necho 'lop-fleet: no way' >&2; exit 1\n";
    let program = lop.home().join("lop-fleet");
    fs::write(&program, script).expect("written");
    fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("set");
    let output = export(&lop.home());
    output.code(1);
    assert_eq!(output.stderr_str(), "lop: cannot upload the export: no way\n");
    let log = fs::read_to_string(lop.home().join("lop-fleet.log")).expect("the program ran");
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines[0].starts_with("drwx------"), "{log}");
    assert_eq!(lines[1..], ["nas", "upload --json -- s3://bucket/fleet"]);
    assert!(names_in(&temporary).is_empty(), "the folder was removed");
}

#[test]
fn an_interrupted_upload_ends_the_program_and_leaves_no_folder() {
    let lop = scanned();
    let temporary = lop.home().join("temporary");
    fs::create_dir(&temporary).expect("made");
    let program = lop.home().join("lop-fleet");
    let script = "#!/bin/sh\necho $$ >\"$0.pid\"; exec /bin/sleep 1000\n";
    fs::write(&program, script).expect("written");
    fs::set_permissions(&program, Permissions::from_mode(0o755)).expect("set");
    let command = lop.command().args(["export", "--host", "nas", "s3://bucket/fleet"]);
    let command = command.env("PATH", lop.home()).env("TMPDIR", &temporary);
    let pid = lop.home().join("lop-fleet.pid");
    let started = When::File(pid.clone(), b"\n".into());
    command.signal(Signal::TERM, started).run().signal(Signal::TERM);
    assert!(names_in(&temporary).is_empty(), "{:?}", names_in(&temporary));
    let pid = fs::read_to_string(pid).expect("the program ran");
    assert!(!Path::new("/proc").join(pid.trim()).exists(), "the program still runs");
}

#[test]
fn a_key_that_is_no_secret_is_refused() {
    let lop = scanned();
    lop.lay(&TreeBuilder::new().file("short", "fifteen bytes..").fifo("fifo"));
    fs::write(lop.path("large"), vec![0; (64 << 10) + 1]).expect("written");
    let cannot = |key: &str, message: &str| {
        let output = lop.run(["export", "--key", key, "out"]);
        assert_fails(&output, 1, message, NO_KEY);
    };
    cannot("short", "cannot use the key short: it has 15 bytes, but a key has at least 16");
    cannot("none", "cannot use the key none: No such file or directory");
    for key in ["fifo", "d", "large", "/dev/zero"] {
        let reason = "it is not a regular file of at most 64 KiB";
        cannot(key, &format!("cannot use the key {key}: {reason}"));
    }
    assert!(!lop.path("out").exists());
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let lop = scanned();
    let hint = "choose a folder in which you can create folders";
    let output = lop.run(["export", "--host", "nas", "d/a/out"]);
    assert_fails(&output, 1, "cannot create d/a/out/nas: Not a directory", hint);
    if !is_root() {
        return skipped("only root can run the rest as a user without permissions");
    }
    let shared = lop.home().join("shared.db");
    fs::copy(lop.catalog(), &shared).expect("copied");
    fs::set_permissions(&shared, Permissions::from_mode(0o444)).expect("set");
    fs::create_dir(lop.path("out")).expect("made");
    let export = lop.command().args(["export", "--host", "nas", "out", "--catalog"]).arg(&shared);
    let output = export.as_user(NOBODY, NOBODY).run();
    assert_fails(&output, 1, "cannot create out/nas: Permission denied", hint);
    // The export of another user is private.
    let export = lop.export_as("nas", &[]);
    let import = lop.command().args(["import", "--catalog", "/nowhere/new.db"]).arg(&export);
    let output = import.as_user(NOBODY, NOBODY).run();
    output.code(5);
    let catalog = lop.home().join("state/new.db");
    let import = lop.command().arg("import").arg("--catalog").arg(&catalog).arg(&export);
    let output = import.as_user(NOBODY, NOBODY).run();
    let message = format!("cannot open {}: Permission denied", export.display());
    let hint = "an export is private: run as the user who exported it";
    assert_fails(&output, 1, &message, hint);
    assert!(!catalog.exists());
}

#[test]
fn a_full_disk_keeps_no_part_of_an_export_or_an_import() {
    let Ok(mount) = Mount::new(FileSystem::Tmpfs, 1 << 20).map_err(skipped) else { return };
    let lop = Lop::with(
        &(0..3000).fold(TreeBuilder::new(), |tree, n| tree.seeded(format!("d/{n}"), n / 2, 300)),
    );
    lop.remember(["d"]);
    let filler = mount.path().join("filler");
    let fill = |but: u64| {
        drop(fs::remove_file(&filler));
        let mut file = File::create(&filler).expect("made");
        while file.write_all(&[7; 4096]).is_ok() {}
        let length = file.metadata().expect("metadata").len();
        file.set_len(length.saturating_sub(but)).expect("cut");
    };
    let export = lop.export_as("nas", &[]);
    let (mut failed, catalog) = (0, mount.path().join("new.db"));
    for room in [0, 4096, 16 << 10, 50 << 10, 100 << 10, 150 << 10] {
        fill(room);
        let output = lop.command().args(["export", "--host", "nas"]).arg(mount.path()).run();
        let said = output.stderr_str();
        let exports = names_in(&mount.path().join("nas"));
        if output.ending == testkit::Ending::Code(0) {
            assert_eq!(exports.len(), 1, "{room}");
            fs::remove_dir_all(mount.path().join("nas")).expect("removed");
            continue;
        }
        output.code(1);
        failed += 1;
        assert!(said.contains(": No space left on device\n"), "{said}");
        assert!(
            said.ends_with("hint: free some space, or choose a folder on another file system\n"),
            "{said}"
        );
        assert!(exports.is_empty(), "{room}: {exports:?}");
        let import = lop.command().arg("import").arg("--catalog").arg(&catalog).arg(&export);
        let output = import.run();
        output.code(1);
        let said = output.stderr_str();
        assert!(said.contains("\nhint: ") && said.contains("free some space, "), "{said}");
        let left = names_in(mount.path());
        assert!(!left.iter().any(|name| name.starts_with("new.db")), "{room}: {left:?}");
    }
    assert!(failed >= 3, "{failed} of 6 exports had no room");
    fs::remove_file(&filler).expect("removed");
    lop.command().args(["export", "--host", "nas"]).arg(mount.path()).run().success();
    assert_eq!(names_in(&mount.path().join("nas")).len(), 1);
}

#[test]
fn a_folder_that_is_no_export_is_not_imported() {
    let lop = scanned();
    let export = lop.export_as("nas", &[]);
    let import = |dir: &str| lop.run(["import", "--catalog", "new.db", dir]);
    let hint = "give the folder of one export, HOST/EXPORT";
    let no_manifest =
        |dir: &str| format!("cannot import {dir}: not an export: it has no file _MANIFEST.json");
    for dir in ["d", "../home/fleet", "../home/fleet/nas"] {
        assert_fails(&import(dir), 1, &no_manifest(dir), hint);
    }
    let output = import("none");
    output.code(1);
    assert_eq!(output.stderr_str(), "lop: cannot open none: No such file or directory\n");
    assert!(!lop.path("new.db").exists() && !lop.path("new.db.new").exists());
    // An existing catalog is not changed, whether it is empty or not.
    let before = fs::read(lop.catalog()).expect("readable");
    let output = lop.command().arg("import").arg(&export).run();
    let message = format!(
        "cannot import into an existing catalog: {} exists already",
        lop.catalog().display()
    );
    assert_fails(&output, 5, &message, "name a new file: --catalog FILE");
    assert!(fs::read(lop.catalog()).expect("readable") == before);
}

#[test]
fn a_damaged_export_is_not_imported() {
    let hint = "the export is damaged: copy it again, or export the host again";
    let lop = scanned();
    for table in ["contents", "dirs", "inodes-0", "inodes-1", "names"] {
        let export = lop.export_as("nas", &[]);
        let file = export.join(format!("{table}.parquet"));
        let mut bytes = fs::read(&file).expect("a file");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&file, &bytes).expect("written");
        let import = || lop.command().args(["import", "--catalog", "new.db"]).arg(&export).run();
        let reason = "its BLAKE3 digest differs from the manifest";
        let message = format!("cannot import {}: {reason}", file.display());
        assert_fails(&import(), 1, &message, hint);
        fs::write(&file, &bytes[1..]).expect("written");
        let (has, had) = (bytes.len() - 1, bytes.len());
        let reason = format!("has {has} bytes, but the manifest has {had}");
        assert_fails(&import(), 1, &format!("cannot import {}: {reason}", file.display()), hint);
        fs::remove_file(&file).expect("removed");
        let message = format!("cannot open {}: No such file or directory", file.display());
        assert_fails(&import(), 1, &message, hint);
        fs::write(export.join("_MANIFEST.json"), "{").expect("written");
        let output = import();
        output.code(1);
        let begins =
            format!("lop: cannot import {}: _MANIFEST.json: not a valid", export.display());
        assert!(output.stderr_str().starts_with(&begins), "{}", output.stderr_str());
        assert!(!lop.path("new.db").exists() && !lop.path("new.db.new").exists());
    }
}

#[test]
fn exports_that_hide_names_or_digests_are_not_imported() {
    let lop = scanned();
    fs::write(lop.path("key"), [7; 16]).expect("written");
    for args in [&["--key", "key"][..], &["--key", "key", "--names", "plain"], &["--names", "none"]]
    {
        let export = lop.export_as("nas", args);
        let output = lop.command().args(["import", "--catalog", "new.db"]).arg(&export).run();
        let reason = match args[0] {
            "--key" => {
                "its digests are keyed, so a catalog made of it could not be compared with files"
            }
            _ => "it was exported without names, which a catalog needs",
        };
        let message = format!("cannot import {}: {reason}", export.display());
        assert_fails(&output, 1, &message, "export the host again, without --key and --names");
        assert!(!lop.path("new.db").exists());
    }
}
