//! The mechanics of a hard disk: the duration of a request, and the choice of the next one.
//!
//! This module is pure computation. It does not wait, read data or use a clock. The caller asks a
//! [`Head`] for the [nearest](Head::nearest) request and lets it [serve](Head::serve) that request,
//! which returns the duration in seconds.
//!
//! # Not modelled
//!
//! - The cache of the drive: every write takes its time immediately, and nothing is read ahead.
//! - The different transfer rates of outer and inner tracks.
//! - The angle of the platter when the head arrives.
//! - Remapped sectors.
//!
//! The figures compare orders of access with each other. They do not predict the seconds of a
//! drive.

use std::ops::Sub;

/// The speeds and limits of a disk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mechanics {
    /// Number of bytes that pass under the head per second.
    pub(crate) bytes_per_s: f64,
    /// The shortest duration of a seek: the time for the head to start and to settle on a track.
    pub(crate) settle_s: f64,
    /// The additional duration of a seek across the whole disk.
    pub(crate) stroke_s: f64,
    /// The average wait for the sector to pass under the head: half a turn.
    pub(crate) half_turn_s: f64,
    /// The widest gap that the head crosses without a seek.
    pub(crate) passed_bytes: u64,
    /// The number of waiting requests from which the drive chooses.
    pub(crate) queue: usize,
}

impl Mechanics {
    /// A desktop disk of 7200 turns a minute.
    ///
    /// - 160 MB/s is between the rates of the outer and the inner tracks of such disks.
    /// - The time of a seek grows with the square root of its distance, as if the head accelerated
    ///   over the first half and slowed down over the second. Real heads coast on long distances
    ///   (Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3),
    ///   1994). A seek to the next track takes 0.8 ms. With 15 ms for a seek across the whole disk,
    ///   a seek between two random positions takes on average 0.8 + 15 * 8/15 = 8.8 ms. Data sheets
    ///   of such disks state similar figures.
    /// - A turn takes 60 s / 7200 = 8.33 ms, half a turn 4.17 ms.
    /// - 256 KiB pass under the head in 1.6 ms. This is a third of the time for the shortest seek
    ///   and half a turn. A gap of 256 KiB ends on the same or the next track.
    /// - 32 requests is the queue depth of native command queuing on Serial ATA.
    pub const DESKTOP: Self = Self {
        bytes_per_s: 160e6,
        settle_s: 0.8e-3,
        stroke_s: 15e-3,
        half_turn_s: 4.17e-3,
        passed_bytes: 256 << 10,
        queue: 32,
    };
}

/// The work of a disk since it was mounted, or between two points in time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// Number of requests served.
    pub requests: u64,
    /// Number of requests that needed a seek.
    pub seeks: u64,
    /// Number of bytes read or written.
    pub bytes: u64,
    /// Seconds that the disk was busy, not scaled.
    pub busy_s: f64,
}

impl Sub for Usage {
    type Output = Self;

    /// Returns the usage since `earlier`, which MUST come from the same disk.
    fn sub(self, earlier: Self) -> Self {
        Self {
            requests: self.requests - earlier.requests,
            seeks: self.seeks - earlier.seeks,
            bytes: self.bytes - earlier.bytes,
            busy_s: self.busy_s - earlier.busy_s,
        }
    }
}

/// The head of a disk: its position and its work so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Head {
    mechanics: Mechanics,
    span_bytes: u64,
    position: u64,
    usage: Usage,
}

impl Head {
    /// Returns a head at the beginning of a disk of `span_bytes` bytes.
    pub fn new(mechanics: Mechanics, span_bytes: u64) -> Self {
        Self { mechanics, span_bytes, position: 0, usage: Usage::default() }
    }

    /// Returns the totals of the requests that the head has served so far.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Returns the position of the head: the end of its last read or write.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Returns the seconds until the head can read at offset `to`.
    pub(crate) fn positioning(&self, to: u64) -> f64 {
        let distance = to.abs_diff(self.position);
        if self.passes_over(to) {
            return seconds(distance, self.mechanics.bytes_per_s);
        }
        let part = real(distance) / real(self.span_bytes);
        self.mechanics.settle_s + self.mechanics.stroke_s * part.sqrt() + self.mechanics.half_turn_s
    }

