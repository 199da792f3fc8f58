//! File systems that show a directory under another path, through FUSE or as an overlay.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::{Mount, mount, needs_root, tool};
use crate::temp::TempTree;

/// A program that shows a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// bindfs, which shows the inode numbers of the underlying directory.
    Bindfs,
    /// mergerfs with default options. Each name has a different inode number.
    Mergerfs,
    /// mergerfs with `use_ino`. Hard links share an inode number, and the number of a directory is
    /// derived from its path.
    MergerfsUseIno,
    /// sshfs without a network. Metadata is cached for 20 s, and there is no status change time.
    Sshfs,
    /// sshfs that follows symbolic links, so that a link to a directory shows up as a directory.
    SshfsFollowing,
}

/// A view whose program does not respond. Dropping this makes it respond again.
#[derive(Debug)]
#[must_use = "dropping it makes the view respond again"]
pub struct Hung {
    server: Pid,
}

impl Hung {
    /// Kills the program. From then on, every request fails.
    pub fn kill(self) {
        // The program may have ended by itself.
        let _gone = kill_process(self.server, Signal::KILL);
    }
}

impl Drop for Hung {
    fn drop(&mut self) {
        let _gone = kill_process(self.server, Signal::CONT);
    }
}

/// Paths of the SFTP server on Debian and other systems.
const SFTP_SERVERS: [&str; 3] = [
    "/usr/lib/openssh/sftp-server",
    "/usr/libexec/openssh/sftp-server",
    "/usr/lib/ssh/sftp-server",
];

impl Mount {
    /// Mounts a view of the directory `shown`.
    ///
    /// # Errors
    ///
    /// The reason as text: this process is not root, the program is missing, or mounting is not
    /// permitted.
    pub fn view(view: View, shown: &Path) -> Result<Self, String> {
        needs_root()?;
        let home = TempTree::new();
        let point = home.join("mnt");
        fs::create_dir(&point).map_err(|e| format!("no mount point: {e}"))?;
        let of = shown.to_str().ok_or("the directory's name is not UTF-8")?;
        match view {
            View::Bindfs => tool(&["bindfs", of], &point)?,
            View::Mergerfs => tool(&["mergerfs", "-o", "minfreespace=0", of], &point)?,
            View::MergerfsUseIno => {
                tool(&["mergerfs", "-o", "minfreespace=0,use_ino", of], &point)?;
            }
            View::Sshfs | View::SshfsFollowing => {
                let server = SFTP_SERVERS.iter().find(|path| Path::new(path).exists());
                let server = server.ok_or("sftp-server is not installed")?;
                let script = home.join("ssh");
                fs::write(&script, format!("#!/bin/sh\nexec {server}\n"))
                    .and_then(|()| fs::set_permissions(&script, Permissions::from_mode(0o755)))
                    .map_err(|e| format!("no script: {e}"))?;
                let mut command = format!("ssh_command={}", script.display());
                if view == View::SshfsFollowing {
                    command.push_str(",follow_symlinks");
                }
                tool(&["sshfs", "-o", &command, &format!("nowhere:{of}")], &point)?;
            }
        }
        Ok(Self { point, home: Some(home) })
    }

    /// Stops the program that serves a view. Until the returned value is dropped, every request to
    /// the file system waits.
    ///
    /// # Errors
    ///
    /// The reason as text: the program was not found.
    pub fn hang(&self) -> Result<Hung, String> {
        let point = self.point.as_os_str().as_encoded_bytes();
        let is_server = |process: &fs::DirEntry| {
            let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
            line.split(|&byte| byte == 0).any(|word| word == point)
        };
        let number = |process: fs::DirEntry| process.file_name().to_str()?.parse().ok();
        let processes = fs::read_dir("/proc").map_err(|e| format!("no /proc: {e}"))?.flatten();
        let server = processes.into_iter().filter(is_server).find_map(number);
        let server = server.and_then(Pid::from_raw).ok_or("the program was not found")?;
        // The kernel remembers the attributes of the mount point for a second.
        thread::sleep(Duration::from_millis(1_100));
        kill_process(server, Signal::STOP).map_err(|e| format!("it cannot be stopped: {e}"))?;
        Ok(Hung { server })
    }

    /// Mounts an overlay over the directory `lower`, which does not change.
    ///
    /// # Errors
    ///
    /// The reason as text: this process is not root, or mounting is not permitted.
    pub fn overlay(lower: &Path) -> Result<Self, String> {
        needs_root()?;
        let home = TempTree::new();
        let [point, upper, work] = ["mnt", "upper", "work"].map(|name| home.join(name));
        for dir in [&point, &upper, &work] {
            fs::create_dir(dir).map_err(|e| format!("no mount point: {e}"))?;
        }
        let [lower, upper, work] = [lower, &upper, &work].map(|dir| dir.display().to_string());
        let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
        mount(&["-t", "overlay", "-o", &options, "overlay"], &point)?;
        Ok(Self { point, home: Some(home) })
    }
}
