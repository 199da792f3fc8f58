//! `lop-fleet where`: on which hosts a file or a content is.

mod wanted;

use std::collections::BTreeSet;
use std::error::Error;

use export::{Key, Names, Stored};
use runtime::quantity::{count, counted};
use serde::Serialize;

use self::wanted::{Match, Wanted};
use crate::Exit;
use crate::args::WhereArgs;
use crate::exports::newest;
use crate::output::{JsonPath, Output, shown};

/// Runs the command.
pub(crate) fn run(args: &WhereArgs, output: Output) -> Result<Exit, Box<dyn Error>> {
    let (exports, has_problems) = newest(&args.dir, &args.hosts)?;
    let key = key(args, &exports[0])?;
    let wanted = Wanted::new(&args.what, key.as_ref())?.with_size(&exports)?;
    let hosts: Vec<Host> =
        exports.iter().map(|export| Host::search(export, &wanted)).collect::<Result<_, _>>()?;
    let text: Vec<u8> = hosts.iter().flat_map(|host| host.text(output)).collect();
    let is_found = hosts.iter().any(|host| host.files > 0);
    let is_unknown = hosts.iter().any(|host| host.unknown > 0);
    let can_be_hashed = hosts.iter().any(|host| host.unknown > 0 && !host.is_bucket);
    let document = Document { hosts };
    output.print(&document, &text)?;
    if can_be_hashed {
        output.hint_hash_all();
    } else if !is_found && !is_unknown {
        output.note(&not_found(&document.hosts));
    }
    Ok(match (is_found, is_unknown) {
        _ if has_problems => Exit::Partial,
        (true, _) => Exit::Done,
        (false, true) => Exit::Partial,
        (false, false) => Exit::No,
    })
}

/// Returns the message that no host has the content.
fn not_found(hosts: &[Host]) -> String {
    match hosts {
        [host] => format!("not found on {}", shown(&host.name)),
        hosts => format!("not found on any of {} hosts", count(hosts.len() as u64)),
    }
}

/// Returns the key of the exports. All exports have the key of `export`.
///
/// # Errors
///
/// Fails if the key is missing, is another one, or cannot be read.
fn key(args: &WhereArgs, export: &Stored) -> Result<Option<Key>, Box<dyn Error>> {
    let Some(path) = args.key.as_deref() else {
        return match export.key_id {
            None => Ok(None),
            Some(_) => Err("the digests of the exports are keyed: name the file with the key, as \
                            in --key fleet.key"
                .into()),
        };
    };
    let key = Key::read(path)?;
    match &export.key_id {
        None => Err("the digests of the exports are not keyed: leave out --key".into()),
        Some(id) if key.id() != id => {
            let path = path.display();
            Err(format!("{path}: the exports were made with another key").into())
        }
        Some(_) => Ok(Some(key)),
    }
}

/// The answer for programs.
#[derive(Serialize)]
struct Document {
    hosts: Vec<Host>,
}

/// The files of a host that have the content.
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
    #[serde(skip)]
    names: Names,
    #[serde(skip)]
    is_bucket: bool,
}

impl Host {
    fn search(export: &Stored, wanted: &Wanted) -> Result<Host, Box<dyn Error>> {
        let (mut inodes, mut unknown) = (BTreeSet::new(), 0);
        export.each_inode(wanted.size(), |inode| match wanted.matches(inode) {
            Match::Equal => drop(inodes.insert(inode.inode_id)),
            Match::Unknown => unknown += 1,
            Match::Different => {}
        })?;
        let mut paths: Vec<Vec<u8>> = export.paths(&inodes)?.into_values().flatten().collect();
        paths.sort_unstable();
        Ok(Host {
            name: export.host.clone(),
            files: inodes.len(),
            unknown,
            paths: paths.into_iter().map(JsonPath::new).collect(),
            names: export.names,
            is_bucket: export.bucket.is_some(),
        })
    }

    /// Returns a line for each path, and one for files that have none.
    fn text(&self, output: Output) -> Vec<u8> {
        let mut text = Vec::new();
        let mut line = |parts: &[&[u8]]| {
            text.extend_from_slice(&output.line(&parts.concat()));
            text.push(b'\n');
        };
        let name = self.name.as_bytes();
        for path in &self.paths {
            line(&[name, b":", path.bytes()]);
        }
        if self.paths.is_empty() && self.files > 0 {
            let files = counted(self.files as u64, "file", "files");
            let how = if self.names == Names::Keyed { "with keyed names" } else { "without names" };
            line(&[name, format!(": {files}, exported {how}").as_bytes()]);
        }
        if self.unknown > 0 {
            let verb = if self.unknown == 1 { "has" } else { "have" };
            let unknown = self.unknown as u64;
            let note = if self.is_bucket {
                let objects = counted(unknown, "object", "objects");
                format!(": {objects} may be equal, but {verb} no digest of this kind")
            } else {
                let files = counted(unknown, "file", "files");
                format!(": {files} may be equal, but {verb} no digest")
            };
            line(&[name, note.as_bytes()]);
        }
        text
    }
}
