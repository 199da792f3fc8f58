//! The sending side. One thread lists the tree ([`lister`]), some read the files that are requested ([`reader`]), and
//! one receives requests.
//!
//! The receiver cannot name anything by a path. It can only request entries of listings that it has not released.

pub(crate) mod listed_inode;
pub(crate) mod lister;
pub(crate) mod reader;

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;

use fsops::{FileKey, Stat, Time};
use runtime::{Condvar, Mutex, Progress, Stage, on_panic};
use wire::{
    ConnectionError, FromReceiver, FromSender, Incoming, KnownPrefix, Loss, Meta, Outgoing, decode,
};

use crate::model::dir_node::DirNode;
use crate::remote::sender::lister::FileLister;
use crate::remote::sender::reader::FileReader;
use crate::roots::Source;
use crate::{Consent, Options};

/// How often a waiting thread checks whether to stop.
const STOP_POLL: Duration = Duration::from_millis(100);

/// The most queued requests: more than there are files in the listings that a receiver may hold.
const MAX_REQUESTS: usize = 1 << 16;

/// The number of threads that read files. While one waits for the disk or the connection, the other has work.
const READERS: usize = 2;

/// A callback for messages of the receiver that are no requests.
pub(crate) type OnMessage<'a> = &'a dyn Fn(&FromReceiver<'_>);

/// The user of a push, to whom the receiver reports.
#[derive(Clone, Copy)]
pub(crate) struct ReportingUser<'a> {
    pub(crate) on_message: OnMessage<'a>,
    pub(crate) consent: Consent<'a>,
}

/// The state that the threads of one sender share.
pub(crate) struct SendJob<'a> {
    pub(crate) source: &'a Source,
    pub(crate) options: &'a Options,
    pub(crate) progress: &'a Progress,
    pub(crate) out: &'a Outgoing<File>,
    /// The destination, if it is on this host. It is not sent into itself.
    pub(crate) not_into: Option<FileKey>,
    /// Held while a file of many pieces is read. Disks are fastest with one such file at a time.
    pub(crate) large_file_lock: Mutex<()>,
    listings: Mutex<SentListings>,
    credit_freed: Condvar,
    requests: Mutex<VecDeque<ContentRequest>>,
    request_arrived: Condvar,
    is_over: AtomicBool,
    /// Why a thread failed.
    broken: Mutex<Option<ConnectionError>>,
}

/// The listings that the receiver has not released.
#[derive(Debug, Default)]
struct SentListings {
    sent: HashMap<u64, (Arc<SentListing>, usize)>,
    next: u64,
    /// How much of [`wire::LISTING_CREDIT_BYTES`] they use.
    taken: usize,
}

/// The names of one listing.
#[derive(Debug)]
pub(crate) struct SentListing {
    pub(crate) node: Arc<DirNode>,
    /// Where each name starts in `bytes`.
    pub(crate) items: Vec<u32>,
    /// The names, each with a NUL at its end.
    pub(crate) bytes: Vec<u8>,
}

/// A request for the content of a file.
#[derive(Debug)]
pub(crate) struct ContentRequest {
    pub(crate) number: u64,
    pub(crate) listing: Arc<SentListing>,
    pub(crate) item: usize,
    pub(crate) have: Option<KnownPrefix>,
}

/// Sends a tree to a receiver until the receiver needs nothing more.
///
/// `progress.bytes_read` counts the bytes of files that were sent.
///
/// # Errors
///
/// Fails if the connection ends before its time.
pub fn send(
    source: &Source,
    not_into: Option<FileKey>,
    options: &Options,
    progress: &Progress,
    incoming: &mut Incoming<File>,
    out: &Outgoing<File>,
) -> Result<(), ConnectionError> {
    send_to(source, not_into, options, progress, incoming, out, None)
}

/// Sends a tree. With a `user`, the receiver reports to this side, and may ask before it deletes anything.
pub(crate) fn send_to(
    source: &Source,
    not_into: Option<FileKey>,
    options: &Options,
    progress: &Progress,
    incoming: &mut Incoming<File>,
    out: &Outgoing<File>,
    user: Option<ReportingUser<'_>>,
) -> Result<(), ConnectionError> {
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
    let why = sending.broken.into_inner();
    received.map_err(|received| match received {
        ConnectionError::Stopped if !progress.poll_stop() => why.unwrap_or(ConnectionError::Lost),
        received => received,
    })?;
    // Without the farewell the receiver deletes nothing.
    if progress.poll_stop() {
        return Err(ConnectionError::Stopped);
    }
    out.send(&FromSender::Bye { matched: options.matched() }, &[])?;
    out.flush()?;
    let Some(ReportingUser { on_message, consent }) = user else { return Ok(()) };
    loop {
        let message = incoming.next(&|| progress.poll_stop())?;
        let (message, _) = decode::<FromReceiver<'_>>(message)?;
        on_message(&message);
        match message {
            FromReceiver::Ask(removal) => {
                out.send(&FromSender::Consent { given: consent(&removal) }, &[])?;
                out.flush()?;
            }
            FromReceiver::Finished { .. } => return Ok(()),
            _ => {}
        }
    }
}

