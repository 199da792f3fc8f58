//! Draws cells with control sequences that every terminal knows (ECMA-48): positions, the eight plain
//! colours, bold, faint and reverse video.

use std::io::{self, Write};

use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier};

use crate::text::width;

/// A terminal of a fixed size.
pub(super) struct Ansi<W> {
    out: W,
    size: Size,
}

impl<W: Write> Ansi<W> {
    pub(super) fn new(out: W, (width, height): (u16, u16)) -> Ansi<W> {
        Ansi { out, size: Size { width, height } }
    }
}

/// Returns the sequence that sets the style of a cell (SGR).
fn style(cell: &Cell) -> String {
    let mut sequence = String::from("\x1b[0");
    let modifiers = [(Modifier::BOLD, ";1"), (Modifier::DIM, ";2"), (Modifier::REVERSED, ";7")];
    for (modifier, code) in modifiers {
        sequence.push_str(if cell.modifier.contains(modifier) { code } else { "" });
    }
    sequence.push_str(match cell.fg {
        Color::Red => ";31",
        Color::Green => ";32",
        _ => "",
    });
    sequence + "m"
}

impl<W: Write> Backend for Ansi<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let (mut next, mut last) = (None, String::new());
        for (x, y, cell) in content {
            if next != Some((x, y)) {
                write!(self.out, "\x1b[{};{}H", y + 1, x + 1)?;
            }
            let style = style(cell);
            if style != last {
                self.out.write_all(style.as_bytes())?;
                last = style;
            }
            let symbol = cell.symbol();
            if symbol.chars().nth(1).is_some() {
                // A terminal may draw a grapheme cluster narrower than expected. The spaces erase the old cells first.
                write!(self.out, "{}\x1b[{};{}H", " ".repeat(width(symbol)), y + 1, x + 1)?;
            }
            self.out.write_all(symbol.as_bytes())?;
            // Terminals differ in the widths of characters outside ASCII, so the cell after such a character has its
            // own position.
            next = symbol.is_ascii().then_some((x + 1, y));
        }
        if last.is_empty() { Ok(()) } else { self.out.write_all(b"\x1b[0m") }
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        // `Terminal` hides the cursor when it enters the alternate screen.
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, _position: P) -> io::Result<()> {
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.out.write_all(b"\x1b[0m\x1b[2J")
    }

    fn clear_region(&mut self, _region: ClearType) -> io::Result<()> {
        self.clear()
    }

    fn size(&self) -> io::Result<Size> {
        Ok(self.size)
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size, pixels: Size::default() })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use ratatui_core::buffer::Buffer;
    use ratatui_core::layout::Rect;
    use ratatui_core::style::{Color, Modifier, Style};

    use super::{Ansi, Backend};

    #[test]
    fn cells_are_drawn_with_plain_colours() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 5, 2));
        buffer.set_string(0, 0, "ab", Style::new());
        buffer.set_string(2, 0, "c", Style::new().fg(Color::Green));
        let faint = Style::new().fg(Color::Red).add_modifier(Modifier::DIM | Modifier::REVERSED);
        buffer.set_string(1, 1, "d", faint);
        let mut out = Vec::new();
        let cells = [(0, 0), (1, 0), (2, 0), (1, 1)].map(|(x, y)| (x, y, &buffer[(x, y)]));
        Ansi::new(&mut out, (5, 2)).draw(cells.into_iter()).expect("drawn");
        let expected = "\x1b[1;1H\x1b[0mab\x1b[0;32mc\x1b[2;2H\x1b[0;2;7;31md\x1b[0m";
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    #[test]
    fn characters_of_uncertain_width_do_not_move_other_cells() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 6, 1));
        buffer.set_string(0, 0, "aé写e\u{301}b", Style::new());
        let mut out = Vec::new();
        let cells = [0, 1, 2, 4, 5].map(|x| (x, 0, &buffer[(x, 0)]));
        Ansi::new(&mut out, (6, 1)).draw(cells.into_iter()).expect("drawn");
        let expected = "\x1b[1;1H\x1b[0maé\x1b[1;3H写\x1b[1;5H \x1b[1;5He\u{301}\x1b[1;6Hb\x1b[0m";
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }
}
