//! The state of the whole interface: five lists, a page above them, a dialog above all, and a message.
//!
//! Only keys and news change the state. The state has no access to the terminal, the catalog or other processes. It
//! returns work for them as [`Effect`]s.

pub(crate) mod acting;
mod news;

use action::plan::Kind;

use crate::bindings::{self, Action, Place};
use crate::effect::{Answer, Dialog, Effect};
use crate::key::Key;
use crate::list::List;
use crate::views::View;
use crate::views::folders::FoldersView;
use crate::views::groups::GroupsView;
use crate::views::help::HelpView;
use crate::views::plan::{OutcomeView, PlanView};
use crate::views::runs::RunsView;
use crate::views::space::SpaceView;
use crate::views::uniques::UniquesView;
use crate::work::Load;

/// The names of the lists, in the order of their keys.
pub(crate) const TABS: [&str; 5] = ["Space", "Groups", "Folders", "Uniques", "Runs"];

/// A page above the lists.
#[derive(Debug)]
enum Page {
    Help(HelpView),
    Plan(Box<PlanView>),
    Outcome(OutcomeView),
}

/// The state of the interface.
#[derive(Debug)]
pub(crate) struct App {
    tab: usize,
    space: SpaceView,
    pub(crate) groups: GroupsView,
    folders: FoldersView,
    uniques: UniquesView,
    runs: RunsView,
    /// The open pages. The screen shows the last one.
    pages: Vec<Page>,
    dialog: Option<Dialog>,
    /// Whether the screen has shown the dialog.
    is_dialog_drawn: bool,
    message: String,
    /// The message to show if another process has changed the catalog.
    outdated: Option<&'static str>,
    /// The action of the last plan.
    kind: Kind,
    /// Number of rows of a list on the screen.
    height: usize,
    /// Whether the terminal is too small to show anything.
    is_hidden: bool,
}

impl App {
    /// Creates the state, with the space of a directory on the screen. `rows` has the same meaning as in
    /// [`App::resize`].
    pub(crate) fn new(
        dir: Option<Vec<u8>>,
        local_time: fn(i64) -> String,
        rows: Option<usize>,
    ) -> App {
        let mut app = App {
            tab: 0,
            space: SpaceView::new(dir, local_time),
            groups: GroupsView::new(),
            folders: FoldersView::new(),
            uniques: UniquesView::new(),
            runs: RunsView::new(local_time),
            pages: Vec::new(),
            dialog: None,
            is_dialog_drawn: false,
            message: String::new(),
            outdated: None,
            kind: Kind::Hardlink,
            height: 0,
            is_hidden: false,
        };
        app.resize(rows);
        app
    }

    /// Returns the effects that load the first list.
    pub(crate) fn start(&mut self) -> Vec<Effect> {
        self.space.load()
    }

    /// Returns the index of the current list, which pages may cover.
    pub(crate) fn tab(&self) -> usize {
        self.tab
    }

    /// Returns the view on the screen.
    pub(crate) fn view(&self) -> &dyn View {
        match self.pages.last() {
            Some(Page::Help(help)) => help,
            Some(Page::Plan(plan)) => &**plan,
            Some(Page::Outcome(outcome)) => outcome,
            None => match self.tab {
                0 => &self.space,
                1 => &self.groups,
                2 => &self.folders,
                3 => &self.uniques,
                _ => &self.runs,
            },
        }
    }

    /// Returns the cursor of the view.
    pub(crate) fn list(&mut self) -> List {
        *self.view_mut().list()
    }

    fn view_mut(&mut self) -> &mut dyn View {
        match self.pages.last_mut() {
            Some(Page::Help(help)) => help,
            Some(Page::Plan(plan)) => &mut **plan,
            Some(Page::Outcome(outcome)) => outcome,
            None => match self.tab {
                0 => &mut self.space,
                1 => &mut self.groups,
                2 => &mut self.folders,
                3 => &mut self.uniques,
                _ => &mut self.runs,
            },
        }
    }

    pub(crate) fn dialog(&self) -> Option<&Dialog> {
        self.dialog.as_ref()
    }

    /// Notes that the screen shows the current state.
    pub(crate) fn note_drawn(&mut self) {
        self.is_dialog_drawn = true;
    }

