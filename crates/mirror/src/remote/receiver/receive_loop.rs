//! Hears what a sender on another host says, and writes what comes of large files.
//!
//! One thread does that. It is a worker like the others, but takes no work from the line: it puts work there.

use std::collections::HashMap;
use std::ffi::CString;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use device::WaitMeter;
use fsops::{Kind, Op, Stat, Xattr};
use wire::{Broken, Enter, Facts, FromSender, Have, Incoming, Item, Meta, Names, decode};

use crate::engine::batch::Record;
use crate::engine::batch::Window;
use crate::engine::task::Arrived;
use crate::engine::task::SmallFile;
use crate::engine::worker::Worker;
use crate::model::attributes::Attributes;
use crate::model::content::Hint;
use crate::model::reason::Reason;
use crate::model::settled::Failure;
use crate::model::settled::destination;
use crate::outcome::Outcome;
use crate::reconcile::copy::Making;
use crate::remote::receiver::connection::Credit;
use crate::remote::receiver::connection::Room;
use crate::remote::receiver::pending::Asked;
use crate::remote::receiver::pending::Basis;
use crate::remote::receiver::pending::reason_of;
use crate::remote::receiver::pending::stat_of;
use crate::remote::receiver::session::Entered;
use crate::remote::receiver::session::Far;
use crate::remote::receiver::session::Said;
use crate::reuse::resume::ENOUGH;

/// Bytes that a directory takes besides what was said of it.
const ROOM_OF_EACH: usize = 512;

/// What is put in line at once at most: to do that for each by itself wakes workers too often.
const AT_ONCE: usize = 64;

/// A file that comes in pieces.
#[derive(Debug)]
struct Coming {
    asked: Asked,
    stat: Stat,
    /// What is made of it; nothing if that failed, or nothing is.
    making: Option<Making>,
    failure: Option<Failure>,
    /// It is like the one that there is.
    is_alike: bool,
    /// Bytes that have come.
    came: u64,
}

type AllComing = HashMap<u64, Coming>;

