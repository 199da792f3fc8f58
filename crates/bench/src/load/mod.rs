//! A load generator for web servers: one thread, keep-alive connections, prepared requests.
//!
//! A [`Plan`] holds the complete bytes of every request and the status and length that its response
//! must have. [`run`] carries it out and returns a [`Report`]. In a closed loop, each client sends
//! its next request as soon as a response is complete. In an open loop, requests are due at a fixed
//! rate, and latencies count from the time at which a request was due. A stall of the server then
//! delays all requests behind it, as it would delay real clients.
//!
//! The generator understands only HTTP/1 with `Content-Length`, and reads nothing but the status,
//! the length and `Connection`. It does not look at bodies, except in [`verify`]. A race runs it in
//! a process of its own (`apart`), on another processor than the server. The generator MUST stay
//! cheaper than the servers, or throughputs would be its own.
//!
//! | module | for |
//! |---|---|
//! | [`request`] | tables of requests |
//! | `response` | reads status and length |
//! | `connection`, `timed` | clients in a closed or an open loop |
//! | `schedule`, `tally` | when requests are due; counts and latencies |
//! | `throttled`, `idle` | clients that receive at a limited rate, or wait |
//! | `meter` | processor time and memory of the server |
//! | [`probe`], [`verify`] | single requests; the comparison of bodies with files |

mod connection;
mod idle;
mod meter;
pub mod probe;
pub mod request;
mod response;
mod schedule;
mod tally;
mod throttled;
mod timed;
pub mod verify;

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

pub use meter::Meter;
pub use request::Request;

use crate::Failure;
use crate::measure::ends_within;

/// The time limit of a load, far above that of any window.
const LIMIT: Duration = Duration::from_secs(300);

/// The traffic that the clients cause.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Traffic {
    /// Each client sends its next request when it has received the response.
    Closed,
    /// Requests are due at this rate, in requests per second.
    Open(f64),
    /// Each client receives one response that the server throttles.
    Throttled,
    /// Each client receives one response and then waits. The memory of the server is read meanwhile.
    Idle,
}

/// A load, complete with all requests.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plan {
    /// The server.
    pub address: SocketAddr,
    /// The requests, from which clients choose at random.
    pub requests: Vec<Request>,
    /// The traffic.
    pub traffic: Traffic,
    /// The number of connections.
    pub clients: usize,
    /// The time before responses are counted.
    pub warm_up: Duration,
    /// The time during which responses are counted.
    pub window: Duration,
    /// The number of counted responses that ends the window early.
    pub most: Option<u64>,
    /// The counters of the server.
    pub meter: Meter,
}

/// The measurements of a load. All of them are about the window only.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The number of responses with the expected status and length.
    pub requests: u64,
    /// The number of other responses and of broken connections.
    pub errors: u64,
    /// The first error.
    pub complaint: Option<String>,
    /// The number of connections that the server closed after a complete response.
    pub reconnects: u64,
    /// The bytes of all bodies.
    pub bytes: u64,
    /// The length of the window in seconds.
    pub seconds: f64,
    /// Seconds of processor time that the server used; `None` without a meter.
    pub cpu_s: Option<f64>,
    /// The latencies in milliseconds that 50, 90 and 99 % of the requests did not exceed. In an open
    /// loop, requests that are due and not answered have their latencies so far.
    pub latencies_ms: [f64; 3],
    /// The resident memory of the server while clients waited, in bytes.
    pub resident_bytes: Option<u64>,
    /// The rate of each throttled client in bytes per second, ascending.
    pub rates: Vec<f64>,
}

/// Carries out a plan in this thread.
///
/// # Errors
///
/// The plan is empty, or the server refuses connections. Wrong responses are counted instead.
pub fn run(plan: &Plan) -> Result<Report, Failure> {
    if plan.requests.is_empty() || plan.clients == 0 {
        return Err(Failure::new("a load needs requests and clients"));
    }
    match plan.traffic {
        Traffic::Closed | Traffic::Open(_) => timed::run(plan),
        Traffic::Throttled => throttled::run(plan),
        Traffic::Idle => idle::run(plan),
    }
}

/// Carries out a plan in a process of its own on this processor, by the `load` command of this
/// program. Stores the plan in a file. A signal that sets `stopped` ends the process.
///
/// # Errors
///
/// Same as [`run`], or the process cannot be started, or was ended.
pub(crate) fn apart(
    plan: &Plan,
    file: &Path,
    cpu: usize,
    stopped: &AtomicBool,
) -> Result<Report, Failure> {
    let json = serde_json::to_vec(plan).map_err(|e| Failure::new(e.to_string()))?;
    std::fs::write(file, json).map_err(|e| Failure::at(file, e))?;
    let this = std::env::current_exe().map_err(|e| Failure::new(e.to_string()))?;
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu.to_string()]).arg(&this).arg("load").arg(file);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let failed = |e| Failure::new(format!("taskset: {e}"));
    let mut child = testkit::spawn(&mut command).map_err(failed)?;
    if !ends_within(Pid::from_child(&child), LIMIT, stopped).map_err(failed)? {
        let _ended_already = child.kill();
    }
    let output = child.wait_with_output().map_err(failed)?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Failure::new(if reason.is_empty() { "the load was ended".into() } else { reason })
    })
}

/// Carries out the plan in a file, and returns the report to print.
///
/// # Errors
///
/// Same as [`run`], or the file holds no plan.
pub fn stored(file: &Path) -> Result<String, Failure> {
    let json = std::fs::read(file).map_err(|e| Failure::at(file, e))?;
    let plan: Plan = serde_json::from_slice(&json).map_err(|e| Failure::at(file, e))?;
    serde_json::to_string(&run(&plan)?).map_err(|e| Failure::new(e.to_string()))
}
