//! The user that the process runs as, and the user's rights.

/// Returns the effective user id.
pub fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns whether the kernel lets this process change the owner of any file to any user. If
/// `chown(2)` fails all the same, the file system refuses it.
///
/// This holds for root, but not without `CAP_CHOWN`, nor for root in a user namespace.
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
