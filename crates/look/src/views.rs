//! The views: lists that the user moves through.
//!
//! A view is a state machine without access to the terminal, the catalog or other processes. It gets actions and loaded
//! data, and it returns work for the event loop as [`Effect`]s. It formats only the rows on the screen.

mod decisions;
pub(crate) mod folders;
mod group;
pub(crate) mod groups;
pub(crate) mod help;
mod listing;
pub(crate) mod plan;
pub(crate) mod runs;
pub(crate) mod space;
pub(crate) mod uniques;

use crate::bindings::{Action, Place};
use crate::effect::Effect;
use crate::list::List;
use crate::text::message;
use crate::work::Load;

/// Data that another thread loads.
#[derive(Debug)]
pub(crate) enum Remote<T> {
    /// No view has needed the data yet.
    Absent,
    /// A thread is loading the data. Contains the progress as text.
    Loading(String),
    /// The user stopped the work.
    Stopped,
    /// Loading the data failed, for this reason.
    Failed(String),
    /// The data.
    Ready(T),
}

impl<T> Remote<T> {
    pub(crate) fn of(result: Result<T, String>) -> Remote<T> {
        result.map_or_else(Remote::Failed, Remote::Ready)
    }

    pub(crate) fn ready(&self) -> Option<&T> {
        if let Remote::Ready(data) = self { Some(data) } else { None }
    }

    /// Returns the text in place of the rows, or `None` if the data is ready.
    pub(crate) fn note(&self) -> Option<String> {
        match self {
            Remote::Absent => Some(String::new()),
            Remote::Loading(progress) if progress.is_empty() => Some("Loading… (Esc stops)".into()),
            Remote::Loading(progress) => Some(format!("{progress} (Esc stops)")),
            Remote::Stopped => Some("Stopped. Press R to load again.".into()),
            Remote::Failed(why) => Some(why.clone()),
            Remote::Ready(_) => None,
        }
    }

    /// Marks the data as loading, and returns the effect that loads it.
    pub(crate) fn load(&mut self, load: Load) -> Vec<Effect> {
        *self = Remote::Loading(String::new());
        vec![Effect::Load(load)]
    }

    /// Marks the work as stopped, and returns the effect that stops it. Has no effect if no work is running.
    pub(crate) fn stop(&mut self, load: Load) -> Vec<Effect> {
        if !matches!(self, Remote::Loading(_)) {
            return Vec::new();
        }
        *self = Remote::Stopped;
        vec![Effect::Cancel(load)]
    }
}

/// Returns the text in place of the rows of an empty list. If the list has a filter, the text makes no claim about the
/// directory.
pub(crate) fn empty_note(filter: &str, everything: &str) -> String {
    if filter.is_empty() {
        everything.to_owned()
    } else {
        "No row of this list matches the filter.".into()
    }
}

/// Appends the first remark about a result to a text. Further remarks only give details.
pub(crate) fn with_remark(text: String, remarks: &[String]) -> String {
    match remarks.first() {
        Some(remark) if text.is_empty() => message(remark),
        Some(remark) => format!("{text}; {}", message(remark)),
        None => text,
    }
}

/// The style of a row. The text of the row always contains the same information.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    #[default]
    Plain,
    /// The row shows something that stays unchanged.
    Quiet,
    /// The row shows a decision.
    Good,
    /// The row needs the attention of the user.
    Warning,
}

/// A row of a list.
#[derive(Debug, Default)]
pub(crate) struct Row {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

/// A list on the screen.
pub(crate) trait View {
    /// Returns the place, which determines the meanings of the keys.
    fn place(&self) -> Place;
    /// Returns the text above the list, for example the directory and the order.
    fn title(&self) -> (String, String);
    /// Returns the names of the columns.
    fn heading(&self, columns: usize) -> String;
    /// Returns the number of rows.
    fn len(&self) -> usize;
    /// Returns a row. It MUST be quick, because each drawing calls it for each row on the screen.
    fn row(&self, at: usize, columns: usize) -> Row;
    /// Returns the complete paths or text of a row, which the row itself may show relative or cut. Returns an empty
    /// text if there is nothing to show.
    fn details(&self, at: usize) -> String;
    /// Returns the text in place of the rows, if there are none.
    fn note(&self) -> Option<String>;
    /// Returns the totals of the list.
    fn totals(&self) -> String;
    /// Returns the cursor.
    fn list(&mut self) -> &mut List;
    /// Returns whether the last line of the screen shows the key of an action. It leaves out the keys of actions that
    /// have no effect here and now, or no use.
    fn offers(&self, action: Action) -> bool {
        !matches!(action, Action::Open | Action::Leave)
    }
    /// Handles a key that does not move the cursor.
    fn act(&mut self, action: Action) -> Vec<Effect>;

    /// Returns the text that selects the rows.
    #[expect(clippy::unnecessary_literal_bound, reason = "other views return their own text")]
    fn filter(&self) -> &str {
        ""
    }

    /// Selects the rows that contain a text.
    ///
    /// # Errors
    ///
    /// Fails if the view does not understand the text. The view then keeps its old selection.
    fn set_filter(&mut self, _text: &str) -> Result<(), String> {
        Ok(())
    }
}
