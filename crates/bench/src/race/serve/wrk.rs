//! wrk as the independent referee: its script, and the figures in its output.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::Failure;
use crate::load::{Meter, Report};

/// Writes a script that chooses one of the files at random. It formats all requests beforehand.
///
/// # Errors
///
/// The file cannot be written.
pub(super) fn write_script(file: &Path, files: &[(String, u64)]) -> Result<(), Failure> {
    let paths: Vec<String> = files.iter().map(|(path, _)| format!("{path:?}")).collect();
    let script = format!(
        "paths = {{ {} }}\nrequests = {{}}\n\
         function init()\n  for i, path in ipairs(paths) do requests[i] = wrk.format(\"GET\", path) end\nend\n\
         function request() return requests[math.random({})] end\n",
        paths.join(", "),
        paths.len()
    );
    fs::write(file, script).map_err(|e| Failure::at(file, e))
}

/// Runs wrk on one processor. wrk does not report the bytes of bodies.
///
/// # Errors
///
/// wrk fails, or reports an error or another status than 200.
pub(super) fn run(
    address: SocketAddr,
    script: &Path,
    clients: usize,
    window: Duration,
    cpu: usize,
    meter: &Meter,
) -> Result<Report, Failure> {
    let mut command = Command::new("taskset");
    command.args(["-c", &cpu.to_string(), "wrk", "-t1", "--latency"]);
    command.arg(format!("-c{clients}")).arg(format!("-d{}s", window.as_secs().max(1)));
    command.arg("-s").arg(script).arg(format!("http://{address}"));
    let before = meter.cpu_s();
    let output = command.output().map_err(|e| Failure::new(format!("wrk: {e}")))?;
    let cpu_s = meter.cpu_s().zip(before).map(|(after, before)| after - before);
    let text = String::from_utf8_lossy(&output.stdout);
    let report = parse(&text).ok_or_else(|| Failure::new(format!("wrk: {}", text.trim())))?;
    Ok(Report { cpu_s, ..report })
}

/// Reads the output. Returns `None` if it has another format or reports errors.
fn parse(text: &str) -> Option<Report> {
    if text.contains("Socket errors") || text.contains("Non-2xx") {
        return None;
    }
    let after = |prefix: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(prefix))?;
        Some(line.trim())
    };
    let (requests, rest) = text.lines().find_map(|line| line.trim().split_once(" requests in "))?;
    let seconds = rest.split(',').next()?;
    let latencies = [after("50%")?, after("90%")?, after("99%")?].map(milliseconds);
    let [Some(p50), Some(p90), Some(p99)] = latencies else { return None };
    Some(Report {
        requests: requests.parse().ok()?,
        seconds: milliseconds(seconds)? / 1e3,
        latencies_ms: [p50, p90, p99],
        ..Report::default()
    })
}

fn milliseconds(text: &str) -> Option<f64> {
    let units = [("us", 1e-3), ("ms", 1.0), ("s", 1e3), ("m", 6e4)];
    units.into_iter().find_map(|(unit, factor)| {
        let value: f64 = text.strip_suffix(unit)?.parse().ok()?;
        Some(value * factor)
    })
}

#[cfg(test)]
mod tests {
    use super::parse;

    const OUTPUT: &str = "\
Running 1s test @ http://127.0.0.1:8080
  1 threads and 10 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   140.10us  112.21us   3.77ms   97.32%
    Req/Sec    73.44k     4.43k   79.13k    81.82%
  Latency Distribution
     50%  126.00us
     75%  143.00us
     90%    1.17ms
     99%    0.53s
  80375 requests in 1.10s, 645.70MB read
Requests/sec:  73071.34
Transfer/sec:    587.02MB
";

    #[test]
    fn the_output_of_wrk_is_read() {
        let report = parse(OUTPUT).expect("a report");
        assert_eq!((report.requests, report.seconds.to_bits()), (80_375, 1.1_f64.to_bits()));
        let expected = [0.126, 1.17, 530.0];
        let near = |(a, b): (&f64, f64)| (a - b).abs() < 1e-9;
        assert!(report.latencies_ms.iter().zip(expected).all(near), "{report:?}");
    }

    #[test]
    fn errors_of_wrk_are_noticed() {
        assert_eq!(parse(&format!("{OUTPUT}  Non-2xx or 3xx responses: 3\n")), None);
        assert_eq!(parse(&format!("{OUTPUT}  Socket errors: connect 0, read 2\n")), None);
        assert_eq!(parse("unable to connect"), None);
    }
}
