//! A thread of the server: it accepts connections, reads requests, and sends responses.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::SocketFlags;

use super::Thread;
use super::alarms::Alarms;
use super::clock::Clock;
use super::connection::{Connection, Connections, State};
use super::drive::{Next, Toolbox, scratch};
use super::handler::Handler;
use super::limits::{HEAD_TIMEOUT, STALL_TIMEOUT, STOP_TIMEOUT};
use super::poll::Poll;
use super::pool::Mailbox;
use super::shared::{Message, Shared};
use super::stream::Stream;

/// The number of the listening socket in the events.
const LISTENER: u64 = u64::MAX;

/// The number of the mailbox in the events.
const MAILBOX: u64 = u64::MAX - 1;

/// Maximum number of connections that are accepted before others have their turn.
const ACCEPTS: usize = 64;

/// Interval at which timeouts are checked.
const TICK: Duration = Duration::from_secs(1);

/// A thread of the server.
pub(super) struct Worker<H> {
    shared: Arc<Shared>,
    poll: Poll,
    connections: Connections,
    toolbox: Toolbox<H>,
    mailbox: Arc<Mailbox<Message<H>>>,
    /// The mailbox of the next thread.
    next: Arc<Mailbox<Message<H>>>,
    /// Connections whose turn was over before their socket was full.
    ready: Vec<u64>,
    /// Connections that wait until the rate limits allow more.
    throttled: Alarms,
    is_accepting: bool,
    /// Second of the last check of timeouts.
    checked: u32,
}

