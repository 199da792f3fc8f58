//! Moves a connection on until it has to wait: reads requests, has them answered, sends responses.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use super::clock::{Clock, Connection as After};
use super::connection::{Connection, State, Working};
use super::counters::Counters;
use super::handler::{Handler, Reply};
use super::limits::{
    HEAD_TIMEOUT, IDLE_TIMEOUT, LINGER_TIMEOUT, STALL_TIMEOUT, TURN, TURN_REQUESTS,
};
use super::output::{Output, Progress, Work};
use super::pool::Mailbox;
use super::request::{self, MAX_HEAD, Method, Parsed, Request};
use super::response::{Head, Response};
use super::shared::{Message, Shared};

/// The handler, the clock and the buffers of a thread. Its connections use them in turns.
pub(super) struct Toolbox<H> {
    pub(super) handler: H,
    pub(super) clock: Clock,
    pub(super) counters: Arc<Counters>,
    /// Where received bytes go first. A connection that waits has no buffer.
    pub(super) scratch: Box<[u8]>,
    pub(super) shared: Arc<Shared>,
    pub(super) mailbox: Arc<Mailbox<Message<H>>>,
}

/// Returns a buffer for received bytes.
pub(super) fn scratch() -> Box<[u8]> {
    vec![0; MAX_HEAD].into()
}

/// The next step of a connection.
pub(super) enum Next {
    /// It waits for an event or a message.
    Stay,
    /// It goes on after the others had their turn.
    Again,
    /// It goes on at this time.
    At(Instant),
    /// It is closed.
    Close,
}

