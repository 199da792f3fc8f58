//! Exports the objects of an S3 bucket.

use std::collections::HashMap;
use std::path::Path;

use runtime::{Progress, Stage};

use super::inodes::BUCKETS;
use super::{Exported, Options, Output, Tables};
use crate::dirs::TOP;
use crate::error::Error;
use crate::folder::NewFolder;
use crate::manifest::{Manifest, Names};
use crate::schema::{CONTENTS, DIRS, INODES, NAMES, PROBLEMS, bucket};
use crate::table::writer::Value;

/// An object in an S3 bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The key, which is unique in the S3 bucket.
    pub key: Vec<u8>,
    /// Length in bytes.
    pub size: u64,
    /// Time of the last modification in nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// The MD5 digest of the content, if it is known.
    pub md5: Option<[u8; 16]>,
}

/// Exports the objects of the S3 bucket `name` to a new folder `HOST/EXPORT_ID` below `out`. In the export, they are
/// files below the directory `/name`. Empty objects are left out.
///
/// # Errors
///
/// Fails if a file cannot be written, if another process exports the same host to `out`, or if the user asked to stop.
/// The folder then does not appear. Missing parents of the folder may have been created.
///
/// # Panics
///
/// Panics if `options` has a key, because stores do not compute keyed digests.
pub fn export_objects(
    name: &str,
    objects: Vec<Object>,
    out: &Path,
    options: &Options,
    progress: &Progress,
) -> Result<Exported, Error> {
    assert!(options.key.is_none(), "objects have no keyed digests");
    progress.enter(Stage::Export);
    let folder = NewFolder::create(out, &options.host, options.created_ms)?;
    let output = Output { folder: &folder, options, progress };
    let mut tables = Tables::new();
    let objects = Objects::new(name, objects);
    output.object_names(&objects, &mut tables)?;
    let sorted = objects.sorted();
    let contents = output.object_contents(&objects, &sorted, &mut tables)?;
    for part in 0..BUCKETS.len() {
        output.object_inodes(part, &objects, &sorted, &contents, &mut tables)?;
    }
    let problems = folder.table(&PROBLEMS, None)?.finish(&PROBLEMS)?;
    tables.insert(PROBLEMS.name.into(), vec![problems]);
    progress.check()?;
    let manifest = Manifest { bucket: Some(name.to_owned()), ..output.manifest(tables) };
    let without_digest = objects.rows.iter().filter(|object| object.md5.is_none()).count() as u64;
    Ok(Exported {
        path: folder.publish(&manifest, options.replaces)?,
        names: objects.rows.len() as u64,
        inodes: manifest.rows(INODES.name),
        undigested: 0,
        without_digest,
        bytes: manifest.bytes(),
    })
}

/// The objects, sorted by directory and name. The number of an object is its index.
struct Objects {
    rows: Vec<Object>,
    /// The directory of each object, and the length of the key before its name.
    places: Vec<(i64, usize)>,
    /// The parent and the name of each directory, from [`TOP`] + 1 on. A directory follows its parent.
    dirs: Vec<(i64, Vec<u8>)>,
}

impl Objects {
    fn new(bucket: &str, mut rows: Vec<Object>) -> Objects {
        rows.retain(|object| object.size > 0);
        rows.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        let mut dirs = vec![(TOP, bucket.as_bytes().to_vec())];
        let mut known: HashMap<Vec<u8>, i64> = HashMap::new();
        let places: Vec<(i64, usize)> =
            rows.iter().map(|object| place(&object.key, &mut dirs, &mut known)).collect();
        let mut entries: Vec<(Object, (i64, usize))> = rows.into_iter().zip(places).collect();
        entries.sort_by(|(a, (a_dir, a_at)), (b, (b_dir, b_at))| {
            (a_dir, &a.key[*a_at..]).cmp(&(b_dir, &b.key[*b_at..]))
        });
        let (rows, places) = entries.into_iter().unzip();
        Objects { rows, places, dirs }
    }

    fn name(&self, number: usize) -> &[u8] {
        &self.rows[number].key[self.places[number].1..]
    }

    /// Returns the numbers of the objects, sorted by the bucket of their size, then size, then digest. Objects without
    /// a digest come first.
    fn sorted(&self) -> Vec<usize> {
        let mut sorted: Vec<usize> = (0..self.rows.len()).collect();
        sorted.sort_by_key(|&number| {
            let Object { size, md5, .. } = self.rows[number];
            (bucket(size), size, md5)
        });
        sorted
    }
}

