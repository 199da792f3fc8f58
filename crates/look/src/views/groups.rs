//! The groups of identical files that have a file in the directory, and the decisions about them.
//!
//! The groups and the decisions are those of `lop serve`: a decision that is made here is in force there.
//! The list keeps its order while decisions change, so that the cursor stays at its group.

use catalog::Choice;
use review::{Filter, Preview, Review, Sort};
use runtime::quantity::{count, counted, size};

use crate::bindings::{Action, Place};
use crate::effect::{Effect, rules};
use crate::list::List;
use crate::text::{below, cut_start, name, width};
use crate::views::decisions::{act_on_group, state};
use crate::views::group::GroupView;
use crate::views::{Remote, Row, View, empty_note};
use crate::work::Load;

/// The message if a decision about all listed groups would also be about groups that the list does not show.
const OTHER_CASE: &str = "A decision about all these groups would also decide groups of a directory whose path differs \
                          only in upper and lower case. Decide about one group at a time.";

/// The view of the groups.
#[derive(Debug)]
pub(crate) struct GroupsView {
    review: Remote<Box<Review>>,
    /// The list contains the groups with a file in this directory.
    dir: Vec<u8>,
    /// Whether the user opened the groups from a row of the list of folders.
    is_of_folders: bool,
    sort: Sort,
    filter: String,
    /// The positions of the listed groups.
    order: Vec<u32>,
    list: List,
    /// The number of the group at the cursor while the groups are loaded again.
    selected: Option<i64>,
    /// The open group, whose files the view shows.
    open: Option<GroupView>,
}

impl GroupsView {
    pub(crate) fn new() -> GroupsView {
        GroupsView {
            review: Remote::Absent,
            dir: b"/".to_vec(),
            is_of_folders: false,
            sort: Sort::default(),
            filter: String::new(),
            order: Vec::new(),
            list: List::default(),
            selected: None,
            open: None,
        }
    }

    /// Shows the groups that have a file in a directory. Returns the effect that loads the groups, if they are
    /// needed for the first time.
    pub(crate) fn show(&mut self, dir: &[u8]) -> Vec<Effect> {
        if self.dir != dir || self.is_of_folders {
            self.show_new(dir, String::new());
        }
        self.load()
    }

    /// Shows the groups that match `filter`, the filter of some folders, in all directories.
    pub(crate) fn show_folders(&mut self, filter: String) -> Vec<Effect> {
        self.show_new(b"/", filter);
        self.is_of_folders = true;
        self.load()
    }

    /// Returns whether the list shows the groups of some folders.
    pub(crate) fn is_list_of_folders(&self) -> bool {
        self.is_of_folders && self.open.is_none()
    }

    fn show_new(&mut self, dir: &[u8], filter: String) {
        (self.dir, self.is_of_folders, self.filter) = (dir.to_vec(), false, filter);
        (self.list, self.selected, self.open) = (List::default(), None, None);
        self.select();
    }

    /// Returns the effect that loads the groups, unless they are loaded.
    pub(crate) fn load(&mut self) -> Vec<Effect> {
        match self.review {
            Remote::Absent => self.review.load(Load::Groups),
            _ => Vec::new(),
        }
    }

    /// Drops the groups. The next call of [`GroupsView::load`] loads them again.
    pub(crate) fn forget(&mut self) {
        let current = self.current().map(|(review, at)| review.index().group(at).number);
        self.selected = current.or(self.selected);
        (self.review, self.open) = (Remote::Absent, None);
        self.order.clear();
    }

    /// Takes the loaded groups. Moves the cursor to the same group as before, if the list still contains it.
    pub(crate) fn set(&mut self, review: Result<Box<Review>, String>) {
        self.review = Remote::of(review);
        self.open = None;
        self.select();
        let Some(review) = self.review.ready() else { return };
        let selected = self.selected.take().and_then(|number| review.index().at(number));
        let row = selected.and_then(|at| self.order.iter().position(|&listed| listed == at));
        self.list.at = row.unwrap_or(self.list.at);
    }

    /// Changes the decisions with `change`.
    ///
    /// # Errors
    ///
    /// Fails if the groups are not loaded, or if `change` fails.
    pub(crate) fn change(
        &mut self,
        change: impl FnOnce(&mut Review) -> Result<(), String>,
    ) -> Result<(), String> {
        let Remote::Ready(review) = &mut self.review else {
            return Err("the groups are not loaded".into());
        };
        change(review)?;
        if let Some(open) = &mut self.open {
            open.refresh(review);
        }
        Ok(())
    }

    /// Returns the filter of the list: the directory and the text of the user. Returns `None` if no filter can express
    /// the directory.
    fn whole_filter(&self) -> Option<Filter> {
        let place = match &self.dir[..] {
            b"/" => String::new(),
            dir => Filter::term_below(dir)?,
        };
        Filter::parse(&format!("{place} {}", self.filter)).ok()
    }

    fn select(&mut self) {
        let Some(review) = self.review.ready() else { return };
        let filter = self.whole_filter();
        let filter = filter.or_else(|| Filter::parse(&self.filter).ok());
        // A filter that is not understood selects no group.
        self.order = filter.map_or_else(Vec::new, |filter| review.select(&filter, self.sort));
        if self.dir != b"/" {
            // Filters ignore the case of letters, but paths do not.
            self.order.retain(|&at| has_file_below(review, at, &self.dir));
        }
    }

    fn current(&self) -> Option<(&Review, u32)> {
        let at = self.order.get(self.list.at)?;
        Some((self.review.ready()?, *at))
    }

    fn sort(&mut self, sort: Sort) {
        (self.sort, self.list) = (sort, List::default());
        self.select();
    }

