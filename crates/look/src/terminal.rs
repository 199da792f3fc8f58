//! The terminal: raw mode, the alternate screen, input, and signals.
//!
//! However the program ends, it MUST restore the terminal. Dropping [`Terminal`] restores it, [`Terminal::suspend`]
//! restores it before it stops the process, and a panic hook restores it before the message of a panic. Signals end the
//! event loop, which drops the terminal.
//!
//! This module reads and writes files instead of using a terminal library, because such libraries do not notice that a
//! terminal has hung up, or miss signals while a terminal takes no output.

mod ansi;
mod output;
mod signals;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Once;
use std::time::Duration;

use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use ratatui_core::terminal::{Terminal as Drawing, TerminalOptions, Viewport};
use runtime::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

use self::ansi::Ansi;
use self::output::{Output, unblocked, write_last};
use self::signals::Signals;
use crate::error::Error;

pub(crate) use self::signals::Signal;

/// Enters the alternate screen, clears it, hides the cursor, and asks for marks around pasted text.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[2J\x1b[?25l\x1b[?2004h";
/// Clears the screen.
const CLEAR: &[u8] = b"\x1b[0m\x1b[2J";
/// Resets colours, shows the cursor, and returns to the normal screen.
const LEAVE: &[u8] = b"\x1b[?2004l\x1b[0m\x1b[?25h\x1b[?1049l";
/// The size of a terminal that does not report its size.
const DEFAULT_SIZE: (u16, u16) = (80, 24);
/// The largest part of a terminal that the interface uses. A terminal can report any size, and a drawing takes 40 bytes
/// per cell.
const MAX_SIZE: (u16, u16) = (1000, 500);
/// Large enough that the drawing of a usual screen is one write. A terminal of 200 columns and 60 lines shows 12,000
/// characters.
const BUFFER_BYTES: usize = 64 << 10;

/// A terminal in raw mode, and the settings to restore.
struct Entered {
    input: File,
    output: File,
    before: Termios,
}

/// The terminal while it is in raw mode. It is a static because the panic hook needs it.
static ENTERED: Mutex<Option<Entered>> = Mutex::new(None);
static HOOK: Once = Once::new();

/// The event that ended a wait.
#[derive(Debug)]
pub(crate) enum Event {
    Input(Vec<u8>),
    Signal(Signal),
    /// The descriptor of the caller is readable.
    Woken,
    /// The timeout expired before any event.
    Timeout,
    /// The terminal has hung up.
    HungUp,
}

/// The terminal.
pub(crate) struct Terminal {
    input: File,
    output: File,
    drawing: Drawing<Ansi<BufWriter<Output>>>,
    signals: Signals,
    size: (u16, u16),
    /// Whether the screen shows grapheme clusters of several characters.
    has_clusters: bool,
}

impl Terminal {
    /// Takes over a terminal.
    ///
    /// # Errors
    ///
    /// Fails if an operation on the terminal fails, or if the system refuses to register the handlers of signals.
    /// Restores the terminal before it fails.
    pub(crate) fn new(input: File, output: File) -> Result<Terminal, Error> {
        HOOK.call_once(restore_before_panics);
        let signals = Signals::catch().map_err(Error::Terminal)?;
        let output = unblocked(output);
        let size = size_of(&output);
        let drawing = drawing(&output, &signals, size).map_err(Error::Terminal)?;
        let mut terminal = Terminal { input, output, drawing, signals, size, has_clusters: false };
        terminal.enter().map_err(Error::Terminal)?;
        Ok(terminal)
    }

    /// Returns the number of columns and lines.
    pub(crate) fn size(&self) -> (u16, u16) {
        self.size
    }

    /// Returns a signal that has arrived and ends the process. Such a signal makes [`Terminal::draw`] fail.
    pub(crate) fn ending(&self) -> Option<i32> {
        self.signals.ending()
    }

    /// Draws the cells that have changed since the last drawing. Draws all cells if the screen shows grapheme clusters
    /// of several characters. Terminals disagree about their widths, so the screen may not show what was drawn.
    ///
    /// # Errors
    ///
    /// Fails if a write to the terminal fails.
    pub(crate) fn draw(&mut self, draw: impl FnOnce(&mut Buffer)) -> Result<(), Error> {
        if self.has_clusters {
            self.drawing.clear().map_err(Error::Terminal)?;
        }
        let is_cluster = |cell: &Cell| cell.symbol().chars().nth(1).is_some();
        let drawn = self.drawing.draw(|frame| {
            let buffer = frame.buffer_mut();
            draw(buffer);
            self.has_clusters = buffer.content.iter().any(is_cluster);
        });
        drawn.map(drop).map_err(Error::Terminal)
    }

