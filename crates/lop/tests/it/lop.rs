//! The program in a sandbox, and parsers for its output.

use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use rusqlite::Connection;
use serde_json::Value;
use testkit::{Groups, Output, PathBytes, Sandbox, TreeBuilder, parse_nul, relative_to};

/// The program with a separate home and working directory.
pub(crate) struct Lop {
    pub(crate) sandbox: Sandbox,
}

impl std::ops::Deref for Lop {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.sandbox
    }
}

impl Drop for Lop {
    fn drop(&mut self) {
        testkit::remove_stores(&self.runs());
    }
}

impl Lop {
    /// Returns the program in an empty working directory.
    pub(crate) fn new() -> Lop {
        Lop { sandbox: Sandbox::new(env!("CARGO_BIN_EXE_lop")) }
    }

    /// Returns the program in a working directory that contains the given tree. The files are old enough for their
    /// times to be reliable.
    pub(crate) fn with(tree: &TreeBuilder) -> Lop {
        let lop = Lop::new();
        lop.add(tree);
        lop
    }

    /// Adds a tree to the working directory, and waits until the times of the new files are reliable.
    pub(crate) fn add(&self, tree: &TreeBuilder) {
        self.lay(tree);
        settle();
    }

    /// Returns the path of the catalog.
    pub(crate) fn catalog(&self) -> PathBuf {
        self.state().join("lop/catalog.db")
    }

    /// Returns the directory of the journals.
    pub(crate) fn runs(&self) -> PathBuf {
        self.state().join("lop/catalog.db.runs")
    }

    /// Scans with the catalog and returns the output. The scan must succeed.
    #[track_caller]
    pub(crate) fn scan<A: PathBytes>(&self, args: impl IntoIterator<Item = A>) -> Output {
        let output = self.command().arg("scan").args(args).run();
        output.success();
        output
    }

    /// Scans to fill the catalog. The scan must succeed.
    #[track_caller]
    pub(crate) fn remember<A: PathBytes>(&self, args: impl IntoIterator<Item = A>) {
        drop(self.scan(args));
    }

    /// Runs a command with `--json` and returns the document. The command must succeed.
    #[track_caller]
    pub(crate) fn json<A: PathBytes>(&self, args: impl IntoIterator<Item = A>) -> Value {
        let output = self.command().args(args).arg("--json").run();
        output.success();
        document(&output)
    }

    /// Returns the summary of `lop scan --json`.
    #[track_caller]
    pub(crate) fn scan_summary<A: PathBytes>(&self, args: impl IntoIterator<Item = A>) -> Value {
        let output = self.command().args(["scan", "--json"]).args(args).run();
        output.success();
        document(&output)["summary"].clone()
    }

    /// Returns the groups of `lop report`, with paths relative to the working directory. The report may be incomplete.
    #[track_caller]
    pub(crate) fn report(&self) -> Groups {
        self.report_with([])
    }

