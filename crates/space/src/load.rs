//! Reads a catalog with several threads.
//!
//! Each thread has its own connection, and all connections see the same snapshot of the catalog. The
//! work is divided into many jobs: the directories, the contents, and the files of many ranges of
//! directories, because some ranges have far more files than others. Each thread takes the next job
//! until none is left.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use catalog::{Catalog, Error};

use crate::build::{Contents, Dirs, Files, Orphans, Tree, build};
use crate::part::Part;
use crate::space::Space;
use crate::threads;

/// Number of ranges for each thread.
const RANGES_PER_THREAD: i64 = 16;
/// The size of a catalog for each name in it, about.
const BYTES_PER_NAME: u64 = 128;
/// The row id of the root directory.
const ROOT: i64 = 1;

/// Some of the work.
enum Job {
    Tree,
    Contents,
    Files(Range<i64>),
}

/// The results of some jobs.
struct Results {
    tree: Option<Tree>,
    contents: Option<Contents>,
    files: Files,
}

impl Space {
    /// Computes the sizes of all directories in a catalog. Does not access the files.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn load(catalog: &Catalog) -> Result<Space, Error> {
        let (tree, contents, files) = read(catalog)?;
        build(tree, &contents, files).map_err(|Orphans(files)| Error::Orphans {
            path: catalog.path().into(),
            dirs: 0,
            files,
        })
    }
}

fn read(catalog: &Catalog) -> Result<(Tree, Contents, Files), Error> {
    let connections = catalog.snapshots(threads::count())?;
    let jobs = jobs(connections[0].last_dir()?, connections.len());
    let next = AtomicUsize::new(0);
    let results = threads::each(connections, |connection| do_jobs(&connection, &jobs, &next));
    let results: Vec<Results> = results.into_iter().collect::<Result<_, Error>>()?;
    let all = results.into_iter().reduce(Results::and).expect("at least one thread");
    let tree = all.tree.expect("a job reads the directories");
    let contents = all.contents.expect("a job reads the contents");
    Ok((tree, contents, all.files))
}

impl Results {
    fn and(mut self, other: Results) -> Results {
        self.files.add_all(other.files);
        Results {
            tree: self.tree.or(other.tree),
            contents: self.contents.or(other.contents),
            files: self.files,
        }
    }
}

/// Does the jobs that no other thread has taken.
fn do_jobs(connection: &Catalog, jobs: &[Job], next: &AtomicUsize) -> Result<Results, Error> {
    let names = usize::try_from(connection.bytes()? / BYTES_PER_NAME).unwrap_or(usize::MAX);
    let files = Files::for_about(names);
    let mut results = Results { tree: None, contents: None, files };
    loop {
        match jobs.get(next.fetch_add(1, Relaxed)) {
            None => return Ok(results),
            Some(Job::Tree) => results.tree = Some(read_tree(connection)?),
            Some(Job::Contents) => results.contents = Some(read_contents(connection)?),
            Some(Job::Files(dirs)) => {
                let part = Part::for_about(names / jobs.len());
                results.files.add(connection.sum_space_rows(dirs.clone(), part, Part::add)?);
            }
        }
    }
}

fn read_tree(catalog: &Catalog) -> Result<Tree, Error> {
    let mut dirs = Dirs::new(ROOT);
    catalog.each_dir_row(|id, parent, name| dirs.push(id, parent, name))?;
    Ok(Tree::new(&dirs))
}

fn read_contents(catalog: &Catalog) -> Result<Contents, Error> {
    let mut rows = Vec::new();
    catalog.each_reclaimable_content(|id, bytes| rows.push((id, bytes)))?;
    Ok(Contents::new(&rows))
}

/// Returns all jobs, for directories with ids up to `last`. The jobs that take longest come first.
fn jobs(last: i64, threads: usize) -> Vec<Job> {
    let count = i64::try_from(threads).unwrap_or(1) * RANGES_PER_THREAD;
    let length = last / count + 1;
    let starts = std::iter::successors(Some(0i64), |start| start.checked_add(length));
    let starts = starts.take_while(|start| *start <= last);
    // Files in directories beyond the last one belong to no directory. The last range finds them.
    let ranges =
        starts.map(|start| start..if start > last - length { i64::MAX } else { start + length });
    [Job::Tree, Job::Contents].into_iter().chain(ranges.map(Job::Files)).collect()
}
