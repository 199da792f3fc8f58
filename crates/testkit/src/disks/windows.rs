//! Disks with Windows, and a disk that Windows has used for data.
//!
//! The layouts are those of the generations: roots, names of folders, and junctions. Windows XP
//! translates the names of folders on disk; Vista and later translate them only when displayed.

use super::table::{Variables, entries_below, with_values};
use super::{Disk, Entry, What};

/// The directory in which ntfs-3g shows targets on the drive `D:`.
pub(super) const OTHER_VOLUME: &str = ".NTFS-3G/D:/";
/// Links that are symbolic links on Windows. All others are junctions.
pub(super) const SYMLINKS: [&str; 2] = ["Users/All Users", "Windows.old/Users/All Users"];

const PROFILE: &str = include_str!("tables/windows_profile.txt");
const PROFILE_LOCAL: &str = include_str!("tables/windows_profile_local.txt");
const PROFILE_MODERN: &str = include_str!("tables/windows_profile_modern.txt");
const PROFILE_10: &str = include_str!("tables/windows_profile_10.txt");
const DEFAULT: &str = include_str!("tables/windows_default.txt");
const SYSTEM: &str = include_str!("tables/windows_system.txt");
const PREFETCH: &str = include_str!("tables/windows_prefetch.txt");
const CLASSIC: &str = include_str!("tables/windows_classic.txt");
const MODERN: &str = include_str!("tables/windows_modern.txt");
const JUNCTIONS: &str = include_str!("tables/windows_junctions.txt");
const PROFILE_JUNCTIONS: &str = include_str!("tables/windows_profile_junctions.txt");
const JUNCTIONS_10: &str = include_str!("tables/windows_10_junctions.txt");
/// The tables of a profile of Windows 10.
const PROFILE_TABLES_10: [&str; 6] =
    [PROFILE, PROFILE_LOCAL, PROFILE_MODERN, PROFILE_10, PROFILE_JUNCTIONS, JUNCTIONS_10];

/// Windows 2000, installed over NT 4. Profiles have no local folders.
const NT4: &Variables = &[
    ("windows", "WINNT"),
    ("system", "system32"),
    ("program_files", "Program Files"),
    ("profiles", "WINNT/Profiles"),
    ("documents_all", "Documents"),
    ("home", "{profiles}/{user}"),
    ("roaming", "{home}/Application Data"),
    ("cookies", "{home}/Cookies"),
    ("recent", "{home}/Recent"),
    ("start_menu", "Start Menu"),
    ("desktop", "{home}/Desktop"),
    ("documents", "{home}/Personal"),
    ("pictures", "{home}/Personal/Pictures"),
];

const XP_ENGLISH: &Variables = &[
    ("windows", "WINDOWS"),
    ("system", "system32"),
    ("program_files", "Program Files"),
    ("profiles", "Documents and Settings"),
    ("documents_all", "Documents"),
    ("home", "{profiles}/{user}"),
    ("roaming", "{home}/Application Data"),
    ("settings", "{home}/Local Settings"),
    ("local", "{settings}/Application Data"),
    ("temp", "{settings}/Temp"),
    ("ie_cache", "{settings}/Temporary Internet Files"),
    ("ie_content", "Content.IE5"),
    ("cookies", "{home}/Cookies"),
    ("recent", "{home}/Recent"),
    ("start_menu", "Start Menu"),
    ("desktop", "{home}/Desktop"),
    ("documents", "{home}/My Documents"),
    ("pictures", "{documents}/My Pictures"),
];

