//! The user that the process works as, and what that user may do.

/// Returns the number of the user with whose rights the process works.
pub fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Returns whether the kernel lets the process give any file to anybody: if that is refused all the same, it is
/// the file system that does.
///
/// So it is for root, but not for one who has lost `CAP_CHOWN`, or is root in a namespace of users.
pub fn may_give_files_away() -> bool {
    // capability.h.
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
