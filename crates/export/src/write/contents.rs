//! Writes the contents.

use catalog::StoredContent;
use content::Digest;

use super::{Output, Tables};
use crate::error::Error;
use crate::inodes::Contents;
use crate::key::Key;
use crate::schema::CONTENTS;
use crate::table::writer::{TableWriter, Value};

/// The table of contents that is being written.
pub(super) struct ContentWriter<'a> {
    out: TableWriter,
    key: Option<&'a Key>,
    contents: Contents,
    written: Result<(), Error>,
}

impl<'a> ContentWriter<'a> {
    /// Begins the table.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be created.
    pub(super) fn new(output: &Output<'a>) -> Result<ContentWriter<'a>, Error> {
        Ok(ContentWriter {
            out: output.folder.table(&CONTENTS, None)?,
            key: output.options.key.as_ref(),
            contents: Contents::default(),
            written: Ok(()),
        })
    }

    /// Adds a content. Ids must be in ascending order.
    pub(super) fn push(&mut self, row: &StoredContent) {
        let keyed = |Digest(digest)| self.key.map_or(digest, |key| key.digest(digest));
        self.contents.push(row.id, row.digest.map(keyed));
        if row.inodes > 1 && row.digest.is_none() {
            self.contents.undigested += u64::from(row.inodes);
        }
        self.out.push(&[
            Value::Int64(row.id),
            Value::Int32(row.inodes.cast_signed()),
            Value::Int64(row.reclaimable.cast_signed()),
        ]);
        if self.out.is_group_full() && self.written.is_ok() {
            self.written = self.out.end_group(&CONTENTS);
        }
    }

    /// Completes the table. Returns the contents with the digests as they are exported.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub(super) fn finish(self, tables: &mut Tables) -> Result<Contents, Error> {
        self.written?;
        tables.insert(CONTENTS.name.into(), vec![self.out.finish(&CONTENTS)?]);
        Ok(self.contents)
    }
}
