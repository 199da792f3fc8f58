//! The files of a survey: a line of JSON that describes the file, a body, and the BLAKE3 digest of both.

use std::ffi::{CStr, CString};
use std::io::{self, BufRead, BufReader, Read, Take};
use std::path::Path;

use export::Error;
use fsops::{Context, Dir, File, Op, effective_user};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::sorted::Numbers;

/// The folder of a survey, in the folder of a host. Engines ignore folders whose names begin with `_`.
pub(crate) const FOLDER: &CStr = c"_survey";

/// Version of the files. It increases when a file changes its meaning.
const VERSION: u32 = 1;

/// Length of the digest at the end of a file.
const DIGEST_BYTES: u64 = blake3::OUT_LEN as u64;

/// Maximum length of the first line in bytes. The names of 10,000 hosts fit.
const LONGEST_HEADER: u64 = 4 << 20;

/// The numbers that hosts list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Sizes of files in bytes.
    Sizes,
    /// Keys of sizes and heads ([`crate::key_of`]).
    Heads,
}

impl Kind {
    /// Both kinds, in the order of the rounds.
    pub const ALL: [Kind; 2] = [Kind::Sizes, Kind::Heads];

    fn name(self) -> &'static str {
        match self {
            Kind::Sizes => "sizes",
            Kind::Heads => "heads",
        }
    }

    /// Returns the name of a list. A host may have several lists of a kind.
    pub(crate) fn list(self, number: usize) -> CString {
        CString::new(format!("{}-{number}.list", self.name())).expect("no NUL")
    }

    /// Returns the name of the answer to all lists of the kind.
    pub(crate) fn answer(self) -> CString {
        CString::new(format!("{}.answer", self.name())).expect("no NUL")
    }
}

/// The first line of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ListHeader {
    pub(crate) kind: Kind,
    pub(crate) host: String,
    /// The id of the key, if heads are keyed.
    pub(crate) key_id: Option<String>,
    /// Number of numbers.
    pub(crate) numbers: u64,
}

/// The first line of an answer. The bits follow, for the numbers of all lists in this order. The first bit
/// of a byte is the lowest one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AnswerHeader {
    pub(crate) kind: Kind,
    pub(crate) host: String,
    pub(crate) lists: Vec<AnsweredList>,
    /// Names of the hosts whose lists were compared.
    pub(crate) hosts: Vec<String>,
}

/// A list to which an answer refers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AnsweredList {
    pub(crate) blake3: String,
    pub(crate) numbers: u64,
}

/// The first line of any file, with the length of the body.
#[derive(Serialize, Deserialize)]
struct Line<H> {
    survey: u32,
    #[serde(flatten)]
    header: H,
    bytes: u64,
}

/// The version in the first line of any file.
#[derive(Deserialize)]
struct Version {
    survey: u32,
}

/// A file that was opened and has the digest with which it ends.
#[derive(Debug)]
pub(crate) struct Opened<H> {
    pub(crate) header: H,
    pub(crate) blake3: String,
    pub(crate) body: Take<BufReader<ReadAt>>,
}

/// Reads a file from an offset on.
#[derive(Debug)]
pub(crate) struct ReadAt {
    file: File,
    offset: u64,
}

