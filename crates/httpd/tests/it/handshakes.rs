//! Clients that break the rules of TLS, or leave in the middle.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use httpd::server::Rates;

use crate::client::{tcp, tls};
use crate::files::pattern;
use crate::running::{CERTIFICATE, Running, Transport};

fn start() -> Running {
    Running::over(Transport::Tls, Rates::default(), 1000)
}

/// Returns the first bytes of a handshake.
fn hello(server: &Running) -> Vec<u8> {
    let mut hello = Vec::new();
    tls(&server.path().join(CERTIFICATE)).write_tls(&mut hello).expect("written");
    hello
}

/// Returns what the server sends until it ends the connection.
fn rest(mut socket: TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _reset = socket.read_to_end(&mut bytes);
    bytes
}

/// Checks that the server still serves others.
fn check(server: &Running) {
    assert_eq!(server.connect().get("/echo/").status, 200);
}

#[test]
fn a_handshake_may_end_at_any_byte() {
    let server = start();
    let hello = hello(&server);
    for length in (0..=hello.len()).step_by(17).chain([hello.len()]) {
        let mut socket = tcp(server.address);
        socket.write_all(&hello[..length]).expect("sent");
        if length % 2 == 0 {
            socket.shutdown(Shutdown::Write).expect("shut down");
            rest(socket);
        }
    }
    check(&server);
}

#[test]
fn other_bytes_than_a_handshake_end_the_connection() {
    let server = start();
    let request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec();
    let hello = hello(&server);
    let broken = [&hello[..60], &[0xff; 200], &hello[60..]].concat();
    let large = [&[0x16, 3, 1, 0xff, 0xff][..], &vec![1; 70_000]].concat();
    for bytes in [request, pattern(100), vec![0; 100_000], broken, large] {
        let mut socket = tcp(server.address);
        // The server may have closed the connection before it has read everything.
        let _reset = socket.write_all(&bytes);
        let answer = rest(socket);
        // An alert (21), unless a reset came before it.
        assert!(answer.first().is_none_or(|kind| *kind == 21), "{answer:?}");
    }
    check(&server);
}

#[test]
fn a_handshake_that_takes_too_long_is_given_up() {
    let server = start();
    let hello = hello(&server);
    let mut stalled = Vec::new();
    for length in [0, 1, hello.len() / 2, hello.len()] {
        let mut socket = tcp(server.address);
        socket.write_all(&hello[..length]).expect("sent");
        stalled.push(socket);
    }
    check(&server);
    for socket in stalled {
        // The server may have sent its part of the handshake.
        let _handshake = rest(socket);
    }
    assert_eq!(server.activity().open, 0);
}

#[test]
fn bytes_may_arrive_one_by_one() {
    let server = start();
    let mut connection = tls(&server.path().join(CERTIFICATE));
    let mut socket = tcp(server.address);
    socket.set_nodelay(true).expect("set");
    let send = |connection: &mut rustls::ClientConnection, socket: &mut TcpStream| {
        let mut bytes = Vec::new();
        while connection.wants_write() {
            connection.write_tls(&mut bytes).expect("written");
        }
        for byte in bytes {
            socket.write_all(&[byte]).expect("sent");
        }
    };
    while connection.is_handshaking() {
        send(&mut connection, &mut socket);
        if connection.is_handshaking() {
            connection.read_tls(&mut socket).expect("received");
            connection.process_new_packets().expect("valid");
        }
    }
    connection.writer().write_all(b"GET /echo/slow HTTP/1.1\r\nHost: a\r\n\r\n").expect("taken");
    send(&mut connection, &mut socket);
    let mut client = crate::client::Client::over(rustls::StreamOwned::new(connection, socket));
    assert_eq!(client.answer().body, b"/echo/slow \n");
}
