//! Draws the state of the interface.
//!
//! | line | contents |
//! |---|---|
//! | first | the lists, the current one in brackets |
//! | second | the title of the list, and its order |
//! | third | the names of the columns |
//! | then | the rows, with `>` at the cursor |
//! | last but one | a message, a question, or the totals |
//! | last | keys |
//!
//! Colours only repeat information of the text, so the screen is complete without them.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};

use crate::app::{App, TABS};
use crate::bindings::{Action, of};
use crate::effect::Dialog;
use crate::list::List;
use crate::text::{at_ends, cut, cut_start, message, width, wrap_in};
use crate::views::{Tone, View};

/// The smallest terminal with enough room for the columns.
const MIN_COLUMNS: u16 = 60;
const MIN_LINES: u16 = 10;
/// Lines above and below the rows.
const ABOVE: u16 = 3;
const BELOW: u16 = 2;

/// Returns the number of rows that a terminal of this size shows, or `None` if the terminal is too small.
pub(crate) fn body_height((columns, lines): (u16, u16)) -> Option<usize> {
    let is_shown = columns >= MIN_COLUMNS && lines >= MIN_LINES;
    is_shown.then(|| usize::from(lines - ABOVE - BELOW))
}

/// The styles of the screen.
#[derive(Clone, Copy, Debug)]
struct Theme {
    has_colors: bool,
}

impl Theme {
    fn bold(self) -> Style {
        if self.has_colors { Style::new().add_modifier(Modifier::BOLD) } else { Style::new() }
    }

    /// Returns the style of the row of the cursor. Terminals without colours show reverse video, too, and `>` also
    /// marks the row.
    fn cursor() -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn of(self, tone: Tone) -> Style {
        let style = Style::new();
        match tone {
            _ if !self.has_colors => style,
            Tone::Plain => style,
            Tone::Quiet => style.add_modifier(Modifier::DIM),
            Tone::Good => style.fg(Color::Green),
            Tone::Warning => style.fg(Color::Red),
        }
    }
}

/// Draws the whole screen.
pub(crate) fn draw(app: &mut App, has_colors: bool, buffer: &mut Buffer) {
    let list = app.list();
    let area = buffer.area;
    let theme = Theme { has_colors };
    let Some(height) = body_height((area.width, area.height)) else {
        Page { buffer, area, theme, height: 0 }.too_small();
        return;
    };
    let mut page = Page { buffer, area, theme, height };
    let columns = usize::from(area.width);
    let view = app.view();
    page.tabs(app.tab());
    let (mut title, order) = view.title();
    if !view.filter().is_empty() {
        title.push_str(&format!("  /{}", message(view.filter())));
    }
    page.line(1, &at_ends(&title, &order, columns), page.theme.bold());
    page.line(2, &format!("  {}", view.heading(columns - 2)), page.theme.bold());
    page.rows(view, list);
    if let Some(Dialog::Menu { title, items, at }) = app.dialog() {
        let items: Vec<&str> = items.iter().map(|item| item.text.as_str()).collect();
        page.menu(title, &items, *at);
    }
    page.last_lines(app);
    app.note_drawn();
}

struct Page<'b> {
    buffer: &'b mut Buffer,
    area: Rect,
    theme: Theme,
    /// Number of rows of a list.
    height: usize,
}

