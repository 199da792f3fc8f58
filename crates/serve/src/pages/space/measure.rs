//! The quantities by which folders are compared.

use space::{By, DirId, Space, Totals};

use crate::quantity;

/// A quantity of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    Size,
    Reclaimable,
    Grown,
    Files,
}

impl Measure {
    pub(super) const ALL: [Measure; 4] =
        [Measure::Size, Measure::Reclaimable, Measure::Grown, Measure::Files];

    pub(super) fn parse(word: &str) -> Option<Measure> {
        Measure::ALL.into_iter().find(|measure| measure.word() == word)
    }

    /// Returns the word in addresses.
    pub(super) fn word(self) -> &'static str {
        match self {
            Measure::Size => "size",
            Measure::Reclaimable => "reclaimable",
            Measure::Grown => "grown",
            Measure::Files => "files",
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Measure::Size => "Disk space",
            Measure::Reclaimable => "Reclaimable",
            Measure::Grown => "Growth",
            Measure::Files => "Files",
        }
    }

    pub(super) fn order(self) -> By {
        match self {
            Measure::Size => By::Size,
            Measure::Reclaimable => By::Reclaimable,
            Measure::Grown => By::Grown,
            Measure::Files => By::Files,
        }
    }

    /// Returns the size of a folder in bars and in the map. A folder that has shrunk has none.
    pub(super) fn of(self, totals: &Totals) -> u64 {
        match self {
            Measure::Size => totals.allocated,
            Measure::Reclaimable => totals.reclaimable,
            Measure::Grown => totals.grown.unwrap_or(0).max(0).cast_unsigned(),
            Measure::Files => totals.files,
        }
    }

    /// Returns the same for what is directly in a folder.
    pub(super) fn of_own(self, space: &Space, dir: DirId) -> u64 {
        match self {
            Measure::Size | Measure::Files => self.of(&space.own(dir)),
            // Removing copies in several folders can free less than the sum, so this is an estimate.
            Measure::Reclaimable | Measure::Grown => {
                let children = space.children(dir, self.order()).into_iter();
                let below = children.map(|child| self.of(&space.totals(child)));
                self.of(&space.totals(dir)).saturating_sub(below.fold(0, u64::saturating_add))
            }
        }
    }

    /// Returns the bytes of a folder that its colour on the map shows, and its disk space.
    pub(super) fn highlighted(self, totals: &Totals) -> (u64, u64) {
        (self.colour().of(totals), totals.allocated)
    }

    /// Returns the same for the files directly in a folder.
    pub(super) fn highlighted_own(self, space: &Space, dir: DirId) -> (u64, u64) {
        (self.colour().of_own(space, dir), space.own(dir).allocated)
    }

    fn colour(self) -> Measure {
        if self == Measure::Grown { Measure::Grown } else { Measure::Reclaimable }
    }

    /// Returns a size in bars as text.
    pub(super) fn amount(self, size: u64) -> String {
        match self {
            Measure::Size | Measure::Reclaimable => quantity::size(size),
            Measure::Grown => change(i64::try_from(size).unwrap_or(i64::MAX)),
            Measure::Files => quantity::files(size),
        }
    }
}

/// Returns a difference of sizes with its sign, such as `+1.5 GiB`.
pub(super) fn change(bytes: i64) -> String {
    let sign = match bytes {
        0 => "±",
        1.. => "+",
        _ => "−",
    };
    format!("{sign}{}", quantity::size(bytes.unsigned_abs()))
}

/// A share of a whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share {
    part: u64,
    whole: u64,
}

impl Share {
    pub(super) fn new(part: u64, whole: u64) -> Share {
        Share { part, whole }
    }

    /// Returns whole tenths of a percent, at most 1000.
    fn tenths(self) -> u64 {
        let tenths = u128::from(self.part) * 1000 / u128::from(self.whole.max(1));
        u64::try_from(tenths.min(1000)).unwrap_or(1000)
    }

    /// Returns the share as text, such as `12 %` or `<1 %`.
    pub(super) fn text(self) -> String {
        match self.tenths() {
            0 if self.part == 0 => "0 %".into(),
            0..10 => "<1 %".into(),
            tenths => format!("{} %", tenths / 10),
        }
    }

    /// Returns the width of a bar whose maximum is 100.
    pub(super) fn width(self) -> String {
        let tenths = self.tenths();
        format!("{}.{}", tenths / 10, tenths % 10)
    }

    /// Returns the class of colour: none, little, some, most.
    pub(super) fn class(self) -> usize {
        match self.tenths() {
            0 if self.part == 0 => 0,
            0..100 => 1,
            100..500 => 2,
            _ => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Share, change};

    #[test]
    fn a_share_is_never_rounded_up_to_all_or_down_to_nothing() {
        let text = |part, whole| Share::new(part, whole).text();
        assert_eq!(text(0, 10), "0 %");
        assert_eq!(text(1, 10_000), "<1 %");
        assert_eq!(text(999, 1000), "99 %");
        assert_eq!(text(10, 10), "100 %");
        assert_eq!(text(20, 10), "100 %", "more than the whole");
        assert_eq!(text(0, 0), "0 %");
        assert_eq!(text(u64::MAX, u64::MAX), "100 %");
    }

    #[test]
    fn changes_have_a_sign() {
        assert_eq!(change(2048), "+2.0 KiB");
        assert_eq!(change(-1), "−1 B");
        assert_eq!(change(0), "±0 B");
        assert_eq!(change(i64::MIN), "−8,192.0 PiB");
    }
}
