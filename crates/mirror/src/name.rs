//! What becomes of one name: it stays, is linked, is adjusted, or is made anew.

use std::ffi::CStr;
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use fsops::{Kind, Op, Stat};

use crate::held::Side;
use crate::links::{Known, born, leader};
use crate::node::{IMAGINED, TOUCHED};
use crate::outcome::{Change, Differs, Reason, What};
use crate::present::There;
use crate::site::{Site, Waiter};
use crate::table::Key;
use crate::window::Listed;
use crate::worker::{Worker, joined};

/// A name that is dealt with.
#[derive(Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "it is the name's name")]
pub(crate) struct Name<'s> {
    pub(crate) site: &'s Arc<Site>,
    pub(crate) name: &'s CStr,
    /// What the destination has of that name.
    pub(crate) there: Option<There>,
}

/// A failure that was not noted yet; nothing if there is nothing to note.
pub(crate) type Failure = Option<Reason>;

impl Worker<'_> {
    /// Deals with a name that was listed.
    pub(crate) fn deal_with(&mut self, site: &Arc<Site>, listed: Listed<'_>) {
        let Listed { name, inode, is_dir } = listed;
        let there = site.present.find(name);
        if is_dir {
            self.outcome.names += 1;
            return site.add_child(name, inode, there);
        }
        let inode = site.manner.tells_inodes.then_some(inode);
        self.put(Name { site, name, there }, inode);
    }

    /// Deals with names that waited for others.
    pub(crate) fn deal_with_later(&mut self) {
        while let Some(waiter) = self.later.pop() {
            let Waiter { site, name, there } = waiter;
            self.put(Name { site: &site, name: &name, there }, None);
            self.leave(&site);
        }
    }

    /// Has the destination get a name that is no directory; `inode` is the number that the listing gave.
    pub(crate) fn put(&mut self, name: Name<'_>, inode: Option<u64>) {
        let key = |inode| Key { device: name.site.manner.device, inode };
        if let Some(key) = inode.map(key) {
            match self.job.links.look(key) {
                Known::Yes(leader) if self.sure == Some(key) => {
                    return self.link_or_copy(name, key, &leader, None);
                }
                Known::Busy => return self.wait(name, key),
                Known::Yes(_) | Known::No => {}
            }
        }
        let stat = match self.source_stat(name) {
            Ok(stat) => stat,
            Err(failure) => return self.done(name, failure),
        };
        if stat.kind == Kind::Dir {
            self.outcome.names += 1;
            return name.site.add_child(name.name, stat.inode, name.there);
        }
        if stat.links < 2 {
            let settled = self.settle(name, &stat);
            return self.done(name, settled.err().flatten());
        }
        self.put_linked(name, key(stat.inode), &stat);
    }

    /// Has the destination get a name of a file that has several.
    fn put_linked(&mut self, name: Name<'_>, key: Key, stat: &Stat) {
        match self.job.links.begin(key) {
            Known::Yes(leader) if leader.born == born(stat) => {
                self.sure = Some(key);
                return self.link_or_copy(name, key, &leader, Some(stat));
            }
            // The number is another file's now.
            Known::Yes(_) => {
                self.job.links.forget(key);
                return self.put_linked(name, key, stat);
            }
            Known::Busy => return self.wait(name, key),
            Known::No => {}
        }
        self.sure = Some(key);
        let waiters = match self.settle(name, stat) {
            Ok(inode) => {
                let leader = leader(&name.site.node, name.name, inode, stat);
                if stat.links > name.site.manner.most_links {
                    self.job.links.expect_split(key);
                }
                let waiters = self.job.links.ready(key, &leader, stat.links - 1);
                self.done(name, None);
                waiters
            }
            Err(failure) => {
                self.done(name, failure);
                self.job.links.give_up(key)
            }
        };
        self.later.extend(waiters);
    }

    fn wait(&mut self, name: Name<'_>, key: Key) {
        let Name { site, there, .. } = name;
        site.hold();
        let waiter = Waiter { site: Arc::clone(site), name: name.name.to_owned(), there };
        self.later.extend(self.job.links.wait(key, waiter));
    }

    /// Returns the metadata of a name in the source.
    pub(crate) fn source_stat(&mut self, name: Name<'_>) -> Result<Stat, Failure> {
        let dir = self.open(Side::Source, &name.site.node);
        let stat = dir.and_then(|dir| dir.stat_child(name.name));
        stat.map_err(|e| self.source_failure(Op::Stat, e))
    }

    /// Returns how a call on the source failed; what is gone is no failure.
    pub(crate) fn source_failure(&mut self, op: Op, source: std::io::Error) -> Failure {
        if source.kind() == ErrorKind::NotFound {
            self.outcome.vanished += 1;
            return None;
        }
        Some(Reason::Source { op, source })
    }

    /// Counts a name that was dealt with.
    pub(crate) fn done(&mut self, name: Name<'_>, failure: Failure) {
        self.outcome.names += 1;
        if let Some(reason) = failure {
            self.fail(&name.site.node, name.name.to_bytes(), reason);
        }
    }

    /// Has the destination get what has these metadata under this name; returns its inode there, or 0 if
    /// nobody needs to know.
    pub(crate) fn settle(&mut self, name: Name<'_>, stat: &Stat) -> Result<u64, Failure> {
        let settled = match name.there {
            None => self.make(name, stat, None),
            Some(there) if there.kind == Kind::Dir => Err(self.obstructed(name)),
            Some(_) => self.renew(name, stat),
        };
        if stat.kind == Kind::File {
            self.job.watch.bytes_done.fetch_add(stat.size, Relaxed);
        }
        settled
    }

    /// Notes that there is a directory in the way of something that is none.
    pub(crate) fn obstructed(&mut self, name: Name<'_>) -> Failure {
        if !self.job.options.delete {
            return Some(Reason::Obstructed);
        }
        self.job.surplus().obstruct(&name.site.node, name.name);
        None
    }

    /// Compares what is there with the source, and makes it alike.
    fn renew(&mut self, name: Name<'_>, stat: &Stat) -> Result<u64, Failure> {
        let failed = |source| Some(Reason::Destination { op: Op::Stat, source });
        let dir = self.open(Side::Destination, &name.site.node).map_err(failed)?;
        let now = match dir.stat_child(name.name) {
            Ok(now) => now,
            Err(e) if e.kind() == ErrorKind::NotFound => return self.make(name, stat, None),
            Err(e) => return Err(failed(e)),
        };
        if now.kind == Kind::Dir {
            return Err(self.obstructed(name));
        }
        let mut differs = self.compare(name, stat, &now)?;
        // Its other names may be those of another file, or outside.
        let shared = now.links > 1;
        differs.links = shared && !self.job.claimed.claim(now.key());
        let anew = differs.kind || differs.content || differs.links || shared && differs.at_all();
        if anew || differs.time && stat.kind == Kind::File {
            return self.make(name, stat, Some(differs));
        }
        if differs.at_all() {
            self.adjust(name, stat, &now, differs)?;
        }
        Ok(now.inode)
    }

    /// Tells of a change, and notes that the directory is not what it was if a name was changed.
    pub(crate) fn changed(&mut self, name: Name<'_>, what: What, differs: Differs) {
        if what != What::Adjusted {
            name.site.node.set(TOUCHED);
        }
        self.job.tell(|| Change {
            what,
            path: joined(&name.site.node, name.name.to_bytes()),
            to: None,
            differs,
        });
    }

    /// Returns whether nothing is to be changed in this directory, which may not even be there.
    pub(crate) fn imagines(&self, site: &Site) -> bool {
        self.job.options.dry_run || site.node.is(IMAGINED)
    }
}
