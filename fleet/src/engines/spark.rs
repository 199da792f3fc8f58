//! Runs queries on a Spark cluster, through `spark-submit`.
//!
//! A short Python program (`queries.py`) runs the queries and writes the rows to a private folder, from which this
//! module reads them. Only this host uses the folder. The workers of the cluster need only the exports, at the same
//! path as on this host. The messages of Spark go to a log in the folder.

mod rows;

use std::error::Error;
use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::time::SystemTime;

use export::{Column, Kind};
use serde_json::{Value as Json, json};

use super::tables::{Rows, Source, Value};
use super::{Job, Sink};

const PROGRAM: &str = include_str!("spark/queries.py");
const LOG: &str = "spark.log";

/// Runs the queries of a job on the cluster with the master `master`.
pub(super) fn run(job: &Job<'_>, master: &str, sink: &mut Sink<'_>) -> Result<(), Box<dyn Error>> {
    let folder = Folder::create()?;
    let log = folder.0.join(LOG);
    let ended = submit(job, master, &folder.0);
    if let Err(error) = ended {
        let reason = fs::read_to_string(folder.0.join("error")).ok();
        return match reason.or_else(|| last_message(&log)) {
            Some(reason) => {
                let kept = folder.keep(LOG);
                Err(format!("Spark: {}; see {}", reason.trim(), kept.display()).into())
            }
            None => Err(error),
        };
    }
    (0..job.queries.len()).try_for_each(|query| rows::read(&folder.0.join(rows_file(query)), sink))
}

fn rows_file(query: usize) -> String {
    format!("rows-{query}")
}

/// Runs `spark-submit`.
fn submit(job: &Job<'_>, master: &str, folder: &Path) -> Result<(), Box<dyn Error>> {
    let document = document(job, folder)?;
    create(&folder.join("job"))?.write_all(document.to_string().as_bytes())?;
    create(&folder.join("queries.py"))?.write_all(PROGRAM.as_bytes())?;
    let log = create(&folder.join(LOG))?;
    let submit = spark_submit();
    let mut command = Command::new(&submit);
    command
        .args(["--master", master, "--name", "lop-fleet"])
        .args(["--conf", "spark.sql.ansi.enabled=true"])
        // Spark would otherwise create a database in the working directory.
        .args(["--conf", "spark.sql.catalogImplementation=in-memory"])
        // Lets a join reuse rows that are already partitioned by some of the columns it joins on.
        .args(["--conf", "spark.sql.requireAllClusterKeysForCoPartition=false"])
        .arg(folder.join("queries.py"))
        .arg(folder.join("job"))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stderr(log.try_clone()?)
        .stdout(log);
    let status = command.status().map_err(|e| {
        let reason = fsops::io_text(&e);
        format!("cannot run {}: {reason}; install Spark, or set SPARK_HOME", submit.display())
    })?;
    if status.success() { Ok(()) } else { Err(format!("spark-submit: {status}").into()) }
}

/// Returns the program `spark-submit`: that of `SPARK_HOME`, or the first one in `PATH`.
fn spark_submit() -> PathBuf {
    let home = std::env::var_os("SPARK_HOME").filter(|home| !home.is_empty());
    home.map_or_else(|| "spark-submit".into(), |home| PathBuf::from(home).join("bin/spark-submit"))
}

/// Returns the JSON document with the job for `queries.py`.
fn document(job: &Job<'_>, folder: &Path) -> Result<Json, Box<dyn Error>> {
    let dir = fs::canonicalize(&job.tables.dir)
        .map_err(|e| format!("{}: {}", job.tables.dir.display(), fsops::io_text(&e)))?;
    let tables = job.tables.sources.iter().map(|source| table(source, &job.tables.dir, &dir));
    let queries = job.queries.iter().map(|query| query.trim_end().trim_end_matches(';'));
    Ok(json!({
        "folder": utf8(folder)?,
        "parent": process::id(),
        "tables": tables.collect::<Result<Vec<Json>, _>>()?,
        "queries": queries.collect::<Vec<&str>>(),
    }))
}

