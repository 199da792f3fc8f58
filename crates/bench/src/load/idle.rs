//! Clients that each receive one response and keep their connections open.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::response::Parser;
use super::tally::Tally;
use super::timed::failure;
use super::{Plan, Report};
use crate::Failure;

/// The time limit of a response.
const LIMIT: Duration = Duration::from_secs(10);

/// Carries out a plan: opens all connections one after the other, then reads the memory of the
/// server after the window.
///
/// # Errors
///
/// The server refuses a connection, or does not answer.
pub(super) fn run(plan: &Plan) -> Result<Report, Failure> {
    let mut tally = Tally::new()?;
    let mut connections = Vec::with_capacity(plan.clients);
    let mut buffer = vec![0; 64 << 10];
    let start = Instant::now();
    for at in 0..plan.clients {
        let begun = Instant::now();
        let request = &plan.requests[at % plan.requests.len()];
        let mut parser = Parser::default();
        let opened = TcpStream::connect(plan.address).and_then(|mut stream| {
            stream.set_read_timeout(Some(LIMIT))?;
            stream.write_all(request.text.as_bytes())?;
            loop {
                let bytes = stream.read(&mut buffer)?;
                if bytes == 0 {
                    return Err(std::io::ErrorKind::UnexpectedEof.into());
                }
                let complete = parser.feed(&buffer[..bytes]).map_err(std::io::Error::other)?;
                if let Some(head) = complete {
                    return Ok((stream, head));
                }
            }
        });
        let (stream, head) = opened
            .map_err(|e| Failure::new(format!("connection {}: {}", at + 1, failure(plan, &e))))?;
        tally.response(request, head, begun.elapsed());
        connections.push(stream);
    }
    std::thread::sleep(plan.window);
    for stream in &connections {
        let mut byte = [0];
        let is_open = stream.set_nonblocking(true).is_ok()
            && stream.peek(&mut byte).is_err_and(|e| e.kind() == std::io::ErrorKind::WouldBlock);
        if !is_open {
            tally.error("the server closed a connection that was idle".into());
        }
    }
    let resident_bytes = plan.meter.resident_bytes();
    Ok(Report { resident_bytes, ..tally.finish(start.elapsed()) })
}
