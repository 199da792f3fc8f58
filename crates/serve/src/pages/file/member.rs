//! Finds a file of a group and opens it.
//!
//! The path comes from the catalog. No component of it may be a link, the file must be a regular file,
//! and the open file must have the inode, size and modification time of the scan. Otherwise the server
//! could show a file that the scan never saw.

use std::io;
use std::sync::Arc;

use fsops::{File, Stat};
use httpd::entity_tag::EntityTag;
use review::Condition;
use walk::{PathOpener, split_path};

use super::address::Address;
use super::types::{self, Type};
use crate::app::App;
use crate::error::PageError;
use crate::open_problem::OpenProblem;

/// A file as the catalog remembers it.
#[derive(Debug)]
pub(super) struct Member {
    path: Vec<u8>,
    device: u64,
    inode: u64,
    size: u64,
    mtime_ns: i64,
    /// Whether its disk was not mounted when the groups were loaded. It may have been mounted since.
    is_offline: bool,
}

impl Member {
    /// Returns the error that tells the user why the file cannot be opened.
    fn explain(&self, error: &io::Error) -> PageError {
        if self.is_offline && error.kind() == io::ErrorKind::NotFound {
            return PageError::not_found("The disk of this file is not mounted");
        }
        explain(error)
    }
}

/// A file that is open and is the one that the catalog remembers.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) path: Vec<u8>,
    pub(super) file: File,
    pub(super) stat: Stat,
    /// The type, as far as the first bytes tell.
    pub(super) kind: Type,
}

impl Opened {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// Fails if the file is gone or cannot be opened, or if it has changed since the scan.
    fn open(member: Member) -> Result<Opened, PageError> {
        let file = open_regular(&member.path).map_err(|error| member.explain(&error))?;
        let stat = file.stat().map_err(|error| explain(&error))?;
        let is_same = (stat.inode, stat.size, stat.mtime_ns())
            == (member.inode, member.size, member.mtime_ns);
        if !is_same {
            return Err(changed());
        }
        let mut opened = Opened { path: member.path, file, stat, kind: Type::Other };
        opened.kind = Type::of(&opened.start(types::READ_BYTES)?);
        Ok(opened)
    }

    /// Returns the name without the path.
    pub(super) fn name(&self) -> &[u8] {
        split_path(&self.path).1
    }

    /// Returns the first bytes, at most `length`.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub(super) fn start(&self, length: usize) -> Result<Vec<u8>, PageError> {
        let length = usize::try_from(self.stat.size).unwrap_or(usize::MAX).min(length);
        let mut start = vec![0; length];
        let read = self.file.read_at(&mut start, 0).map_err(|error| explain(&error))?;
        start.truncate(read);
        Ok(start)
    }

    /// Returns the entity tag. It differs between versions of a file.
    pub(super) fn tag(&self) -> EntityTag {
        let Stat { device, inode, size, ctime_ns, .. } = self.stat;
        let mtime_ns = self.stat.mtime_ns();
        EntityTag::strong(format!("{device:x}-{inode:x}-{size:x}-{mtime_ns:x}-{ctime_ns:x}"))
    }
}

/// Calls `work` with the file that an address denotes, on a thread that may wait for the disk of the file.
///
/// # Errors
///
/// Fails if the address denotes no file, or another file since the catalog has changed, if the file is gone
/// or cannot be opened, if it has changed since the scan, if its disk does not answer, or if `work` fails.
pub(super) async fn with_file<T: Send + 'static>(
    app: &Arc<App>,
    address: Address,
    work: impl FnOnce(Opened) -> Result<T, PageError> + Send + 'static,
) -> Result<T, PageError> {
    let member = app.blocking(move |app| find(app, address)).await?;
    app.on_disk(member.device, move || work(Opened::open(member)?)).await
}

/// Finds a file in the order in which the pages list the files of a group.
fn find(app: &App, address: Address) -> Result<Member, PageError> {
    const ADVICE: &str = "The catalog has changed since the page was loaded. Reload the page.";
    let missing =
        || PageError::not_found("This group does not contain this file").with_advice(ADVICE);
    app.review(|loaded| {
        let index = loaded.review.index();
        let at = index.at(address.number).ok_or_else(missing)?;
        let member = index.member(at, address.ordinal).ok_or_else(missing)?;
        let group = index.group(at);
        if Address::of(&group, address.ordinal, &member) != address {
            return Err(PageError::conflict("This address is outdated", ADVICE));
        }
        let is_offline = member.condition == Condition::Offline;
        let review::Member { path, device, inode, mtime_ns, .. } = member;
        Ok(Member { path, device, inode, size: group.size, mtime_ns, is_offline })
    })
}

fn open_regular(path: &[u8]) -> io::Result<File> {
    let (dir, name) = PathOpener::new(1).parent_and_name(path)?;
    dir.open_regular(&name)
}

fn changed() -> PageError {
    PageError::conflict("This file has changed since the scan", "Scan again to see it.")
}

fn explain(error: &io::Error) -> PageError {
    match OpenProblem::of(error) {
        OpenProblem::Gone => PageError::not_found("This file is gone")
            .with_advice("It was moved or deleted since the scan."),
        OpenProblem::Forbidden => PageError::forbidden(
            "lop has no permission to read this file",
            "Start lop serve as a user who can read it.",
        ),
        OpenProblem::Replaced => changed(),
        OpenProblem::Other => PageError::failed(error),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::Member;

    #[test]
    fn a_missing_file_is_gone_only_if_its_disk_is_mounted() {
        let member = |is_offline| Member {
            path: Vec::new(),
            device: 1,
            inode: 1,
            size: 1,
            mtime_ns: 1,
            is_offline,
        };
        let missing = Error::from(ErrorKind::NotFound);
        assert_eq!(member(true).explain(&missing).text(), "The disk of this file is not mounted");
        assert_eq!(member(false).explain(&missing).text(), "This file is gone");
    }
}
