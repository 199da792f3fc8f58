//! A list about a directory. A thread loads the whole list, and the filter selects rows of it.

use review::Needle;

use crate::effect::Effect;
use crate::list::List;
use crate::views::{Remote, empty_note};
use crate::work::Load;

/// Data with rows.
pub(crate) trait Rows {
    /// A row of the data.
    type Row;

    /// Returns the work that loads the data about a directory.
    fn load(dir: Vec<u8>) -> Load;
    /// Returns all rows.
    fn rows(&self) -> &[Self::Row];
    /// Returns whether a text is part of a path in the row.
    fn contains(row: &Self::Row, needle: &Needle) -> bool;
}

/// The list.
#[derive(Debug)]
pub(crate) struct Listing<T> {
    data: Remote<T>,
    pub(super) dir: Vec<u8>,
    pub(super) filter: String,
    /// The positions of the selected rows in the data.
    order: Vec<usize>,
    pub(super) list: List,
}

impl<T: Rows> Listing<T> {
    pub(crate) fn new() -> Listing<T> {
        Listing {
            data: Remote::Absent,
            dir: b"/".to_vec(),
            filter: String::new(),
            order: Vec::new(),
            list: List::default(),
        }
    }

    /// Shows the list about a directory. Returns the effect that loads it, unless it is loaded already.
    pub(crate) fn show(&mut self, dir: &[u8]) -> Vec<Effect> {
        if self.dir == dir && !matches!(self.data, Remote::Absent) {
            return Vec::new();
        }
        (self.dir, self.list) = (dir.to_vec(), List::default());
        self.order.clear();
        self.data.load(T::load(dir.to_vec()))
    }

    /// Drops the data. The next call of [`Listing::show`] loads it again.
    pub(crate) fn forget(&mut self) {
        self.data = Remote::Absent;
        self.order.clear();
    }

    /// Shows the progress of the work.
    pub(crate) fn progress(&mut self, text: String) {
        self.data = Remote::Loading(text);
    }

    /// Takes the loaded data.
    pub(crate) fn set(&mut self, data: Result<T, String>) {
        self.data = Remote::of(data);
        self.select();
    }

    /// Selects the rows that contain a text.
    pub(super) fn filter_by(&mut self, text: &str) {
        text.clone_into(&mut self.filter);
        self.list = List::default();
        self.select();
    }

    fn select(&mut self) {
        let Some(data) = self.data.ready() else { return };
        let needle = Needle::new(self.filter.as_bytes());
        let rows = data.rows().iter().enumerate();
        self.order = rows.filter(|(_, row)| T::contains(row, &needle)).map(|(at, _)| at).collect();
    }

    /// Stops the work that loads the data.
    pub(super) fn stop(&mut self) -> Vec<Effect> {
        self.data.stop(T::load(Vec::new()))
    }

    /// Returns the data, or `None` if it is not ready.
    pub(super) fn ready(&self) -> Option<&T> {
        self.data.ready()
    }

    /// Returns the number of selected rows.
    pub(super) fn selected(&self) -> usize {
        self.order.len()
    }

    /// Returns a selected row.
    pub(super) fn get(&self, row: usize) -> Option<&T::Row> {
        self.ready()?.rows().get(*self.order.get(row)?)
    }

    /// Returns the selected row at the cursor.
    pub(super) fn current(&self) -> Option<&T::Row> {
        self.get(self.list.at)
    }

    /// Returns the text in place of the rows, if there are none. `claim` returns the meaning of an empty list without a
    /// filter.
    pub(super) fn note_or(&self, claim: impl FnOnce(&T) -> &'static str) -> Option<String> {
        let empty = |data| self.order.is_empty().then(|| empty_note(&self.filter, claim(data)));
        self.data.note().or_else(|| self.ready().and_then(empty))
    }
}
