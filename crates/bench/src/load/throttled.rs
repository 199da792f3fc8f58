//! Clients that each receive one response at the rate that the server allows.
//!
//! The rate of a client is counted after the warm-up, because servers send the beginning faster.

use std::time::Instant;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

use super::connection::{BUFFER_BYTES, Connection, Received};
use super::timed::{TICK, failure};
use super::{Plan, Report};
use crate::Failure;
use crate::stats::float;

/// Carries out a plan.
///
/// # Errors
///
/// The server refuses connections. A response that ends early is an error in the report.
pub(super) fn run(plan: &Plan) -> Result<Report, Failure> {
    let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(|e| failure(plan, &e.into()))?;
    let mut clients = Vec::new();
    for at in 0..plan.clients {
        let opened = Connection::open(plan.address).and_then(|mut connection| {
            connection.send(&plan.requests[at % plan.requests.len()].text)?;
            epoll::add(&epoll, &connection, EventData::new_u64(at as u64), EventFlags::IN)?;
            Ok(connection)
        });
        clients.push((opened.map_err(|e| failure(plan, &e))?, 0));
    }
    let mut report = Report::default();
    let mut receive = |end: Instant| receive_until(&epoll, &mut clients, end, &mut report);
    let start = Instant::now();
    let before = receive(start + plan.warm_up).map_err(|e| failure(plan, &e))?;
    let (start, cpu_s) = (Instant::now(), plan.meter.cpu_s());
    let after = receive(start + plan.window).map_err(|e| failure(plan, &e))?;
    let (seconds, used_s) = (start.elapsed().as_secs_f64(), plan.meter.cpu_s());
    let bytes = || before.iter().zip(&after).map(|(before, after)| after - before);
    report.rates = bytes().map(|bytes| float(bytes) / seconds).collect();
    report.rates.sort_by(f64::total_cmp);
    report.bytes = bytes().sum();
    report.requests = plan.clients as u64;
    report.seconds = seconds;
    report.cpu_s = used_s.zip(cpu_s).map(|(after, before)| after - before);
    Ok(report)
}

/// Receives until a time, and returns the number of bytes of each client so far.
fn receive_until(
    epoll: &impl std::os::fd::AsFd,
    clients: &mut [(Connection, u64)],
    end: Instant,
    report: &mut Report,
) -> std::io::Result<Vec<u64>> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut events = Vec::with_capacity(clients.len());
    while Instant::now() < end {
        events.clear();
        match epoll::wait(epoll, spare_capacity(&mut events), Some(&TICK)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
        for event in &events {
            let at = usize::try_from(event.data.u64()).expect("an index");
            let (connection, bytes) = &mut clients[at];
            match connection.receive(&mut buffer) {
                Received::Part(more) => *bytes += more,
                ended => {
                    report.errors += 1;
                    report.complaint.get_or_insert(format!("a response ended: {ended:?}"));
                    epoll::delete(epoll, &*connection)?;
                }
            }
        }
    }
    Ok(clients.iter().map(|(_, bytes)| *bytes).collect())
}
