//! One host: runs lop there, and copies files from and to it.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde::Deserialize;

use crate::args::CollectArgs;

/// A host to collect.
#[derive(Debug)]
pub(super) struct Host<'a> {
    /// Its name in exports.
    pub(super) name: String,
    /// Its name for ssh.
    address: &'a str,
    /// The command that connects to it.
    rsh: Vec<String>,
    args: &'a CollectArgs,
}

/// The reads of a host in a round of the survey.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Surveyed {
    pub(super) heads_read: u64,
    pub(super) files_read: u64,
    pub(super) bytes_read: u64,
    pub(super) unread: u64,
    pub(super) bytes_written: u64,
}

/// The export of a host.
#[derive(Debug, Deserialize)]
pub(super) struct Exported {
    pub(super) files: u64,
    pub(super) path: PathBuf,
}

/// A result as lop prints it.
#[derive(Deserialize)]
struct Document<T> {
    summary: T,
}

/// The exit code of lop if some entries could not be examined.
const PARTIAL: i32 = 3;

impl<'a> Host<'a> {
    /// Returns the host that the user typed as `[NAME=]HOST`.
    ///
    /// # Errors
    ///
    /// Fails if the host has no name that an export can have, or if `--rsh` is not a command.
    pub(super) fn new(typed: &'a str, args: &'a CollectArgs) -> Result<Host<'a>, Box<dyn Error>> {
        let (name, address) = match typed.split_once('=') {
            Some((name, address)) => (name, address),
            None => (typed.rsplit('@').next().unwrap_or(typed), typed),
        };
        export::check_host(name).map_err(|error| format!("{error}; use NAME={address}"))?;
        if address.is_empty() || address.starts_with('-') {
            return Err(format!("{address:?} is not a host").into());
        }
        let rsh = shlex::split(&args.rsh).filter(|words| !words.is_empty());
        let rsh = rsh.ok_or_else(|| format!("--rsh: {:?} is not a command", args.rsh))?;
        Ok(Host { name: name.to_owned(), address, rsh, args })
    }

    /// Runs `lop survey` on the host and copies its lists.
    ///
    /// # Errors
    ///
    /// Fails with a reason for people.
    pub(super) fn survey(&self) -> Result<Surveyed, String> {
        let min_size = self.args.min_size.to_string();
        let mut words = vec!["survey", "--host", &self.name, "--min-size", &min_size];
        words.extend(self.args.key.iter().flat_map(|key| ["--key", key]));
        words.push(&self.args.remote_dir);
        let surveyed = self.run_lop(&words)?;
        let folder = self.folder("_survey");
        fsops::create_dir_private(&self.local("")).map_err(|e| reason_of(&e))?;
        self.mirror(
            &["--delete", "--exclude", "*.answer"],
            &folder,
            self.local("_survey").as_ref(),
        )?;
        Ok(surveyed)
    }

    /// Copies the answers to the host.
    ///
    /// # Errors
    ///
    /// Fails with a reason for people.
    pub(super) fn send_answers(&self) -> Result<(), String> {
        let folder = self.folder("_survey");
        self.mirror(&["--exclude", "*.list"], &self.local("_survey"), folder.as_ref())
    }

    /// Runs `lop export` on the host and copies the export.
    ///
    /// # Errors
    ///
    /// Fails with a reason for people.
    pub(super) fn export(&self) -> Result<Exported, String> {
        let mut words = vec!["export", "--replace", "--host", &self.name];
        words.extend(self.args.key.iter().flat_map(|key| ["--key", key]));
        words.extend(self.args.names.iter().flat_map(|names| ["--names", names]));
        words.push(&self.args.remote_dir);
        let exported = self.run_lop(&words)?;
        fsops::create_dir_private(&self.local("")).map_err(|e| reason_of(&e))?;
        let folder = self.folder("");
        let left_out = ["--exclude", "_part", "--exclude", "_survey"];
        self.mirror(&left_out, &folder, self.local("").as_ref())?;
        Ok(exported)
    }

    /// Returns the path of a folder of this host in the collection.
    fn local(&self, name: &str) -> PathBuf {
        self.args.dir.join(&self.name).join(name)
    }

    /// Returns the path of a folder on the host.
    fn folder(&self, name: &str) -> PathBuf {
        let path = Path::new(&self.args.remote_dir).join(&self.name).join(name);
        format!("[{}]:{}", self.address, path.display()).into()
    }

    /// Runs lop on the host, and returns its result.
    fn run_lop<T: for<'d> Deserialize<'d>>(&self, words: &[&str]) -> Result<T, String> {
        let (program, first) = self.rsh.split_first().expect("a command has a word");
        let words = [&[self.args.remote_lop.as_str(), "--json"], words].concat();
        let quoted =
            shlex::try_join(words).map_err(|e| format!("cannot quote an argument: {e}"))?;
        let mut command = Command::new(program);
        command.args(first).arg(self.address).arg(quoted).stdin(Stdio::null());
        let output = command.output().map_err(|e| format!("cannot run {program}: {e}"))?;
        match output.status.code() {
            Some(0 | PARTIAL) => {
                let document = serde_json::from_slice::<Document<T>>(&output.stdout);
                let result = document.map(|document| document.summary);
                result.map_err(|e| format!("lop on the host printed no result: {e}"))
            }
            _ => Err(reason(&output)),
        }
    }

    /// Copies a folder.
    fn mirror(&self, options: &[&str], from: &Path, to: &Path) -> Result<(), String> {
        let mut command = Command::new(local_lop());
        command.args(["--quiet", "--json", "mirror"]).args(options);
        command.arg("--rsh").arg(&self.args.rsh).arg("--remote-lop").arg(&self.args.remote_lop);
        command.arg("--").arg(from).arg(to).stdin(Stdio::null());
        let output = command.output().map_err(|e| format!("cannot run lop: {e}"))?;
        if output.status.success() { Ok(()) } else { Err(reason(&output)) }
    }
}

/// Returns the program lop beside this program, or its name, so that it is found in PATH.
fn local_lop() -> PathBuf {
    let beside = env::current_exe().ok().map(|exe| exe.with_file_name("lop"));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| "lop".into())
}

/// Returns an error with its cause.
fn reason_of(error: &fsops::Error) -> String {
    format!("{error}: {}", fsops::io_text(&error.source))
}

/// Returns the reason why a program failed: the error that lop reports to programs, or everything on standard
/// error in one line.
fn reason(output: &Output) -> String {
    #[derive(Deserialize)]
    struct Report {
        error: Failure,
    }
    #[derive(Deserialize)]
    struct Failure {
        message: String,
    }
    let text = String::from_utf8_lossy(&output.stderr);
    if let Some(report) = text.lines().rev().find_map(|line| serde_json::from_str(line).ok()) {
        let Report { error } = report;
        return error.message;
    }
    let lines = text.lines().map(|line| line.trim().trim_start_matches("lop: "));
    let text = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
    if text.is_empty() { output.status.to_string() } else { text }
}
