//! Plans of sweeps: files with one JSON object per line.
//!
//! A line with a target comes before the entries of that target. Users can read a plan and delete lines from it. A
//! path in a plan never leads out of its target, however the plan was edited.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use action::journal::JsonBytes;
use fsops::{Dir, Kind};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use walk::QUARANTINE_PREFIX;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::formats::FORMAT_VERSION;

/// The line of a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TargetLine {
    pub(super) format_version: u32,
    /// The absolute path.
    pub(super) target: JsonBytes,
    /// `f_fsid` of the file system, which on ext4, XFS and btrfs is the same after a restart of the machine.
    pub(super) fsid: u64,
    pub(super) inode: u64,
    pub(super) created_ms: i64,
}

/// The line of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EntryLine {
    pub(super) format_version: u32,
    /// The path relative to the target.
    pub(super) path: JsonBytes,
    pub(super) rule: String,
    pub(super) kind: EntryKind,
    pub(super) inode: u64,
    pub(super) mtime_ns: i64,
    /// The size of the file, or the sum of the sizes of all files in the directory.
    pub(super) size: u64,
    pub(super) files: u64,
    /// Number of directories, including the entry itself.
    pub(super) dirs: u64,
    /// The disk space that the removal frees, in bytes.
    pub(super) bytes: u64,
    /// The latest modification time of an entry, in nanoseconds since the epoch.
    pub(super) newest_ns: i64,
}

/// The kind of an entry that a rule can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum EntryKind {
    /// A regular file.
    File,
    /// A symbolic link.
    Symlink,
    /// A directory with everything below it.
    Directory,
}

impl EntryKind {
    /// Returns the kind of an entry, or `None` for special files, which no rule takes.
    pub(super) fn of(kind: Kind) -> Option<EntryKind> {
        match kind {
            Kind::File => Some(EntryKind::File),
            Kind::Symlink => Some(EntryKind::Symlink),
            Kind::Dir => Some(EntryKind::Directory),
            _ => None,
        }
    }
}

/// The part of a plan that concerns one target.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) target: TargetLine,
    pub(super) entries: Vec<EntryLine>,
}

