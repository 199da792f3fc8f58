//! `lop-fleet sql`: queries over the newest exports.

use std::error::Error;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::CommandFactory;
use clap::error::ErrorKind;

use crate::Exit;
use crate::args::{Cli, SqlArgs};
use crate::engines::{Job, Tables};
use crate::exports::newest;
use crate::formats::{Format, Printer};
use crate::output::Output;

/// Runs the command.
pub(crate) fn run(args: &SqlArgs, output: Output) -> Result<Exit, Box<dyn Error>> {
    let format = format(args, output);
    let queries = queries(args)?;
    let (exports, has_problems) = newest(&args.dir, &args.hosts)?;
    let tables = Tables::new(args.dir.clone(), &exports);
    let job = Job { engine: &args.engine, tables: &tables, queries: &queries, memory: args.memory };
    match &args.output {
        Some(path) => write(&job, format, path)?,
        None => print(&job, format, output)?,
    }
    Ok(if has_problems { Exit::Partial } else { Exit::Done })
}

/// Returns the format. Ends the program if the arguments contradict each other.
fn format(args: &SqlArgs, output: Output) -> Format {
    let usual = if output.is_json() { Format::Json } else { Format::Table };
    let format = args.format.unwrap_or(usual);
    let complaint = match format {
        Format::Table | Format::Csv | Format::Parquet if output.is_json() => {
            "--json and --format name different formats"
        }
        Format::Parquet if args.output.is_none() => "--format parquet needs --output FILE",
        Format::Csv | Format::Parquet if args.files.len() > 1 => {
            "--format csv and --format parquet accept only one --file"
        }
        _ => return format,
    };
    Cli::command().error(ErrorKind::ArgumentConflict, complaint).exit()
}

fn queries(args: &SqlArgs) -> Result<Vec<String>, Box<dyn Error>> {
    let read = |path: &PathBuf| {
        fs::read_to_string(path)
            .map_err(|e| format!("cannot read {}: {}", path.display(), fsops::io_text(&e)).into())
    };
    match &args.query {
        Some(query) => Ok(vec![query.clone()]),
        None => args.files.iter().map(read).collect(),
    }
}

/// Prints the results on standard output. A closed pipe is not an error, because its reader does not need the rest.
fn print(job: &Job<'_>, format: Format, output: Output) -> Result<(), Box<dyn Error>> {
    let out = BufWriter::new(io::stdout());
    let mut printer = Printer::new(format, output.escapes(), out);
    let ended = job.run(&mut |step| printer.print(&step));
    let Err(error) = ended else { return Ok(()) };
    match error.downcast::<io::Error>() {
        Ok(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Ok(error) => {
            Err(format!("cannot write to standard output: {}", fsops::io_text(&error)).into())
        }
        Err(error) => Err(error),
    }
}

/// Writes the results to the new file `path`, which appears when it is complete.
fn write(job: &Job<'_>, format: Format, path: &Path) -> Result<(), Box<dyn Error>> {
    let cannot = |e: io::Error| format!("cannot write {}: {}", path.display(), fsops::io_text(&e));
    if path.symlink_metadata().is_ok() {
        return Err(format!("{} exists", path.display()).into());
    }
    let mut name = OsString::from(".");
    name.push(path.file_name().ok_or_else(|| format!("{}: not a file name", path.display()))?);
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    fsops::create_file_private(&part)?;
    let written = || -> Result<(), Box<dyn Error>> {
        let file = OpenOptions::new().write(true).open(&part).map_err(cannot)?;
        let mut printer = Printer::new(format, false, BufWriter::new(file));
        job.run(&mut |step| printer.print(&step)).map_err(|error| {
            match error.downcast::<io::Error>() {
                Ok(error) => cannot(*error).into(),
                Err(error) => error,
            }
        })?;
        if let Some(mut out) = printer.into_output() {
            out.flush().map_err(cannot)?;
        }
        Ok(fsops::publish_new(&part, path)?)
    };
    let written = written();
    if written.is_err() {
        fsops::remove_file(&part)?;
    }
    written
}
