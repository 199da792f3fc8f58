//! Chooses the columns of the table and the width of its bars, so that no line is wider than the
//! terminal. On a narrow terminal, names take room from the bars first. Then columns are left out,
//! except the sizes and the column that the table is sorted by.

use space::By;

/// Width of the column with the sizes.
const SIZE: usize = 11;
/// Widths of the other columns, with the spaces before them.
const RECLAIMABLE: usize = 13;
const GROWN: usize = 14;
const FILES: usize = 12;
/// Width of the column with the shares, without bars.
const SHARE: usize = 7;
/// Spaces before the names.
const GAP: usize = 2;

/// Minimum and maximum width of a bar, in columns.
const BAR: (usize, usize) = (6, 24);
/// Minimum number of columns for a name.
const MIN_NAME: usize = 12;
/// Bars leave room for names of up to this many columns. Longer names are shortened, because one long name should not
/// take the bars from all lines.
const LONG_NAME: usize = 40;

/// The columns of a table. A table always has a column for sizes and one for names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a column of its own")]
pub(super) struct Layout {
    pub(super) reclaimable: bool,
    pub(super) grown: bool,
    pub(super) files: bool,
    /// True if the share of the top directory is shown.
    pub(super) share: bool,
    /// Width of the bars; 0 for none.
    pub(super) bar: usize,
    /// Width of the column for names.
    pub(super) name: usize,
}

impl Layout {
    /// Returns the layout for a page of this width. `longest_name` is the width of the longest name,
    /// or `None` if names may exceed the page.
    pub(super) fn new(
        columns: usize,
        by: By,
        has_growth: bool,
        longest_name: Option<usize>,
    ) -> Layout {
        let all = Layout {
            reclaimable: true,
            grown: has_growth,
            files: by == By::Files,
            share: true,
            bar: 0,
            name: 0,
        };
        let without_share = Layout { share: false, ..all };
        let without_growth = Layout { grown: has_growth && by == By::Grown, ..without_share };
        let narrowest = Layout { reclaimable: by == By::Reclaimable, ..without_growth };
        let fits = |layout: &Layout| layout.room(columns) >= MIN_NAME;
        let wide = [all, without_share, without_growth].into_iter().find(fits);
        let mut layout = wide.unwrap_or(narrowest);
        let room = layout.room(columns);
        if layout.share {
            // Two thirds of what the numbers leave are for the names.
            let preferred = (room / 3).clamp(BAR.0, BAR.1);
            let left = room.saturating_sub(longest_name.unwrap_or(0).min(LONG_NAME));
            let bar = preferred.min(left);
            layout.bar = if bar < BAR.0 { 0 } else { bar };
        }
        // The growth of a directory is not a share of the growth of its parent, so there are only bars.
        layout.share &= layout.bar > 0 || by != By::Grown;
        layout.name = layout.room(columns);
        layout
    }

    /// Returns the number of columns that the numbers and the bar leave for the names.
    fn room(&self, columns: usize) -> usize {
        let optional = [
            (self.reclaimable, RECLAIMABLE),
            (self.grown, GROWN),
            (self.files, FILES),
            (self.share, SHARE + self.bar),
        ];
        let shown = optional.iter().filter(|(is_shown, _)| *is_shown).map(|(_, width)| width);
        columns.saturating_sub(SIZE + shown.sum::<usize>() + GAP)
    }
}

#[cfg(test)]
mod tests {
    use space::By;

    use super::Layout;

    fn layout(columns: usize, by: By, has_growth: bool, longest_name: usize) -> Layout {
        Layout::new(columns, by, has_growth, Some(longest_name))
    }

    #[test]
    fn bars_shrink_before_names_are_shortened() {
        let bars = |columns| layout(columns, By::Size, true, 24).bar;
        assert_eq!([120, 80, 77, 76, 60].map(bars), [24, 9, 6, 0, 0]);
        assert_eq!(layout(80, By::Size, true, 10).bar, 11);
        assert_eq!(layout(100, By::Size, false, 5000).bar, 22, "a very long name is shortened");
    }

    #[test]
    fn columns_are_left_out_if_names_have_no_room() {
        let shown = |columns, by| {
            let Layout { share, grown, reclaimable, .. } = layout(columns, by, true, 30);
            [share, grown, reclaimable]
        };
        assert_eq!(shown(60, By::Size), [true, true, true]);
        assert_eq!(shown(52, By::Size), [false, true, true]);
        assert_eq!(shown(40, By::Size), [false, false, true]);
        assert_eq!(shown(30, By::Size), [false, false, false]);
        assert_eq!(shown(10, By::Grown), [false, true, false]);
        assert_eq!(shown(10, By::Reclaimable), [false, false, true]);
    }
}
