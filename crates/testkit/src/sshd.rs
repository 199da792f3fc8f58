//! A host to be reached with ssh, which is this one: OpenSSH's server with a configuration and keys of its own.
//!
//! Nothing of the machine's own configuration is read, and none of the user's keys and known hosts.

use std::fs::{self, File, Permissions};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::PATIENCE;
use crate::forks::spawn;
use crate::process::{find_tool, poll, run_tool};
use crate::temp::TempTree;

/// How often another port is tried: somebody may take it after it was found free.
const ATTEMPTS: u32 = 5;

/// Where Debian's server wants to have an empty directory when root starts it.
const EMPTY: &str = "/run/sshd";

/// A server on a port of the loopback device that lets in who started it; dropping it ends it.
#[derive(Debug)]
#[must_use = "dropping it ends the server"]
pub struct Sshd {
    server: Child,
    port: u16,
    home: TempTree,
}

impl Sshd {
    /// Starts a server, or prints why that cannot be and returns `None`.
    pub fn start() -> Option<Sshd> {
        Sshd::try_start().map_err(crate::skipped).ok()
    }

    /// Starts a server that has let somebody in.
    ///
    /// # Errors
    ///
    /// The reason: not installed, no port free, nobody let in.
    fn try_start() -> Result<Sshd, String> {
        let tool = |name: &str| find_tool(name).ok_or_else(|| format!("{name} is not installed"));
        let (sshd, keygen) = (tool("sshd")?, tool("ssh-keygen")?);
        tool("ssh")?;
        if crate::is_root() && !Path::new(EMPTY).exists() {
            // Stays, as what the system makes at boot does: another server may have begun to use it.
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

    /// Returns the command that connects to it, but for the host, of which any will do that is resolved to
    /// the loopback device, such as `localhost`; for a shell to split, or what splits like one.
    ///
    /// # Panics
    ///
    /// When the temporary directory's name is not UTF-8 or has what a shell would not take as it is.
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

    /// Returns what the server has said so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.home.join("log")).unwrap_or_default()
    }

    /// Waits until somebody was let in; the reason is why nobody will be.
    fn lets_in(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
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
        let said = run_tool(&mut shell, PATIENCE);
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
        // Who is connected has a process of their own, which ends with the connection.
        let _gone = self.server.kill();
        let _status = self.server.wait();
    }
}

/// Makes a key for the host, and one for who is let in.
fn make_keys(keygen: &Path, home: &TempTree) -> Result<(), String> {
    for key in ["host", "user"] {
        let mut command = Command::new(keygen);
        command.args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"]).arg(home.join(key));
        let made = run_tool(&mut command, PATIENCE);
        if !made.status.success() {
            return Err(format!("ssh-keygen failed, {}", made.account()));
        }
    }
    Ok(())
}

/// Starts the server on a port that is free, and returns it with that.
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
    use crate::PATIENCE;
    use crate::process::run_tool;

    #[test]
    fn a_command_is_run_and_its_exit_code_comes_back() {
        let Some(server) = Sshd::start() else { return };
        let run = |command: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("{} localhost {command}", server.rsh())]);
            run_tool(&mut shell, PATIENCE)
        };
        let said = run("'echo here; exit 7'");
        assert_eq!((said.status.code(), said.stdout), (Some(7), b"here\n".to_vec()));
        assert_eq!(run("no-such-command").status.code(), Some(127));
        assert!(server.log().contains("Accepted publickey"), "{}", server.log());
        let rsh = server.rsh();
        drop(server);
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{rsh} localhost true")]);
        assert_eq!(run_tool(&mut shell, PATIENCE).status.code(), Some(255));
    }
}
