//! What a worker does with what comes from another host: directories, listings, small files.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use device::WaitMeter;
use fsops::{Kind, Op, Stat};
use wire::{Have, Loss};

use crate::engine::dir_cache::Side;
use crate::engine::dir_state::NameWork;
use crate::engine::dir_state::Shared;
use crate::engine::dir_state::Site;
use crate::engine::entry::Name;
use crate::engine::estimate::Below;
use crate::engine::task::Arrived;
use crate::engine::task::SmallFile;
use crate::engine::task::Task;
use crate::engine::worker::Worker;
use crate::hardlinks::groups::Leader;
use crate::model::change::Differs;
use crate::model::dir_node::Node;
use crate::model::reason::Reason;
use crate::model::settled::Failure;
use crate::model::settled::Settled;
use crate::model::settled::destination;
use crate::reconcile::copy::Filled;
use crate::reconcile::copy::Making;
use crate::reconcile::copy_bytes::Proof;
use crate::reconcile::directory::child_state;
use crate::remote::receiver::pending::Asked;
use crate::remote::receiver::pending::Basis;
use crate::remote::receiver::pending::reason_of;
use crate::remote::receiver::session::Far;
use crate::remote::receiver::session::Lost;
use crate::remote::receiver::session::Next;
use crate::remote::receiver::session::Said;

/// Names that a worker takes at once of those that have waited.
const MANY: usize = 128;

