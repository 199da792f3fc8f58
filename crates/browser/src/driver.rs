//! The chromedriver process.
//!
//! chromedriver and the browser run in a process group of their own, with a temporary home
//! directory. Dropping the driver MUST kill the whole group before it removes this directory.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use testkit::TempTree;

/// A running chromedriver.
pub(crate) struct Driver {
    child: Child,
    port: u16,
    home: TempTree,
}

impl Driver {
    /// Starts chromedriver on a free port and waits until it accepts connections.
    ///
    /// # Errors
    ///
    /// The reason as text: a program is not installed, or chromedriver does not start.
    pub(crate) fn start() -> Result<Self, String> {
        let chromedriver = find("chromedriver")?;
        find("chromium")?;
        let home = TempTree::new();
        let mut command = Command::new(chromedriver);
        command.arg("--port=0").env("HOME", home.path()).env("TMPDIR", home.path());
        for variable in ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
            command.env(variable, home.path());
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut child =
            testkit::spawn(&mut command).map_err(|e| format!("no chromedriver: {e}"))?;
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        // From here on, dropping the driver stops the process.
        let mut driver = Self { child, port: 0, home };
        driver.port = port(&mut output).ok_or("chromedriver ended before it named its port")?;
        // A full pipe would block chromedriver.
        std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
        Ok(driver)
    }

    /// Returns the URL of the driver.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Returns the temporary home directory of the browser.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let group = Pid::from_child(&self.child);
        let _gone = kill_process_group(group, Signal::KILL);
        let _status = self.child.wait();
    }
}

/// Reads the output of chromedriver up to the line that contains the port.
fn port(output: &mut impl BufRead) -> Option<u16> {
    for line in output.take(64 * 1024).lines() {
        if let Some((_, port)) = line.ok()?.split_once("started successfully on port ") {
            return port.trim_end_matches('.').parse().ok();
        }
    }
    None
}

fn find(name: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
    dirs.push("/usr/bin".into());
    let found = dirs.iter().map(|dir| dir.join(name)).find(|tool| tool.is_file());
    found.ok_or_else(|| format!("{name} is not installed"))
}
