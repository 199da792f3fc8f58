//! Writes an outline as a table with bars, for people.

use std::io::{self, Write};

use space::{By, DirId, Space, Totals};

use super::Shown;
use super::layout::Layout;
use super::outline::{Item, Line};
use crate::output::stream::Stream;
use crate::output::terminal;
use crate::quantity::{count, counted, size};

/// The parts of a bar, from an eighth to a whole.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// Maximum number of levels by which a name is indented.
const MAX_INDENT: usize = 20;

/// A table of directories.
pub(super) struct Table<'a> {
    space: &'a Space,
    by: By,
    stream: Stream,
    layout: Layout,
    /// Width of the terminal. `None` if lines may have any width.
    columns: Option<usize>,
}

/// The fields of a line.
struct Fields {
    files: u64,
    allocated: u64,
    reclaimable: Option<u64>,
    grown: Option<i64>,
    rank: i64,
}

impl<'a> Table<'a> {
    /// Returns a table for some outlines. `columns` is the width of the terminal, or of the page if the output does not
    /// go to a terminal.
    pub(super) fn new(
        space: &'a Space,
        by: By,
        has_growth: bool,
        all: &[Shown<'_>],
        (stream, columns): (Stream, usize),
    ) -> Table<'a> {
        let layout = Layout::new(columns, by, has_growth, None);
        let mut table = Table { space, by, stream, layout, columns: None };
        if stream.terminal {
            let lines =
                all.iter().flat_map(|shown| shown.lines.iter().map(move |line| (shown, line)));
            let longest = lines.map(|(shown, line)| table.name_width(shown, line)).max();
            table.layout = Layout::new(columns, by, has_growth, longest);
            table.columns = Some(columns);
        }
        table
    }

    fn name_width(&self, shown: &Shown, line: &Line) -> usize {
        let (name, note) = self.name(shown, line);
        indent(line) + terminal::width(&String::from_utf8_lossy(&name)) + note.len()
    }

    /// Writes the heading.
    pub(super) fn write_heading(&self, out: &mut impl Write) -> io::Result<()> {
        let Layout { reclaimable, grown, files, share, bar, .. } = self.layout;
        let mut heading = format!("{:>11}", "size");
        if reclaimable {
            heading.push_str(&format!("  {:>11}", "reclaimable"));
        }
        if grown {
            heading.push_str(&format!("  {:>12}", "grown"));
        }
        if files {
            heading.push_str(&format!("  {:>10}", "files"));
        }
        if share {
            heading.push_str(&format!("  {:<width$}", "share", width = bar + 5));
        }
        heading.push_str("  directory");
        self.stream.write_heading(out, &self.fitting(heading))
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
        let indent = indent(line);
        text.push_str(&" ".repeat(indent));
        let name = match line.item {
            Item::Dir { .. } => {
                let (mut name, note) = self.name(shown, line);
                if self.columns.is_some() {
                    let room = self.layout.name.saturating_sub(indent + note.len());
                    name = shortened(name, room.max(1));
                }
                [&name, note.as_bytes()].concat()
            }
            Item::Rest { dirs, .. } => {
                format!("… {}", counted(dirs, "more directory", "more directories")).into_bytes()
            }
        };
        // Names that are not UTF-8 are written unchanged, but not to a terminal.
        match String::from_utf8(name) {
            Ok(name) => text = self.fitting(text + &name),
            Err(name) => {
                out.write_all(text.as_bytes())?;
                out.write_all(name.as_bytes())?;
                return writeln!(out);
            }
        }
        writeln!(out, "{text}")
    }

    /// Returns the name of a directory, and a note about it.
    fn name(&self, shown: &Shown, line: &Line) -> (Vec<u8>, &'static str) {
        let Item::Dir { dir, above } = line.item else { return (Vec::new(), "") };
        let label = shown.label(self.space, dir, above);
        let mut name = self.stream.names.show_line(&label).into_owned();
        if !name.ends_with(b"/") {
            name.push(b'/');
        }
        (name, if shown.is_offline(self.space, dir) { "  (offline)" } else { "" })
    }

    /// Returns the columns before the name.
    fn numbers(&self, line: &Line, most: i64) -> String {
        let Layout { bar: width, .. } = self.layout;
        let Fields { files, allocated, reclaimable, grown, rank } = self.fields(line);
        let mut text = format!("{:>11}", size(allocated));
        if self.layout.reclaimable {
            let reclaimable = reclaimable.filter(|&bytes| bytes > 0).map(size).unwrap_or_default();
            text.push_str(&format!("  {reclaimable:>11}"));
        }
        if self.layout.grown {
            text.push_str(&format!("  {:>12}", grown.map(change).unwrap_or_default()));
        }
        if self.layout.files {
            text.push_str(&format!("  {:>10}", count(files)));
        }
        if self.layout.share {
            let bar = if rank > 0 && width > 0 { bar(width, rank, most) } else { String::new() };
            // The growth of a directory is not a share of the growth of its parent, because other directories may
            // shrink.
            let percent = if rank > 0 && self.by != By::Grown {
                format!("{}%", share(100, rank, most))
            } else {
                String::new()
            };
            text.push_str(&format!("  {bar:<width$}{percent:>5}"));
        }
        text.push_str("  ");
        text
    }

    /// Returns the part of a line that fits on the terminal.
    fn fitting(&self, line: String) -> String {
        match self.columns {
            Some(columns) => terminal::cut(&line, columns).to_owned(),
            None => line,
        }
    }
}

fn indent(line: &Line) -> usize {
    2 * line.level.min(MAX_INDENT)
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

/// Shortens a name in the middle if it is wider than `room` columns. The beginning and the end of a name identify it
/// best.
fn shortened(name: Vec<u8>, room: usize) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(&name) else { return name };
    if terminal::width(text) <= room {
        return name;
    }
    let start = terminal::cut(text, (room - 1) / 2);
    let end = terminal::cut_start(text, room - 1 - terminal::width(start));
    format!("{start}…{end}").into_bytes()
}

/// Returns the name to print for a directory below another one.
pub(super) fn relative(space: &Space, dir: DirId, above: DirId) -> Vec<u8> {
    let (path, start) = (space.path(dir), space.path(above));
    let rest = path.strip_prefix(start.as_slice()).unwrap_or(&path);
    rest.strip_prefix(b"/").unwrap_or(rest).to_vec()
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn long_names_lose_their_middle() {
        let shortened =
            |name: &str, room| String::from_utf8(shortened(name.into(), room)).expect("UTF-8");
        assert_eq!(shortened("/home/me/data/", 14), "/home/me/data/");
        assert_eq!(shortened("/home/me/data/", 13), "/home/…/data/");
        assert_eq!(shortened("/home/me/data/", 2), "…/");
        assert_eq!(shortened("/home/me/data/", 1), "…");
        assert_eq!(shortened("写真写真写真/", 10), "写真…写真/");
    }
}