impl Worker<'_> {
    /// Has something put in line, before this worker waits for anything.
    pub(crate) fn line_up(&mut self, far: &Far, what: Arrived) {
        self.arrived.push(Task::Arrived { turn: far.turn(), what: Arc::new(what) });
    }

    /// Puts it there.
    pub(crate) fn pass_on(&mut self) {
        self.job.queue.enqueue_sorted(&mut self.arrived);
    }

    /// Deals with something that came.
    pub(crate) fn deal_with_arrival(
        &mut self,
        far: &Far,
        what: &Arc<Arrived>,
        meter: &mut WaitMeter<'_>,
    ) {
        match &**what {
            Arrived::Dir(number, node) => self.enter_far(far, *number, node),
            Arrived::Names(work) => {
                if let Some(site) = work.site() {
                    site.in_turn(work, |work| self.deal_with_names(far, work, meter));
                }
            }
            Arrived::Left(site) => self.leave(site),
            Arrived::File(file) => {
                self.write_small(file);
            }
            Arrived::Like(like) => self.reuse_asked(&like.0, &like.1, like.2),
        }
        self.share_later(far);
        self.deal_with_later();
    }

    fn deal_with_names(&mut self, far: &Far, work: &NameWork, meter: &mut WaitMeter<'_>) {
        match work {
            NameWork::Batch(shared) => {
                self.take_part(shared, meter);
                self.leave(&shared.site);
            }
            NameWork::Waiters(waiters) => {
                for waiter in &**waiters {
                    self.deal_with_waiter(waiter);
                }
            }
        }
        self.share_later(far);
    }

    /// Leaves names that have waited to whoever is free, if they are many.
    fn share_later(&mut self, far: &Far) {
        while self.later.len() > MANY {
            let waiters = self.later.split_off(self.later.len() - MANY);
            self.line_up(far, Arrived::Names(NameWork::Waiters(waiters.into())));
        }
    }

    /// Leaves all of them to whoever is free.
    pub(crate) fn leave_later(&mut self, far: &Far) {
        self.share_later(far);
        if !self.later.is_empty() {
            let waiters = std::mem::take(&mut self.later);
            self.line_up(far, Arrived::Names(NameWork::Waiters(waiters.into())));
        }
    }

    /// Does what there is to be done with something that was said.
    pub(crate) fn go_on(&mut self, far: &Far, number: u64, next: Next) {
        match next {
            Next::Nothing => {}
            Next::Begin(node) => self.line_up(far, Arrived::Dir(number, node)),
            Next::Do(site, said) => self.apply(far, site, said),
            Next::Forget(said, why) => self.miss_far(far, said, &why),
            Next::Close(node, loss) => {
                self.outcome.unread += u64::from(reason_of(loss).is_some());
                self.note_loss(&node, b"", loss);
                self.abandon(&node);
            }
        }
    }

    fn apply(&mut self, far: &Far, site: Arc<Site>, said: Said) {
        match said {
            Said::Names(mut window) => {
                site.put_in_order(&mut window);
                site.hold();
                self.line_up(far, Arrived::Names(NameWork::Batch(Shared::new(&site, window))));
            }
            Said::Failed(name, loss, _room) => {
                let is_left_out = matches!(loss, Loss::LeftOut(_));
                self.outcome.names += u64::from(!name.is_empty() && !is_left_out);
                self.outcome.unread += u64::from(name.is_empty() && !is_left_out);
                self.note_loss(&site.node, &name, loss);
            }
            Said::Left { whole } => {
                site.whole.store(whole, Relaxed);
                self.line_up(far, Arrived::Left(site));
            }
            // It was entered, so neither is said any more.
            Said::Entered(_) | Said::Closed(..) => {}
        }
    }

    /// Notes that something of the source is not to be had.
    fn note_loss(&mut self, node: &Node, name: &[u8], loss: Loss) {
        match (reason_of(loss), loss) {
            (Some(reason), _) => self.fail(node, name, reason),
            (None, Loss::LeftOut(why)) => self.outcome.leave_out(why, || node.child_path(name)),
            (None, _) => self.outcome.vanished += 1,
        }
    }

    /// Notes that a directory was listed by this number.
    pub(crate) fn expect(&mut self, far: &Far, name: Name<'_>, number: u64) {
        let node = &name.site.node;
        let state = child_state(node, name.there);
        let next = far.listed(number, Node::child(node, name.name, state));
        self.go_on(far, number, next);
    }

    fn enter_far(&mut self, far: &Far, number: u64, node: &Arc<Node>) {
        let Some(entered) = far.facts(number) else { return };
        match self.begin_far(node, *entered) {
            Ok(site) => {
                for said in far.begun(number, &site) {
                    self.apply(far, Arc::clone(&site), said);
                }
            }
            Err(reason) => {
                self.fail(node, b"", reason);
                self.lose(far, number, &Lost::Failed(Arc::clone(node)));
                self.abandon(node);
            }
        }
    }

    /// Records that the directory with this number is not mirrored. Counts what is in it as missing if the directory
    /// failed.
    pub(crate) fn lose(&mut self, far: &Far, number: u64, why: &Lost) {
        for said in far.lost(number, why) {
            self.miss_far(far, said, why);
        }
    }

    /// Counts what arrived for a directory that is not mirrored, and gives up the directories below it as well.
    fn miss_far(&mut self, far: &Far, said: Said, why: &Lost) {
        let mut rest = VecDeque::from([said]);
        while let Some(said) = rest.pop_front() {
            if let (true, Lost::Failed(node)) = (said.is_last(), why) {
                self.release(node);
            }
            if matches!(why, Lost::Failed(_)) {
                self.miss_below(&Below::of(&said));
            }
            if let Said::Names(window) = said {
                for number in window.dirs() {
                    rest.extend(far.lost(number, why));
                }
            }
        }
    }

    /// Asks for the content of a file, unless the sender's begins with that of `have`.
    pub(crate) fn ask(
        &mut self,
        name: Name<'_>,
        instead: Option<Differs>,
        have: Option<Have>,
        basis: Basis,
    ) -> Result<Settled, Failure> {
        let Some(far) = &self.job.far else { return Err(Some(Reason::Changed)) };
        let waiter = name.waiter();
        let place = waiter.place();
        far.ask(Asked { waiter, instead, have, basis }, place);
        Ok(Settled::Asked)
    }

    /// Asks whether the sender's file is like this one of the destination, and for its content if not.
    pub(crate) fn ask_whether_like(
        &mut self,
        name: Name<'_>,
        dir: &fsops::Dir,
        length: u64,
        instead: Option<Differs>,
        basis: Basis,
    ) -> Result<Settled, Failure> {
        let file = dir.open_regular(name.name).map_err(destination(Op::Open))?;
        let digest = self.digest(&file, length)?;
        let only = self.imagines(name.site);
        self.ask(name, instead, Some(Have { length, digest, only }), basis)
    }

    /// Makes a file that nothing is in.
    pub(crate) fn make_empty(
        &mut self,
        name: Name<'_>,
        stat: &Stat,
        instead: bool,
    ) -> Result<u64, Failure> {
        let mut making = self.begin_copy(name, stat, instead)?;
        let digest = Some(blake3::hash(b"").into());
        let ended = self.end_far(name, &mut making, (*stat, true, digest));
        ended.inspect_err(|_| making.undo())
    }

    fn write_small(&mut self, file: &SmallFile) {
        let SmallFile { asked, stat, is_stable, digest, bytes, .. } = file;
        let name = asked.name();
        let settled = if self.stopped() {
            Err(None)
        } else if stat.kind != Kind::File || stat.size != bytes.len() as u64 {
            Err(Some(Reason::Changed))
        } else {
            let filled = (*stat, *is_stable, *digest);
            self.begin_copy(name, stat, asked.instead.is_some()).and_then(|mut making| {
                let written = making.new.write_at(bytes, 0).map_err(destination(Op::Write));
                let ended = written.and_then(|()| self.end_far(name, &mut making, filled));
                ended.inspect_err(|_| making.undo())
            })
        };
        self.conclude_far(asked, stat, settled);
    }

    /// Gives a file that came its metadata and its name.
    pub(crate) fn end_far(
        &mut self,
        name: Name<'_>,
        making: &mut Making,
        (stat, is_stable, digest): (Stat, bool, Option<[u8; 32]>),
    ) -> Result<u64, Failure> {
        let attributes = self.source_attributes(name)?;
        let proof = Proof::Digest(digest);
        self.end_copy(name, making, Filled { stat, is_stable, attributes, proof })
    }

    /// Ends what was begun when a file was asked for.
    pub(crate) fn conclude_far(
        &mut self,
        asked: &Asked,
        stat: &Stat,
        settled: Result<u64, Failure>,
    ) {
        let name = asked.name();
        if settled.is_ok() {
            self.note_made(name, stat, asked.instead);
        }
        self.conclude(name, &asked.listed(), settled.map(Settled::Is));
        self.leave(&asked.waiter.shared.site);
    }

    /// Ends it where the sender's file is like the one that there is.
    pub(crate) fn conclude_alike(&mut self, asked: &Asked) {
        let name = asked.name();
        let settled = match (&asked.basis, name.record) {
            (Basis::There(there), Some(record)) => {
                let (now, differs) = &**there;
                let adjusted = if differs.at_all() {
                    self.adjust(name, &record.stat, now, *differs)
                } else {
                    Ok(())
                };
                adjusted.map(|()| Settled::Is(now.inode))
            }
            (Basis::Base, Some(record)) => {
                match self.link_to_like(name, &record.stat, asked.instead) {
                    Ok(None) => self.ask_instead(asked),
                    linked => linked.map(|inode| Settled::Is(inode.unwrap_or(0))),
                }
            }
            _ => Err(Some(Reason::Changed)),
        };
        self.conclude(name, &asked.listed(), settled);
        self.leave(&asked.waiter.shared.site);
    }

    /// Asks for all of a file, as what is like it is of no use.
    pub(crate) fn ask_instead(&mut self, asked: &Asked) -> Result<Settled, Failure> {
        let name = asked.name();
        if self.imagines(name.site) {
            self.note_made(name, &asked.listed(), asked.instead);
            return Ok(Settled::Is(0));
        }
        self.ask(name, asked.instead, None, Basis::Nothing)
    }

    /// Makes another copy of a file that has too many names, of the one that is there.
    pub(crate) fn copy_leader(
        &mut self,
        name: Name<'_>,
        stat: &Stat,
        leader: &Leader,
    ) -> Result<u64, Failure> {
        if stat.kind != Kind::File {
            return match self.settle(name, stat)? {
                Settled::Is(inode) => Ok(inode),
                Settled::Asked => Err(Some(Reason::Changed)),
            };
        }
        let dir = self.open(Side::Destination, &leader.node).map_err(destination(Op::Open))?;
        let source = dir.open_regular(&leader.name).map_err(destination(Op::Open))?;
        let now = source.stat().map_err(destination(Op::Stat))?;
        let instead = name.there.map(|_| Differs { links: true, ..Differs::default() });
        let mut making = self.begin_copy(name, stat, instead.is_some())?;
        let filled = self.fill_from(name.site, &making.new, &source, &now);
        let ended = filled.and_then(|(_, is_stable)| {
            let digest = self.job.options.verify.then(|| self.digest(&source, stat.size));
            self.end_far(name, &mut making, (*stat, is_stable, digest.transpose()?))
        });
        let inode = ended.inspect_err(|_| making.undo())?;
        self.note_made(name, stat, instead);
        Ok(inode)
    }
}
