//! Clients that break the rules.

use crate::client::Client;
use crate::running::Running;

/// Sends bytes and returns the statuses of all responses until the server ends the connection.
pub(crate) fn statuses(server: &Running, bytes: &[u8]) -> Vec<u16> {
    let mut client = Client::connect(server.address);
    client.try_send(bytes);
    client.finish();
    let all = String::from_utf8_lossy(&client.rest()).into_owned();
    all.split("HTTP/1.1 ").skip(1).map(|text| text[..3].parse().expect("a status")).collect()
}

#[test]
fn random_bytes_do_no_harm() {
    let server = Running::start();
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state >> 33
    };
    let valid =
        b"GET /echo/x?y HTTP/1.1\r\nHost: a\r\nRange: bytes=0-1\r\nIf-None-Match: \"1\"\r\n\r\n";
    for _ in 0..300 {
        let mut bytes = valid.to_vec();
        for _ in 0..=(next() % 4) {
            let at = usize::try_from(next()).expect("fits") % bytes.len();
            bytes[at] = u8::try_from(next() & 255).expect("a byte");
        }
        for status in statuses(&server, &bytes) {
            assert!(
                [200, 400, 405, 413, 414, 431, 501, 505].contains(&status),
                "{status} for {bytes:?}"
            );
        }
    }
    assert_eq!(Client::connect(server.address).get("/echo/").status, 200);
}
