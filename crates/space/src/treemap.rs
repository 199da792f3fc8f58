//! Divides a rectangle into rectangles whose areas are proportional to sizes.
//!
//! The algorithm is the squarified treemap (Bruls, Huizing and van Wijk, 2000). It places rectangles in
//! rows along the shorter side of the remaining space. A row grows as long as this improves the worst
//! aspect ratio in the row.

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    /// Left edge.
    pub x: f64,
    /// Upper edge.
    pub y: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

impl Rect {
    /// Returns the area.
    pub fn area(&self) -> f64 {
        self.width * self.height
    }

    fn shorter(&self) -> f64 {
        self.width.min(self.height)
    }
}

/// Returns one rectangle for each item, in the same order. The rectangles fill `space` without
/// overlapping, and their areas are proportional to the items. An item of zero gets an area of
/// zero.
///
/// The rectangles are closest to squares if the items are sorted, largest first.
pub fn squarify(items: &[u64], space: Rect) -> Vec<Rect> {
    let total: f64 = items.iter().map(|&item| to_float(item)).sum();
    let per_unit = if total > 0.0 { space.area() / total } else { 0.0 };
    let areas: Vec<f64> = items.iter().map(|&item| to_float(item) * per_unit).collect();
    let (mut left, mut placed) = (space, Vec::with_capacity(items.len()));
    let mut rest = areas.as_slice();
    while !rest.is_empty() {
        let (row, others) = rest.split_at(row_length(rest, left.shorter()));
        // The last row takes everything that is left, so that rounding leaves no gap.
        let is_last = others.iter().all(|&area| area <= 0.0);
        left = place(row, left, is_last, &mut placed);
        rest = others;
    }
    placed
}

#[expect(clippy::cast_precision_loss, reason = "one part in 2^53 cannot be seen")]
fn to_float(number: u64) -> f64 {
    number as f64
}

/// Returns the number of areas in the row that starts with the first area. `side` is the length of
/// the row.
fn row_length(areas: &[f64], side: f64) -> usize {
    let (mut sum, mut least, mut most, mut worst) = (0.0, f64::INFINITY, 0.0f64, f64::INFINITY);
    for (length, &area) in areas.iter().enumerate() {
        (sum, least, most) = (sum + area, area.min(least), area.max(most));
        let (thickness, squared) = (sum * sum, side * side);
        let ratio = (squared * most / thickness).max(thickness / (squared * least));
        // Areas of zero make the ratio infinite or not a number. They join the row.
        if ratio > worst && area > 0.0 {
            return length.max(1);
        }
        worst = if ratio.is_finite() { ratio } else { worst };
    }
    areas.len()
}

/// Places a row of areas along the shorter side of `space`. Returns the space that is left.
fn place(row: &[f64], space: Rect, is_last: bool, placed: &mut Vec<Rect>) -> Rect {
    let sum: f64 = row.iter().sum();
    let upright = space.width >= space.height;
    let (length, depth) =
        if upright { (space.height, space.width) } else { (space.width, space.height) };
    let thickness = if is_last { depth } else { (sum / length).min(depth) };
    let mut before = 0.0;
    for &area in row {
        let from = length * share(before, sum);
        before += area;
        let extent = length * share(before, sum) - from;
        placed.push(if upright {
            Rect { x: space.x, y: space.y + from, width: thickness, height: extent }
        } else {
            Rect { x: space.x + from, y: space.y, width: extent, height: thickness }
        });
    }
    if upright {
        Rect { x: space.x + thickness, width: depth - thickness, ..space }
    } else {
        Rect { y: space.y + thickness, height: depth - thickness, ..space }
    }
}

fn share(part: f64, all: f64) -> f64 {
    if all > 0.0 { part / all } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Rect, squarify};

    const SPACE: Rect = Rect { x: 10.0, y: 20.0, width: 600.0, height: 400.0 };

    fn overlap(a: &Rect, b: &Rect) -> f64 {
        let width = (a.x + a.width).min(b.x + b.width) - a.x.max(b.x);
        let height = (a.y + a.height).min(b.y + b.height) - a.y.max(b.y);
        width.max(0.0) * height.max(0.0)
    }

    #[test]
    fn the_example_of_the_paper_is_laid_out_as_in_the_paper() {
        let space = Rect { x: 0.0, y: 0.0, width: 6.0, height: 4.0 };
        let rects = squarify(&[6, 6, 4, 3, 2, 2, 1], space);
        assert_eq!(rects[0], Rect { x: 0.0, y: 0.0, width: 3.0, height: 2.0 });
        assert_eq!(rects[1], Rect { x: 0.0, y: 2.0, width: 3.0, height: 2.0 });
        let third = Rect { x: 3.0, y: 0.0, width: 12.0 / 7.0, height: 7.0 / 3.0 };
        assert!(overlap(&rects[2], &third) > 3.999, "{:?}", rects[2]);
    }

    #[test]
    fn without_sizes_there_is_no_area() {
        assert!(squarify(&[], SPACE).is_empty());
        assert!(squarify(&[0, 0], SPACE).iter().all(|rect| rect.area().abs() < 1e-9));
        let flat = Rect { height: 0.0, ..SPACE };
        assert!(squarify(&[3, 2], flat).iter().all(|rect| rect.area().abs() < 1e-9));
    }

    #[test]
    fn equal_items_of_a_square_become_squares() {
        let square = Rect { width: 400.0, ..SPACE };
        for rect in squarify(&[5; 4], square) {
            assert!((rect.width - 200.0).abs() < 1e-6 && (rect.height - 200.0).abs() < 1e-6);
        }
    }

    proptest! {
        #[test]
        fn rectangles_are_proportional_and_fill_the_space_without_overlap(
            mut items in prop::collection::vec(prop_oneof![Just(0), 1..100u64, 1..1u64 << 50], 1..40),
            sorted in any::<bool>(),
        ) {
            if sorted {
                items.sort_unstable_by(|a, b| b.cmp(a));
            }
            let rects = squarify(&items, SPACE);
            let total: u128 = items.iter().map(|&item| u128::from(item)).sum();
            prop_assume!(total > 0);
            prop_assert_eq!(rects.len(), items.len());
            for (rect, &item) in rects.iter().zip(&items) {
                #[expect(clippy::cast_precision_loss, reason = "the tolerance is larger")]
                let area = SPACE.area() * item as f64 / total as f64;
                prop_assert!((rect.area() - area).abs() < 1e-3, "{:?} for {}", rect, area);
                prop_assert!(rect.width >= 0.0 && rect.height >= 0.0);
                prop_assert!((overlap(rect, &SPACE) - rect.area()).abs() < 1e-3, "{:?} is outside", rect);
            }
            for (at, rect) in rects.iter().enumerate() {
                let after = &rects[at + 1..];
                prop_assert!(after.iter().all(|other| overlap(rect, other) < 1e-3));
            }
        }
    }
}
