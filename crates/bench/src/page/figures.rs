//! Formats numbers for people: three significant digits, separated thousands, sizes with a unit.

/// The units of sizes. Each unit is 1024 times the previous one.
const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];

/// Maximum number of decimals, even for tiny numbers.
const MAX_DECIMALS: usize = 6;

/// Returns a number with three significant digits, or with its whole integer part if that is
/// longer.
pub(super) fn number(value: f64) -> String {
    let text = plain(value);
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    format!("{}{fraction}", grouped(whole))
}

/// Returns the value as [`number`] prints it. Two figures that look equal then compare as equal.
pub(super) fn as_shown(value: f64) -> f64 {
    plain(value).parse().unwrap_or(value)
}

/// Returns a ratio with two decimals, such as `1.25x`.
pub(super) fn ratio(value: f64) -> String {
    let text = format!("{value:.2}");
    let (whole, fraction) = text.split_at(text.len() - 3);
    format!("{}{fraction}x", grouped(whole))
}

/// Returns a count with separated thousands.
pub(super) fn count(count: u64) -> String {
    grouped(&count.to_string())
}

/// Returns a number of bytes with its unit.
pub(super) fn size(bytes: f64) -> String {
    let mut value = bytes;
    let mut units = UNITS.iter();
    let mut unit = units.next();
    // The limit is below 1000 instead of 1024, because a fourth digit would not help the reader.
    while value >= 999.5
        && let Some(larger) = units.next()
    {
        value /= 1024.0;
        unit = Some(larger);
    }
    let unit = unit.unwrap_or(&UNITS[0]);
    if *unit == UNITS[0] {
        format!("{value:.0} {unit}")
    } else {
        format!("{} {unit}", number(value))
    }
}

/// Returns the displayed digits of a number.
fn plain(value: f64) -> String {
    // Rounding comes before counting digits, so 9.996 becomes 10.0, not 10.00.
    let rounded = format!("{value:.2e}");
    let exponent = rounded.split_once('e').and_then(|(_, exponent)| exponent.parse::<i32>().ok());
    let decimals = usize::try_from(2 - exponent.unwrap_or(0)).unwrap_or(0).min(MAX_DECIMALS);
    format!("{value:.decimals$}")
}

fn grouped(digits: &str) -> String {
    let mut grouped = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::{as_shown, count, number, ratio, size};

    #[test]
    fn numbers_have_three_significant_digits() {
        let shown =
            [0.0, 0.001_234, 0.58, 0.999_6, 9.996, 12.34, 123.4, 999.6, 1_228.4].map(number);
        assert_eq!(
            shown,
            ["0.00", "0.00123", "0.580", "1.00", "10.0", "12.3", "123", "1,000", "1,228"]
        );
    }

    #[test]
    fn equal_figures_compare_as_equal() {
        assert_eq!(as_shown(0.580_1).to_bits(), as_shown(0.579_9).to_bits());
        assert_eq!(as_shown(1_228.4).to_bits(), 1_228.0_f64.to_bits());
    }

    #[test]
    fn ratios_have_two_decimals() {
        assert_eq!(
            [0.451, 1.0, 38.649, 1_158.0].map(ratio),
            ["0.45x", "1.00x", "38.65x", "1,158.00x"]
        );
    }

    #[test]
    fn thousands_are_separated() {
        assert_eq!(
            [0, 999, 1_000, 154_205, 1_000_000].map(count),
            ["0", "999", "1,000", "154,205", "1,000,000"]
        );
    }

    #[test]
    fn sizes_have_the_unit_that_fits() {
        let shown = [0.0, 512.0, 1_000.0, 1_048_576.0, 1_610_612_736.0, 1e18].map(size);
        assert_eq!(shown, ["0 B", "512 B", "0.977 KiB", "1.00 MiB", "1.50 GiB", "909,495 TiB"]);
    }
}
