//! Finds Linux and macOS systems and their home directories.
//!
//! A system directory never counts as a home directory, even if `/etc/passwd` lists it as one.

use super::binder::Binder;
use super::lookup::joined;
use crate::rule::variable::Variable;

/// Maximum number of bytes to read from `/etc/passwd` and `os-release`.
const MOST: usize = 1 << 20;

/// The lowest user id of a person (`UID_MIN` of login.defs(5) on common distributions).
const FIRST_USER: u32 = 1000;

/// The user id of `nobody`.
const NOBODY: u32 = 65_534;

/// Directories of a home directory.
const OF_HOME: [(Variable, &[u8]); 3] = [
    (Variable::Cache, b".cache"),
    (Variable::Config, b".config"),
    (Variable::Data, b".local/share"),
];

/// Directories of a home directory on macOS. All of them are below `Library`. `Library/Preferences`
/// has no role, because it is protected, and programs keep no junk in it.
const OF_LIBRARY: [(Variable, &[u8]); 2] =
    [(Variable::Cache, b"Caches"), (Variable::Data, b"Application Support")];

/// Binds the Linux or macOS system in the target, and the home directories that the caller knows.
/// Returns true if the target is the root of a system.
pub(super) fn bind(binder: &mut Binder<'_>) -> bool {
    let linux = is_linux_root(binder).then(|| bind_linux(binder));
    let mac = binder.lookup.is_child_dir(c"Users") && has(binder, "System/Library");
    let mac = mac.then(|| bind_mac(binder));
    let system = linux.or(mac);
    for home in binder.context.homes.clone() {
        if may_be_home(&home, system.is_some()) {
            bind_home(binder, &home, system);
        }
    }
    system.is_some()
}

/// Binds the target as a home directory, if it contains a name that only home directories contain.
pub(super) fn bind_target_as_home(binder: &mut Binder<'_>) {
    let dirs = [".config", ".cache", ".local", "Library/Caches"];
    let is_home = dirs.iter().any(|dir| has(binder, dir))
        || [c".bashrc", c".profile"].iter().any(|file| binder.lookup.has_file(b"", file));
    if is_home {
        bind_home(binder, b"", None);
    }
}

fn is_linux_root(binder: &Binder<'_>) -> bool {
    let has = |name| binder.lookup.is_child_dir(name);
    has(c"etc") && has(c"usr") && (has(c"home") || has(c"root"))
}

fn has(binder: &mut Binder<'_>, path: &str) -> bool {
    binder.lookup.key(path.as_bytes()).is_some()
}

fn bind_linux(binder: &mut Binder<'_>) -> usize {
    let is_live = binder.context.is_live_root;
    let name = linux_name(binder).unwrap_or_else(|| "Linux".to_owned());
    let system = binder.add_system(b"", name, is_live);
    binder.bind(Variable::Root, b"", None);
    binder.bind(Variable::Temp, b"tmp", None);
    binder.bind(Variable::Temp, b"var/tmp", None);
    for home in homes_in(binder, b"home") {
        bind_home(binder, &home, Some(system));
    }
    bind_home(binder, b"root", Some(system));
    // The caller knows the home directories of the running system, including those that
    // `/etc/passwd` does not list.
    if !is_live {
        let passwd = binder.lookup.read(b"etc", c"passwd", MOST);
        for home in passwd.split(|&b| b == b'\n').filter_map(home_of) {
            if may_be_home(&home, true) {
                bind_home(binder, &home, Some(system));
            }
        }
    }
    system
}

fn bind_mac(binder: &mut Binder<'_>) -> usize {
    let is_live = binder.context.is_live_root;
    let system = binder.add_system(b"", "macOS".to_owned(), is_live);
    binder.bind(Variable::Root, b"", None);
    binder.bind(Variable::Temp, b"private/tmp", None);
    binder.bind(Variable::Temp, b"private/var/tmp", None);
    for home in homes_in(binder, b"Users") {
        if binder.lookup.key(&joined(&home, b"Library")).is_some() {
            bind_home(binder, &home, Some(system));
        }
    }
    system
}

