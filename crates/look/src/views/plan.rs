//! The plan from the decisions, and the result of its run.
//!
//! `lop dedupe --decided` makes the plan. Before the interface applies it, the user confirms a question that names the
//! number of files and the bytes.

use action::plan::{Kind, SavedAction};
use runtime::quantity::{counted, size};

use crate::bindings::{Action, Place};
use crate::effect::{Dialog, Effect, action_name, kinds};
use crate::list::List;
use crate::text::{cut, cut_start, message, name, width};
use crate::views::runs::ask_undo;
use crate::views::{Remote, Row, Tone, View, with_remark};
use crate::work::{Acted, Load, PlanFile};

/// The view of a plan.
#[derive(Debug)]
pub(crate) struct PlanView {
    plan: Remote<PlanFile>,
    kind: Kind,
    list: List,
}

impl PlanView {
    /// Starts to make a plan. The interface starts with hard links, because they keep a file under every name.
    pub(crate) fn new(kind: Kind) -> (PlanView, Vec<Effect>) {
        let mut plan = Remote::Absent;
        let effects = plan.load(Load::Plan(kind));
        (PlanView { plan, kind, list: List::default() }, effects)
    }

    pub(crate) fn progress(&mut self, text: String) {
        self.plan = Remote::Loading(text);
    }

    pub(crate) fn set(&mut self, plan: Result<PlanFile, String>) {
        self.plan = Remote::of(plan);
    }

    pub(crate) fn is_loading(&self) -> bool {
        matches!(self.plan, Remote::Loading(_))
    }

    fn apply(&self) -> Vec<Effect> {
        if self.is_loading() {
            return vec![Effect::Say("The plan is not ready yet.".into())];
        }
        let Some(plan) = self.plan.ready().filter(|plan| plan.len() > 0) else {
            return vec![Effect::Say("There is nothing to apply.".into())];
        };
        let files = counted(plan.len() as u64, "file", "files");
        let act = match self.kind {
            Kind::Quarantine => format!("Move {files} to quarantine"),
            Kind::Delete => format!("Delete {files}"),
            kind => format!("Replace {files} with {}s", action_name(kind)),
        };
        let frees = match plan.frees {
            0 => String::new(),
            bytes => format!(" and free {}", size(bytes)),
        };
        let question = format!("{act}{frees}?");
        let effect = Box::new(Effect::Load(Load::Apply(self.kind)));
        vec![Effect::Ask(Dialog::Confirm { question, effect })]
    }
}

impl View for PlanView {
    fn place(&self) -> Place {
        Place::Plan
    }

    fn title(&self) -> (String, String) {
        (
            "Plan: what the decisions would do".into(),
            format!("action: {} (b: other action)", action_name(self.kind)),
        )
    }

    fn heading(&self, _columns: usize) -> String {
        format!(
            "{:<13} {:>10}  {}",
            "action", "size", "file, and the file that stays, with the reason"
        )
    }

    fn len(&self) -> usize {
        // Two rows per action: the file, and the file that stays.
        self.plan.ready().map_or(0, |plan| 2 * plan.len())
    }

    fn row(&self, at: usize, columns: usize) -> Row {
        let action = self.plan.ready().and_then(|plan| plan.action(at / 2));
        let Some(action) = action else { return Row::default() };
        let SavedAction { kind, path, kept, why, size: bytes } = action;
        let (text, path, why, tone) = if at.is_multiple_of(2) {
            let text = format!("{:<13} {:>10}  ", action_name(kind), size(bytes));
            (text, path, String::new(), Tone::Plain)
        } else {
            let text = format!("{:<13} {:>10}  ", "  keep", "");
            (text, kept, format!("  ({})", message(&why)), Tone::Quiet)
        };
        let why = cut(&why, columns / 2);
        let room = columns.saturating_sub(width(&text) + width(&why));
        Row { text: text + &cut_start(&name(&path), room) + &why, tone }
    }

    fn details(&self, at: usize) -> String {
        match self.plan.ready().and_then(|plan| plan.action(at / 2)) {
            None => String::new(),
            Some(SavedAction { path, .. }) if at.is_multiple_of(2) => name(&path),
            Some(SavedAction { kept, why, .. }) => format!("{} ({})", name(&kept), message(&why)),
        }
    }

    fn note(&self) -> Option<String> {
        let empty = || {
            let nothing = "Nothing to do. In the list of groups (2), decide which files stay (d).";
            let remarks = self.plan.ready().map_or(&[][..], |plan| &plan.messages);
            let is_empty = self.plan.ready().is_some_and(|plan| plan.len() == 0);
            is_empty.then(|| match remarks {
                [] => nothing.to_string(),
                remarks => with_remark(String::new(), remarks),
            })
        };
        self.plan.note().or_else(empty)
    }

