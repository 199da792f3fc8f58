//! The keys and their actions.
//!
//! [`SECTIONS`] is the only list of keys: it gives each key its action, and the help and the last line of the screen
//! show it. A key MUST NOT have two meanings in one place. A test checks this.

use crate::key::Key;

/// An action that the user requests with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Open,
    Leave,
    Back,
    Tab(usize),
    NextTab,
    PreviousTab,
    Filter,
    Plan,
    Reload,
    Redraw,
    Help,
    /// Shows the complete path or text of the row at the cursor.
    Details,
    Suspend,
    Quit,
    BySize,
    ByReclaimable,
    ByGrown,
    ByCopies,
    /// Keeps the file of the cursor, or removes it if it is kept.
    Toggle,
    /// Keeps only the file of the cursor.
    Only,
    /// Asks for the rule that chooses the kept file of a group.
    Rules,
    /// Asks for the rule that chooses the kept file of each group in the list.
    RulesForAll,
    LeaveAlone,
    Withdraw,
    OtherKind,
    Apply,
    Undo,
}

impl Action {
    /// Returns whether the action has an effect while the terminal is too small to show anything.
    pub(crate) fn is_safe_unseen(self) -> bool {
        matches!(self, Action::Quit | Action::Suspend | Action::Redraw)
    }
}

/// A part of the interface with keys of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Space,
    Groups,
    Group,
    Folders,
    Uniques,
    Runs,
    Plan,
    /// The result of a run.
    Outcome,
    Help,
}

/// A key, or several keys with the same meaning.
#[derive(Debug)]
pub(crate) struct Binding {
    pub(crate) keys: &'static [Key],
    /// The keys as the help shows them.
    pub(crate) label: &'static str,
    pub(crate) action: Action,
    /// Describes the action in the help.
    pub(crate) does: &'static str,
    /// Describes the action in the last line of the screen. If empty, that line does not contain the keys.
    pub(crate) hint: &'static str,
}

/// The keys of some places.
#[derive(Debug)]
pub(crate) struct Section {
    /// The places in which the keys have their meanings. An empty list means all places.
    pub(crate) places: &'static [Place],
    pub(crate) bindings: &'static [Binding],
}

const fn key(
    keys: &'static [Key],
    label: &'static str,
    action: Action,
    does: &'static str,
    hint: &'static str,
) -> Binding {
    Binding { keys, label, action, does, hint }
}

use Action as A;
use Key::Char as C;
use Place::{Folders, Group, Groups, Outcome, Plan, Runs, Space, Uniques};

/// All keys. The keys of a place come first, because the last line of the screen shows only as many keys as fit into
/// it.
pub(crate) static SECTIONS: [Section; 8] = [
    Section {
        places: &[Space],
        bindings: &[
            key(&[C('s')], "s", A::BySize, "sort by disk space", "size"),
            key(&[C('r')], "r", A::ByReclaimable, "sort by reclaimable space", "reclaimable"),
            key(&[C('g')], "g", A::ByGrown, "sort by growth", "grown"),
        ],
    },
    Section {
        places: &[Groups],
        bindings: &[
            key(&[C('D')], "D", A::RulesForAll, "decide all listed groups by a rule", "all"),
            key(&[C('s')], "s", A::BySize, "sort by the size of the files", ""),
            key(&[C('r')], "r", A::ByReclaimable, "sort by reclaimable space", ""),
            key(&[C('c')], "c", A::ByCopies, "sort by the number of copies", ""),
        ],
    },
    Section {
        places: &[Group],
        bindings: &[
            key(&[C(' ')], "Space", A::Toggle, "keep the file, or remove it", "keep/remove"),
            key(&[C('o')], "o", A::Only, "keep only this file", "only"),
        ],
    },
    Section {
        places: &[Groups, Group],
        bindings: &[
            key(&[C('d')], "d", A::Rules, "decide: one file stays, chosen by a rule", "decide"),
            key(
                &[C('x')],
                "x",
                A::LeaveAlone,
                "leave the group alone: all files stay",
                "leave alone",
            ),
            key(&[C('w')], "w", A::Withdraw, "withdraw the decision", "withdraw"),
        ],
    },
    Section {
        places: &[Plan],
        bindings: &[
            key(&[C('a')], "a", A::Apply, "apply the plan, after a question", "apply"),
            key(&[C('b')], "b", A::OtherKind, "choose another action for the plan", "action"),
        ],
    },
    Section {
        places: &[Runs, Outcome],
        bindings: &[key(&[C('u')], "u", A::Undo, "undo the run, after a question", "undo")],
    },
    Section {
        // The user can filter the rows of these lists.
        places: &[Space, Groups, Folders, Uniques],
        bindings: &[key(&[C('/')], "/", A::Filter, "show only rows that contain a text", "filter")],
    },
    Section { places: &[], bindings: &EVERYWHERE },
];