/// Returns the subdirectories of `home` or `Users`.
fn homes_in(binder: &mut Binder<'_>, parent: &[u8]) -> Vec<Vec<u8>> {
    // Without this check, a file system that is mounted at the directory would cause no remark.
    if binder.lookup.key(parent).is_none() {
        return Vec::new();
    }
    let listing = binder.lookup.listing(parent);
    let mut names: Vec<&[u8]> = listing.dirs.iter().map(|(_, name)| &name[..]).collect();
    names.retain(|name| *name != b"lost+found");
    names.sort_unstable();
    names.iter().map(|name| joined(parent, name)).collect()
}

/// Binds one home directory.
fn bind_home(binder: &mut Binder<'_>, path: &[u8], system: Option<usize>) {
    let Some(index) = binder.add_profile(path, system) else { return };
    for (variable, relative) in OF_HOME {
        binder.bind(variable, &joined(path, relative), Some(index));
    }
    let library = joined(path, b"Library");
    if binder.lookup.key(&joined(&library, b"Caches")).is_some() {
        binder.bind(Variable::Library, &library, Some(index));
        for (variable, relative) in OF_LIBRARY {
            binder.bind(variable, &joined(&library, relative), Some(index));
        }
    }
}

/// Returns the home directory, relative to the root, in a line of `/etc/passwd` that describes a
/// person.
fn home_of(line: &[u8]) -> Option<Vec<u8>> {
    let mut fields = line.split(|&b| b == b':');
    let user: u32 = std::str::from_utf8(fields.nth(2)?).ok()?.parse().ok()?;
    let home = fields.nth(2)?;
    (user >= FIRST_USER && user != NOBODY).then(|| home.strip_prefix(b"/").map(<[u8]>::to_vec))?
}

/// Returns true if the path can be that of a home directory. If the target is the root of a system,
/// neither the root itself nor a system directory can be a home directory.
fn may_be_home(path: &[u8], is_root: bool) -> bool {
    const OF_SYSTEM: [&[u8]; 16] = [
        b"", b"bin", b"boot", b"dev", b"etc", b"lib", b"lib32", b"lib64", b"proc", b"run", b"sbin",
        b"sys", b"tmp", b"usr", b"System", b"Library",
    ];
    let components = || path.split(|&b| b == b'/');
    let is_plain = path.is_empty() || components().all(|c| ![&b""[..], b".", b".."].contains(&c));
    let first = components().next().unwrap_or_default();
    let is_parent = [&b"home"[..], b"Users", b"var", b"srv", b"mnt", b"media", b"opt"];
    is_plain && !(is_root && (OF_SYSTEM.contains(&first) || is_parent.contains(&path)))
}

/// Returns the name in `os-release`, such as `Debian GNU/Linux 12 (bookworm)`.
fn linux_name(binder: &mut Binder<'_>) -> Option<String> {
    let text = binder.lookup.read(b"usr/lib", c"os-release", MOST);
    let text = String::from_utf8(text).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    let name: String =
        value.trim_matches(['"', '\'']).chars().filter(|c| !c.is_control()).collect();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{home_of, may_be_home};

    #[test]
    fn only_people_have_home_directories() {
        let home =
            |line: &str| home_of(line.as_bytes()).map(|h| String::from_utf8_lossy(&h).into_owned());
        assert_eq!(
            home("anna:x:1000:1000:Anna,,:/srv/people/anna:/bin/sh").as_deref(),
            Some("srv/people/anna")
        );
        assert_eq!(home("www-data:x:33:33::/var/www:/sbin/nologin"), None);
        assert_eq!(home("nobody:x:65534:65534::/nonexistent:/sbin/nologin"), None);
        assert_eq!(home("broken:x:1000"), None);
        assert_eq!(home(""), None);
    }

    #[test]
    fn a_system_directory_is_no_home_directory() {
        for path in ["", "usr/share", "home", "home/../etc", "etc", "home//x", "var"] {
            assert!(!may_be_home(path.as_bytes(), true), "{path}");
        }
        for path in ["home/anna", "var/lib/anna", "people/anna", "root"] {
            assert!(may_be_home(path.as_bytes(), true), "{path}");
        }
        assert!(may_be_home(b"", false), "the target is a home directory");
    }
}