impl Worker<'_> {
    /// Hears what is said until nothing more is; returns why, if that is too soon.
    pub(crate) fn hear(
        mut self,
        far: &Arc<Far>,
        incoming: &mut Incoming<File>,
        meter: &mut WaitMeter<'_>,
    ) -> (Outcome, Result<(), Broken>) {
        let _guard = self.job.queue.close_on_panic();
        let mut coming = AllComing::new();
        let progress = self.job.progress;
        let ended = self.hear_all(far, incoming, &mut coming).map_err(|why| match why {
            Broken::Stopped if !progress.poll_stop() => {
                far.connection.why().unwrap_or(Broken::Lost)
            }
            why => why,
        });
        self.pass_on();
        for making in coming.into_values().filter_map(|coming| coming.making) {
            // The next run goes on with what is worth it.
            if !making.new.stat().is_ok_and(|now| now.size >= ENOUGH) {
                making.undo();
            }
        }
        if ended.is_err() {
            far.connection.set_broken();
            self.job.queue.close();
        }
        // Whoever is at work still is not the last one now.
        self.held.clear();
        while let Some(task) = self.next() {
            self.work(task, meter);
        }
        (self.outcome, ended)
    }

    fn hear_all(
        &mut self,
        far: &Arc<Far>,
        incoming: &mut Incoming<File>,
        coming: &mut AllComing,
    ) -> Result<(), Broken> {
        let job = self.job;
        let mut windows = 0;
        loop {
            if !incoming.has_more() || self.arrived.len() >= AT_ONCE {
                self.pass_on();
                far.connection.flush();
            }
            // Who need not wait for what comes does not look up meanwhile.
            if job.progress.poll_stop() {
                return Err(Broken::Stopped);
            }
            let message =
                incoming.next(&|| job.progress.poll_stop() || far.connection.is_broken())?;
            let length = message.len();
            let (said, bytes) = decode::<FromSender<'_>>(message)?;
            match said {
                FromSender::Bye { matched } if far.connection.is_done() => {
                    job.options.note_matched(matched);
                    return Ok(());
                }
                FromSender::Bye { .. } | FromSender::Consent { .. } => {
                    return Err(Broken::Nonsense("an end before everything was said"));
                }
                FromSender::Enter(Enter { dir, facts, is_entered: is_listed }) => {
                    let (stat, attributes) = (stat_of(&facts.meta), owned(&facts));
                    let room = self.make_room(far, length + ROOM_OF_EACH)?;
                    let entered = Box::new(Entered { stat, attributes, is_listed, room });
                    self.tell_of_dir(far, dir, Said::Entered(entered))?;
                }
                FromSender::Closed { dir, loss } => {
                    let room = self.make_room(far, ROOM_OF_EACH)?;
                    self.tell_of_dir(far, dir, Said::Closed(loss, room))?;
                }
                FromSender::Names(names) => {
                    if names.window != windows {
                        return Err(Broken::Nonsense("a listing out of turn"));
                    }
                    windows += 1;
                    let all = names.records.iter().map(|record| record.names.len()).sum();
                    let credit =
                        far.connection.credit(names.window, wire::credit_of(length, all))?;
                    let window = window_of(&names, credit, job.options.memory.is_some())?;
                    self.tell_of_dir(far, names.dir, Said::Names(window))?;
                }
                FromSender::Failed { dir, name, loss } => {
                    let room = self.make_room(far, length + ROOM_OF_EACH)?;
                    self.tell_of_dir(far, dir, Said::Failed(name.to_vec(), loss, room))?;
                }
                FromSender::Leave { dir, whole } => {
                    self.tell_of_dir(far, dir, Said::Left { whole })?;
                }
                FromSender::File { request, meta, stable, digest } => {
                    let asked = far.answered(request)?;
                    let room = self.make_room(far, bytes.len())?;
                    let (stat, bytes) = (asked.opened(&meta), bytes.into());
                    let is_stable = stable;
                    let file = SmallFile { asked, stat, is_stable, digest, bytes, _room: room };
                    self.line_up(far, Arrived::File(Box::new(file)));
                }
                FromSender::Begin { request, meta, from } => {
                    let begun = self.begin_coming(far.answered(request)?, &meta, from)?;
                    coming.insert(request, begun);
                }
                FromSender::Piece { request, at } => {
                    let coming = of(coming, request)?;
                    write_piece(coming, at, bytes)?;
                    coming.came = coming.came.saturating_add(bytes.len() as u64);
                    job.progress.bytes_done.fetch_add(bytes.len() as u64, Relaxed);
                }
                FromSender::Again { request, meta } => {
                    self.begin_again(of(coming, request)?, &meta);
                }
                FromSender::End { request, stable, digest } => {
                    let ended = coming.remove(&request).ok_or(UNASKED)?;
                    self.end_coming(ended, stable, digest);
                    self.leave_later(far);
                }
                FromSender::Lost { request, loss } => {
                    let failure = reason_of(loss);
                    self.outcome.vanished += u64::from(failure.is_none());
                    let lost = match coming.remove(&request) {
                        Some(lost) => lost,
                        None => Coming::nothing(far.answered(request)?),
                    };
                    self.give_up_coming(&lost, failure);
                    self.leave_later(far);
                }
            }
            self.count();
        }
    }

    /// Waits until there is room for more that is to be dealt with.
    fn make_room(&mut self, far: &Arc<Far>, bytes: usize) -> Result<Room, Broken> {
        if !far.connection.has_room() {
            // Those that are to make room may wait for this.
            self.pass_on();
            far.connection.flush();
        }
        let (progress, queue) = (self.job.progress, &self.job.queue);
        far.connection.make_room(bytes, &|| progress.poll_stop(), &|| queue.others_wait())
    }

    fn tell_of_dir(&mut self, far: &Far, dir: u64, said: Said) -> Result<(), Broken> {
        let next = far.heard(dir, said)?;
        self.go_on(far, dir, next);
        Ok(())
    }

    /// Begins a file that comes in pieces, from `from` on.
    fn begin_coming(&mut self, asked: Asked, meta: &Meta, from: u64) -> Result<Coming, Broken> {
        let stat = asked.opened(meta);
        let mut coming = Coming { stat, ..Coming::nothing(asked) };
        let have = coming.asked.have.filter(|have| have.length == from);
        if from > 0 && have.is_none() {
            return Err(Broken::Nonsense("a part of a file that nobody asked for"));
        }
        let is_whole = from > 0 && from == stat.size && stat.kind == Kind::File;
        if is_whole && coming.asked.basis.is_whole() {
            coming.is_alike = true;
        } else {
            self.begin_making(&mut coming, have.filter(|_| from > 0));
        }
        Ok(coming)
    }

    /// Makes the file that the bytes go to, with those of them that there are already.
    fn begin_making(&mut self, coming: &mut Coming, have: Option<Have>) {
        let Coming { asked, stat, .. } = &*coming;
        let name = asked.name();
        if self.imagines(name.site) {
            return;
        }
        let instead = asked.instead.is_some();
        let making = match have {
            _ if stat.kind != Kind::File => Err(Some(Reason::Changed)),
            Some(have) => self.begin_copy_with(name, stat, (&asked.basis, &have)),
            None => self.begin_copy(name, stat, instead),
        };
        match making {
            Ok(making) => coming.making = Some(making),
            Err(failure) => coming.failure = Some(failure),
        }
    }

    /// Begins once more with a file that has changed meanwhile.
    fn begin_again(&mut self, coming: &mut Coming, meta: &Meta) {
        coming.stat = coming.asked.opened(meta);
        if std::mem::take(&mut coming.is_alike) {
            return self.begin_making(coming, None);
        }
        if let Some(making) = &coming.making
            && let Err(e) = making.new.set_size(0)
        {
            coming.fail(destination(Op::Write)(e));
        }
    }

    fn end_coming(&mut self, mut coming: Coming, is_stable: bool, digest: Option<[u8; 32]>) {
        self.ahead = coming.came;
        if coming.is_alike && matches!(coming.asked.basis, Basis::Elsewhere(_)) {
            return self.leave_reuse(coming.asked, coming.stat, is_stable);
        }
        if coming.is_alike {
            return self.conclude_alike(&coming.asked);
        }
        let stat = coming.stat;
        let settled = match (coming.failure.take(), &mut coming.making) {
            (None, Some(making)) => {
                let sized = making.new.set_size(stat.size).map_err(destination(Op::Write));
                let filled = (stat, is_stable, digest);
                sized.and_then(|()| self.end_far(coming.asked.name(), making, filled))
            }
            (None, None) => Ok(0),
            (Some(failure), _) => Err(failure),
        };
        if let (Err(_), Some(making)) = (&settled, &coming.making) {
            making.undo();
        }
        self.conclude_far(&coming.asked, &stat, settled);
    }

    fn give_up_coming(&mut self, coming: &Coming, failure: Failure) {
        self.ahead = coming.came;
        if let Some(making) = &coming.making {
            making.undo();
        }
        self.conclude_far(&coming.asked, &coming.stat, Err(failure));
    }
}

