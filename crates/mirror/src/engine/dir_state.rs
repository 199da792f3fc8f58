//! One directory while its own names are dealt with, by one worker or several.

use std::collections::VecDeque;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::AcqRel, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fsops::{Kind, Stat};

use crate::engine::batch::Turn;
use crate::engine::batch::Window;
use crate::engine::dest_listing::Present;
use crate::engine::dest_listing::There;
use crate::model::dir_node::Node;

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
    /// What came of a directory of another host while a worker is at it.
    in_turn: Mutex<InTurn>,
}

/// Work in a directory that one worker does after the other: two would wait for each other in the kernel, which
/// changes a directory for one at a time.
#[derive(Debug, Default)]
struct InTurn {
    is_busy: bool,
    rest: VecDeque<NameWork>,
}

/// Names of a directory that one worker deals with after the other.
#[derive(Clone, Debug)]
pub(crate) enum NameWork {
    /// Names that were listed.
    Batch(Arc<Shared>),
    /// Names whose file is at the destination now, or failed to get there; all of one directory or none.
    Waiters(Arc<[Waiter]>),
}

impl NameWork {
    /// Returns the directory that the first name is in.
    pub(crate) fn site(&self) -> Option<&Arc<Site>> {
        match self {
            NameWork::Batch(shared) => Some(&shared.site),
            NameWork::Waiters(waiters) => waiters.first().map(|first| &first.shared.site),
        }
    }
}

/// A directory in a directory.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) inode: u64,
    pub(crate) name: CString,
    pub(crate) there: Option<There>,
}

/// A name that has to wait: for a file that somebody else is copying, or for its content.
#[derive(Clone, Debug)]
pub(crate) struct Waiter {
    pub(crate) shared: Arc<Shared>,
    pub(crate) index: usize,
}

impl Waiter {
    /// Returns the number of the listing that the sender has it in, and its place there.
    pub(crate) fn place(&self) -> (u64, u32) {
        (self.shared.window.number, self.shared.window.place(self.index))
    }
}

/// Names of a site for whoever has time.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) site: Arc<Site>,
    pub(crate) window: Window,
    /// Somebody was asked to help who has not begun yet.
    is_help_due: AtomicBool,
}

impl Shared {
    pub(crate) fn new(site: &Arc<Site>, window: Window) -> Arc<Shared> {
        let (site, is_help_due) = (Arc::clone(site), AtomicBool::new(false));
        Arc::new(Shared { site, window, is_help_due })
    }

    /// Returns whether to ask somebody to help, who then has to be asked; the site is not done before that.
    pub(crate) fn asks_for_help(&self) -> bool {
        let asks = self.window.is_more() && !self.is_help_due.swap(true, Relaxed);
        if asks {
            self.site.hold();
        }
        asks
    }

    /// Notes that somebody has begun to help.
    pub(crate) fn is_helped(&self) {
        self.is_help_due.store(false, Relaxed);
    }
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
    /// The kernel makes up what is in files of the source while they are read.
    pub(crate) is_made_up: bool,
    /// Files of the source and the destination can share extents.
    pub(crate) clones: bool,
    /// New files get an ACL from the directory.
    pub(crate) hands_down_acl: bool,
}

impl Default for Manner {
    fn default() -> Manner {
        Manner {
            direct: false,
            device: 0,
            tells_inodes: false,
            there_tells_inodes: true,
            most_links: u32::MAX,
            is_made_up: false,
            clones: false,
            hands_down_acl: false,
        }
    }
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
            in_turn: Mutex::default(),
        })
    }

    /// Has names of it be dealt with in the order that is best with what is there.
    pub(crate) fn put_in_order(&self, window: &mut Window) {
        if !self.present.is_empty() {
            window.begin_with(|name| match self.present.peek(name) {
                Some(there) if there.kind == Kind::Dir => Turn::Last,
                Some(_) => Turn::First,
                None => Turn::Next,
            });
        }
    }

    /// Does some work, and what comes meanwhile; leaves it to another worker if one is at it.
    pub(crate) fn in_turn(&self, first: &NameWork, mut work: impl FnMut(&NameWork)) {
        let in_turn = || self.in_turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut turn = in_turn();
        if turn.is_busy {
            return turn.rest.push_back(first.clone());
        }
        turn.is_busy = true;
        drop(turn);
        work(first);
        loop {
            let mut turn = in_turn();
            let Some(next) = turn.rest.pop_front() else {
                turn.is_busy = false;
                return;
            };
            drop(turn);
            work(&next);
        }
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

#[cfg(test)]
mod tests {
    use super::{Manner, Shared, Site};
    use crate::engine::batch::Window;
    use crate::engine::dest_listing::Present;
    use crate::model::dir_node::Node;

    #[test]
    fn one_at_a_time_is_asked_to_help_as_long_as_there_are_names() {
        let site = Site::new(Node::top(), Present::default(), Manner::default());
        let mut window = Window::default();
        for name in [c"a", c"b"] {
            window.add_dir(name, 1);
        }
        let shared = Shared::new(&site, window);
        assert!(shared.asks_for_help());
        assert!(!shared.asks_for_help());
        shared.is_helped();
        // Who was asked, and who began: neither is the last.
        assert!(!site.release());
        while shared.window.take().is_some() {}
        assert!(!shared.asks_for_help());
        assert!(site.release());
    }
}
