//! Has a file from another host go on where a run was cut off, or where the file has grown since.
//!
//! What is there is not trusted to be its beginning: its digest goes with the request, and the sender, who
//! compares, sends what is behind it or all. The beginning is then copied into a new file, and digested again there.

use std::ffi::CString;
use std::io::ErrorKind;

use fsops::{Dir, File, Kind, Op, Stat};
use wire::Have;

use crate::engine::dest_listing::There;
use crate::engine::dir_cache::Side;
use crate::engine::entry::Name;
use crate::engine::worker::Worker;
use crate::model::change::Differs;
use crate::model::reason::Reason;
use crate::model::settled::Failure;
use crate::model::settled::Settled;
use crate::model::settled::destination;
use crate::model::temp_name::is_part;
use crate::reconcile::copy::Making;
use crate::reconcile::copy_bytes::How;
use crate::reconcile::copy_bytes::next_stretch;
use crate::remote::receiver::pending::Basis;

/// Bytes for which it pays to read them here, and there, and to wait for the answer.
pub(crate) const ENOUGH: u64 = 1 << 20;

impl Worker<'_> {
    /// Asks for a file, or for what is behind that which there is of it.
    pub(crate) fn ask_for_the_rest(
        &mut self,
        name: Name<'_>,
        stat: &Stat,
        instead: Option<Differs>,
    ) -> Result<Settled, Failure> {
        let beginning = if stat.size < ENOUGH { None } else { self.beginning(name, stat)? };
        match beginning {
            Some((called, have)) => {
                let basis = Basis::Beginning(Box::new(called));
                self.ask(name, instead, Some(have), basis)
            }
            None => self.ask(name, instead, None, Basis::Nothing),
        }
    }

    /// Returns a file that may be the beginning of it, and its digest.
    fn beginning(
        &mut self,
        name: Name<'_>,
        stat: &Stat,
    ) -> Result<Option<(CString, Have)>, Failure> {
        let is_file = |there: There| there.kind == Kind::File;
        let dir = self.open(Side::Destination, &name.site.node).map_err(destination(Op::Open))?;
        let called = match self.largest_part(name, &dir) {
            Some(part) => part,
            None if name.there.is_some_and(is_file) => name.name.to_owned(),
            None => return Ok(None),
        };
        // It is of use if it can be read; if not, it is in nobody's way.
        let Ok(file) = dir.open_regular(&called) else { return Ok(None) };
        let Ok(now) = file.stat() else { return Ok(None) };
        if now.kind != Kind::File || now.size < ENOUGH || now.size > stat.size {
            return Ok(None);
        }
        let digest = self.digest(&file, now.size)?;
        Ok(Some((called, Have { length: now.size, digest, only: false })))
    }

    /// Returns the temporary name under which a killed run has left the most of a file.
    fn largest_part(&mut self, name: Name<'_>, dir: &Dir) -> Option<CString> {
        let parts = name.site.present.parts_of(name.name);
        let files = parts.filter(|(_, there)| there.kind == Kind::File);
        let sizes = files.filter_map(|(part, _)| Some((dir.stat_child(part).ok()?.size, part)));
        let (_, largest) = sizes.max()?;
        (!self.is_anothers(&name.site.node)).then(|| largest.to_owned())
    }

    /// Begins a file with what there is of it.
    pub(crate) fn begin_copy_with(
        &mut self,
        name: Name<'_>,
        stat: &Stat,
        (basis, have): (&Basis, &Have),
    ) -> Result<Making, Failure> {
        let file = self.open_basis(name, basis)?;
        let making = self.begin_copy_aside(name, stat)?;
        self.copy_beginning(&file, &making, have).inspect_err(|_| making.undo())?;
        // What there was has stayed until the new file has all of it.
        if let Basis::Beginning(called) = basis
            && is_part(called.to_bytes())
        {
            making.remove_beside(called);
        }
        Ok(making)
    }

    /// Opens the file that a digest was sent of.
    fn open_basis(&mut self, name: Name<'_>, basis: &Basis) -> Result<File, Failure> {
        let (side, called) = match basis {
            Basis::Nothing => return Err(Some(Reason::Changed)),
            Basis::There(_) => (Side::Destination, name.name),
            Basis::Base => (Side::Base, name.name),
            Basis::Beginning(called) => (Side::Destination, called.as_c_str()),
            Basis::Elsewhere(elsewhere) => {
                return self.find_again(elsewhere).ok_or(Some(Reason::Changed));
            }
        };
        let dir = self.open(side, &name.site.node).map_err(destination(Op::Open))?;
        dir.open_regular(called).map_err(destination(Op::Open))
    }

    /// Fills a new file with the first bytes of another one, and makes sure that they are those.
    pub(crate) fn copy_beginning(
        &mut self,
        file: &File,
        making: &Making,
        have: &Have,
    ) -> Result<(), Failure> {
        let failed = || destination(Op::Write);
        if !making.new.clone_from(file).map_err(failed())? {
            self.copy_stretches(file, making, have)?;
        }
        making.new.set_size(have.length).map_err(failed())?;
        let copy = making.new.reader().map_err(destination(Op::Open))?;
        if self.digest(&copy, have.length)? == have.digest {
            Ok(())
        } else {
            Err(Some(Reason::Changed))
        }
    }

    fn copy_stretches(&mut self, file: &File, making: &Making, have: &Have) -> Result<(), Failure> {
        let failed = || {
            |e: std::io::Error| match e.kind() {
                // Who asked to stop need not be told.
                ErrorKind::Interrupted => None,
                _ => destination(Op::Write)(e),
            }
        };
        let stat = file.stat().map_err(destination(Op::Stat))?;
        let mut at = 0;
        while let Some((from, to)) = next_stretch(file, &stat, at).map_err(failed())? {
            let to = to.min(have.length);
            self.copy_stretch((file, &making.new), (from, to), How::Within).map_err(failed())?;
            at = to.max(from);
            if at >= have.length {
                break;
            }
        }
        Ok(())
    }
}
