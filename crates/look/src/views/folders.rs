//! The folders that are equal, contained in each other, or overlap.

use review::{Filter, Needle};
use runtime::quantity::{count, counted, size};

use crate::bindings::{Action, Place};
use crate::effect::Effect;
use crate::list::List;
use crate::text::{below, cut_start, name, width};
use crate::views::{Remote, Row, Tone, View, empty_note, with_remark};
use crate::work::{FolderKind, Load, Related, Relation};

/// The view.
#[derive(Debug)]
pub(crate) struct FoldersView {
    related: Remote<Related>,
    dir: Vec<u8>,
    filter: String,
    /// The positions of the listed relations.
    order: Vec<usize>,
    list: List,
}

impl FoldersView {
    pub(crate) fn new() -> FoldersView {
        FoldersView {
            related: Remote::Absent,
            dir: b"/".to_vec(),
            filter: String::new(),
            order: Vec::new(),
            list: List::default(),
        }
    }

    /// Shows the folders below a directory. Returns the effect that compares them, unless they are compared already.
    pub(crate) fn show(&mut self, dir: &[u8]) -> Vec<Effect> {
        if self.dir == dir && !matches!(self.related, Remote::Absent) {
            return Vec::new();
        }
        (self.dir, self.list) = (dir.to_vec(), List::default());
        self.order.clear();
        self.related.load(Load::Folders(dir.to_vec()))
    }

    /// Compares the folders again when they are needed.
    pub(crate) fn forget(&mut self) {
        self.related = Remote::Absent;
        self.order.clear();
    }

    pub(crate) fn progress(&mut self, text: String) {
        self.related = Remote::Loading(text);
    }

    pub(crate) fn set(&mut self, related: Result<Related, String>) {
        self.related = Remote::of(related);
        self.select();
    }

    fn select(&mut self) {
        let Some(Related { relations, .. }) = self.related.ready() else { return };
        let needle = Needle::new(self.filter.as_bytes());
        let has = |one: &Relation| one.dirs.iter().any(|dir| needle.is_in(&dir.bytes()));
        self.order = (0..relations.len()).filter(|&at| has(&relations[at])).collect();
    }

    fn relation(&self, row: usize) -> Option<&Relation> {
        self.related.ready()?.relations.get(*self.order.get(row)?)
    }

    fn open(&self) -> Vec<Effect> {
        let Some(relation) = self.relation(self.list.at) else { return Vec::new() };
        let terms = relation.dirs.iter().map(|dir| Filter::term_below(&dir.bytes()));
        let Some(terms) = terms.collect::<Option<Vec<String>>>() else {
            let text = "The language of filters cannot express the names of these folders.";
            return vec![Effect::Say(text.into())];
        };
        vec![Effect::ShowGroups(terms.join(" "))]
    }
}

/// Returns the folders of a relation, relative to a directory.
fn folders(relation: &Relation, dir: &[u8]) -> String {
    let sign = match relation.kind {
        FolderKind::Equal => " = ",
        FolderKind::Contained => " in ",
        FolderKind::Overlapping | FolderKind::Other => " and ",
    };
    let names: Vec<String> =
        relation.dirs.iter().map(|one| name(below(dir, &one.bytes()))).collect();
    names.join(sign)
}

impl View for FoldersView {
    fn place(&self) -> Place {
        Place::Folders
    }

    fn title(&self) -> (String, String) {
        (format!("Folders in {}", name(&self.dir)), "by reclaimable space".into())
    }

    fn heading(&self, _columns: usize) -> String {
        format!(
            "{:>11} {:<11} {:>9} {:>8}  {}",
            "reclaimable", "relation", "in common", "files", "folders"
        )
    }

    fn len(&self) -> usize {
        self.order.len()
    }

    fn row(&self, row: usize, columns: usize) -> Row {
        let Some(relation) = self.relation(row) else { return Row::default() };
        let Relation { kind, percent, files, reclaimable_bytes, .. } = relation;
        let (kind, files) = (kind.word(), count(*files));
        let text =
            format!("{:>11} {kind:<11} {percent:>8}% {files:>8}  ", size(*reclaimable_bytes));
        let room = columns.saturating_sub(width(&text));
        Row { text: text + &cut_start(&folders(relation, &self.dir), room), tone: Tone::Plain }
    }

    fn note(&self) -> Option<String> {
        let empty = || {
            let everything = "No equal, contained or overlapping folders here.";
            self.order.is_empty().then(|| empty_note(&self.filter, everything))
        };
        self.related.note().or_else(empty)
    }

    fn totals(&self) -> String {
        let sets = counted(self.order.len() as u64, "set of folders", "sets of folders");
        let Some(Related { remarks, .. }) = self.related.ready() else { return String::new() };
        match self.len() {
            _ if !remarks.is_empty() => with_remark(sets, remarks),
            0 => sets,
            _ => format!("{sets}; Enter shows the groups of identical files in them"),
        }
    }

    fn list(&self) -> &List {
        &self.list
    }

    fn list_mut(&mut self) -> &mut List {
        &mut self.list
    }

    fn act(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Open => self.open(),
            Action::Back => self.related.stop(Load::Folders(Vec::new())),
            _ => Vec::new(),
        }
    }

    fn filter(&self) -> &str {
        &self.filter
    }

    fn set_filter(&mut self, text: &str) -> Result<(), String> {
        text.clone_into(&mut self.filter);
        self.list = List::default();
        self.select();
        Ok(())
    }
}