static EVERYWHERE: [Binding; 23] = [
    key(&[C('p')], "p", A::Plan, "make a plan from the decisions", "plan"),
    key(&[Key::Enter, Key::Right, C('l')], "Enter → l", A::Open, "open the row", "open"),
    key(&[Key::Left, Key::Backspace, C('h')], "← Backspace h", A::Leave, "go up or back", "up"),
    key(&[C('i')], "i", A::Details, "show the complete path or text of the row", ""),
    key(&[C('?')], "?", A::Help, "show or leave this help", "help"),
    key(
        &[C('q'), Key::Ctrl('c')],
        "q Ctrl-C",
        A::Quit,
        "quit (during a run, press Esc first)",
        "quit",
    ),
    key(&[C('1')], "1", A::Tab(0), "space by directory", ""),
    key(&[C('2')], "2", A::Tab(1), "groups of identical files in the directory", ""),
    key(&[C('3')], "3", A::Tab(2), "folders that are equal, contained or overlap", ""),
    key(&[C('4')], "4", A::Tab(3), "files in the directory without a copy outside", ""),
    key(&[C('5')], "5", A::Tab(4), "runs that changed files", ""),
    key(&[Key::Tab], "Tab", A::NextTab, "the next of these lists", ""),
    key(&[Key::BackTab], "Shift-Tab", A::PreviousTab, "the previous list", ""),
    key(&[Key::Esc], "Esc", A::Back, "go back, stop the work, or clear the filter", ""),
    key(&[Key::Up, C('k')], "↑ k", A::Up, "one row up", ""),
    key(&[Key::Down, C('j')], "↓ j", A::Down, "one row down", ""),
    key(&[Key::PageUp, Key::Ctrl('b')], "PageUp Ctrl-B", A::PageUp, "one screen up", ""),
    key(&[Key::PageDown, Key::Ctrl('f')], "PageDown Ctrl-F", A::PageDown, "one screen down", ""),
    key(&[Key::Home, C('<')], "Home <", A::First, "the first row", ""),
    key(&[Key::End, C('>')], "End >", A::Last, "the last row", ""),
    key(&[C('R')], "R", A::Reload, "load the catalog again", ""),
    key(&[Key::Ctrl('l')], "Ctrl-L", A::Redraw, "draw the screen again", ""),
    key(&[Key::Ctrl('z')], "Ctrl-Z", A::Suspend, "suspend; fg in the shell continues", ""),
];

impl Section {
    /// Returns whether the keys of this section have their meanings in a place.
    pub(crate) fn is_in(&self, place: Place) -> bool {
        self.places.is_empty() || self.places.contains(&place)
    }
}

/// Returns the keys of a place. Its own keys come before those of all places.
pub(crate) fn of(place: Place) -> impl Iterator<Item = &'static Binding> {
    SECTIONS.iter().filter(move |section| section.is_in(place)).flat_map(|one| one.bindings)
}

/// Returns the action of a key in a place.
pub(crate) fn action(key: Key, place: Place) -> Option<Action> {
    of(place).find(|binding| binding.keys.contains(&key)).map(|binding| binding.action)
}

impl Binding {
    /// Returns the first key with its hint, for the last line of the screen. Returns `None` if that line does not
    /// contain the key.
    pub(crate) fn hint(&self) -> Option<String> {
        let key = self.label.split(' ').next()?;
        (!self.hint.is_empty()).then(|| format!("{key} {}", self.hint))
    }
}

#[cfg(test)]
mod tests {
    use super::{Place, of};

    #[test]
    fn no_key_has_two_meanings_in_one_place() {
        let all = [
            Place::Space,
            Place::Groups,
            Place::Group,
            Place::Folders,
            Place::Uniques,
            Place::Runs,
            Place::Plan,
            Place::Outcome,
            Place::Help,
        ];
        for place in all {
            let mut keys = Vec::new();
            for binding in of(place) {
                for key in binding.keys {
                    assert!(!keys.contains(key), "{key:?} in {place:?}");
                    keys.push(*key);
                }
            }
        }
    }
}
