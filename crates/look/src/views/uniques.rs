//! The files in the directory that have no copy outside it. Deleting the directory would lose them.

use review::Needle;
use runtime::quantity::{count, counted, size};

use crate::bindings::{Action, Place};
use crate::effect::Effect;
use crate::list::List;
use crate::text::{below, cut_start, message, name, width};
use crate::views::listing::{Listing, Rows};
use crate::views::{Row, Tone, View, with_remark};
use crate::work::{Load, Unique, Uniques};

/// The view of the unique files.
pub(crate) type UniquesView = Listing<Uniques>;

impl Rows for Uniques {
    type Row = Unique;

    fn load(dir: Vec<u8>) -> Load {
        Load::Uniques(dir)
    }

    fn rows(&self) -> &[Unique] {
        &self.files
    }

    fn contains(file: &Unique, needle: &Needle) -> bool {
        needle.is_in(&file.path.bytes())
    }
}

/// Returns the meaning of an empty list. The user may rely on it and delete the directory, so the text claims that all
/// files have copies only if lop knows this of every file.
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
        self.selected()
    }

    fn row(&self, row: usize, columns: usize) -> Row {
        let Some(file) = self.get(row) else { return Row::default() };
        let path = file.path.bytes();
        let text = format!("{:>11}  ", size(file.size));
        let state = file.state.as_deref().map(|state| format!("  ({})", message(state)));
        let state = state.unwrap_or_default();
        let room = columns.saturating_sub(width(&text) + width(&state));
        let has_copies = file.duplicates.is_some_and(|copies| copies > 0);
        let tone = if state.is_empty() || has_copies { Tone::Plain } else { Tone::Warning };
        Row { text: text + &cut_start(&name(below(&self.dir, &path)), room) + &state, tone }
    }

    fn details(&self, row: usize) -> String {
        let Some(file) = self.get(row) else { return String::new() };
        let state = file.state.as_deref().map(|state| format!(" ({})", message(state)));
        name(&file.path.bytes()) + &state.unwrap_or_default()
    }

    fn note(&self) -> Option<String> {
        self.note_or(claim)
    }

    fn totals(&self) -> String {
        let Some(uniques) = self.ready() else { return String::new() };
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

    fn list(&mut self) -> &mut List {
        &mut self.list
    }

    fn act(&mut self, action: Action) -> Vec<Effect> {
        match action {
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