    /// Returns the message for the user, or an empty text.
    pub(crate) fn message(&self) -> &str {
        match (self.message.as_str(), self.outdated) {
            ("", Some(outdated)) => outdated,
            (message, _) => message,
        }
    }

    /// Shows a message until the next key.
    pub(crate) fn say(&mut self, text: impl Into<String>) {
        self.message = text.into();
    }

    /// Notes that the screen has room for this many rows, or that it is too small to show anything. A screen that is
    /// too small hides an open question, so this cancels the question.
    pub(crate) fn resize(&mut self, rows: Option<usize>) {
        (self.height, self.is_hidden) = (rows.unwrap_or(0), rows.is_none());
        if self.is_hidden {
            self.dialog = None;
        }
        self.fit();
    }

    /// Stores the message about a change of the catalog by another process, or `None`. Returns whether this differs
    /// from before.
    pub(crate) fn set_outdated(&mut self, outdated: Option<&'static str>) -> bool {
        std::mem::replace(&mut self.outdated, outdated) != outdated
    }

    /// Drops the loaded data, and loads the sizes, the current list and an open plan again.
    pub(crate) fn reload(&mut self) -> Vec<Effect> {
        self.outdated = None;
        self.groups.forget();
        self.folders.forget();
        self.uniques.forget();
        let mut effects = self.space.load();
        effects.extend(match self.tab {
            // The list may show the groups of some folders, which `show_tab` would replace.
            1 => self.groups.load(),
            _ => self.show_tab(),
        });
        if matches!(self.pages.first(), Some(Page::Plan(_))) {
            effects.extend(self.plan(self.kind));
        }
        effects
    }

    /// Handles a key, and returns the effects for the event loop.
    pub(crate) fn key(&mut self, key: Key) -> Vec<Effect> {
        self.message.clear();
        let action = bindings::action(key, self.view().place());
        let effects = match (self.dialog.take(), action) {
            (Some(dialog), Some(action @ (Action::Suspend | Action::Redraw))) => {
                self.dialog = Some(dialog);
                self.act(action)
            }
            // The user has not seen the question or the menu, so the key is no answer. It may be part of a text that
            // was pasted into a terminal that does not mark such texts.
            (Some(dialog @ (Dialog::Confirm { .. } | Dialog::Menu { .. })), _)
                if !self.is_dialog_drawn =>
            {
                self.dialog = Some(dialog);
                Vec::new()
            }
            (Some(dialog), _) => self.answer(dialog, key),
            (None, Some(action)) if self.is_hidden && !action.is_safe_unseen() => Vec::new(),
            (None, Some(action)) => self.act(action),
            (None, None) => Vec::new(),
        };
        let effects = self.absorb(effects);
        self.fit();
        effects
    }

    fn fit(&mut self) {
        let height = self.height;
        let len = self.view().len();
        self.view_mut().list().fit(len, height);
    }

    fn answer(&mut self, dialog: Dialog, key: Key) -> Vec<Effect> {
        match dialog.key(key) {
            Answer::Open(dialog) => self.dialog = Some(dialog),
            Answer::No => {}
            Answer::Yes(effect) => return vec![effect],
            Answer::Text(text) => {
                if let Err(problem) = self.view_mut().set_filter(&text) {
                    self.dialog = Some(Dialog::Filter { text, problem });
                }
            }
        }
        Vec::new()
    }

    fn act(&mut self, action: Action) -> Vec<Effect> {
        let (height, len) = (self.height, self.view().len());
        if self.view_mut().list().go(action, len, height) {
            return Vec::new();
        }
        match action {
            // While lop look is suspended, a run could not report its progress. It would wait, and keep its locks.
            Action::Suspend if self.is_acting() => self.refuse(),
            // A run that the user has stopped also ends without lop look.
            Action::Quit if self.is_acting() && !self.is_stopping() => self.refuse(),
            Action::Quit => vec![Effect::Quit],
            Action::Suspend => vec![Effect::Suspend],
            Action::Redraw => vec![Effect::Redraw],
            Action::Reload => vec![Effect::Reload],
            Action::Help => self.toggle_help(),
            Action::Details => {
                let (at, view) = (self.list().at, self.view());
                let texts = [view.details(at), view.note().unwrap_or_default(), view.totals()];
                let text = texts.into_iter().find(|text| !text.is_empty());
                vec![Effect::Say(text.unwrap_or_default())]
            }
            Action::Plan => self.plan(self.kind),
            Action::Tab(tab) => self.go_to(tab),
            Action::NextTab => self.go_to((self.tab + 1) % TABS.len()),
            Action::PreviousTab => self.go_to((self.tab + TABS.len() - 1) % TABS.len()),
            Action::Filter => {
                let text = self.view().filter().to_owned();
                vec![Effect::Ask(Dialog::Filter { text, problem: String::new() })]
            }
            Action::Back | Action::Leave => self.back(action),
            action => self.view_mut().act(action),
        }
    }

