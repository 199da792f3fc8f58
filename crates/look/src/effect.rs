//! The effects of keys: work that the state machines leave to the event loop, and questions to the user before it.

mod dialog;

use catalog::{Choice, Scope};

pub(crate) use self::dialog::{Answer, Dialog, action_name, kinds, rules};

use crate::work::Load;

impl Effect {
    /// Returns whether the effect relies on the state of the catalog that the screen shows. The interface refuses such
    /// an effect after another process has changed the catalog.
    pub(crate) fn needs_current_state(&self) -> bool {
        match self {
            Effect::Load(Load::Apply(_)) | Effect::Decide(..) | Effect::Withdraw { .. } => true,
            Effect::Ask(dialog) => dialog.effects().any(Effect::needs_current_state),
            _ => false,
        }
    }
}

/// Work that a view leaves to the interface or the event loop.
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
    /// Stops the work in the slot of this load.
    Cancel(Load),
    /// Loads the sizes, the current list and an open plan again from the catalog.
    Reload,
    /// Records a decision.
    Decide(Scope, Choice),
    /// Withdraws the decision with this id, and shows the message `done`.
    Withdraw { id: i64, done: String },
    /// Asks the user a question.
    Ask(Dialog),
    /// Shows a message.
    Say(String),
    /// Shows the groups of some folders. The filter selects them.
    ShowGroups(String),
}
