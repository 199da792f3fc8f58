//! Who the process is, how many descriptors it may hold, and descriptor tables of a thread's own.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

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

/// Raises the soft limit on open descriptors to the hard one; returns the limit now in force.
pub fn raise_descriptor_limit() -> usize {
    let limit = getrlimit(Resource::Nofile);
    // Failing to raise it is no error: the limit that is in force is what counts.
    let _refused = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    let now = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(now).unwrap_or(usize::MAX)
}

/// Gives the calling thread a descriptor table of its own.
///
/// Opening and closing then take no lock that other threads want, and looking a descriptor up
/// costs no atomic operation. Measured on two threads over 130,000 small files: 15 % less wall
/// time, 18 % less CPU.
///
/// Descriptors opened afterwards are the thread's alone; those opened before stay usable, and a
/// close in another thread no longer closes this thread's copy. So call it once, at the start of
/// a worker that exits before the descriptors it inherited matter again. Where the kernel refuses
/// (a seccomp filter), the table stays shared and everything works as before.
#[expect(unsafe_code, reason = "unshare has no safe wrapper")]
pub fn own_descriptor_table() {
    // SAFETY: CLONE_FILES only copies the descriptor table. Every `OwnedFd` the thread can reach
    // stays open in its copy until this thread or its exit closes it.
    let _refused = unsafe { libc::unshare(libc::CLONE_FILES) };
}
