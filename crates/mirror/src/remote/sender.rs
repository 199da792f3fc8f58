//! The sender. One thread lists the tree ([`lister`]), several threads read requested files
//! ([`reader`]), and one thread receives requests.
//!
//! The receiver cannot request arbitrary paths. It can only request entries of listings that it has
//! not released.

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
use runtime::{Condvar, Mutex, Progress, Stage, on_panic, spawn_with_own_descriptors};
use wire::{
    ConnectionError, FromReceiver, FromSender, Incoming, KnownPrefix, Loss, Meta, Outgoing, decode,
};

use crate::hardlinks::birth::BirthClock;
use crate::model::dir_node::DirNode;
use crate::remote::sender::lister::FileLister;
use crate::remote::sender::reader::FileReader;
use crate::roots::Source;
use crate::{Consent, Options};

/// The interval at which a waiting thread checks whether to stop.
const STOP_POLL: Duration = Duration::from_millis(100);

/// The maximum number of queued requests. The listings that a receiver may hold contain fewer files
/// than this.
const MAX_REQUESTS: usize = 1 << 16;

/// The number of threads that read files. While one thread waits for the disk or the connection,
/// the other can work.
const READERS: usize = 2;

/// A callback for messages from the receiver other than requests.
pub(crate) type OnMessage<'a> = &'a dyn Fn(&FromReceiver<'_>);

/// The callbacks that show reports to the user of a push and ask for consent.
#[derive(Clone, Copy)]
pub(crate) struct ReportingUser<'a> {
    pub(crate) on_message: OnMessage<'a>,
    pub(crate) consent: Consent<'a>,
}

/// State shared by the threads of a sender.
pub(crate) struct SendJob<'a> {
    pub(crate) source: &'a Source,
    pub(crate) options: &'a Options,
    pub(crate) progress: &'a Progress,
    pub(crate) out: &'a Outgoing<File>,
    /// The destination directory, if it is on this host. The sender leaves it out.
    pub(crate) not_into: Option<FileKey>,
    /// Held while a thread reads a file that is sent in several pieces. Disks are fastest when they
    /// read one large file at a time.
    pub(crate) large_file_lock: Mutex<()>,
    pub(crate) birth_clock: BirthClock,
    listings: Mutex<SentListings>,
    credit_freed: Condvar,
    requests: Mutex<VecDeque<ContentRequest>>,
    request_arrived: Condvar,
    is_over: AtomicBool,
    /// The error with which a thread failed.
    broken: Mutex<Option<ConnectionError>>,
}

/// The listings that the receiver has not released.
#[derive(Debug, Default)]
struct SentListings {
    sent: HashMap<u64, (Arc<SentListing>, usize)>,
    next: u64,
    /// The part of [`wire::LISTING_CREDIT_BYTES`] that these listings use.
    taken: usize,
}

/// The names of one listing.
#[derive(Debug)]
pub(crate) struct SentListing {
    pub(crate) node: Arc<DirNode>,
    /// The offset of each name in `bytes`.
    pub(crate) items: Vec<u32>,
    /// The NUL-terminated names.
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

/// Sends a tree until the receiver has everything it needs.
///
/// `progress.bytes_read` counts the bytes of file content that were sent.
///
/// # Errors
///
/// Fails if the connection ends early.
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

/// Sends a tree. If `user` is set, the receiver sends reports and may ask for consent before it
/// deletes anything.
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
        birth_clock: BirthClock::start(),
        listings: Mutex::default(),
        credit_freed: Condvar::new(),
        requests: Mutex::default(),
        request_arrived: Condvar::new(),
        is_over: AtomicBool::new(false),
        broken: Mutex::default(),
    };
    let received = std::thread::scope(|scope| {
        let list = || sending.run(|| FileLister::new(&sending).run());
        spawn_with_own_descriptors(scope, list).expect("a thread");
        for _ in 0..READERS {
            let read = || sending.run(|| FileReader::new(&sending).run());
            spawn_with_own_descriptors(scope, read).expect("a thread");
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
    // Return before sending `Bye`, because the receiver deletes nothing until it gets that message.
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
    /// Runs the work of a thread. If the work fails, the other threads are stopped.
    fn run(&self, work: impl FnOnce() -> Result<(), ConnectionError>) {
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

    /// Handles requests until the receiver has everything it needs.
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

    /// Waits for the next request. Returns `None` if there are no more requests.
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

    /// Waits for enough credit to send a listing, and returns the number of the listing.
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

    /// Records a listing that is about to be sent.
    pub(crate) fn register(&self, number: u64, listing: SentListing, bytes: usize) {
        let cost = wire::listing_cost_bytes(bytes, listing.items.len());
        let mut listings = self.listings();
        listings.taken += cost;
        listings.sent.insert(number, (Arc::new(listing), cost));
    }

    /// Returns whether sending has ended.
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

/// Converts metadata to the format of the protocol. `device` is the number that the sender assigned
/// to the device.
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

/// Converts an error to a [`Loss`]. A missing entry is not a failure, unless the error occurred
/// while listing a directory.
pub(crate) fn loss_of(op: wire::Op, error: &io::Error) -> Loss {
    match error.kind() {
        io::ErrorKind::NotFound if op != wire::Op::List => Loss::Vanished,
        _ => Loss::Failed(op, wire::Error(error.raw_os_error().unwrap_or(0))),
    }
}
