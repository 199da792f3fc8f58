//! Counts and latencies of the responses in a window.

use std::time::Duration;

use hdrhistogram::Histogram;

use super::Report;
use super::request::Request;
use super::response::Head;
use crate::Failure;

/// The longest latency that is told apart from longer ones, in nanoseconds.
const LONGEST_NS: u64 = 60_000_000_000;
/// Values differ from those recorded by at most 0.1 %.
const SIGNIFICANT_DIGITS: u8 = 3;

pub(super) struct Tally {
    pub(super) report: Report,
    latencies_ns: Histogram<u64>,
}

impl Tally {
    pub(super) fn new() -> Result<Self, Failure> {
        let latencies_ns = Histogram::new_with_bounds(1, LONGEST_NS, SIGNIFICANT_DIGITS);
        let latencies_ns = latencies_ns.map_err(|e| Failure::new(e.to_string()))?;
        Ok(Self { report: Report::default(), latencies_ns })
    }

    /// Forgets all responses, but not the errors.
    pub(super) fn restart(&mut self) {
        let Report { errors, complaint, .. } = std::mem::take(&mut self.report);
        self.report = Report { errors, complaint, ..Report::default() };
        self.latencies_ns.reset();
    }

    /// Counts a response, or an error if it is not the expected one.
    pub(super) fn response(&mut self, request: &Request, head: Head, latency: Duration) {
        if (head.status, head.length) != (request.status, request.length) {
            let Head { status, length, .. } = head;
            let line = request.text.lines().next().unwrap_or_default();
            let Request { status: wanted, length: size, .. } = request;
            return self
                .error(format!("{line}: {status} with {length} bytes, not {wanted} with {size}"));
        }
        self.report.requests += 1;
        self.report.bytes += head.length;
        self.latency(latency);
    }

    /// Counts a latency.
    pub(super) fn latency(&mut self, latency: Duration) {
        let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.latencies_ns.saturating_record(nanoseconds.max(1));
    }

    /// Counts an error.
    pub(super) fn error(&mut self, complaint: String) {
        self.report.errors += 1;
        self.report.complaint.get_or_insert(complaint);
    }

    /// Returns the report of a window of this length.
    pub(super) fn finish(self, window: Duration) -> Report {
        let latency = |quantile| {
            Duration::from_nanos(self.latencies_ns.value_at_quantile(quantile)).as_secs_f64() * 1e3
        };
        let latencies_ms = [0.5, 0.9, 0.99].map(latency);
        Report { latencies_ms, seconds: window.as_secs_f64(), ..self.report }
    }
}

#[cfg(test)]
mod tests {
    use super::{Head, Request, Tally};
    use std::time::Duration;

    const GOOD: Head = Head { status: 200, length: 10, closes: false };

    fn request() -> Request {
        Request { text: "GET /f HTTP/1.1\r\n\r\n".into(), status: 200, length: 10 }
    }

    #[test]
    fn quantiles_differ_by_less_than_a_percent() {
        let mut tally = Tally::new().expect("valid bounds");
        for microseconds in 1..=100_000 {
            tally.response(&request(), GOOD, Duration::from_micros(microseconds));
        }
        let report = tally.finish(Duration::from_secs(2));
        for (found, expected) in report.latencies_ms.iter().zip([50.0, 90.0, 99.0]) {
            assert!((found / expected - 1.0).abs() < 0.01, "{found} instead of {expected}");
        }
        assert_eq!((report.requests, report.bytes, report.errors), (100_000, 1_000_000, 0));
        assert_eq!(report.seconds.to_bits(), 2.0_f64.to_bits());
    }

    #[test]
    fn extreme_latencies_are_kept() {
        let mut tally = Tally::new().expect("valid bounds");
        tally.response(&request(), GOOD, Duration::ZERO);
        tally.response(&request(), GOOD, Duration::from_secs(1_000));
        let report = tally.finish(Duration::from_secs(1));
        assert!(report.latencies_ms[2] >= 59_000.0, "{report:?}");
    }

    #[test]
    fn other_responses_are_errors() {
        let mut tally = Tally::new().expect("valid bounds");
        tally.response(&request(), Head { status: 404, ..GOOD }, Duration::ZERO);
        tally.response(&request(), Head { length: 11, ..GOOD }, Duration::ZERO);
        tally.restart();
        let report = tally.finish(Duration::from_secs(1));
        assert_eq!((report.requests, report.errors), (0, 2));
        let complaint = "GET /f HTTP/1.1: 404 with 10 bytes, not 200 with 10";
        assert_eq!(report.complaint.as_deref(), Some(complaint));
    }
}
