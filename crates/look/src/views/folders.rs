//! The folders that are equal, contained in each other, or overlap.

use review::{Filter, FilterError, Needle};
use runtime::quantity::{count, counted, size};

use crate::bindings::{Action, Place};
use crate::effect::Effect;
use crate::list::List;
use crate::text::{below, cut_start, name, width};
use crate::views::listing::{Listing, Rows};
use crate::views::{Row, Tone, View, with_remark};
use crate::work::{FolderKind, Load, Related, Relation};

/// The view of the folders.
pub(crate) type FoldersView = Listing<Related>;

impl Rows for Related {
    type Row = Relation;

    fn load(dir: Vec<u8>) -> Load {
        Load::Folders(dir)
    }

    fn rows(&self) -> &[Relation] {
        &self.relations
    }

    fn contains(relation: &Relation, needle: &Needle) -> bool {
        relation.dirs.iter().any(|dir| needle.is_in(&dir.bytes()))
    }
}

/// Returns the effect that shows the groups in the folders of a relation.
fn open(relation: &Relation) -> Vec<Effect> {
    let terms = relation.dirs.iter().map(|dir| Filter::term_below(&dir.bytes()));
    let Some(terms) = terms.collect::<Option<Vec<String>>>() else {
        let text = "The language of filters cannot express the names of these folders.";
        return vec![Effect::Say(text.into())];
    };
    let filter = terms.join(" ");
    if let Err(FilterError { reason, .. }) = Filter::parse(&filter) {
        return vec![Effect::Say(format!(
            "The groups of these folders cannot be shown together: {reason}. \
             Show one folder at a time: go to it in list 1, and press 2."
        ))];
    }
    vec![Effect::ShowGroups(filter)]
}

/// Returns the folders of a relation, relative to a directory if one is given.
fn folders(relation: &Relation, dir: Option<&[u8]>) -> String {
    let sign = match relation.kind {
        FolderKind::Equal => " = ",
        FolderKind::Contained => " in ",
        FolderKind::Overlapping | FolderKind::Other => " and ",
    };
    let shown = |path: &[u8]| name(dir.map_or(path, |dir| below(dir, path)));
    let names: Vec<String> = relation.dirs.iter().map(|one| shown(&one.bytes())).collect();
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
        self.selected()
    }

    fn row(&self, row: usize, columns: usize) -> Row {
        let Some(relation) = self.get(row) else { return Row::default() };
        let Relation { kind, percent, files, reclaimable_bytes, .. } = relation;
        let (kind, files) = (kind.word(), count(*files));
        let text =
            format!("{:>11} {kind:<11} {percent:>8}% {files:>8}  ", size(*reclaimable_bytes));
        let room = columns.saturating_sub(width(&text));
        Row {
            text: text + &cut_start(&folders(relation, Some(&self.dir)), room),
            tone: Tone::Plain,
        }
    }

    fn details(&self, row: usize) -> String {
        self.get(row).map(|relation| folders(relation, None)).unwrap_or_default()
    }

    fn note(&self) -> Option<String> {
        self.note_or(|_| "No equal, contained or overlapping folders here.")
    }

    fn totals(&self) -> String {
        let sets = counted(self.len() as u64, "set of folders", "sets of folders");
        let Some(Related { remarks, .. }) = self.ready() else { return String::new() };
        match self.len() {
            _ if !remarks.is_empty() => with_remark(sets, remarks),
            0 => sets,
            _ => format!("{sets}; Enter shows the groups of identical files in them"),
        }
    }

    fn list(&mut self) -> &mut List {
        &mut self.list
    }

    fn offers(&self, action: Action) -> bool {
        match action {
            Action::Open => self.current().is_some(),
            action => action != Action::Leave,
        }
    }

    fn act(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Open => self.current().map(open).unwrap_or_default(),
            Action::Back => self.stop(),
            _ => Vec::new(),
        }
    }

    fn filter(&self) -> &str {
        &self.filter
    }

    fn set_filter(&mut self, text: &str) -> Result<(), String> {
        self.filter_by(text);
        Ok(())
    }
}