impl SendJob<'_> {
    /// Runs the work of a thread. If it fails, the other threads end too.
    fn run(&self, work: impl FnOnce() -> Result<(), ConnectionError>) {
        runtime::own_descriptor_table();
        let _guard = on_panic(|| self.end());
        if let Err(why) = work() {
            let mut broken = self.broken.lock();
            if !matches!(why, ConnectionError::Stopped) {
                broken.get_or_insert(why);
            }
            drop(broken);
            self.end();
        }
    }

    /// Receives requests until the receiver needs no more.
    fn receive_requests(
        &self,
        incoming: &mut Incoming<File>,
        on_message: OnMessage<'_>,
    ) -> Result<(), ConnectionError> {
        loop {
            if !incoming.has_more() {
                self.request_arrived.notify_all();
            }
            let message = incoming.next(&|| self.is_over())?;
            let (message, _) = decode::<FromReceiver<'_>>(message)?;
            match message {
                FromReceiver::Done => return Ok(()),
                FromReceiver::Fetch { request, window, item, have } => {
                    self.enqueue_request(request, window, item, have)?;
                }
                FromReceiver::Release { window } => self.release(window)?,
                message => on_message(&message),
            }
        }
    }

    fn enqueue_request(
        &self,
        number: u64,
        listing_number: u64,
        item: u32,
        have: Option<KnownPrefix>,
    ) -> Result<(), ConnectionError> {
        let listing =
            self.listings().sent.get(&listing_number).map(|(listing, _)| Arc::clone(listing));
        let item = item as usize;
        let listing = listing.filter(|listing| item < listing.items.len());
        let listing = listing.ok_or(ConnectionError::ProtocolViolation(
            "a request for an entry that was not sent",
        ))?;
        let mut requests = self.requests();
        if requests.len() >= MAX_REQUESTS {
            return Err(ConnectionError::ProtocolViolation("more requests than there are files"));
        }
        requests.push_back(ContentRequest { number, listing, item, have });
        Ok(())
    }

    fn release(&self, listing_number: u64) -> Result<(), ConnectionError> {
        let mut listings = self.listings();
        let Some((_, cost)) = listings.sent.remove(&listing_number) else {
            return Err(ConnectionError::ProtocolViolation(
                "the release of a listing that was not sent",
            ));
        };
        listings.taken -= cost;
        self.credit_freed.notify_one();
        Ok(())
    }

    /// Waits for the next request; returns `None` when there will be no more.
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

    /// Waits until the receiver has room for a listing; returns the number of the listing.
    ///
    /// # Errors
    ///
    /// Fails if sending has ended.
    pub(crate) fn reserve_listing(&self) -> Result<u64, ConnectionError> {
        let mut listings = self.listings();
        if listings.taken >= wire::LISTING_CREDIT_BYTES {
            drop(listings);
            self.out.flush()?;
            listings = self.listings();
        }
        while listings.taken >= wire::LISTING_CREDIT_BYTES && !self.is_over() {
            listings = self.credit_freed.wait_timeout(listings, STOP_POLL).0;
        }
        if self.is_over() {
            return Err(ConnectionError::Stopped);
        }
        let number = listings.next;
        listings.next += 1;
        Ok(number)
    }

    /// Registers a listing that is about to be sent.
    pub(crate) fn register(&self, number: u64, listing: SentListing, bytes: usize) {
        let cost = wire::listing_cost_bytes(bytes, listing.items.len());
        let mut listings = self.listings();
        listings.taken += cost;
        listings.sent.insert(number, (Arc::new(listing), cost));
    }

    /// Returns whether nothing more should be sent.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Relaxed) || self.progress.poll_stop()
    }

    fn end(&self) {
        self.is_over.store(true, Relaxed);
        self.request_arrived.notify_all();
        self.credit_freed.notify_all();
    }

    fn listings(&self) -> MutexGuard<'_, SentListings> {
        self.listings.lock()
    }

    fn requests(&self) -> MutexGuard<'_, VecDeque<ContentRequest>> {
        self.requests.lock()
    }
}

/// Returns metadata in the form of the protocol. `device` is the sender's number for the device.
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

/// Returns the loss that an error means. An entry that disappeared is no failure, unless part of its directory was
/// listed already.
pub(crate) fn loss_of(op: wire::Op, error: &io::Error) -> Loss {
    match error.kind() {
        io::ErrorKind::NotFound if op != wire::Op::List => Loss::Vanished,
        _ => Loss::Failed(op, wire::Error(error.raw_os_error().unwrap_or(0))),
    }
}
