//! One directory while its own names are dealt with, by one worker or several.

use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::AcqRel, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fsops::Stat;

use crate::node::Node;
use crate::present::{Present, There};
use crate::window::Window;

/// A directory whose names are being dealt with.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) node: Arc<Node>,
    /// What the destination has in it.
    pub(crate) present: Present,
    pub(crate) manner: Manner,
    /// The owner and group that new files have by themselves, once that is known.
    pub(crate) new_owner: OnceLock<(u32, u32)>,
    /// All of the source's names were listed.
    pub(crate) whole: AtomicBool,
    /// Directories in it.
    children: Mutex<Vec<Child>>,
    /// Who has names of it to deal with.
    open: AtomicU32,
}

/// A directory in a directory.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) inode: u64,
    pub(crate) name: CString,
    pub(crate) there: Option<There>,
}

/// A name of a file that somebody else is copying.
#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) site: Arc<Site>,
    pub(crate) name: CString,
    pub(crate) there: Option<There>,
}

/// Names of a site for whoever has time.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) site: Arc<Site>,
    pub(crate) window: Window,
}

/// What the two directories of a site are like.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is true of a directory or not")]
pub(crate) struct Manner {
    /// New files get their names at once: the directory itself is not ready.
    pub(crate) direct: bool,
    /// The number of the source's device.
    pub(crate) device: u16,
    /// The listing of the source tells inode numbers that can be relied on.
    pub(crate) tells_inodes: bool,
    /// That of the destination does.
    pub(crate) there_tells_inodes: bool,
    /// How many names a file of the destination can have, if few.
    pub(crate) most_links: u32,
    /// Files of the source and the destination can share extents.
    pub(crate) clones: bool,
    /// New files get an ACL from the directory.
    pub(crate) hands_down_acl: bool,
}

impl Site {
    /// Returns a site that its one owner has to release.
    pub(crate) fn new(node: Arc<Node>, present: Present, manner: Manner) -> Arc<Site> {
        Arc::new(Site {
            node,
            present,
            manner,
            new_owner: OnceLock::new(),
            whole: AtomicBool::new(false),
            children: Mutex::default(),
            open: AtomicU32::new(1),
        })
    }

    /// Notes one thing more to be done before all names are dealt with.
    pub(crate) fn hold(&self) {
        self.open.fetch_add(1, Relaxed);
    }

    /// Notes that one thing is done; returns whether it was the last.
    pub(crate) fn release(&self) -> bool {
        self.open.fetch_sub(1, AcqRel) == 1
    }

    pub(crate) fn add_child(&self, name: &CStr, inode: u64, there: Option<There>) {
        let child = Child { inode, name: name.to_owned(), there };
        self.children.lock().unwrap_or_else(PoisonError::into_inner).push(child);
    }

    pub(crate) fn take_children(&self) -> Vec<Child> {
        std::mem::take(&mut self.children.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes the owner of a file that was made there.
    pub(crate) fn learn_owner(&self, stat: &Stat) -> (u32, u32) {
        *self.new_owner.get_or_init(|| (stat.uid, stat.gid))
    }
}
