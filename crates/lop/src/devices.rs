//! What was concluded about the devices below a scan, for programs and for people.

use std::time::Duration;

use device::Conclusion;
use serde::Serialize;

/// What was concluded about a device.
#[derive(Debug, Serialize)]
pub(crate) struct Device {
    pub(crate) name: String,
    /// What the kernel says.
    pub(crate) rotational: Option<bool>,
    /// Whether anything had to be fetched from it.
    pub(crate) cold: bool,
    /// Whether it was read in the order of places.
    pub(crate) arm: bool,
    /// Microseconds for a read at a random place, one at a time and several at once.
    pub(crate) read_alone_us: Option<u64>,
    pub(crate) read_together_us: Option<u64>,
    /// Seconds that threads waited for it, added up.
    pub(crate) waited_seconds: f64,
}

impl From<Conclusion> for Device {
    fn from(found: Conclusion) -> Device {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Device {
            name: found.disk.name,
            rotational: found.disk.rotates,
            cold: found.cold,
            arm: found.arm,
            read_alone_us: found.trial.map(|trial| micros(trial.alone)),
            read_together_us: found.trial.map(|trial| micros(trial.together)),
            waited_seconds: rounded(found.waited),
        }
    }
}

/// Returns seconds to the microsecond: what is below is noise.
fn rounded(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e6
}

impl Device {
    /// Returns a line about the device: what it was taken for, and why.
    pub(crate) fn text(&self) -> String {
        if !self.cold {
            return format!("{}: cached", self.name);
        }
        let kind = if self.arm { "read in the order of places" } else { "many reads at once" };
        let why = match (self.read_alone_us, self.read_together_us, self.rotational) {
            (Some(alone), Some(together), _) => {
                format!("a read takes {alone} us alone and {together} us among others")
            }
            (_, _, Some(true)) => "the kernel says that it rotates".to_string(),
            (_, _, Some(false)) => "the kernel says that it does not rotate".to_string(),
            (_, _, None) => "the kernel does not know it".to_string(),
        };
        format!("{}: cold, {kind}; {why}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::Device;

    #[test]
    fn a_line_says_what_was_concluded_and_why() {
        let device = Device {
            name: "sda".into(),
            rotational: Some(true),
            cold: true,
            arm: false,
            read_alone_us: Some(80),
            read_together_us: Some(20),
            waited_seconds: 1.5,
        };
        let expected =
            "sda: cold, many reads at once; a read takes 80 us alone and 20 us among others";
        assert_eq!(device.text(), expected);
        let told = Device { arm: true, read_alone_us: None, read_together_us: None, ..device };
        let expected = "sda: cold, read in the order of places; the kernel says that it rotates";
        assert_eq!(told.text(), expected);
        assert_eq!(Device { cold: false, ..told }.text(), "sda: cached");
    }
}
