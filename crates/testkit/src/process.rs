//! Child processes that cannot hang a test. Threads collect their output, and every wait has a
//! limit.

use std::fmt::Write as _;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use crate::forks::spawn;
use crate::groups::shown;

/// The longest pause between two inspections of a child.
const LONGEST_PAUSE: Duration = Duration::from_millis(10);

/// The bytes that a child has written so far to one of its streams.
#[derive(Clone)]
pub(crate) struct Capture(Arc<(Mutex<Stream>, Condvar)>);

#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
    ended: bool,
}

impl Capture {
    /// Starts to collect from `reader`. Closes it after `limit` bytes.
    pub(crate) fn start(reader: impl Read + Send + 'static, limit: Option<u64>) -> Self {
        let capture = Self(Arc::default());
        let sink = capture.clone();
        thread::spawn(move || {
            sink.fill(reader.take(limit.unwrap_or(u64::MAX)));
            sink.lock().ended = true;
            sink.0.1.notify_all();
        });
        capture
    }

    fn fill(&self, mut reader: impl Read) {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match reader.read(&mut buffer) {
                Ok(0) => return,
                Ok(n) => self.lock().bytes.extend_from_slice(&buffer[..n]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.lock().bytes.clone()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.lock().ended
    }

    pub(crate) fn contains(&self, needle: &[u8]) -> bool {
        contains(&self.lock().bytes, needle)
    }

    /// Waits for the end of the stream. Returns true if it ended before `deadline`.
    pub(crate) fn wait_end(&self, deadline: Instant) -> bool {
        let timeout = deadline.saturating_duration_since(Instant::now());
        let wait = self.0.1.wait_timeout_while(self.lock(), timeout, |stream| !stream.ended);
        wait.expect("the collecting thread does not panic").0.ended
    }

    fn lock(&self) -> MutexGuard<'_, Stream> {
        self.0.0.lock().expect("the collecting thread does not panic")
    }
}

/// Returns whether `needle` occurs in `bytes`. An empty needle always does.
pub(crate) fn contains(bytes: &[u8], needle: &[u8]) -> bool {
    needle.is_empty() || bytes.windows(needle.len()).any(|window| window == needle)
}

/// Calls a function with growing pauses until it returns something or `deadline` has passed.
pub(crate) fn poll<T>(deadline: Instant, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let mut pause = Duration::from_micros(250);
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if Instant::now() >= deadline {
            return None;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Returns the child's status, or `None` if it is still running at `deadline`.
pub(crate) fn wait_exit(child: &mut Child, deadline: Instant) -> Option<ExitStatus> {
    poll(deadline, || child.try_wait().expect("a child can be waited for"))
}

/// The exit status and the output of a tool.
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Finished {
    /// Returns the status and the error message of the tool on one line.
    pub(crate) fn account(&self) -> String {
        let mut text = self.status.to_string();
        let _ = write!(text, ": {}", shown(self.stderr.trim_ascii()));
        text
    }
}

/// Runs a system tool without input and collects its output.
///
/// # Panics
///
/// Panics if the tool cannot be started or runs longer than `timeout`. It is killed first then.
pub(crate) fn run_tool(command: &mut Command, timeout: Duration) -> Finished {
    let deadline = Instant::now() + timeout;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = spawn(command).unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
    let stdout = Capture::start(child.stdout.take().expect("piped"), None);
    let stderr = Capture::start(child.stderr.take().expect("piped"), None);
    let Some(status) = wait_exit(&mut child, deadline) else {
        drop(child.kill());
        drop(child.wait());
        panic!("{command:?} hangs: no exit within {timeout:?}");
    };
    for stream in [&stdout, &stderr] {
        assert!(stream.wait_end(deadline), "{command:?} left its output open");
    }
    Finished { status, stdout: stdout.bytes(), stderr: stderr.bytes() }
}

/// Returns the path of a tool. Also searches directories of administration programs, because `PATH`
/// may lack them.
pub(crate) fn find_tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
    dirs.extend(["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from));
    dirs.iter().map(|dir| dir.join(name)).find(|tool| Path::is_file(tool))
}