    fn decide_all(&self) -> Vec<Effect> {
        let say = |text: &str| vec![Effect::Say(text.into())];
        let Some(review) = self.review.ready() else {
            return say("The groups are not loaded yet.");
        };
        if self.order.is_empty() {
            return say("The list has no groups to decide.");
        }
        let Some(filter) = self.whole_filter().filter(|filter| !filter.asks_decisions()) else {
            return say(
                "No decision can be based on this filter. Decide about one group at a time.",
            );
        };
        if review.select(&filter, self.sort).len() > self.order.len() {
            return say(OTHER_CASE);
        }
        let scope = Review::filter_scope(&filter);
        let preview = review.preview(&scope, &Choice::Rules(Vec::new()));
        let Preview { decided, others, .. } = preview.unwrap_or_default();
        let mut title =
            format!("Decide {}: which file stays?", counted(decided, "group", "groups"));
        if others > 0 {
            let others = counted(others, "group keeps its", "groups keep their");
            title.push_str(&format!(" {others} own decision."));
        }
        vec![Effect::Ask(rules(title, &scope))]
    }
}

fn has_file_below(review: &Review, at: u32, dir: &[u8]) -> bool {
    (0..review.index().group(at).names)
        .filter_map(|ordinal| review.index().member(at, ordinal))
        .any(|member| below(dir, &member.path).len() < member.path.len())
}

impl View for GroupsView {
    fn place(&self) -> Place {
        if self.open.is_some() { Place::Group } else { Place::Groups }
    }

    fn title(&self) -> (String, String) {
        match (&self.open, self.review.ready()) {
            (Some(open), Some(review)) => open.title(review),
            _ => (format!("Groups in {}", name(&self.dir)), format!("by {}", self.sort.word())),
        }
    }

    fn heading(&self, _columns: usize) -> String {
        match &self.open {
            Some(_) => GroupView::heading(),
            None => format!("{:>11} {:>20}  {:<11} {}", "reclaimable", "files", "decision", "file"),
        }
    }

    fn len(&self) -> usize {
        match (&self.open, self.review.ready()) {
            (Some(open), Some(review)) => open.len(review),
            _ => self.order.len(),
        }
    }

    fn row(&self, row: usize, columns: usize) -> Row {
        let Some(review) = self.review.ready() else { return Row::default() };
        if let Some(open) = &self.open {
            return open.row(review, &self.dir, row, columns);
        }
        let Some(&at) = self.order.get(row) else { return Row::default() };
        let group = review.index().group(at);
        let (state, tone) = state(review, at);
        let files = format!("{} × {}", count(group.inodes.into()), size(group.size));
        let path = review.index().first_path(at);
        let text = format!("{:>11} {files:>20}  {state:<11} ", size(group.reclaimable));
        let room = columns.saturating_sub(width(&text));
        Row { text: text + &cut_start(&name(below(&self.dir, &path)), room), tone }
    }

    fn details(&self, row: usize) -> String {
        let Some(review) = self.review.ready() else { return String::new() };
        if let Some(open) = &self.open {
            return open.details(review, row);
        }
        self.order.get(row).map(|&at| name(&review.index().first_path(at))).unwrap_or_default()
    }

    fn note(&self) -> Option<String> {
        let empty = || {
            let everything = "No groups of identical files here.";
            self.order.is_empty().then(|| empty_note(&self.filter, everything))
        };
        self.review.note().or_else(empty)
    }

    fn totals(&self) -> String {
        let Some(review) = self.review.ready() else { return String::new() };
        if let Some(open) = &self.open {
            return open.totals(review);
        }
        let totals = review.totals(&self.order);
        let mut text = format!(
            "{}, {} reclaimable; {} undecided",
            counted(totals.groups, "group", "groups"),
            size(totals.reclaimable),
            count(totals.undecided),
        );
        if totals.removes > 0 {
            let files = counted(totals.removes, "file", "files");
            text.push_str(&format!("; removing {files} frees {}", size(totals.frees)));
        }
        text
    }

    fn list(&mut self) -> &mut List {
        self.open.as_mut().map_or(&mut self.list, |open| &mut open.list)
    }

    fn offers(&self, action: Action) -> bool {
        let is_open = self.open.is_some();
        match action {
            Action::Leave => is_open || self.is_of_folders,
            Action::Open => !is_open && self.current().is_some(),
            Action::Withdraw => {
                self.current().is_some_and(|(review, at)| review.settled().by(at).is_some())
            }
            Action::Rules | Action::RulesForAll | Action::LeaveAlone => self.current().is_some(),
            _ => true,
        }
    }

    fn act(&mut self, action: Action) -> Vec<Effect> {
        if let (Some(open), Some(review)) = (&self.open, self.review.ready()) {
            if matches!(action, Action::Leave | Action::Back) {
                self.open = None;
                return Vec::new();
            }
            return open.act(review, action);
        }
        match action {
            Action::Open => {
                self.open = self.current().map(|(review, at)| GroupView::new(review, at));
            }
            Action::BySize => self.sort(Sort::Size),
            Action::ByReclaimable => self.sort(Sort::Reclaimable),
            Action::ByCopies => self.sort(Sort::Copies),
            Action::RulesForAll => return self.decide_all(),
            Action::Back => return self.review.stop(Load::Groups),
            _ => {
                let current = self.current();
                return current
                    .map_or_else(Vec::new, |(review, at)| act_on_group(review, at, action));
            }
        }
        Vec::new()
    }

    fn filter(&self) -> &str {
        &self.filter
    }

    fn set_filter(&mut self, text: &str) -> Result<(), String> {
        Filter::parse(text).map_err(|error| error.to_string())?;
        text.clone_into(&mut self.filter);
        self.list = List::default();
        self.select();
        Ok(())
    }
}