    /// Waits for input, a signal or the descriptor `wakes`, but not longer than `timeout`.
    pub(crate) fn wait(&mut self, wakes: BorrowedFd<'_>, timeout: Duration) -> Event {
        if let Some(signal) = self.signals.take() {
            return Event::Signal(signal);
        }
        let mut fds = [
            PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(wakes, PollFlags::IN),
            PollFd::new(&self.input, PollFlags::IN),
        ];
        let timeout = Timespec::try_from(timeout).ok();
        match poll(&mut fds, timeout.as_ref()) {
            Ok(0) => return Event::Timeout,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Event::HungUp,
        }
        let [_, woken, input] = fds.map(|fd| !fd.revents().is_empty());
        match self.signals.take() {
            Some(signal) => Event::Signal(signal),
            None if input => self.read(),
            None if woken => Event::Woken,
            None => Event::Timeout,
        }
    }

    fn read(&mut self) -> Event {
        let mut bytes = [0; 256];
        match self.input.read(&mut bytes) {
            // A terminal that has hung up stays readable forever, so ignoring the end would cause an endless loop.
            Ok(0) => Event::HungUp,
            Ok(length) => Event::Input(bytes[..length].to_vec()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Event::Timeout,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Event::Timeout,
            Err(_) => Event::HungUp,
        }
    }

    /// Asks the terminal for its size, and clears it, so that the next drawing draws all cells.
    ///
    /// # Errors
    ///
    /// Fails if a write to the terminal fails.
    pub(crate) fn resize(&mut self) -> Result<(), Error> {
        self.size = size_of(&self.output);
        self.drawing = drawing(&self.output, &self.signals, self.size).map_err(Error::Terminal)?;
        self.write(CLEAR).map_err(Error::Terminal)
    }

    /// Restores the terminal and stops the process. Takes over the terminal again when the process continues.
    ///
    /// # Errors
    ///
    /// Fails if stopping the process or taking over the terminal fails.
    pub(crate) fn suspend(&mut self) -> Result<(), Error> {
        leave();
        runtime::stop_process().map_err(Error::Terminal)?;
        // A process that ends in the background must not change the terminal of another one.
        if self.ending().is_some() { Ok(()) } else { self.take_over() }
    }

    /// Takes over the terminal again after another program has used it.
    ///
    /// # Errors
    ///
    /// Fails if an operation on the terminal fails.
    pub(crate) fn take_over(&mut self) -> Result<(), Error> {
        self.enter().map_err(Error::Terminal)?;
        self.resize()
    }

    /// Enters raw mode and the alternate screen. Stores the settings of the terminal, unless earlier settings are
    /// stored already.
    fn enter(&mut self) -> io::Result<()> {
        let mut entered = ENTERED.lock();
        let now = tcgetattr(&self.input)?;
        if entered.is_none() {
            let (input, output) = (self.input.try_clone()?, self.output.try_clone()?);
            *entered = Some(Entered { input, output, before: now.clone() });
        }
        let mut raw = now;
        raw.make_raw();
        tcsetattr(&self.input, OptionalActions::Now, &raw)?;
        drop(entered);
        self.write(ENTER)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        Output::new(&self.output, &self.signals)?.write_all(bytes)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        leave();
    }
}

/// Restores the terminal. A second call has no effect.
fn leave() {
    let Some(entered) = ENTERED.lock().take() else { return };
    // If the terminal is gone, there is nothing to restore.
    let _gone = write_last(&entered.output, LEAVE);
    let _gone = tcsetattr(&entered.input, OptionalActions::Now, &entered.before);
}

/// Restores the terminal before the message of a panic, which would otherwise disappear with the alternate screen.
fn restore_before_panics() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        leave();
        print(panic);
    }));
}

fn drawing(
    output: &File,
    signals: &Signals,
    size: (u16, u16),
) -> io::Result<Drawing<Ansi<BufWriter<Output>>>> {
    let out = BufWriter::with_capacity(BUFFER_BYTES, Output::new(output, signals)?);
    let viewport = Viewport::Fixed(Rect::new(0, 0, size.0, size.1));
    Drawing::with_options(Ansi::new(out, size), TerminalOptions { viewport })
}

fn size_of(output: &File) -> (u16, u16) {
    let size = tcgetwinsize(output).map(|size| (size.ws_col, size.ws_row));
    let size = size.ok().filter(|&(columns, lines)| columns > 0 && lines > 0);
    let (columns, lines) = size.unwrap_or(DEFAULT_SIZE);
    (columns.min(MAX_SIZE.0), lines.min(MAX_SIZE.1))
}
