//! Resumes interrupted transfers, and transfers only the new part of a file that has grown.
//!
//! The bytes in the destination may differ from those in the source, so the request contains their digest. The sender
//! compares the digest, and sends either the rest of the file or all of it. The prefix is then copied into a new file
//! and hashed again there.

use std::ffi::CString;
use std::io::ErrorKind;

use fsops::{Dir, File, Kind, Op, Stat};
use wire::KnownPrefix;

use crate::engine::dest_listing::DestEntry;
use crate::engine::dir_cache::Side;
use crate::engine::entry::Entry;
use crate::engine::worker::Worker;
use crate::model::reason::Reason;
use crate::model::settled::{Failure, destination};
use crate::model::temp_name::is_temp_name;
use crate::reconcile::copy::NewCopy;
use crate::reconcile::copy_bytes::{CopyMethod, next_data_range};
use crate::remote::receiver::pending::Basis;

/// Minimum size for resuming. Below this size, sending the whole file is faster than reading the prefix on both hosts
/// and waiting for the answer.
pub(crate) const MIN_RESUMED_BYTES: u64 = 1 << 20;

impl Worker<'_> {
    /// Returns the name of a file that may be a prefix of the requested file, together with its digest.
    pub(crate) fn find_prefix(
        &mut self,
        entry: Entry<'_>,
        stat: &Stat,
    ) -> Result<Option<(CString, KnownPrefix)>, Failure> {
        if stat.size < MIN_RESUMED_BYTES {
            return Ok(None);
        }
        let is_file = |dest: DestEntry| dest.kind == Kind::File;
        let dir = self.open(Side::Destination, &entry.dir.node).map_err(destination(Op::Open))?;
        let basis_name = match self.largest_temp_file(entry, &dir) {
            Some(temp) => temp,
            None if entry.dest.is_some_and(is_file) => entry.name.to_owned(),
            None => return Ok(None),
        };
        // A file that cannot be read is ignored. The transfer then starts from the beginning.
        let Ok(file) = dir.open_regular(&basis_name) else { return Ok(None) };
        let Ok(now) = file.stat() else { return Ok(None) };
        if now.kind != Kind::File || now.size < MIN_RESUMED_BYTES || now.size > stat.size {
            return Ok(None);
        }
        let digest = self.digest(&file, now.size)?;
        Ok(Some((basis_name, KnownPrefix { length: now.size, digest, only: false })))
    }

    /// Returns the temporary name of the largest unfinished copy that killed runs left of a file.
    fn largest_temp_file(&mut self, entry: Entry<'_>, dir: &Dir) -> Option<CString> {
        let temp_names = entry.dir.dest_listing.temp_names_of(entry.name);
        let files = temp_names.filter(|(_, dest)| dest.kind == Kind::File);
        let sizes = files.filter_map(|(temp, _)| Some((dir.stat_child(temp).ok()?.size, temp)));
        let (_, largest) = sizes.max()?;
        (!self.is_of_other_run(&entry.dir.node)).then(|| largest.to_owned())
    }

    /// Starts a copy with the bytes that the destination already has.
    pub(crate) fn begin_copy_from_basis(
        &mut self,
        entry: Entry<'_>,
        stat: &Stat,
        basis: &Basis,
        have: &KnownPrefix,
    ) -> Result<NewCopy, Failure> {
        let file = self.open_basis(entry, basis)?;
        let new_copy = self.begin_temp_copy(entry, stat)?;
        self.copy_prefix(&file, &new_copy, have).inspect_err(|_| new_copy.undo())?;
        // The unfinished copy is removed only after the new file has all of its bytes.
        if let Basis::Prefix(basis_name) = basis
            && is_temp_name(basis_name.to_bytes())
        {
            new_copy.remove_beside(basis_name);
        }
        Ok(new_copy)
    }

    /// Opens the file whose digest was sent to the sender.
    fn open_basis(&mut self, entry: Entry<'_>, basis: &Basis) -> Result<File, Failure> {
        let (side, basis_name) = match basis {
            Basis::Absent => return Err(Failure::Failed(Reason::Changed)),
            Basis::Existing(_) => (Side::Destination, entry.name),
            Basis::Base => (Side::Base, entry.name),
            Basis::Prefix(basis_name) => (Side::Destination, basis_name.as_c_str()),
            Basis::Candidate(candidate) => {
                return self.reopen_candidate(candidate).ok_or(Failure::Failed(Reason::Changed));
            }
        };
        let dir = self.open(side, &entry.dir.node).map_err(destination(Op::Open))?;
        dir.open_regular(basis_name).map_err(destination(Op::Open))
    }

    /// Copies the first bytes of a file into a new file, and checks the digest of the copy.
    pub(crate) fn copy_prefix(
        &mut self,
        file: &File,
        new_copy: &NewCopy,
        have: &KnownPrefix,
    ) -> Result<(), Failure> {
        let failed = || destination(Op::Write);
        if !new_copy.file.clone_from(file).map_err(failed())? {
            self.copy_data_ranges(file, new_copy, have)?;
        }
        new_copy.file.set_size(have.length).map_err(failed())?;
        let copy = new_copy.file.reader().map_err(destination(Op::Open))?;
        if self.digest(&copy, have.length)? == have.digest {
            Ok(())
        } else {
            Err(Failure::Failed(Reason::Changed))
        }
    }

    fn copy_data_ranges(
        &mut self,
        file: &File,
        new_copy: &NewCopy,
        have: &KnownPrefix,
    ) -> Result<(), Failure> {
        let failed = || {
            |e: std::io::Error| match e.kind() {
                ErrorKind::Interrupted => Failure::Stopped,
                _ => destination(Op::Write)(e),
            }
        };
        let stat = file.stat().map_err(destination(Op::Stat))?;
        let mut at = 0;
        while let Some(data) = next_data_range(file, &stat, at).map_err(failed())? {
            let (from, to) = (data.start, data.end.min(have.length));
            self.copy_data_range(file, &new_copy.file, from..to, CopyMethod::WithinDestination)
                .map_err(failed())?;
            at = to.max(from);
            if at >= have.length {
                break;
            }
        }
        Ok(())
    }
}