impl<H: Handler + 'static> Toolbox<H> {
    /// Moves a connection on.
    pub(super) fn drive(&mut self, connection: &mut Connection, number: u64) -> Next {
        let work = |counters: &Counters| (counters.requests.get(), counters.bytes.get());
        let (requests, bytes) = work(&self.counters);
        loop {
            let (now_requests, now_bytes) = work(&self.counters);
            let is_long =
                now_requests - requests >= TURN_REQUESTS || now_bytes - bytes >= TURN as u64;
            let next = match &connection.state {
                // A client that sends requests without a pause must not keep the thread from others.
                State::Idle | State::Head if is_long => Some(Next::Again),
                State::Working(_) | State::Throttled(_) => Some(Next::Stay),
                State::Sending(_) if !connection.is_writable => Some(Next::Stay),
                State::Sending(_) => {
                    let state = std::mem::replace(&mut connection.state, State::Idle);
                    let State::Sending(output) = state else { return Next::Close };
                    self.send(connection, number, *output)
                }
                State::Idle | State::Head => self.read(connection, number),
                State::Lingering => Some(self.linger(connection)),
            };
            if let Some(next) = next {
                return next;
            }
        }
    }

    /// Reads and answers a request. Returns `None` if the connection can go on.
    fn read(&mut self, connection: &mut Connection, number: u64) -> Option<Next> {
        let mut held = std::mem::take(&mut connection.input);
        // Requests that arrived together with an earlier one are answered before more is read.
        if !held.is_empty() && matches!(connection.state, State::Idle) {
            return self.answer(connection, number, &held);
        }
        let received = match self.receive(connection) {
            Ok(received) => received,
            Err(next) => {
                connection.input = held;
                return Some(next);
            }
        };
        if held.is_empty() {
            let scratch = std::mem::take(&mut self.scratch);
            let next = self.answer(connection, number, &scratch[..received]);
            self.scratch = scratch;
            return next;
        }
        let from = held.len().saturating_sub(3);
        held.extend_from_slice(&self.scratch[..received]);
        // Parsing starts again at the first byte, so a head that comes in many small pieces is parsed
        // only when it is complete.
        if has_empty_line(&held[from..]) || held.len() >= MAX_HEAD {
            return self.answer(connection, number, &held);
        }
        connection.input = held;
        None
    }

    /// Receives bytes into the scratch buffer. Returns their number, or what becomes of the connection
    /// if there are none.
    fn receive(&mut self, connection: &mut Connection) -> Result<usize, Next> {
        if !connection.is_readable {
            return Err(Next::Stay);
        }
        match connection.stream.receive(&mut self.scratch) {
            Ok(0) => Err(Next::Close),
            Ok(received) => {
                // A short read has emptied the socket. The kernel reports further bytes, but the end of
                // the connection only once.
                if received < self.scratch.len() && connection.stream.is_plain() {
                    connection.is_readable = connection.has_ended;
                }
                Ok(received)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                connection.is_readable = false;
                Err(Next::Stay)
            }
            Err(_) => Err(Next::Close),
        }
    }

    /// Answers the request at the start of `bytes` and keeps the rest.
    fn answer(&mut self, connection: &mut Connection, number: u64, bytes: &[u8]) -> Option<Next> {
        match request::parse(bytes) {
            Parsed::Incomplete => {
                connection.input.extend_from_slice(bytes);
                if matches!(connection.state, State::Idle) {
                    connection.state = State::Head;
                    connection.deadline = self.clock.ticks_after(HEAD_TIMEOUT);
                }
                None
            }
            Parsed::Complete(request, length) => {
                connection.input.extend_from_slice(&bytes[length..]);
                self.counters.requests.add(1);
                self.handle(connection, number, &request)
            }
            Parsed::Invalid(status) => {
                self.counters.refused.add(1);
                let response = Response::text(status, super::response::reason(status));
                self.refuse(connection, number, response, false)
            }
        }
    }

    fn handle(
        &mut self,
        connection: &mut Connection,
        number: u64,
        request: &Request<'_>,
    ) -> Option<Next> {
        let (is_head, is_1_1) = (request.method == Method::Head, request.is_1_1);
        if request.method == Method::Other {
            let head = Head::new(405).field("allow", "GET, HEAD");
            let body = b"this server answers GET and HEAD only\n";
            return self.refuse(connection, number, head.with_bytes(*body), false);
        }
        if request.has_body() {
            let response = Response::text(413, "this server takes no request bodies");
            return self.refuse(connection, number, response, is_head);
        }
        connection.stays_open = request.keeps_alive();
        match self.handler.handle(request, self.clock.now()) {
            Reply::Ready(response) => self.respond(connection, number, response, is_head, is_1_1),
            Reply::Later(job) => {
                connection.state = State::Working(Working::Response { is_head, is_1_1 });
                let mailbox = Arc::clone(&self.mailbox);
                self.shared.pool.run(Box::new(move || {
                    let finished = catch_unwind(AssertUnwindSafe(job));
                    mailbox.send(match finished {
                        Ok(finish) => Message::Finished(number, finish),
                        Err(_) => Message::Panicked(number),
                    });
                }));
                Some(Next::Stay)
            }
        }
    }

    /// Ends the connection with a response. Further bytes from the client are dropped.
    fn refuse(
        &mut self,
        connection: &mut Connection,
        number: u64,
        response: Response,
        is_head: bool,
    ) -> Option<Next> {
        (connection.stays_open, connection.is_refused) = (false, true);
        connection.input = Vec::new();
        self.respond(connection, number, response, is_head, true)
    }

    fn respond(
        &mut self,
        connection: &mut Connection,
        number: u64,
        response: Response,
        is_head: bool,
        is_1_1: bool,
    ) -> Option<Next> {
        let output = self.output(connection, response, is_head, is_1_1);
        self.send(connection, number, output)
    }

    /// Returns a response with the end of its head.
    fn output(
        &self,
        connection: &Connection,
        response: Response,
        is_head: bool,
        is_1_1: bool,
    ) -> Output {
        let after = match (connection.stays_open, is_1_1) {
            (true, true) => After::Stays,
            (true, false) => After::KeepAlive,
            (false, _) => After::Close,
        };
        Output::new(response, self.clock.tail(after), is_head)
    }

    /// Sends a response, or what is left of it.
    fn send(
        &mut self,
        connection: &mut Connection,
        number: u64,
        mut output: Output,
    ) -> Option<Next> {
        let before = output.sent();
        let (rates, now) = (&self.shared.rates, self.clock.now());
        let progress = output.write(&mut connection.stream, &mut connection.quota, rates, now);
        self.counters.bytes.add(output.sent() - before);
        if output.sent() > before {
            connection.deadline = self.clock.ticks_after(STALL_TIMEOUT);
        }
        match progress {
            Ok(Progress::Done) => return self.end_response(connection),
            Ok(Progress::Again) => {
                connection.state = State::Sending(Box::new(output));
                return Some(Next::Again);
            }
            Ok(Progress::Wait(time)) => {
                connection.state = State::Throttled(Box::new(output));
                return Some(Next::At(now + time));
            }
            Ok(Progress::Work(work)) => self.work(connection, number, work, output),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                connection.is_writable = false;
                connection.deadline = self.clock.ticks_after(STALL_TIMEOUT);
                connection.state = State::Sending(Box::new(output));
            }
            Err(_) => {
                self.counters.cut.add(1);
                return Some(Next::Close);
            }
        }
        Some(Next::Stay)
    }

    fn work(&mut self, connection: &mut Connection, number: u64, work: Work, output: Output) {
        connection.state = State::Working(Working::Body(Box::new(output)));
        // An event in the meantime sets it again. If the socket was full, that event may come before
        // the message says so.
        connection.is_writable = false;
        let (mailbox, socket) = (Arc::clone(&self.mailbox), Arc::clone(connection.stream.socket()));
        self.shared.pool.run(Box::new(move || {
            let worked = catch_unwind(AssertUnwindSafe(|| work.run(&socket)));
            mailbox.send(match worked {
                Ok(worked) => Message::Worked(number, worked),
                Err(_) => Message::Panicked(number),
            });
        }));
    }

    /// Takes the result of another thread. Returns false if the connection has to be closed.
    pub(super) fn take(&mut self, connection: &mut Connection, message: Message<H>) -> bool {
        let state = std::mem::replace(&mut connection.state, State::Idle);
        match (state, message) {
            (
                State::Working(Working::Response { is_head, is_1_1 }),
                Message::Finished(_, finish),
            ) => {
                let response = finish(&mut self.handler);
                let output = self.output(connection, response, is_head, is_1_1);
                connection.state = State::Sending(Box::new(output));
                true
            }
            (State::Working(Working::Response { is_head, is_1_1 }), Message::Panicked(_)) => {
                connection.stays_open = false;
                let response = Response::text(500, "internal error");
                let output = self.output(connection, response, is_head, is_1_1);
                connection.state = State::Sending(Box::new(output));
                true
            }
            (State::Working(Working::Body(mut output)), Message::Worked(_, worked)) => {
                let before = output.sent();
                let taken = output.take(worked, &mut connection.quota, &self.shared.rates);
                self.counters.bytes.add(output.sent() - before);
                match taken {
                    Ok(()) => connection.is_writable = true,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(_) => {
                        self.counters.cut.add(1);
                        return false;
                    }
                }
                connection.deadline = self.clock.ticks_after(STALL_TIMEOUT);
                connection.state = State::Sending(output);
                true
            }
            // A job of a body panicked, so the rest of the response is missing.
            _ => false,
        }
    }

    fn end_response(&mut self, connection: &mut Connection) -> Option<Next> {
        if connection.stays_open {
            connection.state = State::Idle;
            connection.idle_since = self.counters.serial();
            connection.deadline = self.clock.ticks_after(IDLE_TIMEOUT);
            return None;
        }
        connection.stream.finish();
        // If bytes of the client have not been read, the kernel answers a close with a reset, and the
        // client may lose the end of the response.
        if !connection.is_refused && !connection.is_readable && connection.input.is_empty() {
            return Some(Next::Close);
        }
        connection.input = Vec::new();
        connection.state = State::Lingering;
        connection.deadline = self.clock.ticks_after(LINGER_TIMEOUT);
        None
    }

    /// Drops what the client still sends.
    fn linger(&mut self, connection: &mut Connection) -> Next {
        match self.receive(connection) {
            Ok(_) => Next::Again,
            Err(next) => next,
        }
    }
}

fn has_empty_line(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair == b"\n\n") || bytes.windows(3).any(|three| three == b"\n\r\n")
}