    fn totals(&self) -> String {
        let Some(plan) = self.plan.ready() else { return String::new() };
        let files = counted(plan.len() as u64, "file", "files");
        let text = format!("{files} to change, {} to free; nothing was changed", size(plan.frees));
        with_remark(text, &plan.messages)
    }

    fn list(&mut self) -> &mut List {
        &mut self.list
    }

    fn offers(&self, action: Action) -> bool {
        match action {
            Action::Apply => self.len() > 0,
            action => !matches!(action, Action::Open | Action::Plan),
        }
    }

    fn act(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Apply => self.apply(),
            Action::OtherKind => vec![Effect::Ask(kinds(self.kind))],
            Action::Back => self.plan.stop(Load::Plan(self.kind)),
            _ => Vec::new(),
        }
    }
}

/// The view of a run or an undo: its progress, and later its result.
#[derive(Debug)]
pub(crate) struct OutcomeView {
    outcome: Remote<Acted>,
    load: Load,
    /// True if the user has stopped the work, which first finishes the current file.
    is_stopping: bool,
    list: List,
}

impl OutcomeView {
    pub(crate) fn new(load: Load) -> OutcomeView {
        let outcome = Remote::Loading(String::new());
        OutcomeView { outcome, load, is_stopping: false, list: List::default() }
    }

    pub(crate) fn progress(&mut self, text: String) {
        self.outcome = Remote::Loading(text);
    }

    pub(crate) fn set(&mut self, outcome: Result<Acted, String>) {
        self.outcome = Remote::of(outcome);
    }

    /// Returns whether the run is still changing files.
    pub(crate) fn is_running(&self) -> bool {
        matches!(self.outcome, Remote::Loading(_))
    }

    /// Returns whether the user has stopped a run that is still changing files.
    pub(crate) fn is_stopping(&self) -> bool {
        self.is_running() && self.is_stopping
    }

    fn message(&self, at: usize) -> Option<String> {
        self.outcome.ready()?.messages.get(at).map(|text| message(text))
    }

    /// Returns the number of the run and the effect that asks to undo it. Returns `None` if that is impossible.
    fn undo(&self) -> Option<(u64, Effect)> {
        match (&self.load, self.outcome.ready()?) {
            (&Load::Apply(kind), &Acted { run: Some(run), done, .. }) => {
                Some((run, ask_undo(run, kind, done)))
            }
            _ => None,
        }
    }
}

impl View for OutcomeView {
    fn place(&self) -> Place {
        Place::Outcome
    }

    fn title(&self) -> (String, String) {
        let title = match self.load {
            Load::Undo { run, .. } => format!("Undo of run {run}"),
            _ => "Run".into(),
        };
        let state = if self.is_running() { "running" } else { "ended" };
        (title, state.into())
    }

    fn heading(&self, columns: usize) -> String {
        let text = self.outcome.ready().map(|acted| message(&acted.text));
        cut(&text.unwrap_or_default(), columns)
    }

    fn len(&self) -> usize {
        self.outcome.ready().map_or(0, |acted| acted.messages.len())
    }

    fn row(&self, at: usize, columns: usize) -> Row {
        let text = self.message(at).unwrap_or_default();
        Row { text: cut(&text, columns), tone: Tone::Plain }
    }

    /// Returns the result of the work, which the heading may show cut, and the message in the row.
    fn details(&self, at: usize) -> String {
        let result = self.outcome.ready().map(|acted| message(&acted.text)).unwrap_or_default();
        match self.message(at) {
            Some(text) => format!("{result}. {text}"),
            None => result,
        }
    }

    fn note(&self) -> Option<String> {
        if self.is_stopping
            && let Remote::Loading(progress) = &self.outcome
        {
            return Some(format!("Stopping after the current file… {progress}").trim_end().into());
        }
        let no_messages = || (self.len() == 0).then(|| "Press Esc to go back.".to_string());
        self.outcome.note().or_else(no_messages)
    }

    fn totals(&self) -> String {
        if self.is_stopping() {
            return "q leaves while lop finishes; the result is then in list 5".into();
        }
        self.undo().map(|(run, _)| format!("u undoes run {run}")).unwrap_or_default()
    }

    fn list(&mut self) -> &mut List {
        &mut self.list
    }

    fn offers(&self, action: Action) -> bool {
        match action {
            Action::Undo => self.undo().is_some(),
            action => !self.is_running() && action != Action::Open,
        }
    }

    fn act(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Undo => self.undo().map(|(_, ask)| ask).into_iter().collect(),
            // The work ends after the file that it is working on, and reports its result.
            Action::Back if self.is_running() => {
                if !std::mem::replace(&mut self.is_stopping, true) {
                    // The page then shows only progress from after the stop.
                    self.progress(String::new());
                }
                vec![Effect::Cancel(self.load.clone())]
            }
            _ => Vec::new(),
        }
    }
}
