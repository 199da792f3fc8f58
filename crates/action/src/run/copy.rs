//! Makes a copy of a file in a staging directory: copies the content, compares it with the source,
//! and then copies the metadata.
//!
//! Other modules move the copy to its final name ([`crate::run::act`], [`crate::undo`]).

use std::io;

use content::{Digest, Scratch};
use fsops::{File, NewFile, Op, Stat, Xattr};
use runtime::Interrupted;

use crate::error::Reason;
use crate::run::compare::compare;
use crate::run::meter::Meter;
use crate::staging::name_swap::NameSwap;

/// A copy to make.
pub(crate) struct CopyJob<'a> {
    /// The file to read the content from.
    pub(crate) source: &'a File,
    /// The size, owner, mode and times for the copy.
    pub(crate) like: &'a Stat,
    pub(crate) xattrs: &'a [Xattr],
    /// Whether to compute the digest of the content.
    pub(crate) digest: bool,
}

/// A finished copy.
pub(crate) struct CopiedFile {
    pub(crate) file: NewFile,
    /// The digest of the content, if it was requested.
    pub(crate) digest: Option<Digest>,
    /// Whether the copy has the intended owner.
    pub(crate) has_owner: bool,
}

impl CopyJob<'_> {
    /// Makes the copy under the temp name in the staging directory. Its bytes count toward the
    /// progress only while they are copied, and not while they are compared.
    ///
    /// # Errors
    ///
    /// The reason for the failure. Part of the copy may exist under the temp name. The caller must
    /// remove it.
    pub(crate) fn make(
        &self,
        names: &NameSwap<'_>,
        scratch: &mut Scratch,
        meter: &Meter<'_>,
    ) -> Result<CopiedFile, Reason> {
        let size = self.like.size;
        let new = names
            .staging
            .dir
            .create_private_file(&names.temp)
            .map_err(Reason::failed(Op::Create))?;
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
        let has_owner = match new.copy_owner(self.like) {
            Ok(()) => true,
            Err(e) if is_denied(&e) => false,
            Err(e) => return Err(failed(e)),
        };
        // The set-user-ID and set-group-ID bits must not take effect for a different owner.
        let bits = if has_owner { 0 } else { 0o6000 };
        let like = Stat { mode: self.like.mode & !bits, ..*self.like };
        new.copy_metadata(&like, self.xattrs).map_err(failed)?;
        Ok(CopiedFile { file: new, digest, has_owner })
    }
}

/// Returns whether the owner cannot be set because only root may do that.
fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && fsops::effective_user() != 0
}
