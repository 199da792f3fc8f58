//! A running web server: on a processor of its own, in a control group of its own.
//!
//! The server and all its processes end when the value is dropped, and the group is removed.

use std::ffi::OsString;
use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::Failure;
use crate::load::{Meter, probe, request};

/// The folder of the control groups of all servers.
const GROUPS: &str = "/sys/fs/cgroup/cpuacct/lop-bench";

/// Joins the group in the first argument, if there is one, and becomes the program that follows, on
/// the processor in the second argument.
const ENTER: &str = r#"[ -z "$1" ] || echo $$ > "$1/cgroup.procs" || exit 1
cpu=$2; shift 2; exec taskset -c "$cpu" "$@""#;

/// The time within which a server must answer after its start.
const START_LIMIT: Duration = Duration::from_secs(10);

/// The time within which the processes of a killed server end.
const END_LIMIT: Duration = Duration::from_secs(5);

pub(super) struct Server {
    child: Child,
    group: Option<PathBuf>,
    pub(super) address: SocketAddr,
    /// The length of the head of a response with a file, in bytes.
    pub(super) head_bytes: usize,
}

impl Server {
    /// Starts a server and waits until it sends a file.
    ///
    /// # Errors
    ///
    /// The server does not start, or does not answer in time. The message contains the first line of
    /// its standard error.
    pub(super) fn start(
        argv: &[OsString],
        home: &Path,
        port: u16,
        cpu: usize,
        path: &str,
    ) -> Result<Self, Failure> {
        let errors = home.join("stderr");
        let output = File::create(&errors).map_err(|e| Failure::at(&errors, e))?;
        let group = group();
        let mut command = Command::new("sh");
        command.args(["-c", ENTER, "sh"]);
        command.arg(group.as_deref().unwrap_or(Path::new(""))).arg(cpu.to_string()).args(argv);
        command.env("HOME", home).env("LOP_CONFIG", "").current_dir(home).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(output);
        let spawned = testkit::spawn(&mut command);
        let child = spawned.map_err(|e| Failure::new(format!("sh: {e}")))?;
        // From here on, dropping the value ends the server.
        let address = ([127, 0, 0, 1], port).into();
        let mut server = Self { child, group, address, head_bytes: 0 };
        let started = Instant::now();
        let get = request::text(server.address, path, "");
        loop {
            let answer = probe::send(server.address, &get).and_then(|it| it.with_status(200));
            let ended = server.child.try_wait().is_ok_and(|status| status.is_some());
            match answer {
                Ok(response) => {
                    server.head_bytes = response.head_bytes();
                    return Ok(server);
                }
                Err(reason) if ended || started.elapsed() > START_LIMIT => {
                    let text = fs::read_to_string(&errors).unwrap_or_default();
                    let said = text.lines().next().unwrap_or_default();
                    return Err(Failure::new(format!("does not answer: {reason}; {said}")));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// Returns the counters of the server.
    pub(super) fn meter(&self) -> Meter {
        Meter { group: self.group.clone(), pid: Some(self.child.id()) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let pid = Pid::from_child(&self.child);
        let _ended_already = kill_process_group(pid, Signal::KILL);
        let _status = self.child.wait();
        let killed = Instant::now();
        let Some(group) = &self.group else { return };
        // A group can be removed when its last process has ended.
        while fs::remove_dir(group).is_err() && killed.elapsed() < END_LIMIT {
            for pid in self.meter().pids() {
                let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
                let _ended_already = pid.map(|pid| kill_process(pid, Signal::KILL));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(fs::remove_dir(GROUPS));
    }
}

/// Creates a control group for one server, if this machine has them.
fn group() -> Option<PathBuf> {
    let group = Path::new(GROUPS).join(std::process::id().to_string());
    fs::create_dir_all(&group).ok()?;
    group.join("cpuacct.usage").exists().then_some(group)
}

/// Returns how the processor time of servers is measured on this machine, in words.
pub(super) fn measured_by() -> &'static str {
    match group() {
        Some(group) => {
            drop(fs::remove_dir(group).and_then(|()| fs::remove_dir(GROUPS)));
            "control group (cpuacct)"
        }
        None => "sum over the threads that have not ended (schedstat)",
    }
}

/// Returns a port that nothing listens on.
///
/// # Errors
///
/// No port is free.
pub(super) fn free_port() -> Result<u16, Failure> {
    let bound = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    bound.map(|address| address.port()).map_err(|e| Failure::new(format!("no free port: {e}")))
}
