//! A copy of a file that is what a file is to be: bytes, compared once it is written, and metadata.

use std::io;

use content::{Manner, Scratch, partition};
use fsops::{File, Interrupted, NewFile, Op, Stat, Watch, Xattr};

use crate::error::Reason;
use crate::place::Place;

/// What a copy is made of.
pub(crate) struct Copy<'a> {
    /// Where its bytes come from.
    pub(crate) source: &'a File,
    /// Its size, owner, mode and times.
    pub(crate) like: &'a Stat,
    pub(crate) xattrs: &'a [Xattr],
}

impl Copy<'_> {
    /// Makes the copy in the private directory, under the name for what is not ready.
    ///
    /// # Errors
    ///
    /// Why not. There may be part of a copy.
    pub(crate) fn make(
        &self,
        place: &Place<'_>,
        scratch: &mut Scratch,
        watch: &Watch,
    ) -> Result<NewFile, Reason> {
        let size = self.like.size;
        let new = place.staging.dir.create_file(&place.part).map_err(Reason::failed(Op::Create))?;
        let stop = || watch.check().map_err(|Interrupted| io::ErrorKind::Interrupted.into());
        new.copy_from(self.source, size, stop).map_err(Reason::failed(Op::Write))?;
        let reader = new.reader().map_err(Reason::failed(Op::Open))?;
        match equal(self.source, &reader, size, scratch, watch) {
            Ok(true) => {}
            Ok(false) => return Err(Reason::Differs),
            Err(Interrupted) => return Err(Reason::stopped()),
        }
        new.set_metadata(self.like, self.xattrs).map_err(Reason::failed(Op::Change))?;
        Ok(new)
    }
}

/// Returns whether the first `size` bytes of two files are equal.
///
/// # Errors
///
/// That a stop was asked for.
pub(crate) fn equal(
    one: &File,
    other: &File,
    size: u64,
    scratch: &mut Scratch,
    watch: &Watch,
) -> Result<bool, Interrupted> {
    if size == 0 {
        return Ok(true);
    }
    let manner = Manner { sparse: true, digest: false, quantum: 1 << 20 };
    let (parts, failures) = partition(&[one, other], size, manner, scratch, watch)?;
    Ok(failures.is_empty() && parts.len() == 1)
}
