//! The connection to the other host: parses the host name, starts lop on that host, and gives advice on failure.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use walk::TopDir;
use wire::{Answer, ConnectionError, Incoming, Open, Outgoing};

use super::path_of;
use crate::args::MirrorArgs;
use crate::error::CommandError;
use crate::exit::Exit;

/// Time that the remote program may take to exit after its input is closed.
const GRACE: Duration = Duration::from_secs(2);

/// Exit code of a shell for an unknown command (POSIX).
const NO_COMMAND: i32 = 127;

/// Exit code of ssh if it cannot connect.
const NO_CONNECTION: i32 = 255;

/// A tree as the user typed it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TreeArg {
    Local(PathBuf),
    Remote(Host),
}

/// A tree on another host.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Host {
    /// Host name as it is passed to ssh.
    name: OsString,
    pub(super) path: Vec<u8>,
}

impl TreeArg {
    /// Parses `HOST:PATH` as scp does: the host ends at the first colon, unless a slash precedes it. A host in brackets
    /// may contain colons.
    pub(super) fn of(typed: &OsStr) -> TreeArg {
        let bytes = typed.as_bytes();
        let start = bytes.iter().position(|&b| b == b'[').map_or(0, |open| {
            let close = bytes[open..].iter().position(|&b| b == b']');
            close.map_or(0, |close| open + close)
        });
        let colon = bytes[start..].iter().position(|&b| b == b':').map(|at| at + start);
        let Some(colon) = colon.filter(|&at| at > 0 && !bytes[..at].contains(&b'/')) else {
            return TreeArg::Local(typed.into());
        };
        let name = bytes[..colon].iter().copied().filter(|b| !b"[]".contains(b)).collect();
        TreeArg::Remote(Host { name: OsString::from_vec(name), path: bytes[colon + 1..].to_vec() })
    }
}

impl TreeArg {
    /// Returns the top directory in the form that is used to match patterns.
    pub(super) fn top(&self) -> TopDir {
        match self {
            TreeArg::Local(path) => TopDir::new(path),
            TreeArg::Remote(Host { name, path }) => {
                TopDir::far(&name.to_string_lossy(), &path_of(path))
            }
        }
    }
}

/// A connection to lop on another host.
#[derive(Debug)]
pub(super) struct Connection {
    host: String,
    child: Child,
    incoming: Incoming<File>,
    out: Arc<Outgoing<File>>,
}

impl Host {
    /// Starts lop on the host and sends it the request. If the destination is on that host, returns its identity.
    ///
    /// # Errors
    ///
    /// Fails if lop cannot be started on the host, speaks another protocol, or refuses the request.
    pub(super) fn connect(
        &self,
        args: &MirrorArgs,
        open: &Open,
    ) -> Result<(Connection, Option<wire::HostDirId>), CommandError> {
        let mut connection = self.start(args)?;
        connection.greet(args)?;
        let answer = connection.open(open);
        match answer.map_err(|broken| connection.lost(&broken))? {
            Answer::Ready(place) => Ok((connection, place)),
            Answer::Refused { on_purpose, text } => {
                let exit = if on_purpose { Exit::Refused } else { Exit::Failed };
                Err(CommandError::new(exit, format!("{}: {text}", connection.host)))
            }
        }
    }

    fn start(&self, args: &MirrorArgs) -> Result<Connection, CommandError> {
        let host = self.name.to_string_lossy().into_owned();
        if host.starts_with('-') {
            return Err(CommandError::usage(format!("{host:?} is not a host name")));
        }
        let words = shlex::split(&args.rsh).filter(|words| !words.is_empty());
        let words = words.ok_or_else(|| {
            CommandError::usage(format!("--rsh: {:?} is not a command", args.rsh))
        })?;
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg(&self.name).arg(&args.remote_lop).arg("mirror-server");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let failed = |e| CommandError::failed(format!("cannot run {}", words[0])).because(e);
        let mut child = command.spawn().map_err(failed)?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(CommandError::failed(format!("cannot talk to {}", words[0])));
        };
        let incoming = Incoming::new(File::from(OwnedFd::from(from)));
        let out = Arc::new(Outgoing::new(File::from(OwnedFd::from(to))));
        Ok(Connection { host, child, incoming, out })
    }
}

impl Connection {
    /// Returns both directions of the connection.
    pub(super) fn talk(&mut self) -> (&mut Incoming<File>, &Arc<Outgoing<File>>) {
        (&mut self.incoming, &self.out)
    }