    /// Returns the index of the request to serve next, given the offsets of all requests, oldest
    /// first.
    ///
    /// The drive considers only the oldest requests, as many as its queue holds. Among these, it
    /// takes the one with the shortest positioning time, and the oldest in case of a tie. Returns
    /// `None` if no request waits.
    pub(crate) fn nearest(&self, waiting: impl IntoIterator<Item = u64>) -> Option<usize> {
        let seen = waiting.into_iter().take(self.mechanics.queue).enumerate();
        let costs = seen.map(|(index, at)| (index, self.positioning(at)));
        costs.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(index, _)| index)
    }

    /// Reads or writes `len` bytes at offset `at`, and returns the duration in seconds.
    ///
    /// Afterwards, the head is at the end of these bytes.
    pub fn serve(&mut self, at: u64, len: u64) -> f64 {
        let busy_s = self.positioning(at) + seconds(len, self.mechanics.bytes_per_s);
        self.usage.requests += 1;
        self.usage.seeks += u64::from(!self.passes_over(at));
        self.usage.bytes += len;
        self.usage.busy_s += busy_s;
        self.position = at + len;
        busy_s
    }

    /// Returns true if the head reaches offset `to` without a seek, by waiting for the platter to
    /// turn.
    fn passes_over(&self, to: u64) -> bool {
        to.checked_sub(self.position).is_some_and(|gap| gap <= self.mechanics.passed_bytes)
    }
}

fn seconds(bytes: u64, bytes_per_s: f64) -> f64 {
    real(bytes) / bytes_per_s
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 8 PiB")]
fn real(bytes: u64) -> f64 {
    bytes as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: u64 = 1 << 40;
    const KIB: u64 = 1 << 10;

    fn head_at(position: u64) -> Head {
        Head { position, ..Head::new(Mechanics::DESKTOP, SPAN) }
    }

    #[track_caller]
    fn assert_s(actual: f64, expected: f64) {
        assert!((actual - expected).abs() < 1e-12, "{actual} s, expected {expected} s");
    }

    #[test]
    fn sequential_reads_cost_only_the_transfer() {
        let mut head = head_at(0);
        for block in 0..100 {
            assert_s(head.serve(block * 160_000, 160_000), 1e-3);
        }
        let usage = head.usage();
        assert_eq!((usage.requests, usage.seeks, usage.bytes), (100, 0, 16_000_000));
        assert!((usage.busy_s - 0.1).abs() < 1e-9);
    }

    #[test]
    fn a_short_gap_ahead_passes_under_the_head() {
        let mut head = head_at(1 << 30);
        assert_s(head.positioning((1 << 30) + 160_000), 1e-3);
        assert_s(head.serve((1 << 30) + 256 * KIB, 160_000), 1e-3 + 262_144.0 / 160e6);
        assert_eq!(head.usage().seeks, 0);
    }

    #[test]
    fn a_longer_gap_ahead_and_any_step_back_move_the_head() {
        for to in [(1 << 30) + 256 * KIB + 1, (1 << 30) - 1, (1 << 30) - 64 * KIB] {
            let mut head = head_at(1 << 30);
            assert!(head.positioning(to) > 0.8e-3 + 4.17e-3, "to {to}");
            head.serve(to, 0);
            assert_eq!(head.usage().seeks, 1, "to {to}");
        }
    }

    #[test]
    fn seek_time_grows_with_the_root_of_the_distance() {
        assert_s(head_at(0).positioning(SPAN), 0.8e-3 + 15e-3 + 4.17e-3);
        assert_s(head_at(SPAN).positioning(0), 0.8e-3 + 15e-3 + 4.17e-3);
        assert_s(head_at(SPAN / 2).positioning(SPAN / 4), 0.8e-3 + 7.5e-3 + 4.17e-3);
    }

    #[test]
    fn the_next_request_is_the_nearest_in_time_then_the_oldest() {
        let head = head_at(1 << 30);
        let ahead = |gap: u64| (1 << 30) + gap;
        assert_eq!(head.nearest([]), None);
        assert_eq!(head.nearest([ahead(1 << 29), ahead(1 << 20), 0]), Some(1));
        // The first request is closer, but behind the head.
        assert_eq!(head.nearest([ahead(0) - 1, ahead(200 * KIB)]), Some(1));
        assert_eq!(head.nearest([ahead(1 << 25), ahead(0) - (1 << 25), ahead(1 << 25)]), Some(0));
    }

    #[test]
    fn the_head_stops_after_the_request() {
        let mut head = head_at(0);
        head.serve(1 << 30, 64 * KIB);
        assert_s(head.positioning((1 << 30) + 64 * KIB), 0.0);
        assert!(head.positioning(1 << 30) > 4.97e-3);
    }

    #[test]
    fn the_drive_chooses_among_the_oldest_32() {
        let head = head_at(0);
        let far = std::iter::repeat_n(SPAN, 31);
        assert_eq!(head.nearest(far.clone().chain([0])), Some(31));
        assert_eq!(head.nearest(far.chain([SPAN, 0])), Some(0));
    }

    #[test]
    fn usage_between_two_moments_is_their_difference() {
        let mut head = head_at(0);
        head.serve(0, 160_000);
        let before = head.usage();
        head.serve(SPAN / 4, 320_000);
        let spent = head.usage() - before;
        assert_eq!((spent.requests, spent.seeks, spent.bytes), (1, 1, 320_000));
        assert!(spent.busy_s > 2e-3 + 4.97e-3);
    }
}
