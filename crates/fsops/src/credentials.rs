//! Credentials of the process: effective user, groups, capabilities and umask.

use rustix::fs::{Gid, Mode};

/// Returns the effective user id.
pub fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns true if the kernel lets this process change the owner of any file to any user. If
/// `chown(2)` fails nevertheless, it was the file system that refused the change.
///
/// This is true for root, unless root lacks `CAP_CHOWN` or is in a user namespace.
pub fn may_give_files_away() -> bool {
    // From capability.h.
    const CAP_CHOWN: u32 = 0;
    let read =
        |name| std::fs::read_to_string(format!("/proc/thread-self/{name}")).unwrap_or_default();
    let status = read("status");
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = effective.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    let all_numbers = ["0", "0", "4294967295"];
    effective.is_some_and(|bits| bits & 1 << CAP_CHOWN != 0)
        && ["uid_map", "gid_map"].map(read).iter().all(|map| map.split_whitespace().eq(all_numbers))
}

/// Returns the process's umask: the permission bits that are cleared in the mode of new files
/// (`umask(2)`).
///
/// # Platform behavior
///
/// Before Linux 4.7, or without `/proc`, the only way to read the umask is to change it briefly.
/// Call this while the process has only one thread.
pub fn umask() -> u32 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let said = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    if let Some(known) = said.and_then(|said| u32::from_str_radix(said.trim(), 8).ok()) {
        return known;
    }
    let now = rustix::process::umask(Mode::from_raw_mode(0o077));
    rustix::process::umask(now);
    now.as_raw_mode()
}

/// Returns the process's group ids.
pub fn groups() -> Vec<u32> {
    let mut groups: Vec<u32> = rustix::process::getgroups()
        .map(|groups| groups.into_iter().map(Gid::as_raw).collect())
        .unwrap_or_default();
    groups.push(rustix::process::getegid().as_raw());
    groups
}
