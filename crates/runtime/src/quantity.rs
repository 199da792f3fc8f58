//! Sizes and counts as text for people, and sizes as users type them.

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

/// Appends `, NUMBER WHAT` to a summary for each number that is not zero.
pub fn append_counts<const N: usize>(text: &mut String, counts: [(u64, &str); N]) {
    for (number, what) in counts {
        if number > 0 {
            text.extend([", ", &count(number), " ", what]);
        }
    }
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

/// Parses a size, which is a number with or without a fraction, followed by a unit.
///
/// The units are `k`, `M`, `G`, `T` and `P` in either case, alone or followed by `B` or `iB`. All are powers of 1024.
/// A number without a unit counts bytes.
///
/// # Errors
///
/// Returns a message for the user if the text is not a size, or if the size exceeds `u64::MAX` bytes.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let shift = shift_of(unit.trim_start())
        .ok_or_else(|| format!("unknown unit {unit:?}; use k, M, G, T or P"))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || number.ends_with('.') || fraction.contains('.') {
        return Err("not a number such as 4096, 10k or 1.5GiB".into());
    }
    if shift == 0 && !fraction.is_empty() {
        return Err("a byte has no fractions".into());
    }
    let too_large = || "larger than any file can be".to_string();
    // Further digits of the fraction are worth less than one byte in every unit except the largest.
    let fraction = &fraction[..fraction.len().min(12)];
    let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| too_large())?;
    let scale = 10u128.pow(u32::try_from(fraction.len()).unwrap_or(0));
    let bytes = digits.checked_mul(1 << shift).ok_or_else(too_large)? / scale;
    u64::try_from(bytes).map_err(|_| too_large())
}

/// Returns the exponent of a unit as a power of two.
fn shift_of(unit: &str) -> Option<u32> {
    let lower = unit.to_ascii_lowercase();
    let prefix = match lower.strip_suffix("ib") {
        Some("") => return None,
        Some(prefix) => prefix,
        None => lower.strip_suffix('b').unwrap_or(&lower),
    };
    let prefixes = ["", "k", "m", "g", "t", "p"];
    let index = prefixes.iter().position(|p| *p == prefix)?;
    u32::try_from(index * 10).ok()
}

#[cfg(test)]
mod tests {
    use super::{count, counted, parse_size, size};

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

    #[test]
    fn sizes_in_every_spelling() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("10B", 10),
            ("10k", 10 * 1024),
            ("10K", 10 * 1024),
            ("10kB", 10 * 1024),
            ("10KiB", 10 * 1024),
            ("10 kib", 10 * 1024),
            ("1.5GiB", 3 << 29),
            ("0.5M", 1 << 19),
            ("2T", 2 << 40),
            ("3P", 3 << 50),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn invalid_sizes_are_refused() {
        for text in [
            "",
            "k",
            "-1",
            "+1",
            "1.5",
            "1.",
            ".5k",
            "1..5k",
            "1.5.2k",
            "10x",
            "10ki",
            "10iB",
            "1e3",
            "10kk",
            "18446744073709551616",
            "99999999P",
            "١k",
        ] {
            assert!(parse_size(text).is_err(), "{text:?} is taken");
        }
    }
}
