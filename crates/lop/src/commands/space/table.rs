//! Writes an outline as a table with bars, for people.

use std::io::{self, Write};

use space::{By, DirId, Space, Totals};

use super::Shown;
use super::outline::{Item, Line};
use crate::output::stream::Stream;
use crate::quantity::{count, counted, size};

/// The parts of a bar, from an eighth to a whole.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// Minimum and maximum width of a bar.
const BAR: (usize, usize) = (6, 24);
/// Minimum number of columns for a name.
const MIN_NAME: usize = 12;

/// Maximum number of levels by which a name is indented.
const MAX_INDENT: usize = 20;

/// A table with a fixed set of columns.
pub(super) struct Table<'a> {
    pub(super) space: &'a Space,
    pub(super) by: By,
    /// True if the growth of some directories is known.
    pub(super) has_growth: bool,
    /// Width of the terminal, or of the page if the output is not a terminal.
    pub(super) columns: usize,
    pub(super) stream: Stream,
}

/// The fields of a line.
struct Fields {
    files: u64,
    allocated: u64,
    reclaimable: Option<u64>,
    grown: Option<i64>,
    rank: i64,
}

impl Table<'_> {
    /// Writes the heading.
    pub(super) fn write_heading(&self, out: &mut impl Write) -> io::Result<()> {
        let mut heading = format!("{:>11}  {:>11}", "size", "reclaimable");
        if self.has_growth {
            heading.push_str(&format!("  {:>12}", "grown"));
        }
        if self.by == By::Files {
            heading.push_str(&format!("  {:>10}", "files"));
        }
        heading.push_str(&format!("  {:<width$}  directory", "share", width = self.bar() + 5));
        self.stream.write_heading(out, &heading)
    }

    /// Writes the lines of an outline.
    pub(super) fn write(&self, out: &mut impl Write, shown: &Shown) -> io::Result<()> {
        let ranks = shown.lines.iter().map(|line| self.fields(line).rank);
        let most = ranks.max().unwrap_or(0);
        shown.lines.iter().try_for_each(|line| self.write_line(out, shown, line, most))
    }

    fn fields(&self, line: &Line) -> Fields {
        match line.item {
            Item::Dir { dir, .. } => {
                let Totals { files, allocated, reclaimable, grown, .. } = self.space.totals(dir);
                let rank = self.space.rank(dir, self.by);
                Fields { files, allocated, reclaimable: Some(reclaimable), grown, rank }
            }
            // The reclaimable space of several directories is not the sum of theirs.
            Item::Rest { files, allocated, grown, .. } => {
                let rank = match self.by {
                    By::Size => i64::try_from(allocated).unwrap_or(i64::MAX),
                    By::Files => i64::try_from(files).unwrap_or(i64::MAX),
                    By::Grown | By::Reclaimable => 0,
                };
                Fields { files, allocated, reclaimable: None, grown, rank }
            }
        }
    }

    fn write_line(
        &self,
        out: &mut impl Write,
        shown: &Shown,
        line: &Line,
        most: i64,
    ) -> io::Result<()> {
        let mut text = self.numbers(line, most);
        text.push_str(&"  ".repeat(line.level.min(MAX_INDENT)));
        out.write_all(text.as_bytes())?;
        let (dir, above) = match line.item {
            Item::Dir { dir, above } => (dir, above),
            Item::Rest { dirs, .. } => {
                let more = counted(dirs, "more directory", "more directories");
                return writeln!(out, "… {more}");
            }
        };
        let label = shown.label(self.space, dir, above);
        let mut name = self.stream.names.show_line(&label).into_owned();
        if !name.ends_with(b"/") {
            name.push(b'/');
        }
        let note = if shown.is_offline(self.space, dir) { "  (offline)" } else { "" };
        if self.stream.terminal {
            let room = self.columns.saturating_sub(text.chars().count() + note.len());
            name = cut(name, room.max(MIN_NAME));
        }
        out.write_all(&name)?;
        writeln!(out, "{note}")
    }

    /// Returns the columns before the name.
    fn numbers(&self, line: &Line, most: i64) -> String {
        let Fields { files, allocated, reclaimable, grown, rank } = self.fields(line);
        let reclaimable = reclaimable.filter(|&bytes| bytes > 0).map(size).unwrap_or_default();
        let mut text = format!("{:>11}  {reclaimable:>11}", size(allocated));
        if self.has_growth {
            text.push_str(&format!("  {:>12}", grown.map(change).unwrap_or_default()));
        }
        if self.by == By::Files {
            text.push_str(&format!("  {:>10}", count(files)));
        }
        let width = self.bar();
        let bar = if rank > 0 { bar(width, rank, most) } else { String::new() };
        // The growth of a directory is not a share of the growth of its parent, because other directories may shrink.
        let percent = if rank > 0 && self.by != By::Grown {
            format!("{}%", share(100, rank, most))
        } else {
            String::new()
        };
        text.push_str(&format!("  {bar:<width$} {percent:>4}  "));
        text
    }

    fn bar(&self) -> usize {
        let growth = if self.has_growth { 14 } else { 0 };
        let files = if self.by == By::Files { 12 } else { 0 };
        // Two thirds of what the numbers leave are for the name.
        let rest = self.columns.saturating_sub(11 + 13 + growth + files + 2 + 7);
        (rest / 3).clamp(BAR.0, BAR.1)
    }
}

/// Returns a growth with its sign; an empty text for none.
fn change(bytes: i64) -> String {
    match bytes {
        0 => String::new(),
        1.. => format!("+{}", size(bytes.unsigned_abs())),
        _ => format!("-{}", size(bytes.unsigned_abs())),
    }
}

/// Returns `scale` times the share of `part` in `all`, rounded down.
fn share(scale: u64, part: i64, all: i64) -> u64 {
    let part = u128::from(part.max(0).cast_unsigned()) * u128::from(scale);
    u64::try_from(part / u128::from(all.max(1).cast_unsigned())).unwrap_or(u64::MAX)
}

fn bar(width: usize, part: i64, all: i64) -> String {
    let eighths = share(width as u64 * 8, part, all).min(width as u64 * 8);
    let eighths = usize::try_from(eighths).unwrap_or(0);
    let whole = std::iter::repeat_n(EIGHTHS[7], eighths / 8);
    // Every share has at least a thin line.
    let part = match eighths % 8 {
        0 if eighths > 0 => None,
        0 => Some(EIGHTHS[0]),
        part => Some(EIGHTHS[part - 1]),
    };
    whole.chain(part).collect()
}

/// Shortens a name that is wider than the terminal has room for.
fn cut(name: Vec<u8>, room: usize) -> Vec<u8> {
    match std::str::from_utf8(&name) {
        Ok(text) if text.chars().count() > room => {
            let kept: String = text.chars().take(room.saturating_sub(1)).collect();
            format!("{kept}…").into_bytes()
        }
        _ => name,
    }
}

/// Returns the name to print for a directory below another one.
pub(super) fn relative(space: &Space, dir: DirId, above: DirId) -> Vec<u8> {
    let (path, start) = (space.path(dir), space.path(above));
    let rest = path.strip_prefix(start.as_slice()).unwrap_or(&path);
    rest.strip_prefix(b"/").unwrap_or(rest).to_vec()
}