impl Coming {
    fn nothing(asked: Asked) -> Coming {
        Coming {
            stat: asked.listed(),
            asked,
            making: None,
            failure: None,
            is_alike: false,
            came: 0,
        }
    }

    fn fail(&mut self, failure: Failure) {
        if let Some(making) = self.making.take() {
            making.undo();
        }
        self.failure = Some(failure);
    }
}

const UNASKED: Broken = Broken::Nonsense("bytes that nobody asked for");

fn of(coming: &mut AllComing, request: u64) -> Result<&mut Coming, Broken> {
    coming.get_mut(&request).ok_or(UNASKED)
}

fn write_piece(coming: &mut Coming, at: u64, bytes: &[u8]) -> Result<(), Broken> {
    let end = at.checked_add(bytes.len() as u64);
    if coming.is_alike || end.is_none_or(|end| end > coming.stat.size) {
        return Err(Broken::Nonsense("bytes beyond the end of a file"));
    }
    if let Some(making) = &coming.making
        && let Err(e) = making.new.write_at(bytes, at)
    {
        coming.fail(destination(Op::Write)(e));
    }
    Ok(())
}

fn owned(facts: &Facts<'_>) -> Attributes {
    let xattrs = facts.xattrs.iter();
    let mut owned: Vec<Xattr> =
        xattrs.map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
    // As the ones that they are compared with.
    owned.sort_unstable();
    Attributes::new(owned, facts.partial)
}

fn hint_of(content: &wire::Content<'_>) -> Hint {
    Hint { digest: content.digest, also: content.also.to_vec() }
}

/// Returns a listing, if all names in it are such that they name something in the directory.
fn window_of(names: &Names<'_>, credit: Credit, reuses: bool) -> Result<Window, Broken> {
    // Exactly, as up to a mebibyte of them waits.
    let all = || names.records.iter().flat_map(|record| &record.names);
    let bytes = all().map(|name| name.len() + 1).sum();
    let sizes = (names.records.len(), all().count(), bytes);
    let mut window = Window::of_far((names.window, credit), sizes);
    for record in &names.records {
        let mut all = Vec::with_capacity(record.names.len());
        for name in &record.names {
            let is_name = wire::is_name(name) && !crate::model::temp_name::is_part(name);
            let name = CString::new(*name).ok().filter(|_| is_name);
            all.push(name.ok_or(Broken::Nonsense("a name that leads elsewhere"))?);
        }
        match &record.item {
            Item::Dir(number) => {
                for name in &all {
                    window.add_dir(name, *number);
                }
            }
            Item::Other(facts, target) => {
                let stat = stat_of(&facts.meta);
                if matches!(stat.kind, Kind::Dir | Kind::Unknown) {
                    return Err(Broken::Nonsense("something of a kind that there is not"));
                }
                let (attributes, target) = (owned(facts), target.to_vec());
                let hint = record.content.as_ref().filter(|_| reuses);
                let hint = hint.map(|content| Box::new(hint_of(content)));
                let record = Record { stat, attributes, target, hint };
                window.add_record(record, all.iter().map(CString::as_c_str));
            }
        }
    }
    Ok(window)
}
