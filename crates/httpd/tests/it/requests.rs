//! Requests, connections and their ends.

use crate::client::Client;
use crate::running::Running;

#[test]
fn a_connection_takes_many_requests() {
    let server = Running::start();
    let mut client = Client::connect(server.address);
    for n in 0..100 {
        let answer = client.get(&format!("/echo/{n}?q={n}"));
        assert_eq!(answer.body, format!("/echo/{n} q={n}\n").as_bytes());
        assert!(answer.head.contains("\r\ndate: ") && !answer.head.contains("connection:"));
    }
    assert_eq!(server.activity().requests, 100);
}

#[test]
fn requests_may_arrive_together_or_byte_by_byte() {
    let server = Running::start();
    let mut client = Client::connect(server.address);
    server.write("f", b"from the disk");
    let requests: Vec<String> = (0..20)
        .map(|n| if n % 3 == 0 { "/file/f".to_owned() } else { format!("/echo/{n}") })
        .map(|path| format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"))
        .collect();
    client.send(requests.concat());
    let together: Vec<_> = requests.iter().map(|_| client.answer().body).collect();
    for (n, request) in requests.iter().enumerate() {
        for byte in request.as_bytes() {
            client.send([*byte]);
        }
        assert_eq!(client.answer().body, together[n], "{request}");
    }
    assert_eq!(together[0], b"from the disk");
    assert_eq!(together[1], b"/echo/1 \n");
}

#[test]
fn a_head_request_gets_no_body() {
    let server = Running::start();
    server.write("f", b"0123456789");
    let mut client = Client::connect(server.address);
    client.send("HEAD /file/f HTTP/1.1\r\nHost: a\r\n\r\n");
    assert!(client.head().contains("content-length: 10\r\n"));
    assert_eq!(client.get("/file/f").body, b"0123456789");
}

#[test]
fn connections_end_as_the_client_wishes() {
    let server = Running::start();
    for (head, field) in [
        ("GET /echo/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "connection: close\r\n"),
        ("GET /echo/ HTTP/1.0\r\n\r\n", "connection: close\r\n"),
    ] {
        let mut client = Client::connect(server.address);
        client.send(head);
        let answer = client.answer();
        assert!(answer.head.contains(field), "{}", answer.head);
        assert_eq!((answer.body, client.rest()), (b"/echo/ \n".to_vec(), vec![]));
    }
    let mut client = Client::connect(server.address);
    for _ in 0..2 {
        client.send("GET /echo/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        assert!(client.answer().head.contains("connection: keep-alive\r\n"));
    }
}

#[test]
fn a_client_that_has_sent_everything_still_gets_its_answer() {
    let server = Running::start();
    server.write("f", &vec![7; 100_000]);
    for path in ["/echo/a", "/file/f"] {
        let mut client = Client::connect(server.address);
        client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        client.finish();
        let answer = client.answer();
        assert!(answer.is_complete && answer.status == 200);
        assert_eq!(client.rest(), b"");
    }
}

#[test]
fn a_job_that_panics_ends_only_its_connection() {
    let server = Running::start();
    let mut client = Client::connect(server.address);
    let mut other = Client::connect(server.address);
    other.get("/echo/1");
    assert_eq!(client.get("/panic").status, 500);
    assert_eq!(client.rest(), b"");
    assert_eq!(other.get("/echo/2").status, 200);
}

#[test]
fn a_server_that_stops_completes_open_responses() {
    let mut server = Running::start();
    server.write("f", &vec![7; 300_000]);
    let mut busy = Client::connect(server.address);
    let mut idle = Client::connect(server.address);
    idle.get("/echo/");
    busy.send("GET /file/f HTTP/1.1\r\nHost: a\r\n\r\n");
    let head = busy.head();
    assert!(head.contains("content-length: 300000"));
    let reader = std::thread::spawn(move || busy.rest().len());
    server.stop();
    assert_eq!(reader.join().expect("read"), 300_000);
    assert_eq!(idle.rest(), b"");
}

#[test]
fn a_full_server_gives_the_place_of_an_idle_connection_to_a_new_one() {
    let server = Running::with(httpd::server::Rates::default(), 16);
    let mut clients: Vec<Client> = (0..64).map(|_| Client::connect(server.address)).collect();
    // Each thread closes its own oldest connection, which may be a new one without a request. So each
    // request comes before the next connection.
    for _ in 0..8 {
        let mut client = Client::connect(server.address);
        assert_eq!(client.get("/echo/").status, 200);
        clients.push(client);
    }
    assert!(server.activity().open <= 16);
}
