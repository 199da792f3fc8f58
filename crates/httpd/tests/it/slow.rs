//! Clients that are slow, that leave early, or that want more than their share.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use httpd::server::Rates;

use crate::client::{Client, tcp};
use crate::files::pattern;
use crate::running::{Running, Transport};

/// Starts a server for more than a thousand connections.
fn start(transport: Transport) -> Running {
    runtime::raise_descriptor_limit();
    Running::over(transport, Rates::default(), 4000)
}

fn check(server: &Running) {
    assert_eq!(server.connect().get("/echo/").status, 200);
}

/// Ends the connection by a reset.
fn reset(socket: &TcpStream) {
    rustix::net::sockopt::set_socket_linger(socket, Some(Duration::ZERO)).expect("set");
}

#[test]
fn a_thousand_slow_heads_are_given_up_while_others_are_served() {
    let server = start(Transport::Tcp);
    let mut slow: Vec<TcpStream> = (0..1000).map(|_| tcp(server.address)).collect();
    let head = b"GET / HTTP/1.1\r\nHost: a\r\nX: ".iter().chain(std::iter::repeat(&b'y'));
    for byte in head.take(200) {
        for socket in &mut slow {
            // The server may have closed the connection.
            let _closed = socket.write_all(&[*byte]);
        }
        check(&server);
        thread::sleep(Duration::from_millis(200));
        if server.activity().timed_out == 1000 {
            break;
        }
    }
    assert_eq!(server.activity().timed_out, 1000);
    for mut socket in slow {
        let mut bytes = Vec::new();
        let _reset = socket.read_to_end(&mut bytes);
        assert_eq!(bytes, b"");
    }
}

#[test]
fn a_thousand_clients_that_read_nothing_do_not_keep_others_waiting() {
    // The bytes that fill the buffers of a connection have to be encrypted.
    for (transport, count) in
        [(Transport::Tcp, 1000), (Transport::Unix, 1000), (Transport::Tls, 20)]
    {
        let server = start(transport);
        server.write("f", &pattern(8 << 20));
        let request = "GET /file/f HTTP/1.1\r\nHost: a\r\n\r\n";
        let slow: Vec<Client> = (0..count)
            .map(|_| {
                let mut client = server.connect();
                client.send(request);
                client
            })
            .collect();
        for _ in 0..10 {
            check(&server);
        }
        drop(slow);
        server.wait_for_open(0);
    }
}

#[test]
fn clients_may_leave_at_any_time() {
    let server = start(Transport::Tcp);
    server.write("f", &pattern(2 << 20));
    for n in 0..600 {
        let mut socket = tcp(server.address);
        let request = "GET /file/f HTTP/1.1\r\nHost: a\r\n\r\n";
        match n % 6 {
            0 => {}
            1 => reset(&socket),
            2 => socket.write_all(&request.as_bytes()[..20]).expect("sent"),
            3 => {
                socket.write_all(request.as_bytes()).expect("sent");
                reset(&socket);
            }
            4 => {
                socket.write_all(request.as_bytes()).expect("sent");
                socket.read_exact(&mut [0; 1000]).expect("received");
                reset(&socket);
            }
            _ => {
                socket.write_all(request.repeat(20).as_bytes()).expect("sent");
                socket.read_exact(&mut [0; 1000]).expect("received");
                let _gone = socket.shutdown(Shutdown::Both);
            }
        }
    }
    check(&server);
    server.wait_for_open(0);
}

#[test]
fn requests_without_a_pause_do_not_keep_others_waiting() {
    let server = start(Transport::Tcp);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..6 {
            let mut writer = tcp(server.address);
            let mut reader = writer.try_clone().expect("copied");
            let is_over = &is_over;
            scope.spawn(move || {
                let requests = "GET /echo/ HTTP/1.1\r\nHost: a\r\n\r\n".repeat(2000);
                while !is_over.load(Ordering::Relaxed) {
                    writer.write_all(requests.as_bytes()).expect("sent");
                }
                let _gone = writer.shutdown(Shutdown::Both);
            });
            scope.spawn(move || {
                let mut buffer = vec![0; 1 << 20];
                while reader.read(&mut buffer).is_ok_and(|received| received > 0) {}
            });
        }
        thread::sleep(Duration::from_millis(300));
        let mut client = server.connect();
        for _ in 0..20 {
            assert_eq!(client.get("/echo/").status, 200);
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_full_server_accepts_again_when_a_connection_becomes_idle() {
    let server = Running::with(Rates::default(), 16);
    let mut busy = Vec::new();
    for number in 1..=16 {
        let mut client = server.connect();
        client.send("GET /echo/ HTTP/1.1\r\n");
        server.wait_for_open(number);
        // Until the bytes have arrived, the connection is idle, and would give way to the next one.
        thread::sleep(Duration::from_millis(20));
        busy.push(client);
    }
    let mut waiting = server.connect();
    waiting.send("GET /echo/ HTTP/1.1\r\nHost: a\r\n\r\n");
    thread::sleep(Duration::from_millis(100));
    for client in &mut busy {
        client.send("Host: a\r\n\r\n");
        assert_eq!(client.answer().status, 200);
    }
    assert_eq!(waiting.answer().status, 200);
}
