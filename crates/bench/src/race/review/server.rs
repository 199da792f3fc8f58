//! A running `lop serve`, and requests to it.
//!
//! Requests identify themselves by the token, as programs do. Each has a connection of its own.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Failure;
use crate::stats::float;

/// Time limit of a request.
const LIMIT: Duration = Duration::from_secs(60);

/// A server, which is stopped when this value is dropped.
pub(super) struct Server {
    child: Child,
    /// The host and the port.
    address: String,
    token: String,
}

impl Server {
    /// Starts a server on a free port, and waits until it has printed its address.
    ///
    /// # Errors
    ///
    /// The program does not start, or prints something else.
    pub(super) fn start(lop: &Path, catalog: &Path) -> Result<Self, Failure> {
        let mut command = Command::new(lop);
        command.arg("--catalog").arg(catalog).args(["serve", "-q", "--listen", "127.0.0.1:0"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = testkit::spawn(&mut command).map_err(|e| Failure::at(lop, e))?;
        let mut line = String::new();
        let output = child.stdout.take().map(BufReader::new);
        // From here on, dropping the server stops the process.
        let mut server = Self { child, address: String::new(), token: String::new() };
        if let Some(mut output) = output {
            output.read_line(&mut line).map_err(|e| Failure::at(lop, e))?;
        }
        let rest = line.trim().strip_prefix("http://");
        let parts = rest.and_then(|rest| rest.split_once("/?token="));
        let (address, token) = parts.ok_or_else(|| Failure::at(lop, "printed no address"))?;
        (server.address, server.token) = (address.to_owned(), token.to_owned());
        Ok(server)
    }

    /// Returns the address of a page, for a browser that has the cookie.
    pub(super) fn page(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns the address of a page with the token.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}?token={}", self.page(path), self.token)
    }

    /// Returns a part of a page.
    ///
    /// # Errors
    ///
    /// The server does not answer with 200.
    pub(super) fn get(&self, path: &str) -> Result<String, Failure> {
        self.send("GET", path, "")
    }

    /// Returns a JSON answer, and the time until it was complete in milliseconds.
    ///
    /// # Errors
    ///
    /// The server does not answer with 200 and JSON.
    pub(super) fn get_json(&self, path: &str) -> Result<(Value, f64), Failure> {
        self.timed("GET", path, "")
    }

    /// Sends a change. Returns the answer and the time until it was complete in milliseconds.
    ///
    /// # Errors
    ///
    /// The server does not answer with 200 and JSON.
    pub(super) fn post_json(&self, path: &str, body: &Value) -> Result<(Value, f64), Failure> {
        self.timed("POST", path, &body.to_string())
    }

    fn timed(&self, method: &str, path: &str, body: &str) -> Result<(Value, f64), Failure> {
        let start = Instant::now();
        let answer = self.send(method, path, body)?;
        let ms = start.elapsed().as_secs_f64() * 1_000.0;
        let answer = serde_json::from_str(&answer);
        Ok((answer.map_err(|e| Failure::new(format!("{method} {path}: {e}")))?, ms))
    }

    fn send(&self, method: &str, path: &str, body: &str) -> Result<String, Failure> {
        let failed = |reason: String| Failure::new(format!("{method} {path}: {reason}"));
        let response = self.exchange(method, path, body).map_err(|e| failed(e.to_string()))?;
        let response = String::from_utf8_lossy(&response);
        let (head, body) = response.split_once("\r\n\r\n").unwrap_or_default();
        if !head.starts_with("HTTP/1.1 200 ") {
            return Err(failed(format!("{} {body}", head.lines().next().unwrap_or_default())));
        }
        Ok(body.to_owned())
    }

    fn exchange(&self, method: &str, path: &str, body: &str) -> std::io::Result<Vec<u8>> {
        let Self { address, token, .. } = self;
        let mut socket = TcpStream::connect(address)?;
        socket.set_read_timeout(Some(LIMIT))?;
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n\
             {body}"
        );
        socket.write_all(request.as_bytes())?;
        let mut response = Vec::new();
        socket.read_to_end(&mut response)?;
        Ok(response)
    }

    /// Returns the resident memory of the server in bytes.
    ///
    /// # Errors
    ///
    /// The server has ended.
    pub(super) fn resident_bytes(&self) -> Result<f64, Failure> {
        self.memory("VmRSS:")
    }

    /// Returns the largest resident memory that the server had, in bytes.
    ///
    /// # Errors
    ///
    /// The server has ended.
    pub(super) fn peak_bytes(&self) -> Result<f64, Failure> {
        self.memory("VmHWM:")
    }

    fn memory(&self, field: &str) -> Result<f64, Failure> {
        let path = format!("/proc/{}/status", self.child.id());
        let path = Path::new(&path);
        let text = fs::read_to_string(path).map_err(|e| Failure::at(path, e))?;
        let line = text.lines().find_map(|line| line.strip_prefix(field));
        let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok());
        let kib: u64 = kib.ok_or_else(|| Failure::at(path, format!("has no {field}")))?;
        Ok(float(kib * 1024))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _status = self.child.wait();
    }
}
