//! One run of the binary of a sandbox. The run is first described as data, and then started.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::{self, Write, pipe};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::forks::spawn;
use crate::output::{Output, Scene};
use crate::path_bytes::PathBytes;
use crate::process::Capture;
use crate::running::{Running, When};
use crate::sandbox::Sandbox;

/// A run of the binary of the sandbox. It does not start until [`run`](Self::run) or
/// [`spawn`](Self::spawn) is called.
#[derive(Debug, Clone)]
#[must_use = "describes a run that does not happen until `run` or `spawn`"]
pub struct Invocation<'a> {
    sandbox: &'a Sandbox,
    args: Vec<OsString>,
    /// Variables with their values, and variables that are unset.
    env: Vec<(OsString, Option<OsString>)>,
    cwd: PathBuf,
    user: Option<(u32, u32)>,
    descriptors: Option<u32>,
    ignored: Vec<Signal>,
    stdin: Vec<u8>,
    stdout_limit: Option<u64>,
    signals: Vec<(Signal, When)>,
    /// A program and its arguments. The command line of the binary is appended, and the program
    /// runs it.
    wrapper: Vec<OsString>,
    pub(crate) timeout: Duration,
}

impl Sandbox {
    /// Runs the binary with these arguments and without input, and waits for its end.
    ///
    /// # Panics
    ///
    /// Panics if the binary cannot be started or hangs.
    pub fn run<A: PathBytes>(&self, args: impl IntoIterator<Item = A>) -> Output {
        self.command().args(args).run()
    }

    /// Returns a run that can be configured further.
    pub fn command(&self) -> Invocation<'_> {
        Invocation::new(self)
    }
}

