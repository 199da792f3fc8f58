//! The cursor of a list, and the part of the list that is on the screen.
//!
//! The screen draws only the rows of the window, so the cost of a drawing does not depend on the length of the list.

use std::ops::Range;

use crate::bindings::Action;

/// The position in a list. The views store the lists themselves, because most lists are too long to copy.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct List {
    /// The row of the cursor.
    pub(crate) at: usize,
    /// The first row on the screen.
    top: usize,
}

impl List {
    /// Moves the cursor. Returns false if the action does not move it.
    pub(crate) fn go(&mut self, action: Action, len: usize, height: usize) -> bool {
        let page = height.max(1);
        self.at = match action {
            Action::Up => self.at.saturating_sub(1),
            Action::Down => self.at + 1,
            Action::PageUp => self.at.saturating_sub(page),
            Action::PageDown => self.at + page,
            Action::First => 0,
            Action::Last => len,
            _ => return false,
        };
        self.fit(len, height);
        true
    }

    /// Moves the cursor to a row that exists, and moves the window so that it contains the cursor.
    pub(crate) fn fit(&mut self, len: usize, height: usize) {
        self.at = self.at.min(len.saturating_sub(1));
        let lowest = (self.at + 1).saturating_sub(height);
        self.top = self.top.clamp(lowest, self.at.max(lowest)).min(len.saturating_sub(height));
    }

    /// Returns the rows on the screen.
    pub(crate) fn window(&self, len: usize, height: usize) -> Range<usize> {
        self.top.min(len)..self.top.saturating_add(height).min(len)
    }
}

#[cfg(test)]
mod tests {
    use super::List;
    use crate::bindings::Action;

    #[test]
    fn the_window_follows_the_cursor() {
        let mut list = List::default();
        let mut go = |action, len| {
            list.go(action, len, 10);
            (list.at, list.window(len, 10))
        };
        assert_eq!(go(Action::Up, 100), (0, 0..10));
        assert_eq!(go(Action::PageDown, 100), (10, 1..11));
        assert_eq!(go(Action::Up, 100), (9, 1..11));
        assert_eq!(go(Action::Last, 100), (99, 90..100));
        assert_eq!(go(Action::Down, 100), (99, 90..100));
        assert_eq!(go(Action::Down, 5), (4, 0..5), "the list has become shorter");
        assert_eq!(go(Action::Down, 0), (0, 0..0));
        assert_eq!(go(Action::First, 100), (0, 0..10));
    }

    #[test]
    fn a_taller_screen_is_filled() {
        let mut list = List::default();
        list.go(Action::Last, 100, 10);
        list.fit(100, 40);
        assert_eq!(list.window(100, 40), 60..100);
        list.fit(100, 0);
        assert_eq!(list.window(100, 0).len(), 0);
    }
}
