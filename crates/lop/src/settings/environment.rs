//! The environment variables that lop reads, apart from `NO_COLOR` and `TMPDIR`, and the home directories.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// Returns the path in an environment variable. An empty variable counts as unset.
pub(super) fn path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns the path in an environment variable if it is absolute.
pub(super) fn absolute_path(name: &str) -> Option<PathBuf> {
    path(name).filter(|path| path.is_absolute())
}

/// Returns the socket of the service manager that waits until this process is ready (`sd_notify(3)`).
pub(crate) fn notify_socket() -> Option<OsString> {
    std::env::var_os("NOTIFY_SOCKET").filter(|socket| !socket.is_empty())
}

/// Returns the path of the user's home directory, if it is set, absolute and UTF-8.
pub(super) fn home() -> Option<String> {
    absolute_path("HOME")?.into_os_string().into_string().ok()
}

/// Returns whether the terminal has no control sequences, such as those that move the cursor (`term(7)`).
pub(crate) fn is_dumb_terminal() -> bool {
    path("TERM").is_none_or(|name| name.as_os_str() == "dumb")
}

/// Returns the home directories of this machine, absolute and without links: the user's, and with `all_users` those of
/// root and of all users who can log in.
pub(crate) fn home_dirs(all_users: bool) -> Vec<Vec<u8>> {
    let users =
        if all_users { std::fs::read("/etc/passwd").unwrap_or_default() } else { Vec::new() };
    let own = absolute_path("HOME").map(|home| home.into_os_string().into_vec());
    let homes = users.split(|&byte| byte == b'\n').filter_map(home_of).chain(own);
    let mut homes: Vec<Vec<u8>> = homes
        .filter_map(|home| PathBuf::from(OsString::from_vec(home)).canonicalize().ok())
        .map(|home| home.into_os_string().into_vec())
        .filter(|home| home.len() > 1)
        .collect();
    homes.sort();
    homes.dedup();
    homes
}

/// Returns the home directory in a line of `/etc/passwd` (`passwd(5)`), if the line is that of root or of a user who
/// can log in. The ids of such users start at 1000 on all current systems.
fn home_of(line: &[u8]) -> Option<Vec<u8>> {
    let fields: Vec<&[u8]> = line.split(|&byte| byte == b':').collect();
    let [_, _, id, _, _, home, shell] = fields[..] else { return None };
    let id: u32 = std::str::from_utf8(id).ok()?.parse().ok()?;
    let can_log_in = !(shell.ends_with(b"/nologin") || shell.ends_with(b"/false"));
    ((id == 0 || id >= 1000) && can_log_in && home.starts_with(b"/")).then(|| home.to_vec())
}

#[cfg(test)]
mod tests {
    use super::home_of;

    #[test]
    fn only_users_who_can_log_in_have_a_home() {
        let home = |line: &str| home_of(line.as_bytes());
        assert_eq!(home("root:x:0:0:root:/root:/bin/bash"), Some(b"/root".to_vec()));
        assert_eq!(home("a:x:1000:1000::/home/a:/bin/sh"), Some(b"/home/a".to_vec()));
        for line in
            ["daemon:x:1:1::/usr/sbin:/bin/sh", "n:x:65534:65534::/:/usr/sbin/nologin", "", "a:b"]
        {
            assert_eq!(home(line), None, "{line}");
        }
    }
}
