//! A web server for a fixed set of pages.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A policy without inline scripts.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; img-src 'self' data:";

/// A path whose answer takes a while.
pub(crate) const SLOW: &str = "/slow";

/// A page without any fault.
pub(crate) const GOOD: &str = "<!doctype html><html lang=en><title>good</title>\
    <link rel=icon href='data:,'><main><h1>good</h1><p>text</p></main></html>";

/// Serves files until it is dropped. All other paths do not exist.
pub(crate) struct Server {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn new<const N: usize>(files: [(&'static str, &'static str); N]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_over);
        let files = Arc::new(HashMap::from(files));
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if seen.load(Ordering::SeqCst) {
                    return;
                }
                let files = Arc::clone(&files);
                thread::spawn(move || answer(stream.expect("a connection"), &files));
            }
        });
        Self { address, is_over, thread: Some(thread) }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        let _woken = TcpStream::connect(self.address);
        let _ended = self.thread.take().expect("ends once").join();
    }
}

fn answer(mut stream: TcpStream, files: &HashMap<&str, &str>) {
    let mut lines = BufReader::new(&stream).lines();
    // A browser opens connections in advance and may never use them.
    let Some(Ok(request)) = lines.next() else { return };
    for line in lines {
        if line.is_ok_and(|line| line.is_empty()) {
            break;
        }
    }
    let path = request.split(' ').nth(1).expect("a path");
    if path == SLOW {
        thread::sleep(Duration::from_secs(1));
    }
    let kind = match path.rsplit_once('.') {
        Some((_, "js")) => "text/javascript",
        _ => "text/html; charset=utf-8",
    };
    let (status, body) = files.get(path).map_or(("404 Not Found", ""), |body| ("200 OK", *body));
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         Content-Security-Policy: {POLICY}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let _closed_early = stream.write_all(answer.as_bytes());
}
