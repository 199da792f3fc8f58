//! The tables are consistent, and the disks can be created.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::*;
use crate::{FileSystem, Mount, TempTree, skipped};

fn all() -> [Disk; 10] {
    [
        windows_xp_german(),
        windows_xp_english(),
        windows_2000_from_nt4(),
        windows_vista(),
        windows_10(),
        windows_10_with_windows_old(),
        windows_data_disk(),
        linux_disk(),
        mac_disk(),
        nas_share(),
    ]
}

#[test]
fn every_disk_is_made_as_described() {
    for disk in all() {
        let temp = TempTree::new();
        let made = disk.tree().make(temp.path());
        for entry in &disk.entries {
            let path = made.path(&entry.path);
            let status = fs::symlink_metadata(&path).expect(&entry.path);
            assert_eq!(status.mtime() == OLD, !entry.is_fresh, "{}", entry.path);
            match &entry.node {
                Node::File(content) => {
                    let bytes = fs::read(&path).expect(&entry.path);
                    assert_eq!(bytes, content.bytes());
                    assert!(bytes.ends_with(entry.path.as_bytes()), "{}", entry.path);
                }
                Node::Link(target) if target.starts_with(windows::OTHER_VOLUME) => {
                    assert!(status.is_symlink() && !path.exists(), "{}", entry.path);
                }
                Node::Link(target) => {
                    let (link, target) = (path.canonicalize(), made.path(target).canonicalize());
                    assert_eq!(link.expect(&entry.path), target.expect(&entry.path));
                }
            }
        }
    }
}

#[test]
fn a_path_is_described_once_and_is_relative() {
    for disk in all() {
        let mut seen = BTreeSet::new();
        for Entry { path, .. } in &disk.entries {
            let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
            assert!(path.split('/').all(is_plain), "{}: {path}", disk.name);
            assert!(seen.insert(path), "{}: {path} is described twice", disk.name);
        }
        for path in &seen {
            let mut parents = Path::new(path).ancestors().skip(1);
            let is_entry = |parent: &Path| seen.contains(&parent.display().to_string());
            assert!(!parents.any(is_entry), "{}: {path} is below a file", disk.name);
        }
    }
}

#[test]
fn names_on_a_windows_disk_differ_in_more_than_case() {
    for disk in all().into_iter().filter(|disk| disk.name.starts_with("windows")) {
        let mut spellings: BTreeMap<String, &str> = BTreeMap::new();
        let paths = disk.entries.iter().flat_map(|entry| Path::new(&entry.path).ancestors());
        for path in paths.filter_map(Path::to_str) {
            let other = spellings.insert(path.to_lowercase(), path);
            assert!(other.is_none_or(|other| other == path), "{}: {path}", disk.name);
        }
    }
}

#[test]
fn junk_has_lookalikes_of_each_label_on_the_same_disk() {
    let mut used = BTreeSet::new();
    for disk in all() {
        for label in disk.labels() {
            assert!(disk.lookalikes_of(label).next().is_some(), "{}: {label}", disk.name);
        }
        used.extend(disk.labels());
        assert!(disk.precious().next().is_some(), "{}", disk.name);
        assert!(disk.junk().any(|entry| entry.is_fresh), "{}", disk.name);
    }
    assert_eq!(used, BTreeSet::from(LABELS));
}

#[test]
fn lookalikes_have_known_labels() {
    for entry in all().iter().flat_map(|disk| &disk.entries) {
        if let What::Lookalike(label) = entry.what {
            assert!(LABELS.contains(&label), "{label}: {}", entry.path);
        }
    }
}

#[test]
fn every_user_has_a_profile_with_junk_and_precious_files() {
    for (disk, users) in [(windows_xp_german(), 2), (windows_vista(), 2), (windows_10(), 3)] {
        assert_eq!(disk.profiles.len(), users, "{}", disk.name);
        for Profile { home, roaming, local, temp } in &disk.profiles {
            let has = |folder: &str| disk.entries.iter().any(|e| e.path.starts_with(folder));
            let hive = disk.entry(&format!("{home}/NTUSER.DAT")).expect("a hive of the user");
            assert_eq!(hive.what, What::Precious);
            assert!([local, temp].into_iter().flatten().chain([roaming]).all(|f| has(f)));
            assert!(disk.junk().any(|entry| entry.path.starts_with(home)));
        }
    }
    assert_eq!(windows_2000_from_nt4().profiles[0].local, None);
    assert_eq!(
        windows_xp_german().profiles[1].temp.as_deref(),
        Some("Dokumente und Einstellungen/ben/Lokale Einstellungen/Temp")
    );
}

#[test]
fn links_in_windows_old_lead_into_the_live_system() {
    let disk = windows_10_with_windows_old();
    let links: BTreeMap<_, _> = disk.entries.iter().filter_map(Entry::link).collect();
    let roaming = "Users/anna/AppData/Roaming";
    assert_eq!(links["Users/anna/Application Data"], roaming);
    assert_eq!(links["Windows.old/Users/anna/Application Data"], roaming);
    assert_eq!(links["ProgramData/Application Data"], "ProgramData", "a loop");
    assert!(links.values().all(|target| !target.starts_with("Windows.old")));
    let old = disk.entries.iter().filter(|entry| entry.path.starts_with("Windows.old/"));
    for entry in old {
        let is_kept = entry.what == What::Precious;
        assert_ne!(is_kept, entry.has_label("windows-setup"), "{}", entry.path);
    }
    let mounted = disk.tree_mounted_at("/mnt/c").make_temp();
    let link = fs::read_link(mounted.join("Documents and Settings")).expect("a link");
    assert_eq!(link, Path::new("/mnt/c/Users"));
}

#[test]
fn a_windows_disk_has_junctions_on_ntfs() {
    let mount = match Mount::new(FileSystem::Ntfs, 32 << 20) {
        Ok(mount) => mount,
        Err(reason) => return skipped(reason),
    };
    let disk = windows_10_with_windows_old();
    let made = disk.make_with_junctions(&mount);
    for entry in &disk.entries {
        let path = made.path(&entry.path);
        match &entry.node {
            Node::File(content) => assert_eq!(fs::read(path).expect("a file"), content.bytes()),
            Node::Link(target) => {
                let shown = fs::read_link(path).expect(&entry.path);
                assert_eq!(shown, made.path(target), "{}", entry.path);
            }
        }
    }
}
