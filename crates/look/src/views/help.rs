//! The help: a list of all keys. The keys of the current list come first.

use crate::bindings::{Action, Binding, Place, of};
use crate::effect::Effect;
use crate::list::List;
use crate::text::{cut, width};
use crate::views::{Row, Tone, View};

/// The view of the help.
#[derive(Debug)]
pub(crate) struct HelpView {
    bindings: Vec<&'static Binding>,
    list: List,
}

/// Number of columns for the keys.
const KEYS: usize = 18;

impl HelpView {
    /// Creates the help for a place.
    pub(crate) fn new(place: Place) -> HelpView {
        HelpView { bindings: of(place).collect(), list: List::default() }
    }
}

impl View for HelpView {
    fn place(&self) -> Place {
        Place::Help
    }

    fn title(&self) -> (String, String) {
        ("Keys of this list".into(), "Esc leaves the help".into())
    }

    fn heading(&self, _columns: usize) -> String {
        format!("{:<KEYS$}{}", "keys", "meaning")
    }

    fn len(&self) -> usize {
        self.bindings.len()
    }

    fn row(&self, at: usize, columns: usize) -> Row {
        let Some(binding) = self.bindings.get(at) else { return Row::default() };
        let gap = " ".repeat(KEYS.saturating_sub(width(binding.label)));
        let text = format!("{}{gap}{}", binding.label, binding.does);
        Row { text: cut(&text, columns), tone: Tone::Plain }
    }

    fn details(&self, at: usize) -> String {
        self.bindings.get(at).map(|binding| binding.does.to_owned()).unwrap_or_default()
    }

    fn note(&self) -> Option<String> {
        None
    }

    fn totals(&self) -> String {
        "Files change only after a question. See also: lop man look".into()
    }

    fn list(&mut self) -> &mut List {
        &mut self.list
    }

    fn offers(&self, action: Action) -> bool {
        matches!(action, Action::Help | Action::Leave | Action::Quit)
    }

    fn act(&mut self, _action: Action) -> Vec<Effect> {
        Vec::new()
    }
}
