//! The files of one group, with the fate of each file and the reason for it.
//!
//! For an undecided group, the list shows the choice of the usual keep rules.

use std::collections::BTreeSet;

use review::{Fate, Member, Review, Settlement};
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

/// The view of a group.
#[derive(Debug)]
pub(crate) struct GroupView {
    /// The position of the group.
    at: u32,
    /// The fates of the members; empty if all stay. The view stores them, because a group can have a million members.
    fates: Vec<Fate>,
    is_decided: bool,
    pub(crate) list: List,
}

impl GroupView {
    pub(crate) fn new(review: &Review, at: u32) -> GroupView {
        let mut view =
            GroupView { at, fates: Vec::new(), is_decided: false, list: List::default() };
        view.refresh(review);
        view
    }

    /// Determines the fates again after a change of the decisions.
    pub(crate) fn refresh(&mut self, review: &Review) {
        (self.fates, self.is_decided) = match review.settlement(self.at) {
            Settlement::Decided { fates, .. } => (fates, true),
            Settlement::Left { .. } => (Vec::new(), true),
            Settlement::Undecided | Settlement::Void { .. } => match review.suggestion(self.at) {
                Settlement::Decided { fates, .. } => (fates, false),
                _ => (Vec::new(), false),
            },
        };
    }

    pub(crate) fn heading() -> String {
        format!("{:<8} {:<24} {}", "fate", "why", "file")
    }

    pub(crate) fn title(&self, review: &Review) -> (String, String) {
        let group = review.index().group(self.at);
        let (state, _) = state(review, self.at);
        let files = counted(group.inodes.into(), "file", "files");
        let title =
            format!("{files} of {}, {} reclaimable", size(group.size), size(group.reclaimable));
        (title, state)
    }

    pub(crate) fn len(&self, review: &Review) -> usize {
        review.index().group(self.at).names as usize
    }

    /// Returns a row. Paths below `dir` are relative to it.
    pub(crate) fn row(&self, review: &Review, dir: &[u8], row: usize, columns: usize) -> Row {
        let ordinal = walk::to_u32(row);
        let Some(member) = review.index().member(self.at, ordinal) else { return Row::default() };
        let mark = if self.is_decided { "" } else { "?" };
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
        let path = review.index().member(self.at, walk::to_u32(self.list.at)).map(|one| one.path);
        match review.settlement(self.at) {
            Settlement::Void { reason, .. } => format!("The decision cannot be followed: {reason}"),
            Settlement::Undecided => {
                "Undecided: nothing will be done. '?' marks what the keep rules would choose."
                    .into()
            }
            _ => path.map(|path| name(&path)).unwrap_or_default(),
        }
    }

    /// Returns the files that the screen shows as kept: those of the decision, or those that the keep rules would
    /// choose.
    fn shown_as_kept(&self, names: u32) -> BTreeSet<u32> {
        let fate = |ordinal: &u32| self.fates.get(*ordinal as usize);
        (0..names).filter(|ordinal| fate(ordinal) != Some(&Fate::Remove)).collect()
    }

    pub(crate) fn act(&self, review: &Review, action: Action) -> Vec<Effect> {
        let ordinal = walk::to_u32(self.list.at);
        let names = review.index().group(self.at).names;
        if matches!(action, Action::Toggle | Action::Only) && names > MAX_FILES {
            let text = format!(
                "This group has more than {} files. Decide by a rule.",
                count(MAX_FILES.into())
            );
            return vec![Effect::Say(text)];
        }
        let these = review.with_names(self.at, &[ordinal]);
        let kept = match action {
            Action::Toggle => {
                let mut kept = self.shown_as_kept(names);
                if kept.contains(&ordinal) {
                    kept.retain(|ordinal| !these.contains(ordinal));
                } else {
                    kept.extend(&these);
                }
                kept
            }
            Action::Only => these,
            _ => return act_on_group(review, self.at, action),
        };
        let Some(choice) = review.choice_of(self.at, &kept) else {
            let member: Option<Member> = review.index().member(self.at, ordinal);
            let condition = member.map(|member| member.condition).filter(|one| !one.is_sound());
            let text = match condition {
                Some(condition) => format!("lop does not act on this file: it is {condition}."),
                None => "At least one file must stay. Keep another file first.".into(),
            };
            return vec![Effect::Say(text)];
        };
        decide(review, self.at, |scope| Effect::Decide(scope, choice))
    }
}