    /// Exchanges greetings and checks that both hosts speak the same protocol.
    fn greet(&mut self, args: &MirrorArgs) -> Result<(), CommandError> {
        let greeting = wire::read_greeting(&mut self.incoming, &|| false);
        let greeting = greeting.map_err(|broken| self.lost(&broken))?;
        let host = &self.host;
        let Some((protocol, version)) = greeting.said else {
            return Err(self.no_lop(args, greeting.noise));
        };
        if protocol == wire::VERSION {
            let said = self.out.greet(env!("CARGO_PKG_VERSION"));
            return said.map_err(|broken| self.lost(&broken));
        }
        let (ours, own) = (wire::VERSION, env!("CARGO_PKG_VERSION"));
        let text = format!(
            "lop {version} on {host} speaks protocol {protocol}, \
             but lop {own} here speaks protocol {ours}"
        );
        Err(CommandError::failed(text).hint("install the same version on both hosts"))
    }

    /// Returns the error for a remote program that ended without a greeting.
    fn no_lop(&mut self, args: &MirrorArgs, noise: Option<String>) -> CommandError {
        let host = self.host.clone();
        let code = self.wait().and_then(|status| status.code());
        let called = args.remote_lop.to_string_lossy();
        match (code, noise) {
            (Some(NO_COMMAND), _) => {
                CommandError::failed(format!("there is no {called} on {host}"))
                    .hint("install it there, or give its path with --remote-lop PATH")
            }
            (Some(NO_CONNECTION), _) => CommandError::failed(format!("cannot connect to {host}")),
            (_, Some(noise)) => CommandError::failed(format!(
                "{host} sent something other than lop's greeting: {noise}"
            ))
            .hint("the startup files of its shell must not print anything"),
            (Some(code), None) => {
                let text = format!(
                    "{called} on {host} ended with exit code {code} before it sent a greeting"
                );
                CommandError::failed(text).hint("it may be a version that cannot mirror")
            }
            (None, None) => CommandError::failed(format!("the connection to {host} was closed")),
        }
    }

    fn open(&mut self, open: &Open) -> Result<Answer, ConnectionError> {
        self.out.send(open, &[])?;
        self.out.flush()?;
        let message = self.incoming.next(&|| false)?;
        Ok(wire::decode::<Answer>(message)?.0)
    }

    /// Returns the error for a broken connection.
    pub(super) fn lost(&self, broken: &ConnectionError) -> CommandError {
        let host = &self.host;
        match broken {
            ConnectionError::Stopped => CommandError::from(runtime::Interrupted),
            ConnectionError::Lost => {
                CommandError::failed(format!("the connection to {host} was lost"))
            }
            ConnectionError::StoppedRemotely => {
                CommandError::failed(format!("lop on {host} was interrupted"))
            }
            ConnectionError::Failed(e) => {
                CommandError::failed(format!("the connection to {host} failed: {e}"))
            }
            ConnectionError::ProtocolViolation(what) => {
                CommandError::failed(format!("{host} sent an invalid message: {what}"))
            }
        }
    }

    /// Closes the output and waits for the remote program to exit.
    fn wait(&mut self) -> Option<ExitStatus> {
        self.out.close();
        let end = Instant::now() + GRACE;
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(5)),
                Ok(Some(status)) => return Some(status),
                _ => break,
            }
        }
        // The program did not exit in time. If it were not killed, it would continue to run.
        let _gone = self.child.kill();
        self.child.wait().ok()
    }
}

/// Dropping the connection ends the remote program.
impl Drop for Connection {
    fn drop(&mut self) {
        let _status = self.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::{Host, TreeArg};

    #[test]
    fn a_host_ends_at_a_colon_without_a_slash_before_it() {
        let here = ["a", "/a:b", "./a:b", "a/b:c", ":a", "", "[x", "[x]"];
        for typed in here {
            assert_eq!(TreeArg::of(OsStr::new(typed)), TreeArg::Local(typed.into()), "{typed}");
        }
        let there = [
            ("nas:/a", "nas", "/a"),
            ("nas:", "nas", ""),
            ("me@nas:a:b", "me@nas", "a:b"),
            ("[::1]:/a", "::1", "/a"),
            ("me@[fe80::1%eth0]:a/b", "me@fe80::1%eth0", "a/b"),
        ];
        for (typed, name, path) in there {
            let host = Host { name: name.into(), path: path.into() };
            assert_eq!(TreeArg::of(OsStr::new(typed)), TreeArg::Remote(host), "{typed}");
        }
    }
}
