//! The measurements of the storage devices, as JSON and as text.

use std::time::Duration;

use device::DiskProfile;
use serde::Serialize;

/// The measurements of a device, and the resulting strategy for reading it.
#[derive(Debug, Serialize)]
pub(crate) struct Device {
    pub(crate) name: String,
    /// True if the device rotates, according to the kernel.
    pub(crate) rotational: Option<bool>,
    /// True if data had to be read from the device. False if everything came from the page cache.
    pub(crate) cold: bool,
    /// True if the device was read in elevator order.
    pub(crate) seek_bound: bool,
    /// Duration of a single random read, in microseconds. The next field is the duration with several reads in
    /// progress.
    pub(crate) read_single_us: Option<u64>,
    pub(crate) read_parallel_us: Option<u64>,
    /// Total time that threads waited for the device, in seconds.
    pub(crate) waited_seconds: f64,
}

impl From<DiskProfile> for Device {
    fn from(found: DiskProfile) -> Device {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Device {
            name: found.info.name,
            rotational: found.info.rotates,
            cold: found.cold,
            seek_bound: found.seek_bound,
            read_single_us: found.probe.map(|probe| micros(probe.single)),
            read_parallel_us: found.probe.map(|probe| micros(probe.parallel)),
            waited_seconds: rounded(found.waited),
        }
    }
}

/// Returns seconds, rounded to microseconds because smaller differences are noise.
fn rounded(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e6
}

impl Device {
    /// Returns a line that says how the device was read, and why.
    pub(crate) fn text(&self) -> String {
        if !self.cold {
            return format!("{}: cached", self.name);
        }
        let kind =
            if self.seek_bound { "read in the order of positions" } else { "many reads at once" };
        let why = match (self.read_single_us, self.read_parallel_us, self.rotational) {
            (Some(single), Some(parallel), _) => {
                format!("a read takes {single} us alone and {parallel} us with others in flight")
            }
            (_, _, Some(true)) => "the kernel says that it rotates".to_string(),
            (_, _, Some(false)) => "the kernel says that it does not rotate".to_string(),
            (_, _, None) => "the kernel does not say whether it rotates".to_string(),
        };
        format!("{}: cold, {kind}; {why}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::Device;

    #[test]
    fn a_line_says_how_a_device_was_read_and_why() {
        let device = Device {
            name: "sda".into(),
            rotational: Some(true),
            cold: true,
            seek_bound: false,
            read_single_us: Some(80),
            read_parallel_us: Some(20),
            waited_seconds: 1.5,
        };
        let expected = "sda: cold, many reads at once; a read takes 80 us alone and 20 us with others in flight";
        assert_eq!(device.text(), expected);
        let kernel_only =
            Device { seek_bound: true, read_single_us: None, read_parallel_us: None, ..device };
        let expected = "sda: cold, read in the order of positions; the kernel says that it rotates";
        assert_eq!(kernel_only.text(), expected);
        assert_eq!(Device { cold: false, ..kernel_only }.text(), "sda: cached");
    }
}