impl Page<'_> {
    fn line(&mut self, y: u16, text: &str, style: Style) {
        let (x, y) = (self.area.x, self.area.y + y);
        self.buffer.set_stringn(x, y, text, usize::from(self.area.width), style);
    }

    fn too_small(&mut self) {
        let Rect { width, height, .. } = self.area;
        let texts = [
            "lop look: the terminal is too small".to_string(),
            format!("It has {width} columns and {height} lines."),
            format!("It needs {MIN_COLUMNS} columns, {MIN_LINES} lines."),
            "Make it larger, or press q.".to_string(),
        ];
        for (y, text) in (0..height).zip(texts) {
            self.line(y, &cut(&text, usize::from(width)), Style::new());
        }
    }

    fn tabs(&mut self, current: usize) {
        let mut x = self.area.x;
        let tabs = TABS.iter().enumerate().map(|(at, name)| {
            if at == current {
                (format!("[{} {name}]", at + 1), self.theme.bold())
            } else {
                (format!(" {} {name} ", at + 1), Style::new())
            }
        });
        let tabs: Vec<_> =
            [("lop look  ".to_string(), Style::new())].into_iter().chain(tabs).collect();
        for (text, style) in tabs {
            let room = usize::from(self.area.right().saturating_sub(x));
            x = self.buffer.set_stringn(x, self.area.y, text, room, style).0;
        }
    }

    fn rows(&mut self, view: &dyn View, list: List) {
        let columns = usize::from(self.area.width) - 2;
        let window = list.window(view.len(), self.height);
        for (y, at) in (ABOVE..).zip(window.clone()) {
            let row = view.row(at, columns);
            let is_current = at == list.at;
            let style = if is_current { Theme::cursor() } else { self.theme.of(row.tone) };
            let mark = if is_current { "> " } else { "  " };
            let gap = if is_current { columns.saturating_sub(width(&row.text)) } else { 0 };
            self.line(y, &format!("{mark}{}{}", row.text, " ".repeat(gap)), style);
        }
        if let Some(note) = view.note() {
            let row = u16::try_from(window.len()).unwrap_or(0) + 1;
            let y = (ABOVE + row).min(self.area.height.saturating_sub(BELOW + 1));
            let room = usize::from(self.area.height - BELOW - y);
            for (y, line) in (y..).zip(wrap_in(&message(&note), columns, room)) {
                self.line(y, &format!("  {line}"), Style::new());
            }
        }
    }

    /// Draws a menu above the rows.
    fn menu(&mut self, title: &str, items: &[&str], at: usize) {
        let columns = usize::from(self.area.width);
        // The menu scrolls so that it shows the current item.
        let room = self.height.saturating_sub(2);
        let first = (at + 1).saturating_sub(room);
        let blank = " ".repeat(columns);
        let shown = items.iter().enumerate().skip(first).take(room);
        self.line(ABOVE, &blank, Style::new());
        self.line(ABOVE, &format!("  {}", cut(title, columns - 2)), self.theme.bold());
        let mut y = ABOVE + 1;
        for (number, item) in shown {
            let mark = if number == at { "> " } else { "  " };
            let style = if number == at { Theme::cursor() } else { Style::new() };
            self.line(y, &blank, Style::new());
            self.line(y, &format!("{mark}{}", cut(item, columns - 2)), style);
            y += 1;
        }
        self.line(y, &"─".repeat(columns), Style::new());
    }

    fn last_lines(&mut self, app: &App) {
        let columns = usize::from(self.area.width);
        let (status, keys) = (self.area.height - 2, self.area.height - 1);
        let (text, help) = match app.dialog() {
            Some(Dialog::Confirm { question, .. }) => {
                (format!("{question} [y/n]"), "y yes  n no".to_string())
            }
            Some(Dialog::Filter { text, problem }) if problem.is_empty() => {
                (format!("/{}", cut_start(&message(text), columns - 2)) + "_", filter_keys())
            }
            Some(Dialog::Filter { problem, .. }) => (message(problem), filter_keys()),
            Some(Dialog::Menu { .. }) => {
                ("Choose with the arrow keys.".into(), "Enter choose  Esc back".into())
            }
            None if app.message().is_empty() => {
                (cut(&app.view().totals(), columns), key_line(app, columns))
            }
            None => (message(app.message()), key_line(app, columns)),
        };
        // A long message covers rows until the next key.
        let lines = wrap_in(&text, columns, self.height);
        for (y, line) in (0..=status).rev().zip(lines.iter().rev()) {
            self.line(y, &" ".repeat(columns), Style::new());
            self.line(y, line, self.theme.bold());
        }
        self.line(keys, &cut(&help, columns), Style::new());
    }
}

fn filter_keys() -> String {
    "Enter show only rows that contain the text  Esc back".into()
}

/// Returns as many keys as fit into the line. The line always contains the keys for help and for quitting.
fn key_line(app: &App, columns: usize) -> String {
    let view = app.view();
    let is_last = |action| matches!(action, Action::Help | Action::Quit);
    let (last, first): (Vec<_>, Vec<_>) =
        of(view.place()).partition(|binding| is_last(binding.action));
    let end: Vec<String> = last.iter().filter_map(|binding| binding.hint()).collect();
    let end = end.join("  ");
    let mut line = String::new();
    let offered = first.iter().filter(|binding| view.offers(binding.action));
    for hint in offered.filter_map(|binding| binding.hint()) {
        if width(&line) + width(&hint) + width(&end) + 4 <= columns {
            line.push_str(&hint);
            line.push_str("  ");
        }
    }
    line + &end
}
