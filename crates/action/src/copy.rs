//! A copy of a file that is what a file is to be: bytes, compared once it is written, and metadata.

use std::io;

use content::{Digest, Manner, Part, Scratch, partition};
use fsops::{File, NewFile, Op, Stat, Xattr};
use runtime::{Interrupted, Progress};

use crate::error::Reason;
use crate::meter::Meter;
use crate::place::Place;

/// What a copy is made of.
pub(crate) struct Copy<'a> {
    /// Where its bytes come from.
    pub(crate) source: &'a File,
    /// Its size, owner, mode and times.
    pub(crate) like: &'a Stat,
    pub(crate) xattrs: &'a [Xattr],
    /// Whether the digest of the bytes is wanted.
    pub(crate) digest: bool,
}

/// A copy that was made.
pub(crate) struct Made {
    pub(crate) file: NewFile,
    /// Its digest, if that was wanted and to be had.
    pub(crate) digest: Option<Digest>,
    /// Whether it has the owner that it was to have.
    pub(crate) has_owner: bool,
}

impl Copy<'_> {
    /// Makes the copy in the private directory, under the name for what is not ready. Its bytes are counted once,
    /// while they are copied.
    ///
    /// # Errors
    ///
    /// Why not. There may be part of a copy.
    pub(crate) fn make(
        &self,
        place: &Place<'_>,
        scratch: &mut Scratch,
        meter: &Meter<'_>,
    ) -> Result<Made, Reason> {
        let size = self.like.size;
        let new = place.staging.dir.create_file(&place.part).map_err(Reason::failed(Op::Create))?;
        let copied = new.copy_from(self.source, size, |bytes| meter.step(bytes));
        copied.map_err(Reason::failed(Op::Write))?;
        let reader = new.reader().map_err(Reason::failed(Op::Open))?;
        let progress = meter.uncounted();
        let digest = match compare(self.source, &reader, size, self.digest, scratch, &progress) {
            Ok(Some(part)) => part.digest,
            Ok(None) => return Err(Reason::Differs),
            Err(Interrupted) => return Err(Reason::stopped()),
        };
        let failed = Reason::failed(Op::Change);
        let has_owner = match new.set_owner(self.like) {
            Ok(()) => true,
            Err(e) if is_denied(&e) => false,
            Err(e) => return Err(failed(e)),
        };
        // The rights of another owner are not for this one.
        let bits = if has_owner { 0 } else { 0o6000 };
        let like = Stat { mode: self.like.mode & !bits, ..*self.like };
        new.set_metadata(&like, self.xattrs).map_err(failed)?;
        Ok(Made { file: new, digest, has_owner })
    }
}

/// Returns whether two files are equal and `size` bytes long, each read to its end.
///
/// # Errors
///
/// That a stop was asked for.
pub(crate) fn equal(
    one: &File,
    other: &File,
    size: u64,
    scratch: &mut Scratch,
    progress: &Progress,
) -> Result<bool, Interrupted> {
    compare(one, other, size, false, scratch, progress).map(|same| same.is_some())
}

/// Returns two files as one part if they are equal and `size` bytes long.
fn compare(
    one: &File,
    other: &File,
    size: u64,
    digest: bool,
    scratch: &mut Scratch,
    progress: &Progress,
) -> Result<Option<Part>, Interrupted> {
    let same = if size == 0 {
        Some(Part { members: vec![0, 1], digest: Some(Digest::of(b"")) })
    } else {
        let manner = Manner { sparse: true, digest, quantum: 1 << 20 };
        let (mut parts, failures) = partition(&[one, other], size, manner, scratch, progress)?;
        parts.pop().filter(|part| failures.is_empty() && part.members.len() == 2)
    };
    let ends = |file: &File| file.ends_at(size).is_ok_and(|ends| ends);
    Ok(same.filter(|_| ends(one) && ends(other)))
}

/// Returns whether an owner cannot be given because one has to be root for that.
fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && fsops::effective_user() != 0
}