/// Writes a plan. An existing file is replaced only if it is a plan of a sweep. If `file` is a link, the file that it
/// leads to is replaced.
///
/// # Errors
///
/// Fails if the file exists and is something else, or cannot be written. A regular file at the path is then unchanged.
pub(super) fn save(file: &Path, sections: &[Section]) -> Result<(), CommandError> {
    let shown = file.display();
    let failed = |e: io::Error| CommandError::failed(format!("cannot write {shown}")).because(e);
    let file = match fs::metadata(file) {
        Ok(metadata) if !metadata.is_file() => {
            let out = open_special(file).map_err(failed)?;
            return write(out, sections).map_err(failed);
        }
        Ok(_) => {
            if load(BufReader::new(File::open(file).map_err(failed)?)).is_err() {
                let text = format!("{shown} already exists and is not a plan of lop sweep");
                return Err(CommandError::new(Exit::Refused, text)
                    .hint("remove the file, or choose another name"));
            }
            file.canonicalize().map_err(failed)?
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound && file.symlink_metadata().is_err() => {
            file.to_path_buf()
        }
        Err(e) => return Err(failed(e)),
    };
    let unfinished = file.with_file_name(format!(".lop-plan-{}.unfinished", std::process::id()));
    let written = File::create_new(&unfinished).and_then(|out| write(out, sections));
    let published = written.and_then(|()| replace(&unfinished, &file)).map_err(failed);
    if published.is_err() {
        let _left_behind = fsops::remove_file(&unfinished);
    }
    published
}

/// Opens a pipe, a terminal or a device for writing. A FIFO that nobody reads is an error.
fn open_special(file: &Path) -> io::Result<File> {
    let out = File::options()
        .write(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(file)?;
    rustix::fs::fcntl_setfl(&out, OFlags::empty())?;
    Ok(out)
}

/// Gives a complete plan its name. An older plan with this name is replaced.
fn replace(ready: &Path, file: &Path) -> io::Result<()> {
    let name = |path: &Path| {
        CString::new(path.file_name().unwrap_or_default().as_bytes()).map_err(io::Error::from)
    };
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    Dir::open(parent.unwrap_or(Path::new(".")))?.replace(&name(ready)?, &name(file)?)
}

fn write(to: File, sections: &[Section]) -> io::Result<()> {
    let mut out = BufWriter::new(to);
    for Section { target, entries } in sections {
        serde_json::to_writer(&mut out, target)?;
        out.write_all(b"\n")?;
        for entry in entries {
            serde_json::to_writer(&mut out, entry)?;
            out.write_all(b"\n")?;
        }
    }
    out.flush()
}

/// Reads a plan from a file.
///
/// # Errors
///
/// Fails if the file cannot be read or is not a plan.
pub(super) fn read(file: &Path) -> Result<Vec<Section>, CommandError> {
    let name = file.display();
    let opened = File::open(file)
        .map_err(|e| CommandError::failed(format!("cannot read {name}")).because(e))?;
    load(BufReader::new(opened)).map_err(|why| {
        CommandError::failed(format!("{name}: {why}"))
            .hint("make a new plan with: lop sweep --rules RULES --plan FILE")
    })
}

/// Reads a plan. Fails with the defect of the first line that does not belong to a plan.
fn load(from: impl BufRead) -> Result<Vec<Section>, String> {
    let mut sections: Vec<Section> = Vec::new();
    for (number, text) in (1u64..).zip(from.split(b'\n')) {
        let wrong = |why: String| format!("line {number}: {why}");
        let text = text.map_err(|e| wrong(e.to_string()))?;
        if text.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let line: Value = serde_json::from_slice(&text).map_err(|e| wrong(e.to_string()))?;
        if let Some(version) =
            line["format_version"].as_u64().filter(|&version| version != u64::from(FORMAT_VERSION))
        {
            return Err(wrong(format!("another version of lop wrote it (format {version})")));
        }
        if line.get("target").is_some() {
            let target = serde_json::from_value(line).map_err(|e| wrong(e.to_string()))?;
            sections.push(Section { target, entries: Vec::new() });
            continue;
        }
        let entry: EntryLine = serde_json::from_value(line).map_err(|e| wrong(e.to_string()))?;
        if let Some(defect) = defect(&entry.path.0) {
            return Err(wrong(format!("the path {defect}")));
        }
        let Some(section) = sections.last_mut() else {
            return Err(wrong("the line with the target is missing above it".into()));
        };
        section.entries.push(entry);
    }
    Ok(sections)
}

/// Returns why a relative path must not be used, if it must not.
fn defect(path: &[u8]) -> Option<&'static str> {
    let mut names = path.split(|&byte| byte == b'/');
    names.find_map(|name| match name {
        b"" => Some("is empty, absolute, or has an empty component"),
        b"." | b".." => Some("contains '.' or '..'"),
        _ if name.contains(&0) => Some("contains a NUL"),
        _ if name.starts_with(QUARANTINE_PREFIX.as_bytes()) => Some("leads into a quarantine"),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::{EntryKind, EntryLine, JsonBytes, Section, TargetLine, load};

    fn target() -> TargetLine {
        TargetLine {
            format_version: 1,
            target: JsonBytes(b"/t\xff".to_vec()),
            fsid: 7,
            inode: 2,
            created_ms: 0,
        }
    }

    fn entry(path: &[u8]) -> EntryLine {
        EntryLine {
            format_version: 1,
            path: JsonBytes(path.to_vec()),
            rule: "a.b".into(),
            kind: EntryKind::File,
            inode: 5,
            mtime_ns: -1,
            size: 3,
            files: 1,
            dirs: 0,
            bytes: 4096,
            newest_ns: -1,
        }
    }

    fn text(lines: &[String]) -> Vec<u8> {
        lines.join("\n").into_bytes()
    }

    fn line(value: &impl serde::Serialize) -> String {
        serde_json::to_string(value).expect("is written")
    }

    fn loaded(lines: &[String]) -> Result<Vec<Section>, String> {
        load(&text(lines)[..])
    }

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let plan = [line(&target()), line(&entry(b"a/b\xfe")), String::new(), line(&target())];
        let sections = loaded(&plan).expect("is a plan");
        assert_eq!((sections.len(), &sections[0].target), (2, &target()));
        assert_eq!(sections[0].entries, [entry(b"a/b\xfe")]);
        assert!(sections[1].entries.is_empty());
    }

    #[test]
    fn a_path_that_could_lead_out_of_the_target_is_refused() {
        for path in
            [&b""[..], b"/etc", b"a//b", b"../a", b"a/..", b"./a", b"a\0", b"d/.lop-quarantine-0/x"]
        {
            let why = loaded(&[line(&target()), line(&entry(path))]).expect_err("refused");
            assert!(why.starts_with("line 2: the path "), "{why}");
        }
    }

    #[test]
    fn lines_that_do_not_belong_to_a_plan_are_refused() {
        for (lines, why) in [
            (vec![line(&entry(b"a"))], "line 1: the line with the target is missing"),
            (vec!["text".into()], "line 1: "),
            (
                vec![line(&target()).replace("\"inode\"", "\"other\"")],
                "line 1: unknown field `other`",
            ),
            (vec![line(&target()).replace(":1,", ":2,")], "line 1: another version of lop"),
        ] {
            let found = loaded(&lines).expect_err("refused");
            assert!(found.starts_with(why), "{found}");
        }
    }
}
