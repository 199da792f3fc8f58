//! Arbitrary bytes as messages: invalid ones are refused, and valid ones are encoded again to the
//! same message.

#![no_main]

use std::fs::File;
use std::io::{Seek, Write};

use libfuzzer_sys::fuzz_target;
use wire::{Answer, FromReceiver, FromSender, Incoming, Open, read_greeting};

macro_rules! again {
    ($kind:ty, $data:expr) => {
        if let Ok((message, _)) = wire::decode::<$kind>($data) {
            let encoded = wire::encode(&message).expect("it is encoded");
            let (once_more, rest) = wire::decode::<$kind>(&encoded).expect("it is a message");
            assert!(rest.is_empty());
            assert_eq!(message, once_more);
        }
    };
}

fuzz_target!(|data: &[u8]| {
    again!(Open, data);
    again!(Answer, data);
    again!(FromSender<'_>, data);
    again!(FromReceiver<'_>, data);
    let stream = || {
        let mut stream: File = tempfile::tempfile_in("/dev/shm").expect("made");
        stream.write_all(data).expect("written");
        stream.rewind().expect("at its beginning");
        Incoming::new(stream)
    };
    let mut framed = stream();
    while let Ok(message) = framed.next(&|| false) {
        assert!(message.len() <= wire::MAX_MESSAGE_BYTES);
    }
    let _greeting = read_greeting(&mut stream(), &|| false);
});
