//! `lop-fleet where`: on which hosts a file or a content is.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use content::{Digest, Head, head_length, head_of};
use export::{InodeKey, Key, Stored};
use runtime::quantity::counted;
use serde::Serialize;

use crate::Exit;
use crate::args::WhereArgs;
use crate::exports::newest;
use crate::output::{JsonPath, Output};

/// Runs the command.
pub(crate) fn run(args: &WhereArgs, output: Output) -> Result<Exit, Box<dyn Error>> {
    let (exports, has_problems) = newest(&args.dir, &args.hosts)?;
    let key = key(args, &exports[0])?;
    let wanted = Wanted::new(&args.what, key.as_ref())?;
    let hosts: Vec<Host> =
        exports.iter().map(|export| Host::search(export, &wanted)).collect::<Result<_, _>>()?;
    let text: Vec<u8> = hosts.iter().flat_map(Host::text).collect();
    let is_found = hosts.iter().any(|host| host.files > 0);
    output.print(&Document { hosts }, &text)?;
    Ok(match (is_found, has_problems) {
        (_, true) => Exit::Partial,
        (true, false) => Exit::Done,
        (false, false) => Exit::No,
    })
}

/// Returns the key of the exports. All exports have the key of `export`.
///
/// # Errors
///
/// Fails if the key is missing, is another one, or cannot be read.
fn key(args: &WhereArgs, export: &Stored) -> Result<Option<Key>, Box<dyn Error>> {
    let key = args.key.as_deref().map(Key::read).transpose()?;
    match (&key, &export.key_id) {
        (None, Some(_)) => {
            Err("the digests of the exports are keyed: give the key with --key FILE".into())
        }
        (Some(_), None) => Err("the digests of the exports are not keyed: leave out --key".into()),
        (Some(key), Some(id)) if key.id() != id => {
            Err("the exports have another key than the one given with --key".into())
        }
        _ => Ok(key),
    }
}

/// The content to find, as the exports store it.
struct Wanted {
    digest: [u8; 32],
    /// The size and the head of a file; `None` if only the digest was given.
    file: Option<(u64, i64)>,
}

impl Wanted {
    /// Reads a file, or takes its name as a digest if there is no such file.
    fn new(what: &Path, key: Option<&Key>) -> Result<Wanted, Box<dyn Error>> {
        let keyed = |digest: Digest| key.map_or(digest.0, |key| key.digest(digest.0));
        let digest = what.to_str().and_then(|text| text.parse::<Digest>().ok());
        if let Some(digest) = digest.filter(|_| !what.exists()) {
            return Ok(Wanted { digest: keyed(digest), file: None });
        }
        let cannot = |e: io::Error| format!("cannot read {}: {e}", what.display());
        let (size, head, digest) = read(what).map_err(cannot)?;
        let head = key.map_or(head.0.get().cast_signed(), |key| key.head(head, size));
        Ok(Wanted { digest: keyed(digest), file: Some((size, head)) })
    }

    /// Returns whether an inode has the content, and whether it may have it.
    fn matches(&self, inode: &InodeKey) -> (bool, bool) {
        let is_equal = inode.digest == Some(self.digest);
        // Empty files have no digest.
        let is_empty = inode.size == 0 && self.file.is_some_and(|(size, _)| size == 0);
        let may_be_equal = self.file.is_some_and(|(size, head)| {
            let has_head = inode.head.is_none_or(|other| other == head);
            inode.size == size && inode.digest.is_none() && has_head
        });
        (is_equal || is_empty, may_be_equal)
    }
}

/// Returns the size, the head and the digest of a regular file.
fn read(path: &Path) -> io::Result<(u64, Head, Digest)> {
    let metadata = path.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut file = File::open(path)?;
    let mut beginning = Vec::new();
    Read::by_ref(&mut file).take(head_length(metadata.len())).read_to_end(&mut beginning)?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(&beginning);
    let rest = io::copy(&mut file, &mut hasher)?;
    Ok((beginning.len() as u64 + rest, head_of(&beginning), hasher.finalize().into()))
}

/// The answer for programs.
#[derive(Serialize)]
struct Document {
    hosts: Vec<Host>,
}

/// What a host has of the content.
#[derive(Serialize)]
struct Host {
    #[serde(rename = "host")]
    name: String,
    /// Number of files with the content.
    files: usize,
    /// Number of files that may have the content, but have no digest.
    unknown: usize,
    /// The paths of the files, if their names were exported.
    paths: Vec<JsonPath>,
}

impl Host {
    fn search(export: &Stored, wanted: &Wanted) -> Result<Host, Box<dyn Error>> {
        let (mut inodes, mut unknown) = (BTreeSet::new(), 0);
        export.each_inode(wanted.file.map(|(size, _)| size), |inode| {
            match wanted.matches(inode) {
                (true, _) => drop(inodes.insert(inode.inode_id)),
                (false, true) => unknown += 1,
                (false, false) => {}
            }
        })?;
        let mut paths: Vec<Vec<u8>> = export.paths(&inodes)?.into_values().flatten().collect();
        paths.sort_unstable();
        Ok(Host {
            name: export.host.clone(),
            files: inodes.len(),
            unknown,
            paths: paths.into_iter().map(JsonPath::new).collect(),
        })
    }

    /// Returns a line for each path, and one for files that have none.
    fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for path in &self.paths {
            text.extend([self.name.as_bytes(), b":", path.bytes(), b"\n"].concat());
        }
        let name = &self.name;
        if self.paths.is_empty() && self.files > 0 {
            let files = counted(self.files as u64, "file", "files");
            text.extend(format!("{name}: {files}, exported without names\n").bytes());
        }
        if self.unknown > 0 {
            let files = counted(self.unknown as u64, "file", "files");
            text.extend(format!("{name}: {files} may be equal, but have no digest\n").bytes());
        }
        text
    }
}
