//! Tests of messages, in particular of malformed ones.

use std::io::{self, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use proptest::prelude::*;

use super::{Connection, MAX_ANSWER_BYTES, MAX_QUESTION_BYTES, Request, encode};
use crate::answer::{Answer, ChangedDir, Changes, Entries, Position, Unknown, Unseen};

const TIMEOUT: Duration = Duration::from_secs(60);

/// Sends bytes, closes the stream, and returns the message that the other side receives.
fn received<T: serde::de::DeserializeOwned + Send>(bytes: &[u8], max: u32) -> io::Result<T> {
    let (mut here, there) = UnixStream::pair().expect("a pair");
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || Connection::new(there, TIMEOUT).receive(max));
        // The reader may close the stream before it has received everything.
        let _refused = here.write_all(bytes);
        let _refused = here.shutdown(Shutdown::Write);
        reader.join().expect("no panic")
    })
}

fn answer() -> Answer {
    let names = Entries::Names(vec![(b"new\xFF".to_vec(), true), (b"file".to_vec(), false)]);
    let dirs = [("/a", names), ("/b", Entries::All), ("/c", Entries::Tree)];
    let dirs = dirs.map(|(path, entries)| ChangedDir { path: path.into(), entries }).to_vec();
    let position = Position { session: [7; 16], number: u64::MAX };
    Answer { position, changes: Ok(Changes { dirs, inodes: vec![(1 << 33, 2)] }) }
}

#[test]
fn messages_arrive_as_they_were_sent() {
    let unknown = Answer { changes: Err(Unknown::Replaced(b"/a".to_vec())), ..answer() };
    for answer in [answer(), unknown] {
        let bytes = encode(&answer, MAX_ANSWER_BYTES).expect("short enough");
        assert_eq!(received::<Answer>(&bytes, MAX_ANSWER_BYTES).expect("received"), answer);
    }
}

#[test]
fn message_that_is_too_long_is_not_encoded() {
    assert!(encode(&vec![7_u8; 1000], 1001).is_none());
    assert!(encode(&vec![7_u8; 1000], 1002).is_some());
}

/// Claims to contain more numbers than fit in memory.
struct Endless;

impl serde::Serialize for Endless {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(0..1_u64 << 50)
    }
}

#[test]
fn encoding_stops_at_the_maximum_length() {
    assert!(encode(&Endless, 1000).is_none());
}

#[test]
fn message_that_ends_early_is_an_error() {
    let bytes = encode(&answer(), MAX_ANSWER_BYTES).expect("short enough");
    for length in 0..bytes.len() {
        assert!(received::<Answer>(&bytes[..length], MAX_ANSWER_BYTES).is_err(), "{length} bytes");
    }
}

#[test]
fn huge_lengths_are_refused() {
    let mut bytes = encode(&answer(), MAX_ANSWER_BYTES).expect("short enough");
    bytes[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    let error = received::<Answer>(&bytes, MAX_ANSWER_BYTES).expect_err("too long");
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    // The length of the message is correct, but the message claims to contain a list of 2^63 entries.
    let fields = [&[0; 16][..], &[0, 0], &[0xFF; 9], &[0x01]].concat();
    let length = u32::try_from(fields.len()).expect("short").to_le_bytes();
    let bytes = [&b"lpw\x02"[..], &length, &fields].concat();
    assert!(received::<Answer>(&bytes, MAX_ANSWER_BYTES).is_err());
}

#[test]
fn other_protocol_is_refused() {
    let mut bytes = encode(&answer(), MAX_ANSWER_BYTES).expect("short enough");
    bytes[3] += 1;
    let error = received::<Answer>(&bytes, MAX_ANSWER_BYTES).expect_err("another protocol");
    assert!(error.to_string().contains("another protocol"), "{error}");
}

#[test]
fn silent_peer_is_given_up() {
    let (_here, there) = UnixStream::pair().expect("a pair");
    let mut connection = Connection::new(there, Duration::from_millis(20));
    let error = connection.receive::<Request>(MAX_QUESTION_BYTES).expect_err("nothing arrives");
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    let error = connection.send(&vec![0; 8 << 20]).expect_err("nobody reads");
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
}

proptest! {
    #[test]
    fn no_bytes_cause_a_panic(mut bytes: Vec<u8>, has_head: bool) {
        if has_head {
            let length = u32::try_from(bytes.len()).expect("short").to_le_bytes();
            bytes = [&b"lpw\x02"[..], &length, &bytes].concat();
        }
        let _question = received::<Request>(&bytes, MAX_QUESTION_BYTES);
        let _unseen = received::<Unseen>(&bytes, MAX_ANSWER_BYTES);
        let _answer = received::<Answer>(&bytes, MAX_ANSWER_BYTES);
    }
}
