//! The runs that changed files, newest first.

use action::plan::Kind;
use action::run::RunSummary;
use runtime::quantity::counted;

use crate::bindings::{Action, Place};
use crate::effect::{Dialog, Effect, action_name};
use crate::list::List;
use crate::text::{cut, files_of};
use crate::views::{Remote, Row, Tone, View, with_remark};
use crate::work::{Load, RunList};

/// The view of the runs.
#[derive(Debug)]
pub(crate) struct RunsView {
    runs: Remote<RunList>,
    list: List,
    local_time: fn(i64) -> String,
}

impl RunsView {
    pub(crate) fn new(local_time: fn(i64) -> String) -> RunsView {
        RunsView { runs: Remote::Absent, list: List::default(), local_time }
    }

    /// Returns the effect that lists the runs. Any lop process can add a run, so each call lists the runs again.
    pub(crate) fn show(&mut self) -> Vec<Effect> {
        match self.runs {
            Remote::Ready(_) => vec![Effect::Load(Load::Runs)],
            _ => self.runs.load(Load::Runs),
        }
    }

    pub(crate) fn set(&mut self, runs: Result<RunList, String>) {
        self.runs = Remote::of(runs);
    }

    fn get(&self, at: usize) -> Option<&RunSummary> {
        self.runs.ready()?.runs.get(at)
    }

    fn current(&self) -> Option<&RunSummary> {
        self.get(self.list.at)
    }

    /// Returns whether another process may still be carrying out a run.
    fn may_run(&self, run: &RunSummary) -> bool {
        self.runs.ready().is_some_and(|list| run.may_run(list.first_that_may_run))
    }

    fn can_be_undone(&self, run: &RunSummary) -> bool {
        run.can_be_undone() && !self.may_run(run)
    }

    fn undo(&self) -> Vec<Effect> {
        vec![match self.current() {
            None => return Vec::new(),
            Some(run) if self.may_run(run) => Effect::Say(format!(
                "Run {} may still be running. Press R to list the runs again.",
                run.run
            )),
            Some(run) if run.can_be_undone() => ask_undo(run.run, run.kind, run.still_changed()),
            Some(run) => Effect::Say(format!("Run {} has nothing left to restore.", run.run)),
        }]
    }

    /// Returns the text about runs that are missing in the list.
    fn unreadable(&self) -> Option<String> {
        let unreadable = self.runs.ready()?.unreadable;
        let journals = counted(unreadable, "journal", "journals");
        (unreadable > 0).then(|| format!("{journals} could not be read; see: lop history"))
    }
}

/// Returns the effect that asks the user before an undo of a run that has changed `files` with the action `kind`.
pub(crate) fn ask_undo(run: u64, kind: Kind, files: u64) -> Effect {
    let question = format!("Undo run {run} and restore {}?", files_of(kind, files));
    let effect = Box::new(Effect::Load(Load::Undo { run, kind }));
    Effect::Ask(Dialog::Confirm { question, effect })
}

impl View for RunsView {
    fn place(&self) -> Place {
        Place::Runs
    }

    fn title(&self) -> (String, String) {
        ("Runs that changed files".into(), "newest first".into())
    }

    fn heading(&self, _columns: usize) -> String {
        format!("{:>5}  {:<16}  {:<13}  {}", "run", "start", "action", "result")
    }

    fn len(&self) -> usize {
        self.runs.ready().map_or(0, |list| list.runs.len())
    }

    fn row(&self, at: usize, columns: usize) -> Row {
        let Some(run) = self.get(at) else { return Row::default() };
        let start = (self.local_time)(run.started_ms);
        let (number, action) = (run.run, action_name(run.kind));
        let result = run.result(self.may_run(run));
        let text = format!("{number:>5}  {start:<16}  {action:<13}  {result}");
        let tone = if self.can_be_undone(run) { Tone::Plain } else { Tone::Quiet };
        Row { text: cut(&text, columns), tone }
    }

    fn details(&self, at: usize) -> String {
        let text = |run: &RunSummary| format!("Run {}: {}", run.run, run.result(self.may_run(run)));
        self.get(at).map(text).unwrap_or_default()
    }

    fn note(&self) -> Option<String> {
        let none = || self.unreadable().unwrap_or("No run has changed files.".into());
        let empty = || (self.len() == 0).then(none);
        self.runs.note().or_else(empty)
    }

    fn totals(&self) -> String {
        let runs = counted(self.len() as u64, "run", "runs");
        let mut text = with_remark(runs, self.unreadable().as_slice());
        if self.current().is_some_and(|run| self.can_be_undone(run)) {
            text.push_str("; u undoes the selected run");
        }
        text
    }

    fn list(&mut self) -> &mut List {
        &mut self.list
    }

    fn offers(&self, action: Action) -> bool {
        match action {
            Action::Undo => self.current().is_some_and(|run| self.can_be_undone(run)),
            action => !matches!(action, Action::Open | Action::Leave),
        }
    }

    fn act(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Undo => self.undo(),
            Action::Back => self.runs.stop(Load::Runs),
            _ => Vec::new(),
        }
    }
}
