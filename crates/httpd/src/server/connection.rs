//! The connections of a thread, and what each of them waits for.

use super::output::Output;
use super::rates::Quota;
use super::shared::Place;
use super::stream::Stream;

/// A connection.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Connection {
    pub(super) stream: Stream,
    /// Bytes received and not yet used: the start of a head, or further requests.
    pub(super) input: Vec<u8>,
    pub(super) state: State,
    pub(super) quota: Quota,
    /// True if the socket may have bytes. Events are reported once (`EPOLLET`), so this stays true
    /// until a read finds nothing.
    pub(super) is_readable: bool,
    /// True if the socket may take bytes.
    pub(super) is_writable: bool,
    /// True if the client has closed its end, or the connection is broken.
    pub(super) has_ended: bool,
    /// True if the connection stays open after the response.
    pub(super) stays_open: bool,
    /// True if the request was refused, so that the client may still be sending.
    pub(super) is_refused: bool,
    /// True if the connection goes on in the next turn without an event.
    pub(super) is_ready: bool,
    /// Number of connections and requests of the thread before it became idle.
    pub(super) idle_since: u64,
    /// Second at which the connection is closed if nothing happens.
    pub(super) deadline: u32,
    /// The bytes in the send queue when the deadline was set.
    pub(super) queued: u64,
    pub(super) place: Place,
}

impl Connection {
    /// Returns a new connection, which has no request yet.
    pub(super) fn new(stream: Stream, place: Place, idle_since: u64, deadline: u32) -> Connection {
        Connection {
            stream,
            input: Vec::new(),
            state: State::Idle,
            quota: Quota::default(),
            is_readable: true,
            is_writable: true,
            has_ended: false,
            stays_open: true,
            is_refused: false,
            is_ready: false,
            idle_since,
            deadline,
            queued: 0,
            place,
        }
    }
}

/// The event that a connection waits for.
pub(super) enum State {
    /// A request, of which no byte is there.
    Idle,
    /// The rest of a request head.
    Head,
    /// Another thread.
    Working(Working),
    /// The client, which has to take the response.
    Sending(Box<Output>),
    /// The time at which the rate limits allow more bytes.
    Throttled(Box<Output>),
    /// The end of what the client sends, after a response that ends the connection.
    Lingering,
}

/// The next step of a connection whose work another thread is doing.
pub(super) enum Working {
    /// The response begins. The flags say whether only its head is sent, and how the head ends.
    Response { is_head: bool, is_1_1: bool },
    /// The response goes on.
    Body(Box<Output>),
}

/// The connections of a thread, each with a number that is not used again soon.
#[derive(Default)]
pub(super) struct Connections {
    slots: Vec<Slot>,
    free: Vec<u32>,
    count: usize,
}

#[derive(Default)]
struct Slot {
    /// Number of connections that the slot has had.
    generation: u32,
    connection: Option<Box<Connection>>,
}

impl Connections {
    /// Adds a connection. Returns its number.
    pub(super) fn add(&mut self, connection: Connection) -> u64 {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
        });
        let slot = &mut self.slots[index as usize];
        slot.generation = slot.generation.wrapping_add(1) & GENERATIONS;
        slot.connection = Some(Box::new(connection));
        self.count += 1;
        u64::from(slot.generation) << 32 | u64::from(index)
    }

    /// Returns a connection. Returns `None` if it was removed.
    pub(super) fn get(&mut self, number: u64) -> Option<&mut Connection> {
        let slot = self.slots.get_mut(index(number))?;
        let is_same = u64::from(slot.generation) == number >> 32;
        slot.connection.as_deref_mut().filter(|_| is_same)
    }

    /// Removes a connection.
    pub(super) fn remove(&mut self, number: u64) -> Option<Box<Connection>> {
        self.get(number)?;
        self.free.push(u32::try_from(index(number)).ok()?);
        self.count -= 1;
        self.slots[index(number)].connection.take()
    }

    /// Returns how many connections there are.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Returns the connections with their numbers.
    pub(super) fn iter(&mut self) -> impl Iterator<Item = (u64, &mut Connection)> {
        (0u64..).zip(&mut self.slots).filter_map(|(index, slot)| {
            let number = u64::from(slot.generation) << 32 | index;
            Some((number, slot.connection.as_deref_mut()?))
        })
    }
}

/// The numbers above belong to the listener and the mailbox of the thread.
const GENERATIONS: u32 = u32::MAX >> 1;

fn index(number: u64) -> usize {
    usize::try_from(number & u64::from(u32::MAX)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::super::shared::Places;
    use super::super::stream::Stream;
    use super::{Connection, Connections};

    fn connection() -> Connection {
        let (socket, _peer) = UnixStream::pair().expect("a pair");
        let stream = Stream::new(socket.into(), None).expect("a stream");
        Connection::new(stream, Places::new(1).take().expect("a place"), 0, 0)
    }

    #[test]
    fn a_number_does_not_lead_to_a_later_connection() {
        let mut connections = Connections::default();
        let first = connections.add(connection());
        let other = connections.add(connection());
        assert!(connections.remove(first).is_some());
        let second = connections.add(connection());
        assert_eq!(second & 0xffff_ffff, first & 0xffff_ffff);
        assert!(connections.get(first).is_none() && connections.remove(first).is_none());
        assert!(connections.get(second).is_some() && connections.get(other).is_some());
        assert_eq!((connections.len(), connections.iter().count()), (2, 2));
    }
}
