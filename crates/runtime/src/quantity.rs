//! Sizes and counts as text for people.

/// The units of sizes; each is 1024 times the previous one.
const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/// Returns a size in the largest unit in which it is at least one, such as `1.5 GiB`.
pub fn size(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut unit = 1;
    // Integer tenths, because rounded floats would turn 999.96 KiB into "1000.0 KiB".
    while unit < UNITS.len() - 1 && tenths(bytes, unit) >= 10_240 {
        unit += 1;
    }
    let tenths = tenths(bytes, unit);
    format!("{}.{} {}", grouped(tenths / 10), tenths % 10, UNITS[unit])
}

fn tenths(bytes: u64, unit: usize) -> u128 {
    let one = 1u128 << (10 * unit);
    (u128::from(bytes) * 10 + one / 2) / one
}

/// Returns a number with commas between thousands, such as `1,234,567`.
pub fn count(number: u64) -> String {
    grouped(number.into())
}

/// Returns a number with its noun, such as `1 file` or `1,234 files`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{count, counted, size};

    #[test]
    fn sizes_round_to_the_nearest_tenth() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (1024 * 1024 - 1, "1.0 MiB"),
            (3 << 29, "1.5 GiB"),
            (u64::MAX, "16,384.0 PiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn counts_have_commas_and_nouns() {
        assert_eq!(count(7), "7");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(counted(1, "file", "files"), "1 file");
        assert_eq!(counted(123_456, "file", "files"), "123,456 files");
    }
}
