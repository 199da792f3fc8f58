//! The files of one group, with the fate of each file and the reason for it.
//!
//! For an undecided group, the list shows the choice of the usual keep rules.

use std::collections::BTreeSet;

use review::{Condition, Fate, Review, Settlement};
use runtime::quantity::{count, counted, size};

use crate::bindings::Action;
use crate::effect::Effect;
use crate::list::List;
use crate::text::{below, cut_start, name, width};
use crate::views::decisions::{act_on_group, decide, state};
use crate::views::{Row, Tone};

/// Maximum number of files of a group in which the user can choose single files, as in `lop serve`. No user examines
/// more files one by one.
const MAX_FILES: u32 = 500;

/// The text below the files of an undecided group.
const UNDECIDED: &str =
    "Undecided: nothing will be done. '?' marks what the keep rules would choose.";

/// The view of a group.
#[derive(Debug)]
pub(crate) struct GroupView {
    /// The position of the group.
    at: u32,
    /// The fates of the members; empty if all stay. The view stores them, because a group can have a million members.
    fates: Vec<Fate>,
    /// The state of the group in a few words.
    state: String,
    /// The reason why no decision determines the fates, or `None` if one does.
    unsettled: Option<String>,
    pub(crate) list: List,
}

impl GroupView {
    pub(crate) fn new(review: &Review, at: u32) -> GroupView {
        let (fates, state, unsettled) = (Vec::new(), String::new(), None);
        let mut view = GroupView { at, fates, state, unsettled, list: List::default() };
        view.refresh(review);
        view
    }

    /// Determines the fates again after a change of the decisions.
    pub(crate) fn refresh(&mut self, review: &Review) {
        let settlement = review.settlement(self.at);
        self.unsettled = match &settlement {
            Settlement::Undecided => Some(UNDECIDED.into()),
            Settlement::Void { reason, .. } => {
                Some(format!("The decision cannot be followed: {reason}"))
            }
            _ => None,
        };
        let shown = if self.unsettled.is_some() { review.suggestion(self.at) } else { settlement };
        self.fates = if let Settlement::Decided { fates, .. } = shown { fates } else { Vec::new() };
        self.state = state(review, self.at).0;
    }

    pub(crate) fn heading() -> String {
        format!("{:<8} {:<24} {}", "fate", "why", "file")
    }

    pub(crate) fn title(&self, review: &Review) -> (String, String) {
        let group = review.index().group(self.at);
        let files = counted(group.inodes.into(), "file", "files");
        let title =
            format!("{files} of {}, {} reclaimable", size(group.size), size(group.reclaimable));
        (title, self.state.clone())
    }

    pub(crate) fn len(&self, review: &Review) -> usize {
        review.index().group(self.at).names as usize
    }

    /// Returns a row. Paths below `dir` are relative to it.
    pub(crate) fn row(&self, review: &Review, dir: &[u8], row: usize, columns: usize) -> Row {
        let ordinal = walk::to_u32(row);
        let Some(member) = review.index().member(self.at, ordinal) else { return Row::default() };
        let mark = if self.unsettled.is_some() { "?" } else { "" };
        let (fate, why, tone) = match self.fates.get(row) {
            Some(Fate::Keep(why)) => (format!("keep{mark}"), why.to_string(), Tone::Good),
            Some(Fate::Remove) => (format!("remove{mark}"), String::new(), Tone::Plain),
            None => ("keep".into(), "left alone".into(), Tone::Quiet),
        };
        let text = format!("{fate:<8} {:<24} ", cut_start(&why, 24));
        let room = columns.saturating_sub(width(&text));
        Row { text: text + &cut_start(&name(below(dir, &member.path)), room), tone }
    }

    pub(crate) fn details(&self, review: &Review, row: usize) -> String {
        let member = review.index().member(self.at, walk::to_u32(row));
        let path = member.map(|member| name(&member.path)).unwrap_or_default();
        match self.fates.get(row) {
            Some(Fate::Keep(why)) => format!("{path} ({why})"),
            _ => path,
        }
    }

    pub(crate) fn totals(&self, review: &Review) -> String {
        let member = || review.index().member(self.at, walk::to_u32(self.list.at));
        let path = || member().map(|member| name(&member.path)).unwrap_or_default();
        self.unsettled.clone().unwrap_or_else(path)
    }

    /// Returns the files that the screen shows as kept: those of the decision, or those that the keep rules would
    /// choose.
    fn shown_as_kept(&self, names: u32) -> BTreeSet<u32> {
        let fate = |ordinal: &u32| self.fates.get(*ordinal as usize);
        (0..names).filter(|ordinal| fate(ordinal) != Some(&Fate::Remove)).collect()
    }

    pub(crate) fn act(&self, review: &Review, action: Action) -> Vec<Effect> {
        if !matches!(action, Action::Toggle | Action::Only) {
            return act_on_group(review, self.at, action);
        }
        let (ordinal, names) = (walk::to_u32(self.list.at), review.index().group(self.at).names);
        if names > MAX_FILES {
            let files = count(MAX_FILES.into());
            let text = format!("This group has more than {files} files. Decide by a rule.");
            return vec![Effect::Say(text)];
        }
        if let Some(condition) = unsound(review, self.at, ordinal) {
            return vec![Effect::Say(format!("lop does not act on this file: it is {condition}."))];
        }
        let mut kept = review.with_names(self.at, &[ordinal]);
        if action == Action::Toggle {
            let (these, shown) = (kept, self.shown_as_kept(names));
            kept = if shown.contains(&ordinal) { &shown - &these } else { &shown | &these };
        }
        let Some(choice) = review.choice_of(self.at, &kept) else {
            let text = "At least one file must stay. Keep another file first.";
            return vec![Effect::Say(text.into())];
        };
        decide(review, self.at, |scope| Effect::Decide(scope, choice))
    }
}

/// Returns the condition of a file if lop does not act on the file. The condition is that of the name at `ordinal`, or
/// of another name of the file.
fn unsound(review: &Review, at: u32, ordinal: u32) -> Option<Condition> {
    let file = review.index().member(at, ordinal)?;
    if !file.condition.is_sound() {
        return Some(file.condition);
    }
    let names = review.index().members(at).into_iter();
    let names = names.filter(|one| (one.device, one.inode) == (file.device, file.inode));
    names.map(|one| one.condition).find(|condition| !condition.is_sound())
}
