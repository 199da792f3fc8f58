//! Sends a tree to a receiver on another host: one thread lists it ([`crate::remote::sender::lister`]), some give the content of what
//! is asked for ([`crate::remote::sender::reader`]), one hears what that is.
//!
//! The receiver names nothing by a path: it can ask for what a listing has that it has not released, and for
//! nothing else.

pub(crate) mod listed_inode;
pub(crate) mod lister;
pub(crate) mod reader;

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fsops::{FileKey, Stat, Time};
use runtime::{Progress, Stage};
use wire::{Broken, FromReceiver, FromSender, Have, Incoming, Loss, Meta, Outgoing, decode};

use crate::model::dir_node::DirNode;
use crate::outcome::Removal;
use crate::remote::sender::lister::FileLister;
use crate::remote::sender::reader::FileReader;
use crate::roots::Source;
use crate::{Consent, Options};

/// How long to wait before looking again whether to stop.
const STOP_POLL: Duration = Duration::from_millis(100);

/// Requests that wait: more than there are files in the listings that a receiver may have.
const MAX_REQUESTS: usize = 1 << 16;

/// Threads that read files: while one waits for a disk or for the connection, another has something to do.
const READERS: usize = 2;

/// Who is told what the receiver says besides its requests.
pub(crate) type OnMessage<'a> = &'a dyn Fn(&FromReceiver<'_>);

/// The user of a push: the receiver reports to this side.
#[derive(Clone, Copy)]
pub(crate) struct ReportingUser<'a> {
    pub(crate) on_message: OnMessage<'a>,
    pub(crate) consent: Consent<'a>,
}

/// A tree that is sent.
pub(crate) struct SendJob<'a> {
    pub(crate) source: &'a Source,
    pub(crate) options: &'a Options,
    pub(crate) progress: &'a Progress,
    pub(crate) out: &'a Outgoing<File>,
    /// The destination, if it is on this host: it is not to be sent into itself.
    pub(crate) not_into: Option<FileKey>,
    /// Held by who reads a file of many pieces: one at a time, as a disk has it best.
    pub(crate) large_file_lock: Mutex<()>,
    listings: Mutex<SentListings>,
    credit_freed: Condvar,
    requests: Mutex<VecDeque<ContentRequest>>,
    request_arrived: Condvar,
    is_over: AtomicBool,
    /// Why a thread could not go on.
    broken: Mutex<Option<Broken>>,
}

/// Listings that the receiver has not released.
#[derive(Debug, Default)]
struct SentListings {
    sent: HashMap<u64, (Arc<SentListing>, usize)>,
    next: u64,
    /// What they take of [`wire::CREDIT`].
    taken: usize,
}

/// Names that were sent.
#[derive(Debug)]
pub(crate) struct SentListing {
    pub(crate) node: Arc<DirNode>,
    /// Where in `bytes` each name begins.
    pub(crate) items: Vec<u32>,
    /// The names, each with a NUL behind.
    pub(crate) bytes: Vec<u8>,
}

/// Something that the receiver wants the content of.
#[derive(Debug)]
pub(crate) struct ContentRequest {
    pub(crate) number: u64,
    pub(crate) listing: Arc<SentListing>,
    pub(crate) item: usize,
    pub(crate) have: Option<Have>,
}

/// Sends a tree to the receiver at the other end of a conversation, until that needs nothing more.
///
/// `progress.bytes_read` counts bytes of files that were sent.
///
/// # Errors
///
/// That the conversation ended before its time.
pub fn send(
    source: &Source,
    not_into: Option<FileKey>,
    options: &Options,
    progress: &Progress,
    incoming: &mut Incoming<File>,
    out: &Outgoing<File>,
) -> Result<(), Broken> {
    send_to(source, not_into, options, progress, incoming, out, None)
}

/// Sends a tree to a receiver that, if somebody hears it, reports what came of it, and may ask before it removes
/// anything.
pub(crate) fn send_to(
    source: &Source,
    not_into: Option<FileKey>,
    options: &Options,
    progress: &Progress,
    incoming: &mut Incoming<File>,
    out: &Outgoing<File>,
    user: Option<ReportingUser<'_>>,
) -> Result<(), Broken> {
    progress.enter(Stage::Mirror);
    let sending = SendJob {
        source,
        options,
        progress,
        out,
        not_into,
        large_file_lock: Mutex::default(),
        listings: Mutex::default(),
        credit_freed: Condvar::new(),
        requests: Mutex::default(),
        request_arrived: Condvar::new(),
        is_over: AtomicBool::new(false),
        broken: Mutex::default(),
    };
    let received = std::thread::scope(|scope| {
        let _walker = scope.spawn(|| sending.run(|| FileLister::new(&sending).run()));
        for _ in 0..READERS {
            scope.spawn(|| sending.run(|| FileReader::new(&sending).run()));
        }
        let received =
            sending.receive_requests(incoming, user.map_or(&|_| (), |user| user.on_message));
        sending.end();
        received
    });
    let why = sending.broken.into_inner().unwrap_or_else(PoisonError::into_inner);
    received.map_err(|received| match received {
        Broken::Stopped if !progress.poll_stop() => why.unwrap_or(Broken::Lost),
        received => received,
    })?;
    // Without a farewell the receiver removes nothing.
    if progress.poll_stop() {
        return Err(Broken::Stopped);
    }
    out.say(&FromSender::Bye { matched: options.matched() }, &[])?;
    out.flush()?;
    let Some(ReportingUser { on_message, consent }) = user else { return Ok(()) };
    loop {
        let message = incoming.next(&|| progress.poll_stop())?;
        let (said, _) = decode::<FromReceiver<'_>>(message)?;
        on_message(&said);
        match said {
            FromReceiver::Ask(removal) => {
                out.say(&FromSender::Consent { given: consent(&removal.into()) }, &[])?;
                out.flush()?;
            }
            FromReceiver::Finished(_) => return Ok(()),
            _ => {}
        }
    }
}

