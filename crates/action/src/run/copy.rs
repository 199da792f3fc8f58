//! A copy of a file that is what a file is to be: bytes, compared once it is written, and metadata.

use std::io;

use content::{Digest, Scratch};
use fsops::{File, NewFile, Op, Stat, Xattr};
use runtime::Interrupted;

use crate::error::Reason;
use crate::run::compare::compare;
use crate::run::meter::Meter;
use crate::staging::name_swap::NameSwap;

/// What a copy is made of.
pub(crate) struct CopyJob<'a> {
    /// Where its bytes come from.
    pub(crate) source: &'a File,
    /// Its size, owner, mode and times.
    pub(crate) like: &'a Stat,
    pub(crate) xattrs: &'a [Xattr],
    /// Whether the digest of the bytes is wanted.
    pub(crate) digest: bool,
}

/// A copy that was made.
pub(crate) struct CopiedFile {
    pub(crate) file: NewFile,
    /// Its digest, if that was wanted and to be had.
    pub(crate) digest: Option<Digest>,
    /// Whether it has the owner that it was to have.
    pub(crate) has_owner: bool,
}

impl CopyJob<'_> {
    /// Makes the copy in the private directory, under the name for what is not ready. Its bytes are counted once,
    /// while they are copied.
    ///
    /// # Errors
    ///
    /// Why not. There may be part of a copy.
    pub(crate) fn make(
        &self,
        place: &NameSwap<'_>,
        scratch: &mut Scratch,
        meter: &Meter<'_>,
    ) -> Result<CopiedFile, Reason> {
        let size = self.like.size;
        let new = place.staging.dir.create_file(&place.temp).map_err(Reason::failed(Op::Create))?;
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
        Ok(CopiedFile { file: new, digest, has_owner })
    }
}

/// Returns whether an owner cannot be given because one has to be root for that.
fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && fsops::effective_user() != 0
}
