//! A connection without threads and timeouts, for fuzzers and tests of the parser. The bytes that the
//! client sends arrive in the pieces that the test chooses.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use super::clock::Clock;
use super::connection::{Connection, State};
use super::drive::{Next, Toolbox, scratch};
use super::handler::Handler;
use super::listener::Listener;
use super::pool::{Mailbox, Pool};
use super::rates::Rates;
use super::shared::{Places, Shared};
use super::stream::Stream;

/// A connection and its client. All connections of an exchange have responses with the same date.
pub struct Exchange<H> {
    toolbox: Toolbox<H>,
    connection: Connection,
    client: UnixStream,
    is_over: bool,
}

impl<H: Handler + 'static> Exchange<H> {
    /// Prepares a connection. The handler MUST answer at once.
    ///
    /// # Panics
    ///
    /// If the process has no descriptors left.
    pub fn new(handler: H) -> Exchange<H> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let shared = Shared {
            listener: Listener::Tcp(listener),
            tls: None,
            rates: Rates::default(),
            places: Places::new(1),
            pool: Arc::new(Pool::default()),
            is_stopping: Arc::default(),
        };
        let toolbox = Toolbox {
            handler,
            clock: Clock::new(),
            counters: Arc::default(),
            scratch: scratch(),
            shared: Arc::new(shared),
            mailbox: Arc::new(Mailbox::new().expect("a mailbox")),
        };
        let (client, connection) = connect();
        Exchange { toolbox, connection, client, is_over: false }
    }

    /// Replaces the connection by a new one.
    pub fn reconnect(&mut self) {
        (self.client, self.connection) = connect();
        self.is_over = false;
    }

    /// Sends bytes that arrive together. Returns what the server sends before it needs more bytes.
    ///
    /// # Panics
    ///
    /// If the bytes do not fit in the buffer of a socket, which has about 200 KiB.
    pub fn send(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut received = Vec::new();
        if self.is_over {
            return received;
        }
        self.client.write_all(bytes).expect("sent");
        self.connection.is_readable = true;
        loop {
            let next = self.toolbox.drive(&mut self.connection, 0);
            let before = received.len();
            // The end of the connection, or no more bytes.
            let _all = self.client.read_to_end(&mut received);
            self.connection.is_writable = true;
            self.is_over =
                matches!(next, Next::Close) || matches!(self.connection.state, State::Lingering);
            let waits = matches!(next, Next::Stay) && received.len() == before;
            if self.is_over || waits {
                return received;
            }
        }
    }

    /// Returns whether the server takes no more requests on the connection.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns the handler.
    pub fn handler(&mut self) -> &mut H {
        &mut self.toolbox.handler
    }
}

fn connect() -> (UnixStream, Connection) {
    let (client, server) = UnixStream::pair().expect("a pair");
    for socket in [&client, &server] {
        socket.set_nonblocking(true).expect("nonblocking");
    }
    let stream = Stream::new(server.into(), None).expect("a stream");
    (client, Connection::new(stream, Places::new(1).take().expect("a place"), 0, 0))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::limits::TURN_REQUESTS;
    use super::{Exchange, Handler, Next, Write};
    use crate::server::{Reply, Request, Response};

    struct Empty;

    impl Handler for Empty {
        fn handle(&mut self, _: &Request<'_>, _: Instant) -> Reply<Empty> {
            Reply::Ready(Response::text(200, ""))
        }

        fn tidy(&mut self, _: Instant) {}
    }

    #[test]
    fn a_connection_gives_others_their_turn_between_requests() {
        let mut exchange = Exchange::new(Empty);
        let count = TURN_REQUESTS * 3;
        let requests = "GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(count.try_into().expect("few"));
        exchange.client.write_all(requests.as_bytes()).expect("sent");
        for turn in 1..=3 {
            let next = exchange.toolbox.drive(&mut exchange.connection, 0);
            assert!(matches!(next, Next::Again));
            assert_eq!(exchange.toolbox.counters.requests.get(), turn * TURN_REQUESTS);
        }
    }
}