impl From<wire::Removal<'_>> for Removal {
    fn from(removal: wire::Removal<'_>) -> Removal {
        let wire::Removal { entries, names, some, source, unchanged } = removal;
        let some = some.into_iter().map(<[u8]>::to_vec).collect();
        Removal { entries, names, some, source, unchanged }
    }
}

impl SendJob<'_> {
    /// Does the work of a thread; if that fails, the others end too.
    fn run(&self, work: impl FnOnce() -> Result<(), Broken>) {
        runtime::own_descriptor_table();
        if let Err(why) = work() {
            let mut broken = self.broken.lock().unwrap_or_else(PoisonError::into_inner);
            if !matches!(why, Broken::Stopped) {
                broken.get_or_insert(why);
            }
            drop(broken);
            self.end();
        }
    }

    /// Hears requests until there are no more to come.
    fn receive_requests(
        &self,
        incoming: &mut Incoming<File>,
        on_message: OnMessage<'_>,
    ) -> Result<(), Broken> {
        loop {
            if !incoming.has_more() {
                self.request_arrived.notify_all();
            }
            let message = incoming.next(&|| self.is_over())?;
            let (said, _) = decode::<FromReceiver<'_>>(message)?;
            match said {
                FromReceiver::Done => return Ok(()),
                FromReceiver::Fetch { request, window, item, have } => {
                    self.enqueue_request(request, window, item, have)?;
                }
                FromReceiver::Release { window } => self.release(window)?,
                said => on_message(&said),
            }
        }
    }

    fn enqueue_request(
        &self,
        number: u64,
        window: u64,
        item: u32,
        have: Option<Have>,
    ) -> Result<(), Broken> {
        let listing = self.listings().sent.get(&window).map(|(listing, _)| Arc::clone(listing));
        let item = item as usize;
        let listing = listing.filter(|listing| item < listing.items.len());
        let listing = listing.ok_or(Broken::Nonsense("a request for what was not sent"))?;
        let mut requests = self.requests();
        if requests.len() >= MAX_REQUESTS {
            return Err(Broken::Nonsense("more requests than there are files"));
        }
        requests.push_back(ContentRequest { number, listing, item, have });
        Ok(())
    }

    fn release(&self, window: u64) -> Result<(), Broken> {
        let mut listings = self.listings();
        let Some((_, cost)) = listings.sent.remove(&window) else {
            return Err(Broken::Nonsense("a release of what was not sent"));
        };
        listings.taken -= cost;
        self.credit_freed.notify_one();
        Ok(())
    }

    /// Returns the next request; nothing when there are to be no more.
    pub(crate) fn next_request(&self) -> Option<ContentRequest> {
        loop {
            let mut requests = self.requests();
            if let Some(request) = requests.pop_front().filter(|_| !self.is_over()) {
                return Some(request);
            }
            if self.is_over() {
                return None;
            }
            drop(requests);
            if self.out.flush().is_err() {
                return None;
            }
            requests = self.requests();
            if requests.is_empty() && !self.is_over() {
                drop(self.request_arrived.wait_timeout(requests, STOP_POLL));
            }
        }
    }

    /// Returns the number of the next listing when there is room for one.
    ///
    /// # Errors
    ///
    /// That there is to be none.
    pub(crate) fn reserve_listing(&self) -> Result<u64, Broken> {
        let mut listings = self.listings();
        if listings.taken >= wire::CREDIT {
            drop(listings);
            self.out.flush()?;
            listings = self.listings();
        }
        while listings.taken >= wire::CREDIT && !self.is_over() {
            let waited = self.credit_freed.wait_timeout(listings, STOP_POLL);
            listings = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if self.is_over() {
            return Err(Broken::Stopped);
        }
        let number = listings.next;
        listings.next += 1;
        Ok(number)
    }

    /// Keeps a listing that is about to be sent.
    pub(crate) fn register(&self, window: u64, listing: SentListing, bytes: usize) {
        let cost = wire::credit_of(bytes, listing.items.len());
        let mut listings = self.listings();
        listings.taken += cost;
        listings.sent.insert(window, (Arc::new(listing), cost));
    }

    /// Returns whether nothing more is to be sent.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Relaxed) || self.progress.poll_stop()
    }

    fn end(&self) {
        self.is_over.store(true, Relaxed);
        self.request_arrived.notify_all();
        self.credit_freed.notify_all();
    }

    fn listings(&self) -> MutexGuard<'_, SentListings> {
        self.listings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn requests(&self) -> MutexGuard<'_, VecDeque<ContentRequest>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns metadata as they are sent; `device` is the number that the device has here.
pub(crate) fn meta_of(stat: &Stat, device: u16) -> Meta {
    Meta {
        device,
        inode: stat.inode,
        mode: stat.mode,
        links: stat.links,
        uid: stat.uid,
        gid: stat.gid,
        size: stat.size,
        sparse: stat.allocated < stat.size,
        mtime: time_of(stat.mtime),
        atime: time_of(stat.atime),
        born_ns: stat.born_ns,
        special: stat.special,
    }
}

fn time_of(time: Time) -> wire::Time {
    wire::Time { s: time.s, ns: time.ns }
}

/// Returns how a call failed, as it is said. What is gone is no failure, unless part of it was listed already.
pub(crate) fn loss_of(op: wire::Op, error: &io::Error) -> Loss {
    match error.kind() {
        io::ErrorKind::NotFound if op != wire::Op::List => Loss::Vanished,
        _ => Loss::Failed(op, wire::Error(error.raw_os_error().unwrap_or(0))),
    }
}