    /// Leaves a page, stops the work of a list, returns to the list of folders, clears the filter, or lets the view go
    /// back.
    fn back(&mut self, action: Action) -> Vec<Effect> {
        if let Some(page) = self.pages.last() {
            if matches!(page, Page::Outcome(outcome) if outcome.is_running()) {
                return if action == Action::Back {
                    self.view_mut().act(action)
                } else {
                    Vec::new()
                };
            }
            let effects = self.view_mut().act(Action::Back);
            self.pages.pop();
            return effects;
        }
        let is_back_in_list = action == Action::Back && self.view().place() != Place::Group;
        if is_back_in_list {
            // A list that is loading says "Esc stops".
            let effects = self.view_mut().act(action);
            if !effects.is_empty() {
                return effects;
            }
        }
        if self.tab == 1 && self.groups.is_list_of_folders() {
            return self.go_to(2);
        }
        if is_back_in_list && !self.view().filter().is_empty() {
            // An empty text selects all rows, so the call cannot fail.
            let _cleared = self.view_mut().set_filter("");
            return Vec::new();
        }
        self.view_mut().act(action)
    }

    fn toggle_help(&mut self) -> Vec<Effect> {
        match self.pages.last() {
            Some(Page::Help(_)) => drop(self.pages.pop()),
            _ => self.pages.push(Page::Help(HelpView::new(self.view().place()))),
        }
        Vec::new()
    }

    fn plan(&mut self, kind: Kind) -> Vec<Effect> {
        if self.is_acting() {
            return self.refuse();
        }
        self.kind = kind;
        let (view, effects) = PlanView::new(kind);
        self.pages = vec![Page::Plan(Box::new(view))];
        effects
    }

    fn go_to(&mut self, tab: usize) -> Vec<Effect> {
        if self.is_acting() {
            return self.refuse();
        }
        self.pages.clear();
        self.tab = tab;
        self.show_tab()
    }

    fn show_tab(&mut self) -> Vec<Effect> {
        let dir = self.space.dir().to_vec();
        match self.tab {
            1 => self.groups.show(&dir),
            2 => self.folders.show(&dir),
            3 => self.uniques.show(&dir),
            4 => self.runs.show(),
            _ => Vec::new(),
        }
    }

    /// Applies the effects that concern only this state, and returns the others.
    fn absorb(&mut self, effects: Vec<Effect>) -> Vec<Effect> {
        let mut others = Vec::new();
        for effect in effects {
            match effect {
                effect if self.outdated.is_some() && effect.needs_current_state() => {
                    self.say(self.outdated.unwrap_or_default());
                }
                Effect::Ask(dialog) => (self.dialog, self.is_dialog_drawn) = (Some(dialog), false),
                Effect::Say(text) => self.say(text),
                Effect::ShowGroups(filter) => {
                    self.tab = 1;
                    others.extend(self.groups.show_folders(filter));
                }
                Effect::Load(Load::Plan(kind)) if !self.is_planning(kind) => {
                    others.extend(self.plan(kind));
                }
                Effect::Load(load @ (Load::Apply(_) | Load::Undo { .. })) => {
                    others.extend(self.begin(load));
                }
                other => others.push(other),
            }
        }
        others
    }

    /// Returns whether lop is making a plan with this action.
    fn is_planning(&self, kind: Kind) -> bool {
        self.kind == kind
            && matches!(self.pages.first(), Some(Page::Plan(plan)) if plan.is_loading())
    }
}