    /// Returns the groups of `lop report` with additional arguments.
    #[track_caller]
    pub(crate) fn report_with<'a>(&self, more: impl IntoIterator<Item = &'a str>) -> Groups {
        let output = self.run(["report", "--format", "nul"].into_iter().chain(more));
        if output.ending != testkit::Ending::Code(3) {
            output.success();
        }
        relative_to(self.work(), &parse_nul(&output.stdout))
    }

    /// Scans again and returns the figures of the run.
    #[track_caller]
    pub(crate) fn scan_figures<A: PathBytes>(&self, args: impl IntoIterator<Item = A>) -> Figures {
        let output = self.command().args(["scan", "--stats"]).args(args).run();
        output.success();
        Figures::of(&output)
    }

    /// Returns the paths that a list command prints, after checking the exit code.
    #[track_caller]
    pub(crate) fn listed<A: PathBytes>(
        &self,
        args: impl IntoIterator<Item = A>,
        code: i32,
    ) -> Vec<String> {
        let output = self.command().args(args).args(["--format", "nul"]).run();
        output.code(code);
        let text = output.stdout_str();
        text.split_terminator('\0').map(ToString::to_string).collect()
    }

    /// Changes bytes of a file as a failing disk does, so that only reading the file reveals the change.
    pub(crate) fn damage(&self, path: &str, bytes: impl AsRef<[u8]>) {
        use std::os::unix::fs::MetadataExt;
        let path = self.path(path);
        let inode = std::fs::metadata(&path).expect("is there").ino();
        std::fs::write(&path, bytes).expect("written");
        let now = std::fs::metadata(&path).expect("is there");
        let ns = |seconds: i64, ns: i64| seconds * 1_000_000_000 + ns;
        let times = (ns(now.mtime(), now.mtime_nsec()), ns(now.ctime(), now.ctime_nsec()));
        let sql = "UPDATE file SET mtime_ns = ?2, ctime_ns = ?3 WHERE inode = ?1";
        let rows = self.database().execute(sql, (inode.cast_signed(), times.0, times.1));
        assert!(rows.expect("written") > 0, "{} is not in the catalog", path.display());
    }

    /// Opens the catalog as any program with an `SQLite` library would.
    pub(crate) fn database(&self) -> Connection {
        Connection::open(self.catalog()).expect("the catalog is a database")
    }

    /// Asserts that the catalog is an intact database.
    #[track_caller]
    pub(crate) fn assert_whole_catalog(&self) {
        assert_whole(&self.catalog());
    }
}

/// Asserts that a catalog is an intact database.
#[track_caller]
pub(crate) fn assert_whole(catalog: &Path) {
    let database = Connection::open(catalog).expect("opens");
    let verdict: String = database
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .expect("integrity can be checked");
    assert_eq!(verdict, "ok", "{}", catalog.display());
}

/// Waits until files are old enough for their times to reveal every change.
///
/// This takes 10 ms, because the clock that the kernel uses for file times may be one tick behind.
pub(crate) fn settle() {
    sleep(Duration::from_millis(30));
}

/// Returns standard output as one JSON document, without its version.
#[track_caller]
pub(crate) fn document(output: &Output) -> Value {
    unversioned(output.stdout_str()).unwrap_or_else(|e| output.fail(&format!("stdout: {e}")))
}

/// Returns the last line of standard error as JSON, without its version.
#[track_caller]
pub(crate) fn last_record(output: &Output) -> Value {
    let last = output.stderr_str().lines().last().unwrap_or_default();
    unversioned(last).unwrap_or_else(|e| output.fail(&format!("last line: {e}")))
}

/// Parses a document and removes the version, which must be its first key.
pub(crate) fn unversioned(text: &str) -> Result<Value, String> {
    if !text.starts_with("{\"format_version\":1,") {
        return Err(format!("it does not begin with its version: {text}"));
    }
    let mut document: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
    document.as_object_mut().map(|keys| keys.remove("format_version"));
    Ok(document)
}

/// Asserts that the last line of standard error is the record of the given exit code.
#[track_caller]
pub(crate) fn assert_exit_record(output: &Output, code: i32) {
    output.code(code);
    let record = last_record(output);
    assert_eq!(record["error"]["code"], code, "{record}");
    let message = record["error"]["message"].as_str().unwrap_or_default();
    assert!(!message.is_empty(), "{record}");
}

/// The figures of `--stats`.
#[derive(Debug)]
pub(crate) struct Figures(pub(crate) Value);

impl Figures {
    /// Finds the line of figures on standard error.
    #[track_caller]
    pub(crate) fn of(output: &Output) -> Figures {
        let lines = output.stderr_str().lines();
        let mut found = lines.filter_map(|line| unversioned(line).ok());
        let figures = found.find(|value| value["bytes_read"].is_u64());
        Figures(figures.unwrap_or_else(|| output.fail("no figures on standard error")))
    }

    /// Returns a figure.
    #[track_caller]
    pub(crate) fn get(&self, key: &str) -> u64 {
        self.0[key].as_u64().unwrap_or_else(|| panic!("no {key} in {}", self.0))
    }

    /// Asserts that no content was read.
    #[track_caller]
    pub(crate) fn assert_nothing_read(&self) {
        assert_eq!((self.get("bytes_read"), self.get("files_opened")), (0, 0), "{}", self.0);
    }
}
