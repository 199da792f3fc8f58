//! `docs/benchmarks.md` and its graphs, made of the newest record of each kind and nothing else.
//!
//! [`render`] is a pure function of the records, so [`check`] can tell whether what is there is
//! what they say. It writes for a reader who distrusts benchmarks: where lop loses comes first,
//! failures are named, every run is linked.
//!
//! | module | part of the page |
//! |---|---|
//! | `verdict` | how often lop is fastest, and where not |
//! | `ranking` | ranks averaged over disks and caches |
//! | `section`, `growth` | each record with its tables |
//! | `bars`, `lines`, `ways`, on a `canvas` | the graphs |
//! | `method` | how it is done, the machine, the tools |
//! | `comparison` | what all of them are computed from |

mod bars;
mod canvas;
mod comparison;
mod figures;
mod growth;
mod lines;
mod method;
mod ranking;
mod section;
mod verdict;
mod ways;
mod words;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Failure;
use crate::head_trace::{self, Moment};
use crate::race::KINDS;
use crate::record::{Record, newest};

use comparison::Comparison;

/// A record with the kind of its race and the name of its folder.
pub type Dated = (String, String, Record);

/// The kind of race in which comparisons differ in nothing but the size of the tree; one graph does
/// for all of them.
const GROWTH: &str = "growth";

/// The page, below `docs/`.
const PAGE: &str = "benchmarks.md";

/// The folder of the graphs, below `docs/`; all files in it are made here.
const GRAPHS: &str = "benchmarks";

/// The graph that `docs/io.md` shows.
const WAYS: &str = "way-of-the-hdd.svg";

const OPENING: &str = "\
# Benchmarks

How long lop takes beside the tools people use for the same work: on the same trees, on the same
machine, in turns. Every result and graph here is computed from [recorded runs](#every-run), none
is typed in; [how it is done](#how-it-is-done) says what was done for fairness, and gives each
tool's command line. Ratios matter more than seconds, which are those of one machine.
";

/// Returns the page and its graphs, by their paths below `docs/`.
pub fn render(records: &[Dated]) -> Vec<(PathBuf, String)> {
    let mut records: Vec<&Dated> = records.iter().collect();
    records.sort_by_key(|dated| place_of(dated));
    let by_record: Vec<Vec<Comparison>> = records.iter().map(|dated| comparisons(dated)).collect();
    let mut files = vec![(PathBuf::from(PAGE), text(&records, &by_record))];
    for comparisons in &by_record {
        let graph = |name: String, svg| (Path::new(GRAPHS).join(format!("{name}.svg")), svg);
        let lines = growth::series(comparisons);
        files.extend(lines.iter().map(|series| graph(series.slug(), lines::svg(series))));
        let alone = comparisons.iter().filter(|comparison| comparison.kind != GROWTH);
        files.extend(alone.map(|comparison| {
            graph(words::slug(comparison.kind, &comparison.scenario.id), bars::svg(comparison))
        }));
    }
    files
}

/// Returns the graph of a head's ways, by its path below `docs/`.
pub fn render_head_traces(ways: &[(String, Vec<Moment>)]) -> (PathBuf, String) {
    (Path::new(GRAPHS).join(WAYS), ways::svg(ways))
}

/// Returns all there is to write.
fn all(root: &Path) -> Result<Vec<(PathBuf, String)>, Failure> {
    let mut files = render(&read(root)?);
    let ways = head_trace::read_all(root)?;
    if !ways.is_empty() {
        files.push(render_head_traces(&ways));
    }
    Ok(files)
}

/// Writes the page and its graphs below `root/docs`, and removes graphs no longer made.
///
/// # Errors
///
/// A record cannot be read, or a file not be written; others may be written already then.
pub fn write(root: &Path) -> Result<(), Failure> {
    let files = all(root)?;
    let docs = root.join("docs");
    fs::create_dir_all(docs.join(GRAPHS)).map_err(|e| Failure::at(&docs, e))?;
    for (name, text) in &files {
        let path = docs.join(name);
        fs::write(&path, text).map_err(|e| Failure::at(&path, e))?;
    }
    for name in left_over(&docs, &files)? {
        let path = docs.join(name);
        fs::remove_file(&path).map_err(|e| Failure::at(&path, e))?;
    }
    Ok(())
}

/// Returns a complaint about each file below `root/docs` that is not what the records say.
///
/// # Errors
///
/// A record or a folder cannot be read.
pub fn check(root: &Path) -> Result<Vec<String>, Failure> {
    let files = all(root)?;
    let docs = root.join("docs");
    let mut complaints = Vec::new();
    for (name, text) in &files {
        let path = docs.join(name);
        let shown = Path::new("docs").join(name);
        match fs::read_to_string(&path) {
            Ok(there) if there == *text => {}
            Ok(_) => complaints.push(format!("{} is stale", shown.display())),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                complaints.push(format!("{} is missing", shown.display()));
            }
            Err(e) => return Err(Failure::at(&path, e)),
        }
    }
    let left_over = left_over(&docs, &files)?.into_iter();
    complaints.extend(
        left_over.map(|name| format!("docs/{} is left over: no record has it", name.display())),
    );
    Ok(complaints)
}

/// Reads the newest record of each kind below `root/benchsuite/runs`.
///
/// # Errors
///
/// The folder or a record cannot be read.
pub fn read(root: &Path) -> Result<Vec<Dated>, Failure> {
    let read_one = |(kind, folder): (String, PathBuf)| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok((kind, name, Record::read(&folder)?))
    };
    newest(&root.join("benchsuite/runs"))?.into_iter().map(read_one).collect()
}

/// Returns the files in the folder of graphs that are not made of any record, by name.
fn left_over(docs: &Path, files: &[(PathBuf, String)]) -> Result<BTreeSet<PathBuf>, Failure> {
    let folder = docs.join(GRAPHS);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(e) => return Err(Failure::at(&folder, e)),
    };
    let mut names = BTreeSet::new();
    for entry in entries {
        let entry = entry.map_err(|e| Failure::at(&folder, e))?;
        names.insert(Path::new(GRAPHS).join(entry.file_name()));
    }
    for (made, _) in files {
        names.remove(made);
    }
    Ok(names)
}

fn comparisons((kind, _, record): &Dated) -> Vec<Comparison<'_>> {
    record.scenarios.iter().map(|scenario| Comparison::new(kind, record, scenario)).collect()
}

/// Returns where the section of a record goes: where its race stands among all of them.
fn place_of((kind, ..): &Dated) -> usize {
    KINDS.iter().position(|known| known.name == kind).unwrap_or(KINDS.len())
}

/// Returns the page.
fn text(records: &[&Dated], by_record: &[Vec<Comparison>]) -> String {
    let all: Vec<&Comparison> = by_record.iter().flatten().collect();
    let mut page = String::from(OPENING);
    let races = records.iter().map(|(kind, ..)| format!("`cargo xtask race {kind}`"));
    let races = races.collect::<Vec<_>>().join(", ");
    if !records.is_empty() {
        page.push_str(&format!("To repeat them: {races}.\n"));
    }
    page.push('\n');
    verdict::write(&mut page, &all);
    ranking::write(&mut page, &all);
    for (dated, comparisons) in records.iter().zip(by_record) {
        section::write(&mut page, dated, comparisons);
    }
    method::write_runs(&mut page, records);
    method::write(&mut page, records);
    page
}
