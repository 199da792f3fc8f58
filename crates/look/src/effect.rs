//! The work that a state machine cannot do itself, and the questions before it.

mod dialog;

use catalog::{Choice, Scope};

pub(crate) use self::dialog::{Answer, Dialog, action_name, kinds, rules};

use crate::work::Load;

impl Effect {
    /// Returns whether the user wants this because of what the screen shows. If another process has changed the catalog
    /// since, the screen may be wrong.
    pub(crate) fn needs_current_state(&self) -> bool {
        match self {
            Effect::Load(Load::Apply) | Effect::Decide(..) | Effect::Withdraw { .. } => true,
            Effect::Ask(dialog) => dialog.effects().any(Effect::needs_current_state),
            _ => false,
        }
    }
}

/// The work that a view cannot do itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Ends the program.
    Quit,
    /// Suspends the process group, as Ctrl-Z does.
    Suspend,
    /// Draws the whole screen again.
    Redraw,
    /// Starts work on another thread.
    Load(Load),
    /// Stops work whose result is not needed any more.
    Cancel(Load),
    /// Opens the catalog again and loads everything that is shown.
    Reload,
    /// Records a decision.
    Decide(Scope, Choice),
    /// Withdraws the decision with this id, and says what was done.
    Withdraw { id: i64, done: String },
    /// Asks the user.
    Ask(Dialog),
    /// Shows a message.
    Say(String),
    /// Shows the groups of some folders, which match a filter.
    ShowGroups(String),
}
