//! Clients that each receive one response and keep their connections open.

use std::io::ErrorKind;
use std::net::TcpStream;
use std::time::Instant;

use super::probe::exchange;
use super::tally::Tally;
use super::timed::failure;
use super::{Plan, Report};
use crate::Failure;

/// Carries out a plan: opens all connections one after the other, then reads the memory of the
/// server after the window.
///
/// # Errors
///
/// The server refuses a connection, or does not answer.
pub(super) fn run(plan: &Plan) -> Result<Report, Failure> {
    let mut tally = Tally::new()?;
    let mut connections = Vec::with_capacity(plan.clients);
    let start = Instant::now();
    for request in plan.requests.iter().cycle().take(plan.clients) {
        let begun = Instant::now();
        let (stream, head, _) = exchange(plan.address, &request.text).map_err(|e| {
            Failure::new(format!("connection {}: {}", connections.len() + 1, failure(plan, &e)))
        })?;
        tally.response(request, head, begun.elapsed());
        connections.push(stream);
    }
    std::thread::sleep(plan.window);
    let resident_bytes = plan.meter.resident_bytes();
    if !connections.iter().all(is_open) {
        tally.error("the server closed a connection that was idle".into());
    }
    Ok(Report { resident_bytes, ..tally.finish(start.elapsed()) })
}

fn is_open(stream: &TcpStream) -> bool {
    let is_quiet = || stream.peek(&mut [0]).is_err_and(|e| e.kind() == ErrorKind::WouldBlock);
    stream.set_nonblocking(true).is_ok() && is_quiet()
}
