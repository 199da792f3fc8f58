//! The page of a run or an undo, and the keys that have to wait until it ends.
//!
//! A run does not need the interface. The user may nevertheless leave only a run that is stopping, because any other
//! run would change more files afterwards.

use super::{App, Page};
use crate::effect::Effect;
use crate::views::plan::OutcomeView;
use crate::work::Load;

/// The message about keys and signals that have to wait for the end of a run.
pub(crate) const RUNNING: &str =
    "A run is changing files. Wait until it ends, or press Esc to stop it.";
/// The same message about a run that the user has stopped.
pub(crate) const STOPPING: &str =
    "The run is stopping. Wait for its result, or press q to leave lop look.";

impl App {
    /// Shows the page of a run or an undo, and returns the effect that starts it.
    pub(crate) fn begin(&mut self, load: Load) -> Vec<Effect> {
        self.pages = vec![Page::Outcome(OutcomeView::new(load.clone()))];
        vec![Effect::Load(load)]
    }

    /// Returns whether a run or an undo is changing files.
    pub(crate) fn is_acting(&self) -> bool {
        let is_running = |page: &Page| matches!(page, Page::Outcome(one) if one.is_running());
        self.pages.iter().any(is_running)
    }

    /// Returns whether the user has stopped a run or an undo that is still changing files.
    pub(super) fn is_stopping(&self) -> bool {
        let is_stopping = |page: &Page| matches!(page, Page::Outcome(one) if one.is_stopping());
        self.pages.iter().any(is_stopping)
    }

    /// Returns the message about keys and signals that have to wait for the end of the run.
    pub(crate) fn refusal(&self) -> &'static str {
        if self.is_stopping() { STOPPING } else { RUNNING }
    }

    /// Returns the effect that shows this message.
    pub(super) fn refuse(&self) -> Vec<Effect> {
        vec![Effect::Say(self.refusal().into())]
    }
}
