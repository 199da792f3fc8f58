//! Statistics of runs: medians with their spread, and ranks with ties.

/// The median and the extremes of some measurements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    /// The middle value, or the mean of the two middle values.
    pub(crate) median: f64,
    /// The smallest value.
    pub(crate) min: f64,
    /// The largest value.
    pub(crate) max: f64,
}

/// Returns the spread of some values; `None` if there are no values. No value may be NaN.
pub(crate) fn spread(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let (min, max) = (*sorted.first()?, *sorted.last()?);
    let upper = sorted[sorted.len() / 2];
    let lower = sorted[(sorted.len() - 1) / 2];
    Some(Spread { median: f64::midpoint(lower, upper), min, max })
}

/// Returns the median of some values; `None` if there are no values. No value may be NaN.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    spread(values).map(|spread| spread.median)
}

/// Returns the rank of each value, 1 for the smallest. Equal values share the mean of their ranks.
///
/// Infinity is a valid value. Pass it for tools without a figure, which then share the last ranks.
pub(crate) fn ranks(values: &[f64]) -> Vec<f64> {
    let number = |test: &dyn Fn(&f64) -> bool| -> f64 {
        values.iter().filter(|other| test(other)).map(|_| 1.0).sum()
    };
    let rank = |value: &f64| {
        let (first, last) = (number(&|other| other < value) + 1.0, number(&|other| other <= value));
        f64::midpoint(first, last)
    };
    values.iter().map(rank).collect()
}

/// Converts a count to a floating-point number.
#[expect(clippy::cast_precision_loss, reason = "exact up to 2^53, and only printed rounded")]
pub(crate) fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::{Spread, float, median, ranks, spread};

    #[test]
    fn the_median_of_an_odd_number_is_the_middle_value() {
        let of_three = Spread { median: 2.0, min: 1.0, max: 9.0 };
        assert_eq!(spread([9.0, 1.0, 2.0]), Some(of_three));
    }

    #[test]
    fn the_median_of_an_even_number_is_the_mean_of_the_middle_values() {
        assert_eq!(median([4.0, 1.0, 2.0, 100.0]), Some(3.0));
        assert_eq!(median([7.0]), Some(7.0));
    }

    #[test]
    fn no_values_have_no_median() {
        assert_eq!(spread([]), None);
    }

    #[test]
    fn equal_values_share_their_ranks() {
        assert_eq!(ranks(&[3.0, 1.0, 2.0]), [3.0, 1.0, 2.0]);
        assert_eq!(ranks(&[2.0, 1.0, 2.0, 5.0]), [2.5, 1.0, 2.5, 4.0]);
        assert_eq!(ranks(&[]), [0.0; 0]);
    }

    #[test]
    fn missing_values_share_the_last_ranks() {
        assert_eq!(ranks(&[f64::INFINITY, 1.0, f64::INFINITY, 2.0]), [3.5, 1.0, 3.5, 2.0]);
    }

    #[test]
    fn counts_convert_exactly() {
        assert_eq!(median([float(154_205)]), Some(154_205.0));
    }
}