/// Returns the directory of a key, and the length of the key before its name. Adds the directory and its parents.
fn place(
    key: &[u8],
    dirs: &mut Vec<(i64, Vec<u8>)>,
    known: &mut HashMap<Vec<u8>, i64>,
) -> (i64, usize) {
    let slashes = (0..key.len()).filter(|&at| key[at] == b'/');
    let (mut dir, mut start) = (TOP + 1, 0);
    for slash in slashes {
        dir = if let Some(&dir) = known.get(&key[..slash]) {
            dir
        } else {
            dirs.push((dir, key[start..slash].to_vec()));
            let id = TOP + i64::try_from(dirs.len()).unwrap_or(i64::MAX);
            known.insert(key[..slash].to_vec(), id);
            id
        };
        start = slash + 1;
    }
    (dir, start)
}

impl Output<'_> {
    /// Writes the directories and the names.
    fn object_names(&self, objects: &Objects, tables: &mut Tables) -> Result<(), Error> {
        if self.options.names == Names::None {
            tables.extend([DIRS, NAMES].map(|table| (table.name.into(), Vec::new())));
            return Ok(());
        }
        let mut paths = crate::dirs::Paths::default();
        let mut out = self.folder.table(&DIRS, None)?;
        out.push(&[Value::Int64(TOP), Value::Null, Value::Bytes(b""), Value::Bytes(b"/")]);
        for (id, (parent, name)) in (TOP + 1..).zip(&objects.dirs) {
            let path = paths.add(id, *parent, name).map(String::from_utf8_lossy);
            let path = path.as_ref().map_or(Value::Null, |path| Value::Bytes(path.as_bytes()));
            out.push(&[Value::Int64(id), Value::Int64(*parent), Value::Bytes(name), path]);
            if out.is_group_full() {
                out.end_group(&DIRS)?;
            }
        }
        tables.insert(DIRS.name.into(), vec![out.finish(&DIRS)?]);
        let mut out = self.folder.table(&NAMES, None)?;
        for (number, (dir, _)) in objects.places.iter().enumerate() {
            let name = Value::Bytes(objects.name(number));
            out.push(&[Value::Int64(*dir), name, Value::Int64(id(number))]);
            if out.is_group_full() {
                self.progress.check()?;
                out.end_group(&NAMES)?;
            }
        }
        tables.insert(NAMES.name.into(), vec![out.finish(&NAMES)?]);
        Ok(())
    }

    /// Writes the contents, and returns the content of each object.
    fn object_contents(
        &self,
        objects: &Objects,
        sorted: &[usize],
        tables: &mut Tables,
    ) -> Result<Vec<Option<i64>>, Error> {
        let mut of_objects = vec![None; objects.rows.len()];
        let mut out = self.folder.table(&CONTENTS, None)?;
        let same = |&a: &usize, &b: &usize| {
            let content = |number: usize| (objects.rows[number].size, objects.rows[number].md5);
            content(a) == content(b)
        };
        let groups = sorted.chunk_by(same).filter(|group| objects.rows[group[0]].md5.is_some());
        for (content, group) in (1..).zip(groups) {
            for &number in group {
                of_objects[number] = Some(content);
            }
            let redundant = objects.rows[group[0]].size.saturating_mul(group.len() as u64 - 1);
            let inodes = i32::try_from(group.len()).unwrap_or(i32::MAX);
            out.push(&[
                Value::Int64(content),
                Value::Int32(inodes),
                Value::Int64(redundant.cast_signed()),
            ]);
            if out.is_group_full() {
                out.end_group(&CONTENTS)?;
            }
        }
        tables.insert(CONTENTS.name.into(), vec![out.finish(&CONTENTS)?]);
        Ok(of_objects)
    }

    /// Writes a file of the table `inodes`.
    fn object_inodes(
        &self,
        part: usize,
        objects: &Objects,
        sorted: &[usize],
        contents: &[Option<i64>],
        tables: &mut Tables,
    ) -> Result<(), Error> {
        let mut out = self.folder.table(&INODES, Some(part))?;
        let of = |number: usize| bucket(objects.rows[number].size);
        let mut last_bucket = None;
        for &number in sorted.iter().filter(|number| BUCKETS[part].contains(&of(**number))) {
            let is_next = last_bucket.replace(of(number)).is_some_and(|last| last != of(number));
            if is_next && out.is_group_full() {
                self.progress.check()?;
                out.end_group(&INODES)?;
            }
            let Object { size, mtime_ns, ref md5, .. } = objects.rows[number];
            out.push(&[
                Value::Int32(of(number).into()),
                Value::Int64(size.cast_signed()),
                Value::Null,
                md5.as_ref().map_or(Value::Null, |md5| Value::Bytes(md5)),
                Value::Int64(id(number)),
                Value::Int64(0),
                Value::Int64(id(number)),
                Value::Int64(mtime_ns),
                Value::Int64(mtime_ns),
                Value::Int64(size.cast_signed()),
                Value::Int32(1),
                contents[number].map_or(Value::Null, Value::Int64),
                Value::Int32(0),
            ]);
        }
        tables.entry(INODES.name.into()).or_default().push(out.finish(&INODES)?);
        Ok(())
    }
}

/// Returns the number of an object in the export.
fn id(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