impl<H: Handler + 'static> Worker<H> {
    pub(super) fn new(
        shared: &Arc<Shared>,
        Thread { counters, mailbox }: Thread<H>,
        next: Arc<Mailbox<Message<H>>>,
        handler: H,
    ) -> io::Result<Worker<H>> {
        let poll = Poll::new()?;
        poll.add(&*mailbox, MAILBOX, EventFlags::IN)?;
        let toolbox = Toolbox {
            handler,
            clock: Clock::new(),
            counters,
            scratch: scratch(),
            shared: Arc::clone(shared),
            mailbox: Arc::clone(&mailbox),
        };
        let mut worker = Worker {
            shared: Arc::clone(shared),
            poll,
            connections: Connections::default(),
            toolbox,
            mailbox,
            next,
            ready: Vec::new(),
            throttled: Alarms::new(),
            is_accepting: false,
            checked: 0,
        };
        worker.accept_if(true)?;
        Ok(worker)
    }

    /// Serves until the server is stopped.
    pub(super) fn run(&mut self) {
        let mut requests = self.toolbox.counters.requests.get();
        let mut events = Vec::new();
        let mut stop_at = None;
        loop {
            let answered = self.toolbox.counters.requests.get();
            self.poll.wait(self.timeout(stop_at), answered != requests);
            requests = answered;
            self.toolbox.clock.update();
            events.clear();
            events.extend(self.poll.events());
            for &(number, flags) in &events {
                match number {
                    LISTENER => self.accept(),
                    MAILBOX => self.take_messages(),
                    number => self.event(number, flags),
                }
            }
            for number in std::mem::take(&mut self.ready) {
                if let Some(connection) = self.connections.get(number) {
                    connection.is_ready = false;
                    self.drive(number);
                }
            }
            self.wake_throttled();
            self.check_timeouts();
            if self.shared.is_stopping.load(Ordering::Relaxed) {
                let now = self.toolbox.clock.now();
                let end = *stop_at.get_or_insert_with(|| now + STOP_TIMEOUT);
                self.close_idle();
                if self.connections.len() == 0 || now >= end {
                    return;
                }
            }
        }
    }

    fn timeout(&self, stop_at: Option<Instant>) -> Option<Duration> {
        if !self.ready.is_empty() {
            return Some(Duration::ZERO);
        }
        let now = Instant::now();
        let next = self.throttled.next().into_iter().chain(stop_at).min();
        let next = next.map(|time| time.saturating_duration_since(now));
        // Without connections, the thread sleeps until one comes.
        let tick = (self.connections.len() > 0 || !self.is_accepting).then_some(TICK);
        next.into_iter().chain(tick).min()
    }

    fn accept_if(&mut self, wanted: bool) -> io::Result<()> {
        if wanted && !self.is_accepting {
            // One thread wakes up for a connection, not all of them.
            let flags = EventFlags::IN | EventFlags::EXCLUSIVE;
            self.poll.add(&self.shared.listener, LISTENER, flags)?;
        } else if !wanted && self.is_accepting {
            self.poll.remove(&self.shared.listener);
        }
        self.is_accepting = wanted;
        Ok(())
    }

    fn accept(&mut self) {
        for _ in 0..ACCEPTS {
            let place = self.shared.places.take();
            let idle = if place.is_none() { self.oldest_idle() } else { None };
            if place.is_none() && idle.is_none() {
                return self.pause_accepting();
            }
            let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
            let socket = match rustix::net::accept_with(&self.shared.listener, flags) {
                Ok(socket) => socket,
                Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    // The client stays in the queue, so that the kernel would report it again at once.
                    let Some(idle) = self.oldest_idle() else { return self.pause_accepting() };
                    self.close(idle);
                    continue;
                }
                // There is no client any more.
                Err(_) => return,
            };
            // Only a connection that is really there takes the place of another one.
            let freed = || self.remove(idle?).map(|connection| connection.place);
            let Some(place) = place.or_else(freed) else { continue };
            let Ok(stream) = Stream::new(socket, self.shared.tls.as_ref()) else { continue };
            let deadline = self.toolbox.clock.ticks_after(HEAD_TIMEOUT);
            let connection =
                Connection::new(stream, place, self.toolbox.counters.serial(), deadline);
            let number = self.connections.add(connection);
            self.toolbox.counters.accepted.add(1);
            let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
            let added =
                self.connections.get(number).map(|c| self.poll.add(&c.stream, number, flags));
            match added {
                Some(Ok(())) => self.drive(number),
                _ => self.close(number),
            }
        }
    }

    /// Leaves clients in the queue of the kernel until a connection is closed, or until the next check
    /// of timeouts, as a connection may have become idle by then. The kernel woke only this thread for the
    /// client, so this thread wakes another one.
    fn pause_accepting(&mut self) {
        let _stays = self.accept_if(false);
        self.next.send(Message::Accept);
    }

    /// Returns the connection that has been without a request for the longest time.
    fn oldest_idle(&mut self) -> Option<u64> {
        let idle = self.connections.iter().filter(|(_, c)| matches!(c.state, State::Idle));
        idle.min_by_key(|(_, c)| c.idle_since).map(|(number, _)| number)
    }

    fn event(&mut self, number: u64, flags: EventFlags) {
        let Some(connection) = self.connections.get(number) else { return };
        let ended = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        connection.has_ended |= flags.intersects(ended);
        // TLS may have to send before it can go on with what it has received.
        let is_plain = connection.stream.is_plain();
        connection.is_readable |= !is_plain || flags.intersects(EventFlags::IN | ended);
        connection.is_writable |= flags.intersects(EventFlags::OUT | ended);
        // A client that causes many events has no more turns than the others.
        if !connection.is_ready {
            self.drive(number);
        }
    }

    fn take_messages(&mut self) {
        for message in self.mailbox.take() {
            let number = match message {
                Message::Accept if self.is_accepting => {
                    self.accept();
                    continue;
                }
                Message::Accept => continue,
                Message::Finished(number, _)
                | Message::Worked(number, _)
                | Message::Panicked(number) => number,
            };
            let Some(connection) = self.connections.get(number) else { continue };
            if self.toolbox.take(connection, message) {
                self.drive(number);
            } else {
                self.close(number);
            }
        }
    }

    fn drive(&mut self, number: u64) {
        let Some(connection) = self.connections.get(number) else { return };
        match self.toolbox.drive(connection, number) {
            Next::Stay => {}
            Next::Again => {
                connection.is_ready = true;
                self.ready.push(number);
            }
            Next::At(time) => self.throttled.add(time, number),
            Next::Close => self.close(number),
        }
    }

    fn close(&mut self, number: u64) {
        drop(self.remove(number));
        self.resume_accepting();
    }

    fn remove(&mut self, number: u64) -> Option<Box<Connection>> {
        let connection = self.connections.remove(number)?;
        // A thread that works for the connection still has the socket, so closing it is not enough.
        self.poll.remove(&connection.stream);
        self.toolbox.counters.closed.add(1);
        Some(connection)
    }

    fn resume_accepting(&mut self) {
        if !self.shared.is_stopping.load(Ordering::Relaxed) {
            // If it fails, the next check of timeouts tries again.
            let _later = self.accept_if(true);
        }
    }

    fn wake_throttled(&mut self) {
        for number in self.throttled.due(self.toolbox.clock.now()) {
            if let Some(connection) = self.connections.get(number) {
                connection.wake();
                self.drive(number);
            }
        }
    }

    /// Closes connections whose clients were too slow.
    fn check_timeouts(&mut self) {
        let ticks = self.toolbox.clock.ticks();
        if ticks == self.checked {
            return;
        }
        self.checked = ticks;
        self.toolbox.handler.tidy(self.toolbox.clock.now());
        let stall = self.toolbox.clock.ticks_after(STALL_TIMEOUT);
        let mut late = Vec::new();
        for (number, connection) in self.connections.iter() {
            if connection.deadline <= ticks && !connection.has_progress(stall) {
                if matches!(connection.state, State::Sending(_)) {
                    connection.stream.forget_unsent();
                }
                late.push((number, !matches!(connection.state, State::Idle | State::Lingering)));
            }
        }
        for (number, was_slow) in late {
            self.toolbox.counters.timed_out.add(was_slow.into());
            self.close(number);
        }
        self.resume_accepting();
    }

    /// Closes the connections without a request when the server stops.
    fn close_idle(&mut self) {
        let _removed = self.accept_if(false);
        let idle = |c: &Connection| matches!(c.state, State::Idle | State::Head | State::Lingering);
        let idle: Vec<u64> =
            self.connections.iter().filter(|(_, c)| idle(c)).map(|(number, _)| number).collect();
        for number in idle {
            self.close(number);
        }
    }
}

impl Connection {
    /// Ends a wait for the rate limits.
    fn wake(&mut self) {
        let state = std::mem::replace(&mut self.state, State::Idle);
        self.state = match state {
            State::Throttled(output) => State::Sending(output),
            state => state,
        };
    }

    /// Returns whether the connection may stay although its deadline has passed. A slow client may have
    /// taken bytes from the send queue; then the connection has until `deadline`.
    fn has_progress(&mut self, deadline: u32) -> bool {
        match self.state {
            State::Working(_) | State::Throttled(_) => return true,
            State::Sending(_) => {}
            State::Idle | State::Head | State::Lingering => return false,
        }
        let queued = fsops::socket::unsent_or_unacked_bytes(self.stream.as_fd()).unwrap_or(0);
        let has_progress = queued != self.queued;
        (self.queued, self.deadline) = (queued, deadline);
        has_progress
    }
}