const XP_GERMAN: &Variables = &[
    ("windows", "WINDOWS"),
    ("system", "system32"),
    ("program_files", "Programme"),
    ("profiles", "Dokumente und Einstellungen"),
    ("documents_all", "Dokumente"),
    ("home", "{profiles}/{user}"),
    ("roaming", "{home}/Anwendungsdaten"),
    ("settings", "{home}/Lokale Einstellungen"),
    ("local", "{settings}/Anwendungsdaten"),
    ("temp", "{settings}/Temp"),
    ("ie_cache", "{settings}/Temporary Internet Files"),
    ("ie_content", "Content.IE5"),
    ("cookies", "{home}/Cookies"),
    ("recent", "{home}/Recent"),
    ("start_menu", "Startmenü"),
    ("desktop", "{home}/Desktop"),
    ("documents", "{home}/Eigene Dateien"),
    ("pictures", "{documents}/Eigene Bilder"),
];

/// The entries that Vista and Windows 10 share.
const SINCE_VISTA: &Variables = &[
    ("windows", "Windows"),
    ("system", "System32"),
    ("program_files", "Program Files"),
    ("profiles", "Users"),
    ("home", "{profiles}/{user}"),
    ("roaming", "{home}/AppData/Roaming"),
    ("local", "{home}/AppData/Local"),
    ("local_low", "{home}/AppData/LocalLow"),
    ("temp", "{local}/Temp"),
    ("recent", "{roaming}/Microsoft/Windows/Recent"),
    ("start_menu", "AppData/Roaming/Microsoft/Windows/Start Menu"),
    ("desktop", "{home}/Desktop"),
    ("documents", "{home}/Documents"),
    ("pictures", "{home}/Pictures"),
];

const VISTA: &Variables = &[
    ("cookies", "{roaming}/Microsoft/Windows/Cookies"),
    ("ie_cache", "{local}/Microsoft/Windows/Temporary Internet Files"),
    ("ie_content", "Content.IE5"),
];

const WINDOWS_10: &Variables = &[
    ("cookies", "{local}/Microsoft/Windows/INetCookies"),
    ("ie_cache", "{local}/Microsoft/Windows/INetCache"),
    ("ie_content", "IE"),
];

/// The folders of a user, as paths on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// The root of the profile, with `NTUSER.DAT`.
    pub home: String,
    /// Application data that follows the user to other machines.
    pub roaming: String,
    /// Application data that stays on the machine. Missing before Windows 2000.
    pub local: Option<String>,
    /// Temporary files. Missing before Windows 2000, where the machine has one folder for all.
    pub temp: Option<String>,
}

/// Returns the disk of a German Windows XP with the users anna and ben.
pub fn windows_xp_german() -> Disk {
    windows_xp("windows_xp_german", XP_GERMAN)
}

/// Returns the disk of an English Windows XP with the users anna and ben.
pub fn windows_xp_english() -> Disk {
    windows_xp("windows_xp_english", XP_ENGLISH)
}

fn windows_xp(name: &'static str, layout: &Variables<'static>) -> Disk {
    let services = ["LocalService", "NetworkService"];
    let parts = [
        part("", &[SYSTEM, PREFETCH, CLASSIC], &[""], layout),
        part("", &[PROFILE, PROFILE_LOCAL], &["anna", "ben"], layout),
        part("", &[include_str!("tables/windows_service.txt")], &services, layout),
    ];
    disk(name, parts.concat(), &["anna", "ben"], layout)
}

/// Returns the disk of a Windows 2000 that was installed over NT 4, with the users anna and ben.
pub fn windows_2000_from_nt4() -> Disk {
    let nt4 = include_str!("tables/windows_nt4.txt");
    let parts = [
        part("", &[SYSTEM, CLASSIC, nt4], &["anna"], NT4),
        part("", &[PROFILE], &["anna", "ben"], NT4),
    ];
    disk("windows_2000_from_nt4", parts.concat(), &["anna", "ben"], NT4)
}

/// Returns the disk of a Windows Vista with the users anna and ben, and all junctions.
pub fn windows_vista() -> Disk {
    let layout = [SINCE_VISTA, VISTA].concat();
    let profile = [PROFILE, PROFILE_LOCAL, PROFILE_MODERN, PROFILE_JUNCTIONS];
    let parts = [
        part("", &[SYSTEM, PREFETCH, MODERN, JUNCTIONS], &[""], &layout),
        part("", &profile, &["anna", "ben"], &layout),
        part("", &[DEFAULT, PROFILE_JUNCTIONS], &["Default"], &layout),
    ];
    disk("windows_vista", parts.concat(), &["anna", "ben"], &layout)
}

