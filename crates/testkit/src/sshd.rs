//! An ssh server on this machine: OpenSSH with a separate configuration and separate keys.
//!
//! It does not read the configuration of the machine, nor the keys and known hosts of the user.

use std::fs::{self, File, Permissions};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::TEST_TIMEOUT;
use crate::forks::spawn;
use crate::process::{find_tool, poll, run_tool};
use crate::temp::TempTree;

/// Maximum number of ports tried. Another program may take a port after it was found free.
const ATTEMPTS: u32 = 5;

/// The empty directory that sshd on Debian requires if root starts it.
const EMPTY: &str = "/run/sshd";

/// A server on a port of the loopback device that accepts the user of this process. Dropping it
/// stops it.
#[derive(Debug)]
#[must_use = "dropping it ends the server"]
pub struct Sshd {
    server: Child,
    port: u16,
    home: TempTree,
}

impl Sshd {
    /// Starts a server. If that fails, prints the reason and returns `None`.
    pub fn start() -> Option<Sshd> {
        Sshd::try_start().map_err(crate::skipped).ok()
    }

    /// Starts a server and waits until it has accepted a login.
    ///
    /// # Errors
    ///
    /// The reason as text: sshd is not installed, no port is free, or no login succeeds.
    fn try_start() -> Result<Sshd, String> {
        let tool = |name: &str| find_tool(name).ok_or_else(|| format!("{name} is not installed"));
        let (sshd, keygen) = (tool("sshd")?, tool("ssh-keygen")?);
        tool("ssh")?;
        if crate::is_root() && !Path::new(EMPTY).exists() {
            // The directory is not removed, because another server may have begun to use it.
            let made = fs::create_dir_all(EMPTY);
            let closed =
                made.and_then(|()| fs::set_permissions(EMPTY, Permissions::from_mode(0o755)));
            closed.map_err(|e| format!("cannot make {EMPTY}: {e}"))?;
        }
        let mut reason = String::new();
        for _ in 0..ATTEMPTS {
            let home = TempTree::new();
            make_keys(&keygen, &home)?;
            let (server, port) = start(&sshd, &home).map_err(|e| format!("no server: {e}"))?;
            let mut server = Sshd { server, port, home };
            match server.lets_in() {
                Ok(()) => return Ok(server),
                Err(why) => reason = why,
            }
        }
        Err(format!("sshd lets nobody in: {reason}"))
    }

    /// Returns the command that connects to the server, without the host. The host may be any name
    /// that resolves to the loopback device, such as `localhost`. A shell, or code that splits
    /// words like a shell, must split the command.
    ///
    /// # Panics
    ///
    /// Panics if the path of the temporary directory is not UTF-8 or has characters that a shell
    /// interprets.
    pub fn rsh(&self) -> String {
        let key = self.home.join("user");
        let key = key.to_str().expect("the temporary directory's name is UTF-8");
        let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
        assert!(key.chars().all(plain), "{key} would have to be quoted");
        format!(
            "ssh -F none -p {} -i {key} -o IdentitiesOnly=yes \
             -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o GlobalKnownHostsFile=/dev/null \
             -o LogLevel=ERROR -o BatchMode=yes",
            self.port
        )
    }

    /// Returns the server's log so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.home.join("log")).unwrap_or_default()
    }

    /// Waits until a login succeeds. The error describes why no login succeeded.
    fn lets_in(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + TEST_TIMEOUT;
        let listens = format!("Server listening on 127.0.0.1 port {}", self.port);
        let began = poll(deadline, || {
            let ended = !matches!(self.server.try_wait(), Ok(None));
            if self.log().contains(&listens) { Some(true) } else { ended.then_some(false) }
        });
        if began != Some(true) {
            return Err(self.log());
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{} localhost echo let in", self.rsh())]);
        let said = run_tool(&mut shell, TEST_TIMEOUT);
        if said.stdout == b"let in\n" {
            return Ok(());
        }
        Err(format!(
            "{}; {}; {}",
            said.account(),
            String::from_utf8_lossy(&said.stdout),
            self.log()
        ))
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        // A connected client has a separate server process, which ends with the connection.
        let _gone = self.server.kill();
        let _status = self.server.wait();
    }
}

/// Creates a key for the host, and one for the user.
fn make_keys(keygen: &Path, home: &TempTree) -> Result<(), String> {
    for key in ["host", "user"] {
        let mut command = Command::new(keygen);
        command.args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"]).arg(home.join(key));
        let made = run_tool(&mut command, TEST_TIMEOUT);
        if !made.status.success() {
            return Err(format!("ssh-keygen failed, {}", made.account()));
        }
    }
    Ok(())
}

/// Starts the server on a free port, and returns it with the port.
fn start(sshd: &Path, home: &TempTree) -> io::Result<(Child, u16)> {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
    let at = |name: &str| home.join(name).display().to_string();
    let (host, user, pid) = (at("host"), at("user.pub"), at("pid"));
    let text = format!(
        "ListenAddress 127.0.0.1\nPort {port}\nHostKey {host}\nPidFile {pid}\n\
         AuthorizedKeysFile {user}\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n\
         PasswordAuthentication no\nKbdInteractiveAuthentication no\nUseDNS no\n\
         MaxStartups 100\nPrintMotd no\nPrintLastLog no\nLogLevel INFO\n"
    );
    fs::write(home.join("config"), text)?;
    let log = File::create(home.join("log"))?;
    let mut command = Command::new(sshd);
    command.args(["-D", "-e", "-f"]).arg(home.join("config"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    Ok((spawn(&mut command)?, port))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::Sshd;
    use crate::TEST_TIMEOUT;
    use crate::process::run_tool;

    #[test]
    fn a_command_is_run_and_its_exit_code_comes_back() {
        let Some(server) = Sshd::start() else { return };
        let run = |command: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("{} localhost {command}", server.rsh())]);
            run_tool(&mut shell, TEST_TIMEOUT)
        };
        let said = run("'echo here; exit 7'");
        assert_eq!((said.status.code(), said.stdout), (Some(7), b"here\n".to_vec()));
        assert_eq!(run("no-such-command").status.code(), Some(127));
        assert!(server.log().contains("Accepted publickey"), "{}", server.log());
        let rsh = server.rsh();
        drop(server);
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{rsh} localhost true")]);
        assert_eq!(run_tool(&mut shell, TEST_TIMEOUT).status.code(), Some(255));
    }
}
