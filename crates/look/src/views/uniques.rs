//! The files in the directory that have no copy outside it: what would be lost with the directory.

use review::Needle;
use runtime::quantity::{count, counted, size};

use crate::bindings::{Action, Place};
use crate::effect::Effect;
use crate::list::List;
use crate::text::{below, cut_start, message, name, width};
use crate::views::{Remote, Row, Tone, View, empty_note, with_remark};
use crate::work::{Load, Uniques};

/// The view.
#[derive(Debug)]
pub(crate) struct UniquesView {
    uniques: Remote<Uniques>,
    dir: Vec<u8>,
    filter: String,
    /// The positions of the listed files.
    order: Vec<usize>,
    list: List,
}

impl UniquesView {
    pub(crate) fn new() -> UniquesView {
        UniquesView {
            uniques: Remote::Absent,
            dir: b"/".to_vec(),
            filter: String::new(),
            order: Vec::new(),
            list: List::default(),
        }
    }

    /// Shows the files of a directory. Returns the effect that finds them, unless they are known already.
    pub(crate) fn show(&mut self, dir: &[u8]) -> Vec<Effect> {
        if self.dir == dir && !matches!(self.uniques, Remote::Absent) {
            return Vec::new();
        }
        (self.dir, self.list) = (dir.to_vec(), List::default());
        self.order.clear();
        self.uniques.load(Load::Uniques(dir.to_vec()))
    }

    /// Finds the files again when they are needed.
    pub(crate) fn forget(&mut self) {
        self.uniques = Remote::Absent;
        self.order.clear();
    }

    pub(crate) fn progress(&mut self, text: String) {
        self.uniques = Remote::Loading(text);
    }

    pub(crate) fn set(&mut self, uniques: Result<Uniques, String>) {
        self.uniques = Remote::of(uniques);
        self.select();
    }

    fn select(&mut self) {
        let Some(Uniques { files, .. }) = self.uniques.ready() else { return };
        let needle = Needle::new(self.filter.as_bytes());
        let has = |&at: &usize| needle.is_in(&files[at].path.bytes());
        self.order = (0..files.len()).filter(has).collect();
    }
}

/// Returns what an empty list means. The user may delete the directory because of it, so it claims that all files
/// have copies only if nothing is unknown.
fn claim(uniques: &Uniques) -> &'static str {
    match uniques {
        Uniques { is_complete: false, .. } => {
            "No file without a copy was found, but not all files are known."
        }
        Uniques { of: 0, .. } => "This directory has no files that can have copies.",
        _ => "Each file in this directory has a copy outside.",
    }
}

impl View for UniquesView {
    fn place(&self) -> Place {
        Place::Uniques
    }

    fn title(&self) -> (String, String) {
        (format!("Files in {} without a copy outside", name(&self.dir)), "by size".into())
    }

    fn heading(&self, _columns: usize) -> String {
        format!("{:>11}  {}", "size", "file")
    }

    fn len(&self) -> usize {
        self.order.len()
    }

    fn row(&self, row: usize, columns: usize) -> Row {
        let at = self.order.get(row);
        let file = at.zip(self.uniques.ready()).and_then(|(&at, all)| all.files.get(at));
        let Some(file) = file else { return Row::default() };
        let path = file.path.bytes();
        let text = format!("{:>11}  ", size(file.size));
        let state = file.state.as_deref().map(|state| format!("  ({})", message(state)));
        let state = state.unwrap_or_default();
        let room = columns.saturating_sub(width(&text) + width(&state));
        let has_copies = file.duplicates.is_some_and(|copies| copies > 0);
        let tone = if state.is_empty() || has_copies { Tone::Plain } else { Tone::Warning };
        Row { text: text + &cut_start(&name(below(&self.dir, &path)), room) + &state, tone }
    }

    fn note(&self) -> Option<String> {
        let empty = |uniques: &Uniques| {
            self.order.is_empty().then(|| empty_note(&self.filter, claim(uniques)))
        };
        self.uniques.note().or_else(|| self.uniques.ready().and_then(empty))
    }

    fn totals(&self) -> String {
        let Some(uniques) = self.uniques.ready() else { return String::new() };
        let Uniques { of, certain, bytes, unknown, not_counted, remarks, .. } = uniques;
        let (certain, files, bytes) =
            (count(*certain), counted(*of, "file", "files"), size(*bytes));
        let mut text = format!("{certain} of {files} ({bytes}) without a copy outside");
        if *unknown > 0 {
            text.push_str(&format!(", {} unknown", count(*unknown)));
        }
        if *not_counted > 0 {
            let links = counted(
                *not_counted,
                "link, special or empty file",
                "links, special and empty files",
            );
            text.push_str(&format!("; {links} not counted"));
        }
        with_remark(text, remarks)
    }

    fn list(&self) -> &List {
        &self.list
    }

    fn list_mut(&mut self) -> &mut List {
        &mut self.list
    }

    fn act(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Back => self.uniques.stop(Load::Uniques(Vec::new())),
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
