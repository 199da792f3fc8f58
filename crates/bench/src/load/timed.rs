//! Clients that send requests in a closed or an open loop, for a fixed time.
//!
//! Responses that are complete before the end of the warm-up do not count. The processor time of the
//! server is read at both ends of the window.

use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

use super::connection::{BUFFER_BYTES, Connection, Received};
use super::schedule::Schedule;
use super::tally::Tally;
use super::{Plan, Report, Traffic};
use crate::Failure;
use crate::corpus::Dice;

/// The load is given up after this many errors.
const MOST_ERRORS: u64 = 1_000;

/// The longest wait for an event. The end of the window is noticed this late, at most.
pub(super) const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
const NO_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Carries out a plan.
///
/// # Errors
///
/// The server refuses connections.
pub(super) fn run(plan: &Plan) -> Result<Report, Failure> {
    let mut run = Run::new(plan)?;
    run.until(Instant::now() + plan.warm_up, None)?;
    run.tally.restart();
    let (start, cpu_s) = (Instant::now(), plan.meter.cpu_s());
    run.until(start + plan.window, plan.most)?;
    let (seconds, used_s) = (start.elapsed(), plan.meter.cpu_s());
    run.note_unanswered();
    let cpu_s = used_s.zip(cpu_s).map(|(after, before)| after - before);
    Ok(Report { cpu_s, ..run.tally.finish(seconds) })
}

struct Run<'a> {
    plan: &'a Plan,
    epoll: OwnedFd,
    connections: Vec<Connection>,
    /// The connections without a request.
    idle: Vec<usize>,
    /// `None` in a closed loop.
    schedule: Option<Schedule>,
    dice: Dice,
    tally: Tally,
    buffer: Vec<u8>,
}

impl<'a> Run<'a> {
    fn new(plan: &'a Plan) -> Result<Self, Failure> {
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(|e| failure(plan, &e.into()))?;
        let schedule = match plan.traffic {
            Traffic::Open(rate) => Some(Schedule::new(Instant::now(), rate)),
            _ => None,
        };
        let mut run = Self {
            plan,
            epoll,
            connections: Vec::new(),
            idle: (0..plan.clients).collect(),
            schedule,
            dice: Dice::new(plan.clients as u64),
            tally: Tally::new()?,
            buffer: vec![0; BUFFER_BYTES],
        };
        for at in 0..plan.clients {
            let connection = run.connected(at)?;
            run.connections.push(connection);
        }
        Ok(run)
    }

    /// Opens a connection and waits for its events.
    fn connected(&self, at: usize) -> Result<Connection, Failure> {
        let opened = Connection::open(self.plan.address).and_then(|connection| {
            let data = EventData::new_u64(at as u64);
            epoll::add(&self.epoll, &connection, data, EventFlags::IN)?;
            Ok(connection)
        });
        opened.map_err(|e| failure(self.plan, &e))
    }

    /// Sends and receives until a time, or until so many responses were counted.
    fn until(&mut self, end: Instant, most: Option<u64>) -> Result<(), Failure> {
        let mut events = Vec::with_capacity(self.plan.clients.min(1_024));
        loop {
            let now = Instant::now();
            let is_enough = most.is_some_and(|most| self.tally.report.requests >= most);
            if now >= end || is_enough || self.tally.report.errors > MOST_ERRORS {
                return Ok(());
            }
            self.start_due(now)?;
            events.clear();
            // An idle client of an open loop looks at the clock all the time, to be punctual.
            let is_punctual = self.schedule.is_some() && !self.idle.is_empty();
            let wait = if is_punctual { NO_WAIT } else { TICK };
            match epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&wait)) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(e) => return Err(failure(self.plan, &e.into())),
            }
            for event in &events {
                let at = usize::try_from(event.data.u64()).expect("an index");
                self.receive(at)?;
            }
        }
    }

    /// Gives requests that are due to idle clients.
    fn start_due(&mut self, now: Instant) -> Result<(), Failure> {
        while let Some(at) = self.idle.pop() {
            let due = match &mut self.schedule {
                Some(schedule) => schedule.take(now),
                None => Some(now),
            };
            let Some(due) = due else {
                self.idle.push(at);
                return Ok(());
            };
            let request = self.dice.index(self.plan.requests.len());
            let connection = &mut self.connections[at];
            (connection.request, connection.since) = (request, due);
            if connection.send(&self.plan.requests[request].text).is_err() {
                self.resend(at)?;
            }
        }
        Ok(())
    }

    fn receive(&mut self, at: usize) -> Result<(), Failure> {
        let connection = &mut self.connections[at];
        match connection.receive(&mut self.buffer) {
            Received::Part(_) => Ok(()),
            Received::Whole(head) => {
                let now = Instant::now();
                let latency = now.saturating_duration_since(connection.since);
                let request = &self.plan.requests[connection.request];
                self.tally.response(request, head, latency);
                if head.closes {
                    self.tally.report.reconnects += 1;
                    self.connections[at] = self.connected(at)?;
                }
                self.idle.push(at);
                self.start_due(now)
            }
            // A client that is idle does not need the connection yet.
            Received::Closed if self.idle.contains(&at) => {
                self.tally.report.reconnects += 1;
                self.connections[at] = self.connected(at)?;
                Ok(())
            }
            Received::Closed if connection.responses > 0 => self.resend(at),
            Received::Closed => {
                self.tally.error("the server closes a new connection".into());
                self.connections[at] = self.connected(at)?;
                self.idle.push(at);
                Ok(())
            }
            Received::Broken(complaint) => {
                self.tally.error(complaint);
                self.connections[at] = self.connected(at)?;
                self.idle.push(at);
                Ok(())
            }
        }
    }

    /// Notes the latencies so far of the requests of an open loop that are due and not answered. Without
    /// them, the latencies would not show a stall at the end of the window.
    fn note_unanswered(&mut self) {
        let Some(schedule) = &mut self.schedule else { return };
        let now = Instant::now();
        let is_waiting = |(at, _): &(usize, &Connection)| !self.idle.contains(at);
        let sent = self.connections.iter().enumerate().filter(is_waiting).map(|it| it.1.since);
        for due in sent.chain(std::iter::from_fn(|| schedule.take(now))) {
            self.tally.latency(now.saturating_duration_since(due));
        }
    }

    /// Sends the request of a client again on a new connection. The server may close a connection
    /// that it kept open while the request is on its way.
    fn resend(&mut self, at: usize) -> Result<(), Failure> {
        self.tally.report.reconnects += 1;
        let mut connection = self.connected(at)?;
        (connection.request, connection.since) =
            (self.connections[at].request, self.connections[at].since);
        let sent = connection.send(&self.plan.requests[connection.request].text);
        self.connections[at] = connection;
        sent.map_err(|e| failure(self.plan, &e))
    }
}

pub(super) fn failure(plan: &Plan, reason: &std::io::Error) -> Failure {
    Failure::new(format!("{}: {reason}", plan.address))
}
