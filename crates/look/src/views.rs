//! The views: lists that the user moves through.
//!
//! A view is a state machine without access to the terminal, the catalog or other processes. It gets actions
//! and loaded data, and it returns what has to be done outside as [`Effect`]s. It draws only the rows that
//! are on the screen.

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

/// Data that is loaded on another thread.
#[derive(Debug)]
pub(crate) enum Remote<T> {
    /// The data was not needed yet.
    Absent,
    /// The data is being loaded. The text is the progress.
    Loading(String),
    /// The user stopped the work.
    Stopped,
    /// The data cannot be loaded, for this reason.
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

    /// Returns the text in place of the rows, unless the data is there.
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

    /// Notes that the data is being loaded, and returns the effect that loads it.
    pub(crate) fn load(&mut self, load: Load) -> Vec<Effect> {
        *self = Remote::Loading(String::new());
        vec![Effect::Load(load)]
    }

    /// Notes that the user stopped the work. Returns the effect that stops it, if there was any.
    pub(crate) fn stop(&mut self, load: Load) -> Vec<Effect> {
        if !matches!(self, Remote::Loading(_)) {
            return Vec::new();
        }
        *self = Remote::Stopped;
        vec![Effect::Cancel(load)]
    }
}

/// Returns the text in place of the rows of an empty list. A list that is empty because of its filter says nothing
/// about the directory.
pub(crate) fn empty_note(filter: &str, everything: &str) -> String {
    if filter.is_empty() {
        everything.to_owned()
    } else {
        "No row of this list matches the filter.".into()
    }
}

/// Adds the first remark about a result to a text. The others are reasons for details.
pub(crate) fn with_remark(text: String, remarks: &[String]) -> String {
    match remarks.first() {
        Some(remark) if text.is_empty() => message(remark),
        Some(remark) => format!("{text}; {}", message(remark)),
        None => text,
    }
}

/// How a row is shown. The text of the row always says the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    #[default]
    Plain,
    /// Something that stays as it is.
    Quiet,
    /// Something that is decided.
    Good,
    /// Something that needs attention.
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
    /// Returns which keys have a meaning here.
    fn place(&self) -> Place;
    /// Returns the text above the list, for example the directory and the order.
    fn title(&self) -> (String, String);
    /// Returns the names of the columns.
    fn heading(&self, columns: usize) -> String;
    /// Returns the number of rows.
    fn len(&self) -> usize;
    /// Returns a row. It MUST be quick, because it is called for each drawing.
    fn row(&self, at: usize, columns: usize) -> Row;
    /// Returns the text in place of the rows, if there are none.
    fn note(&self) -> Option<String>;
    /// Returns the totals of the list.
    fn totals(&self) -> String;
    /// Returns the cursor.
    fn list(&mut self) -> &mut List;
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
    /// Fails if the text has no meaning here. The old selection stays.
    fn set_filter(&mut self, _text: &str) -> Result<(), String> {
        Ok(())
    }
}