impl<'a> Invocation<'a> {
    pub(crate) fn new(sandbox: &'a Sandbox) -> Self {
        Self {
            sandbox,
            args: Vec::new(),
            env: Vec::new(),
            cwd: sandbox.work(),
            user: None,
            descriptors: None,
            ignored: Vec::new(),
            stdin: Vec::new(),
            stdout_limit: None,
            signals: Vec::new(),
            wrapper: Vec::new(),
            timeout: sandbox.timeout,
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl PathBytes) -> Self {
        self.args.push(arg.to_path().into());
        self
    }

    /// Adds arguments.
    pub fn args<A: PathBytes>(self, args: impl IntoIterator<Item = A>) -> Self {
        args.into_iter().fold(self, Self::arg)
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: impl PathBytes) -> Self {
        self.env.push((name.into(), Some(value.to_path().into())));
        self
    }

    /// Unsets an environment variable that every run has, such as `LOP_CONFIG`.
    pub fn env_remove(mut self, name: &str) -> Self {
        self.env.push((name.into(), None));
        self
    }

    /// Sets the working directory, relative to that of the sandbox.
    pub fn cwd(mut self, dir: impl PathBytes) -> Self {
        self.cwd = self.sandbox.path(dir);
        self
    }

    /// Runs as another user and group, without supplementary groups (needs root).
    ///
    /// Home, state and `TMPDIR` are given to that user. The owner of the working directory and its
    /// files does not change (see [`TreeBuilder::owner`](crate::TreeBuilder::owner)).
    pub fn as_user(mut self, uid: u32, gid: u32) -> Self {
        self.user = Some((uid, gid));
        self
    }

    /// Limits the number of descriptors that the program may have open (`ulimit -n`).
    pub fn descriptor_limit(mut self, descriptors: u32) -> Self {
        self.descriptors = Some(descriptors);
        self
    }

    /// Starts the program with these signals ignored, as `nohup` does.
    pub fn ignoring(mut self, signals: impl IntoIterator<Item = Signal>) -> Self {
        self.ignored.extend(signals);
        self
    }

    /// Sets the standard input of the program.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Closes standard output after this many bytes were read from it, which breaks the pipe.
    ///
    /// With 0 the pipe is broken before the program starts. With a larger number, the program may
    /// first fill the pipe buffer (64 KiB) before it notices.
    pub fn close_stdout_after(mut self, bytes: u64) -> Self {
        self.stdout_limit = Some(bytes);
        self
    }

    /// Sends a signal at a chosen moment. Signals are sent in the order in which they were added.
    /// Only [`run`](Self::run) supports this.
    ///
    /// [`Output::signals_sent`] counts the signals that found the program still running.
    pub fn signal(mut self, signal: Signal, when: When) -> Self {
        self.signals.push((signal, when));
        self
    }

    /// Sets the time limit of this run.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Runs the binary through another program. The path of the binary and its arguments are
    /// appended to the arguments of the wrapper.
    pub(crate) fn under(mut self, wrapper: Vec<OsString>) -> Self {
        self.wrapper = wrapper;
        self
    }

    /// Creates an empty file in the sandbox, outside of the working directory, and returns the
    /// path.
    pub(crate) fn scratch_file(&self, prefix: &str) -> PathBuf {
        let made = tempfile::Builder::new().prefix(prefix).tempfile_in(self.sandbox.root.path());
        let kept = made.and_then(|file| file.into_temp_path().keep().map_err(|e| e.error));
        kept.unwrap_or_else(|e| panic!("no file {prefix} in the sandbox: {e}"))
    }

    /// Runs the program and waits for its end.
    ///
    /// # Panics
    ///
    /// Panics if the program cannot be started or hangs.
    pub fn run(self) -> Output {
        let mut running = self.spawn();
        for (signal, when) in &self.signals {
            if running.wait_for(when) {
                running.signal(*signal);
            }
        }
        running.wait()
    }

    /// Starts the program and returns without waiting for its end.
    ///
    /// # Panics
    ///
    /// Panics if the program cannot be started.
    pub fn spawn(&self) -> Running {
        let argv = self.argv();
        let scene = Scene { cwd: self.cwd.clone(), argv: argv.clone() };
        match self.start(&argv) {
            Ok((child, captures)) => Running::new(child, captures, scene, self.timeout),
            Err(e) => panic!("{}", scene.account(&format!("cannot be started: {e}"), b"", b"")),
        }
    }

    fn start(&self, argv: &[OsString]) -> io::Result<(Child, [Capture; 2])> {
        let (reader, writer) = pipe()?;
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]).process_group(0);
        self.set_scene(&mut command);
        command.stdout(writer).stderr(Stdio::piped()).stdin(match self.stdin.len() {
            0 => Stdio::null(),
            _ => Stdio::piped(),
        });
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
            self.hand_over(uid, gid)?;
        }
        let stdout = match self.stdout_limit {
            Some(0) => {
                drop(reader);
                Capture::start(io::empty(), None)
            }
            limit => Capture::start(reader, limit),
        };
        let mut child = spawn_when_free(&mut command)?;
        if let Some(mut stdin) = child.stdin.take() {
            let bytes = self.stdin.clone();
            // A program need not read its input, so a broken pipe is not an error.
            thread::spawn(move || stdin.write_all(&bytes));
        }
        let stderr = Capture::start(child.stderr.take().expect("piped"), None);
        Ok((child, [stdout, stderr]))
    }

    /// Sets the working directory and the environment.
    pub(crate) fn set_scene(&self, command: &mut Command) {
        let sandbox = self.sandbox;
        command
            .current_dir(&self.cwd)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", sandbox.home())
            .env("XDG_STATE_HOME", sandbox.state())
            .env("TMPDIR", sandbox.root.join("tmp"))
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .env("COLUMNS", "80")
            .env("LOP_CONFIG", "");
        for (name, value) in &self.env {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }

    /// Returns the program and its arguments. If limits or ignored signals are requested, a shell
    /// sets them up first.
    pub(crate) fn argv(&self) -> Vec<OsString> {
        let mut argv: Vec<OsString> = Vec::new();
        let mut script = String::new();
        for signal in &self.ignored {
            script += &format!("trap '' {} && ", signal.as_raw());
        }
        if let Some(descriptors) = self.descriptors {
            script += &format!("ulimit -n {descriptors} && ");
        }
        if !script.is_empty() {
            script += "exec \"$@\"";
            argv.extend(["/bin/sh", "-c", script.as_str(), "sh"].map(OsString::from));
        }
        let binary = match self.user {
            Some(_) => self.binary_for_others(),
            None => self.sandbox.binary.clone(),
        };
        argv.extend(self.wrapper.iter().cloned());
        argv.push(binary.into());
        argv.extend(self.args.iter().cloned());
        argv
    }

    /// Returns a path of the binary that every user can execute. This can be a link or a copy.
    fn binary_for_others(&self) -> PathBuf {
        let binary = &self.sandbox.binary;
        let open = |p: &Path| fs::metadata(p).is_ok_and(|m| m.permissions().mode() & 0o001 != 0);
        if binary.ancestors().all(|p| p.as_os_str().is_empty() || open(p)) {
            return binary.clone();
        }
        let reachable = self.sandbox.root.join("binary");
        if !reachable.exists() {
            let made = fs::hard_link(binary, &reachable)
                .or_else(|_| fs::copy(binary, &reachable).map(drop))
                .and_then(|()| fs::set_permissions(&reachable, Permissions::from_mode(0o755)));
            made.unwrap_or_else(|e| panic!("cannot copy {} for others: {e}", binary.display()));
        }
        reachable
    }

    fn hand_over(&self, uid: u32, gid: u32) -> io::Result<()> {
        let (sandbox, tmp) = (self.sandbox, self.sandbox.root.join("tmp"));
        let own = |dir: PathBuf| chown(dir, Some(uid), Some(gid));
        [sandbox.home(), sandbox.state(), tmp].into_iter().try_for_each(own)
    }
}

/// Spawns the program. Retries while a child that another thread forked has the binary open for
/// writing.
fn spawn_when_free(command: &mut Command) -> io::Result<Child> {
    for _ in 0..100 {
        match spawn(command) {
            Err(e) if e.kind() == io::ErrorKind::ExecutableFileBusy => {
                thread::sleep(Duration::from_millis(10));
            }
            result => return result,
        }
    }
    spawn(command)
}