impl Read for ReadAt {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

/// Writes a file, unless it exists with the same content. Returns its size if it was written.
///
/// # Errors
///
/// Fails if the file cannot be written. The old file is then unchanged.
pub(crate) fn write(
    dir: &Dir,
    folder: &Path,
    name: &CStr,
    header: impl Serialize,
    body: &[u8],
) -> Result<Option<u64>, Error> {
    let line = Line { survey: VERSION, header, bytes: body.len() as u64 };
    let mut text = serde_json::to_vec(&line).expect("a header is valid JSON");
    text.push(b'\n');
    let digest = blake3::Hasher::new().update(&text).update(body).finalize();
    if last_digest(dir, name).is_some_and(|old| old == digest) {
        return Ok(None);
    }
    let path = path(folder, name);
    let temporary = CString::new([name.to_bytes(), b".part"].concat()).expect("no NUL");
    // A process that was killed may have left the file.
    drop(dir.remove_name(&temporary));
    let written = || -> io::Result<u64> {
        let file = dir.create_private_file(&temporary)?;
        let owner = dir.stat()?;
        if owner.uid != effective_user() {
            // The owner of the folder must be able to read an answer that root writes. Only root can change owners.
            let _refused = file.set_owner(Some(owner.uid), owner.gid);
        }
        let mut at = 0;
        for part in [&text, body, digest.as_bytes()] {
            file.write_at(part, at)?;
            at += part.len() as u64;
        }
        file.sync()?;
        dir.replace(&temporary, name)?;
        dir.sync()?;
        Ok(at)
    };
    let bytes = written()
        .context(Op::Write, || &path)
        .inspect_err(|_| drop(dir.remove_name(&temporary)))?;
    Ok(Some(bytes))
}

/// Returns the digest with which a file ends, if it is undamaged.
fn last_digest(dir: &Dir, name: &CStr) -> Option<blake3::Hash> {
    let file = dir.open_regular(name).ok()?;
    let size = file.stat().ok()?.size.checked_sub(DIGEST_BYTES)?;
    hash_and_check(file, size).ok().flatten().map(|(hash, _)| hash)
}

/// Hashes the first `size` bytes of a file. Returns `None` if their digest does not follow them.
fn hash_and_check(file: File, size: u64) -> io::Result<Option<(blake3::Hash, File)>> {
    let mut reader = BufReader::with_capacity(64 << 10, ReadAt { file, offset: 0 });
    let mut hasher = blake3::Hasher::new();
    io::copy(&mut (&mut reader).take(size), &mut hasher)?;
    let mut digest = [0; blake3::OUT_LEN];
    reader.read_exact(&mut digest)?;
    let hash = hasher.finalize();
    Ok((hash == digest).then(|| (hash, reader.into_inner().file)))
}

/// Opens a file and checks its digest. Returns `None` if it does not exist.
///
/// # Errors
///
/// Fails if the file cannot be read, is incomplete or damaged, or is of a later version.
pub(crate) fn open<H: DeserializeOwned>(
    dir: &Dir,
    folder: &Path,
    name: &CStr,
) -> Result<Option<Opened<H>>, Error> {
    let path = path(folder, name);
    let invalid = |reason: String| Error::Invalid { path: path.clone(), reason };
    let file = match dir.open_regular(name) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.context(Op::Open, || &path)?,
    };
    let size = file.stat().context(Op::Stat, || &path)?.size;
    let mut reader = BufReader::with_capacity(64 << 10, ReadAt { file, offset: 0 });
    let mut text = Vec::new();
    (&mut reader).take(LONGEST_HEADER).read_until(b'\n', &mut text).context(Op::Read, || &path)?;
    let parse_error = |e: serde_json::Error| invalid(format!("not a file of a survey: {e}"));
    let Version { survey } = serde_json::from_slice(&text).map_err(parse_error)?;
    if survey > VERSION {
        return Err(invalid(format!("has version {survey}; this lop knows version {VERSION}")));
    }
    let Line { header, bytes, .. } = serde_json::from_slice(&text).map_err(parse_error)?;
    let start = text.len() as u64;
    let end = start.saturating_add(bytes);
    if size != end.saturating_add(DIGEST_BYTES) {
        return Err(invalid("is incomplete or too long".into()));
    }
    let checked = hash_and_check(reader.into_inner().file, end).context(Op::Read, || &path)?;
    let Some((hash, file)) = checked else {
        return Err(invalid("is damaged: it does not have the digest with which it ends".into()));
    };
    let body = BufReader::with_capacity(64 << 10, ReadAt { file, offset: start }).take(bytes);
    Ok(Some(Opened { header, blake3: hash.to_hex().to_string(), body }))
}

fn path(folder: &Path, name: &CStr) -> std::path::PathBuf {
    folder.join(name.to_string_lossy().as_ref())
}

/// Opens the lists of a kind, in order.
///
/// # Errors
///
/// Same as for [`open`]. A file that is no list of this kind is an error.
pub(crate) fn lists(
    dir: &Dir,
    folder: &Path,
    kind: Kind,
) -> Result<Vec<Opened<ListHeader>>, Error> {
    let mut lists = Vec::new();
    while let Some(list) = open::<ListHeader>(dir, folder, &kind.list(lists.len()))? {
        if list.header.kind != kind {
            let path = path(folder, &kind.list(lists.len()));
            return Err(Error::Invalid { path, reason: "a list of another kind".into() });
        }
        lists.push(list);
    }
    Ok(lists)
}

/// The numbers of a list.
pub(crate) type ListedNumbers = Numbers<Take<BufReader<ReadAt>>>;

/// Returns the numbers of a list.
pub(crate) fn numbers_of(list: Opened<ListHeader>) -> ListedNumbers {
    Numbers::new(list.body, list.header.numbers)
}
