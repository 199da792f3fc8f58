//! Disks without Windows.
//!
//! On Linux and the share, names that differ in case are different names.

use super::table::{Variables, entries};
use super::{Disk, Entry};

const LINUX_HOME: &str = include_str!("tables/linux_home.txt");

/// Returns the disk of a Linux system with two users. `home/ben` is the home of a developer.
pub fn linux_disk() -> Disk {
    let developer: &Variables = &[("home", "home/ben")];
    let tables = [
        entries(include_str!("tables/linux_system.txt"), &[]),
        entries(LINUX_HOME, &[("home", "home/anna")]),
        entries(LINUX_HOME, developer),
        entries(include_str!("tables/linux_developer.txt"), developer),
        entries(include_str!("tables/linux_projects.txt"), developer),
    ];
    disk("linux_disk", tables.concat())
}

/// Returns the disk of a macOS system with the home `Users/anna`.
pub fn mac_disk() -> Disk {
    disk("mac_disk", entries(include_str!("tables/mac.txt"), &[("home", "Users/anna")]))
}

/// Returns a share of a network storage, with the folders of Synology, QNAP and Nextcloud.
pub fn nas_share() -> Disk {
    disk("nas_share", entries(include_str!("tables/nas.txt"), &[]))
}

fn disk(name: &'static str, entries: Vec<Entry>) -> Disk {
    Disk { name, entries, profiles: Vec::new() }
}