/// Returns the disk of a Windows 10 with the users anna, ben and dora, and all junctions.
///
/// ben is a developer.
pub fn windows_10() -> Disk {
    let layout = [SINCE_VISTA, WINDOWS_10].concat();
    let system = [SYSTEM, PREFETCH, MODERN, include_str!("tables/windows_10.txt"), JUNCTIONS];
    let users = ["anna", "ben", "dora"];
    let parts = [
        part("", &system, &[""], &layout),
        part("", &PROFILE_TABLES_10, &users, &layout),
        part("", &[include_str!("tables/windows_developer.txt")], &["ben"], &layout),
        part("", &[DEFAULT, PROFILE_JUNCTIONS, JUNCTIONS_10], &["Default"], &layout),
    ];
    disk("windows_10", parts.concat(), &users, &layout)
}

/// Returns the disk of [`windows_10`] with an earlier system in `Windows.old`, in which anna and ben
/// have profiles.
///
/// The junctions in `Windows.old` lead into the live system. All of `Windows.old` is junk of the
/// label `windows-setup`, except precious files. Its junk has other labels as well.
pub fn windows_10_with_windows_old() -> Disk {
    let layout = [SINCE_VISTA, WINDOWS_10].concat();
    let mut old = [
        part("Windows.old/", &[include_str!("tables/windows_old.txt"), JUNCTIONS], &[""], &layout),
        part("Windows.old/", &PROFILE_TABLES_10, &["anna", "ben"], &layout),
    ]
    .concat();
    for entry in &mut old {
        entry.what = in_windows_old(&entry.what);
    }
    let mut disk = Disk { name: "windows_10_with_windows_old", ..windows_10() };
    disk.entries.extend(old);
    disk
}

/// Returns a disk that Windows has used for photographs and backups, but not as a system disk.
pub fn windows_data_disk() -> Disk {
    let entries = part("", &[include_str!("tables/windows_data.txt")], &[""], &[]);
    disk("windows_data_disk", entries, &[], &[])
}

fn disk(name: &'static str, entries: Vec<Entry>, users: &[&str], layout: &Variables) -> Disk {
    let profiles = users.iter().map(|user| profile(user, layout)).collect();
    Disk { name, entries, profiles }
}

/// Returns the entries of `tables` below `prefix`, once for each user.
fn part(prefix: &str, tables: &[&'static str], users: &[&str], layout: &Variables) -> Vec<Entry> {
    let of = |user: &&str| {
        let variables = with_user(user, layout);
        let entries = tables.iter().map(|table| entries_below(prefix, table, &variables));
        entries.collect::<Vec<_>>().concat()
    };
    users.iter().flat_map(of).collect()
}

fn profile(user: &str, layout: &Variables) -> Profile {
    let variables = with_user(user, layout);
    let folder = |name: &str| {
        let (_, value) = variables.iter().find(|(variable, _)| *variable == name)?;
        Some(with_values(value, &variables))
    };
    Profile {
        home: folder("home").expect("every layout has profiles"),
        roaming: folder("roaming").expect("every layout has roaming data"),
        local: folder("local"),
        temp: folder("temp"),
    }
}

fn with_user<'a>(user: &'a str, layout: &Variables<'a>) -> Vec<(&'a str, &'a str)> {
    [layout, &[("user", user)]].concat()
}

/// Returns what an entry is if it is part of an earlier system.
fn in_windows_old(what: &What) -> What {
    match what {
        What::Precious => What::Precious,
        What::Junk(labels) if !labels.contains(&"windows-setup") => {
            What::Junk([labels.as_slice(), &["windows-setup"]].concat())
        }
        _ => What::Junk(vec!["windows-setup"]),
    }
}
