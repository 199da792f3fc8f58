//! Questions to the user: a confirmation, a text, or a choice.
//!
//! Until the user answers, a dialog receives all keys except those that suspend the program or draw the screen again.
//! Only `y` confirms, so no other key changes anything.

use action::plan::Kind;
use catalog::{Choice, Scope};

use super::Effect;
use crate::key::Key;
use crate::work::Load;

/// A question to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Dialog {
    /// Asks whether to carry out an effect.
    Confirm { question: String, effect: Box<Effect> },
    /// Asks for the text that selects the rows of a list.
    Filter { text: String, problem: String },
    /// Asks the user to choose an item.
    Menu { title: String, items: Vec<Item>, at: usize },
}

/// An item of a menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) text: String,
    effect: Effect,
}

/// The effect of a key on a dialog.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The dialog stays open.
    Open(Dialog),
    /// The user refused.
    No,
    Yes(Effect),
    /// The text of the filter.
    Text(String),
}

/// The keep rules that the menu offers, as in `lop serve`. `action::plan::Rule` defines them.
const RULES: [(&str, &str); 9] = [
    ("", "the usual rules: local, tidy, oldest, shortest path"),
    ("tidy", "the file that looks least like a copy"),
    ("newest", "the file that was modified last"),
    ("oldest", "the file that was modified first"),
    ("shortest-path", "the file with the shortest path"),
    ("longest-path", "the file with the longest path"),
    ("shallowest", "the file in the fewest directories"),
    ("deepest", "the file in the most directories"),
    ("local", "a file on a disk of this machine"),
];

/// The actions of a plan, each with its name and its description in the menu.
const KINDS: [(Kind, &str, &str); 5] = [
    (Kind::Hardlink, "hard link", "replace it with a hard link to the kept file"),
    (Kind::Quarantine, "quarantine", "move it aside; frees space when the quarantine is purged"),
    (Kind::Reflink, "reflink", "share the disk space; both files remain (btrfs, XFS)"),
    (Kind::Symlink, "symbolic link", "replace it with a symbolic link to the kept file"),
    (Kind::Delete, "delete", "delete it; an undo copies the kept file"),
];

/// Returns the name of an action.
pub(crate) fn action_name(kind: Kind) -> &'static str {
    KINDS.iter().find(|(known, ..)| *known == kind).map_or(kind.word(), |(_, name, _)| name)
}

/// Returns the menu of keep rules for a decision.
pub(crate) fn rules(title: String, scope: &Scope) -> Dialog {
    let items = RULES.into_iter().map(|(rule, meaning)| {
        let rules = (!rule.is_empty()).then(|| rule.to_string()).into_iter().collect();
        let text = if rule.is_empty() { meaning.into() } else { format!("{rule:<14} {meaning}") };
        Item { text, effect: Effect::Decide(scope.clone(), Choice::Rules(rules)) }
    });
    let leave = Item {
        text: "leave alone    all files stay".into(),
        effect: Effect::Decide(scope.clone(), Choice::Leave),
    };
    Dialog::Menu { title, items: items.chain([leave]).collect(), at: 0 }
}

/// Returns the menu of actions for a plan.
pub(crate) fn kinds(current: Kind) -> Dialog {
    let items = KINDS.map(|(kind, word, meaning)| Item {
        text: format!("{word:<14} {meaning}"),
        effect: Effect::Load(Load::Plan(kind)),
    });
    let at = KINDS.iter().position(|(kind, ..)| *kind == current).unwrap_or(0);
    let title = "What becomes of each redundant file?".into();
    Dialog::Menu { title, items: items.into(), at }
}

impl Dialog {
    /// Returns the effects that an answer to the dialog can have.
    pub(super) fn effects(&self) -> impl Iterator<Item = &Effect> {
        let (one, items): (Option<&Effect>, &[Item]) = match self {
            Dialog::Confirm { effect, .. } => (Some(effect), &[]),
            Dialog::Filter { .. } => (None, &[]),
            Dialog::Menu { items, .. } => (None, items),
        };
        one.into_iter().chain(items.iter().map(|item| &item.effect))
    }

    /// Applies a key to the dialog.
    pub(crate) fn key(self, key: Key) -> Answer {
        if matches!(key, Key::Esc | Key::Ctrl('c')) {
            return Answer::No;
        }
        match self {
            Dialog::Confirm { effect, .. } if matches!(key, Key::Char('y' | 'Y')) => {
                Answer::Yes(*effect)
            }
            Dialog::Confirm { .. } if matches!(key, Key::Char('n' | 'N' | 'q')) => Answer::No,
            confirm @ Dialog::Confirm { .. } => Answer::Open(confirm),
            Dialog::Filter { text, .. } => typed(text, key),
            Dialog::Menu { title, items, at } => chosen(title, items, at, key),
        }
    }
}

fn typed(mut text: String, key: Key) -> Answer {
    match key {
        Key::Enter => return Answer::Text(text),
        Key::Char(letter) | Key::Pasted(letter) => text.push(letter),
        Key::Backspace => drop(text.pop()),
        Key::Ctrl('u') => text.clear(),
        _ => {}
    }
    Answer::Open(Dialog::Filter { text, problem: String::new() })
}

fn chosen(title: String, items: Vec<Item>, at: usize, key: Key) -> Answer {
    let last = items.len().saturating_sub(1);
    let at = match key {
        Key::Enter | Key::Right => {
            return items.into_iter().nth(at).map_or(Answer::No, |item| Answer::Yes(item.effect));
        }
        Key::Char('q') | Key::Left => return Answer::No,
        Key::Up | Key::Char('k') => at.saturating_sub(1),
        Key::Down | Key::Char('j') => (at + 1).min(last),
        Key::Home => 0,
        Key::End => last,
        _ => at,
    };
    Answer::Open(Dialog::Menu { title, items, at })
}

#[cfg(test)]
mod tests {
    use super::{Answer, Dialog, kinds};
    use crate::effect::Effect;
    use crate::key::Key;
    use action::plan::Kind;

    #[test]
    fn only_y_confirms() {
        let ask = || Dialog::Confirm { question: "?".into(), effect: Box::new(Effect::Quit) };
        assert_eq!(ask().key(Key::Char('y')), Answer::Yes(Effect::Quit));
        assert_eq!(ask().key(Key::Enter), Answer::Open(ask()));
        assert_eq!(ask().key(Key::Char('n')), Answer::No);
        assert_eq!(ask().key(Key::Esc), Answer::No);
    }

    #[test]
    fn a_text_is_edited() {
        let mut answer = Answer::Open(Dialog::Filter { text: "x".into(), problem: String::new() });
        for key in [Key::Backspace, Key::Backspace, Key::Char('é'), Key::Char('q'), Key::Up] {
            let Answer::Open(dialog) = answer else { panic!("{answer:?}") };
            answer = dialog.key(key);
        }
        let Answer::Open(dialog) = answer else { panic!("{answer:?}") };
        assert_eq!(dialog.key(Key::Enter), Answer::Text("éq".into()));
    }

    #[test]
    fn a_menu_starts_at_the_current_item() {
        let Dialog::Menu { at, items, .. } = kinds(Kind::Delete) else { panic!("a menu") };
        assert_eq!(at + 1, items.len());
    }
}