/// Returns a table with the absolute paths of its files. `real` is the absolute path of `dir`.
fn table(source: &Source, dir: &Path, real: &Path) -> Result<Json, Box<dyn Error>> {
    let (files, rows) = match &source.rows {
        Rows::Files(files) => {
            let path = |file: &PathBuf| {
                utf8(&real.join(file.strip_prefix(dir).unwrap_or(file))).map(str::to_owned)
            };
            (files.iter().map(path).collect::<Result<Vec<String>, _>>()?, Vec::new())
        }
        Rows::Values(rows) => (Vec::new(), rows.iter().map(|row| values(row)).collect()),
    };
    let columns: Vec<Json> = source.columns.iter().map(column).collect();
    Ok(json!({"name": source.name, "columns": columns, "files": files, "rows": rows}))
}

fn column(column: &Column) -> Json {
    let kind = match column.kind {
        Kind::Int32 => "INT",
        Kind::Int64 => "BIGINT",
        Kind::Bytes => "BINARY",
        Kind::Text => "STRING",
    };
    json!([column.name, kind])
}

fn values(row: &[Value]) -> Json {
    let value = |value: &Value| match value {
        Value::Null => Json::Null,
        Value::Int64(number) => json!(number),
        Value::Text(text) => json!(text),
    };
    row.iter().map(value).collect()
}

fn utf8(path: &Path) -> Result<&str, Box<dyn Error>> {
    let text = path.to_str();
    text.ok_or_else(|| format!("{}: Spark needs a path that is UTF-8", path.display()).into())
}

/// Creates a private file.
fn create(path: &Path) -> Result<File, Box<dyn Error>> {
    fsops::create_file_private(path)?;
    Ok(OpenOptions::new().write(true).open(path)?)
}

/// Returns the last line of a log that contains an error, or the last line if none does.
fn last_message(log: &Path) -> Option<String> {
    let text = String::from_utf8_lossy(&fs::read(log).ok()?).into_owned();
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_place = |line: &str| line.starts_with("at ") || line.starts_with("...");
    let is_error = |line: &&str| {
        !is_place(line)
            && ["ERROR", "Error", "Exception", "error:"].iter().any(|word| line.contains(word))
    };
    lines().rfind(is_error).or_else(|| lines().next_back()).map(str::to_owned)
}

/// A private folder in the folder for temporary files. Dropping it removes it.
struct Folder(PathBuf);

impl Folder {
    fn create() -> Result<Folder, Box<dyn Error>> {
        let parent = std::env::temp_dir();
        let cannot =
            |e| format!("cannot create a folder in {}: {}", parent.display(), fsops::io_text(&e));
        let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let name = format!("lop-fleet-{}-{since}", process::id());
        let dir = fsops::Dir::open(&parent).map_err(cannot)?;
        dir.make_private_dir(&CString::new(name.as_str())?).map_err(cannot)?;
        Ok(Folder(parent.join(name)))
    }

    /// Keeps the folder, removes all files except `file`, and returns the path of `file`.
    fn keep(self, file: &str) -> PathBuf {
        let kept = self.0.join(file);
        self.remove_files(Some(file));
        std::mem::forget(self);
        kept
    }

    /// Removes files as far as possible. Files that cannot be removed stay in the folder for temporary files.
    fn remove_files(&self, except: Option<&str>) {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| except.is_none_or(|name| entry.file_name() != name)) {
            drop(fsops::remove_file(&entry.path()));
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.remove_files(None);
        let parent = self.0.parent().and_then(|parent| fsops::Dir::open(parent).ok());
        let name = self.0.file_name().map(OsStrExt::as_bytes);
        let name = name.and_then(|name| CString::new(name).ok());
        if let Some((parent, name)) = parent.zip(name) {
            drop(parent.remove_empty_dir(&name));
        }
    }
}
