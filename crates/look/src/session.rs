//! The event loop: waits for keys, signals and the results of work, and draws the state after each of them.
//!
//! The program draws only after an event, so an idle interface sends no bytes.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use catalog::{Catalog, Choice, Decider, Scope};
use review::DecideError;
use runtime::epoch::now_ms;
use rustix::process::{Signal as ToSend, kill_current_process_group};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Error, with_causes};
use crate::key::{Decoder, Key};
use crate::screen::{body_height, draw};
use crate::terminal::{Event, Signal, Terminal};
use crate::work::{Load, Loaded, News, Work};

/// Time to wait for the rest of a key. Terminals send the bytes of a key at once, but networks may divide them.
const REST_OF_KEY: Duration = Duration::from_millis(100);
/// Time between two checks whether another process has changed the catalog. A check queries only one number.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// Time that a decision waits for the commit of another process. Meanwhile, the event loop handles no keys.
const DECISION_TIMEOUT: Duration = Duration::from_secs(1);

/// Everything that the interface needs from its caller.
#[derive(Debug)]
pub struct Options {
    /// The catalog.
    pub catalog: Catalog,
    /// The absolute path of the first directory to show. If `None`, the interface first shows the lowest directory that
    /// contains all files.
    pub dir: Option<Vec<u8>>,
    /// The path of the program lop.
    pub program: PathBuf,
    /// The directory for unnamed files with plans.
    pub temp_dir: PathBuf,
    /// The terminal to read from.
    pub input: File,
    /// The terminal to draw on.
    pub output: File,
    /// Whether to use colours.
    pub has_colors: bool,
    /// Formats a time, in milliseconds since the epoch, in at most 16 columns.
    pub local_time: fn(i64) -> String,
}

/// The reason why the interface ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The user quit.
    Quit,
    /// A signal ended the interface. The caller must carry out the default action of the signal.
    Signal(i32),
    /// The terminal has hung up.
    HungUp,
}

/// Shows the catalog on a terminal until the user quits, and then restores the terminal.
///
/// # Errors
///
/// Fails if an operation on the catalog or the terminal fails, or if the system refuses a resource for the threads. The
/// catalog keeps the decisions that the user has made before.
///
/// # Panics
///
/// Panics if a thread panics. The function restores the terminal before.
pub fn run(options: Options) -> Result<End, Error> {
    let path = options.catalog.path().to_path_buf();
    let work = Work::new(options.program, path.clone(), options.temp_dir).map_err(Error::Work)?;
    let catalog = OpenCatalog::new(options.catalog, path)?;
    let terminal = Terminal::new(options.input, options.output)?;
    let app = App::new(options.dir, options.local_time, body_height(terminal.size()));
    let has_colors = options.has_colors;
    let mut session =
        Session { app, work, terminal, catalog, has_colors, keys: Decoder::default() };
    let end = session.run();
    session.work.cancel_all();
    end
}

/// The catalog, and its identity and version at the time of loading.
struct OpenCatalog {
    decider: Decider,
    path: PathBuf,
    /// Device and inode number of the file.
    identity: Option<(u64, u64)>,
    version: i64,
}

impl OpenCatalog {
    fn new(catalog: Catalog, path: PathBuf) -> Result<OpenCatalog, Error> {
        let (identity, version) = (identity(&path), catalog.data_version()?);
        catalog.wait_at_most(DECISION_TIMEOUT)?;
        Ok(OpenCatalog { decider: Decider::new(catalog), path, identity, version })
    }

    fn catalog(&self) -> &Catalog {
        self.decider.catalog()
    }

    /// Returns a message if another process has changed, replaced or removed the catalog since this process loaded it.
    fn outdated(&self) -> Option<&'static str> {
        // While another process commits, the query fails. The next check notices the change.
        let now = self.catalog().wait_at_most(Duration::ZERO);
        let now = now.and_then(|()| self.catalog().data_version());
        // SQLite accepts every timeout.
        let _accepted = self.catalog().wait_at_most(DECISION_TIMEOUT);
        let is_changed = now.is_ok_and(|now| now != self.version);
        self.replaced().or_else(|| is_changed.then_some(CHANGED))
    }

    /// Fails if another process has changed the catalog since this process loaded it, or blocks it for longer than
    /// [`DECISION_TIMEOUT`].
    fn check_current(&self) -> Result<(), String> {
        let now = self.catalog().data_version().map_err(|error| unrecorded(&error))?;
        let outdated = self.replaced().or_else(|| (now != self.version).then_some(CHANGED));
        outdated.map_or(Ok(()), |why| Err(why.into()))
    }

    fn replaced(&self) -> Option<&'static str> {
        match identity(&self.path) {
            None => Some(REMOVED),
            now => (now != self.identity).then_some(REPLACED),
        }
    }

    fn note_version(&mut self) {
        self.version = self.catalog().data_version().unwrap_or(self.version);
    }
}

/// The messages about changes of the catalog by other processes.
const CHANGED: &str = "The catalog was changed; press R to reload.";
const REPLACED: &str = "The catalog was replaced; quit, and start 'lop look' again.";
const REMOVED: &str = "The catalog was removed; quit, and scan again.";

/// Returns the message for a decision that the catalog has not stored.
fn unrecorded(error: &catalog::Error) -> String {
    if error.is_busy() {
        return "The catalog is in use by another process; try again.".into();
    }
    format!("Nothing was decided: {}. Check that you may write the catalog.", with_causes(error))
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

struct Session {
    app: App,
    work: Work,
    terminal: Terminal,
    catalog: OpenCatalog,
    has_colors: bool,
    keys: Decoder,
}

impl Session {
    /// Handles events until the interface ends. A signal ends the interface even while the terminal takes no output.
    fn run(&mut self) -> Result<End, Error> {
        match (self.events(), self.terminal.ending()) {
            (Err(Error::Terminal(_)), Some(signal)) => Ok(End::Signal(signal)),
            (end, _) => end,
        }
    }

    fn events(&mut self) -> Result<End, Error> {
        let first = self.app.start();
        if let Some(end) = self.apply(first)? {
            return Ok(end);
        }
        let mut is_changed = true;
        loop {
            if is_changed {
                let Session { app, terminal, has_colors, .. } = self;
                terminal.draw(|buffer| draw(app, *has_colors, buffer))?;
            }
            let timeout = if self.keys.is_waiting() { REST_OF_KEY } else { CHECK_INTERVAL };
            let end = match self.terminal.wait(self.work.wakes(), timeout) {
                Event::HungUp => Some(End::HungUp),
                Event::Signal(signal) => self.signal(signal)?,
                Event::Input(bytes) => {
                    let keys = self.keys.push(&bytes);
                    self.type_keys(keys)?
                }
                Event::Woken => self.news()?,
                Event::Timeout if self.keys.is_waiting() => {
                    let keys = self.keys.flush();
                    self.type_keys(keys)?
                }
                Event::Timeout => {
                    is_changed = self.app.set_outdated(self.catalog.outdated());
                    continue;
                }
            };
            if let Some(end) = end {
                return Ok(end);
            }
            is_changed = true;
        }
    }

    fn type_keys(&mut self, keys: Vec<Key>) -> Result<Option<End>, Error> {
        for key in keys {
            // A key may decide or start a run, so it must not act on an outdated state.
            self.app.set_outdated(self.catalog.outdated());
            let effects = self.app.key(key);
            let end = self.apply(effects)?;
            if end.is_some() {
                return Ok(end);
            }
        }
        Ok(None)
    }

    fn news(&mut self) -> Result<Option<End>, Error> {
        for news in self.work.news() {
            let effects = self.app.news(news);
            let end = self.apply(effects)?;
            if end.is_some() {
                return Ok(end);
            }
        }
        Ok(None)
    }

    fn signal(&mut self, signal: Signal) -> Result<Option<End>, Error> {
        match signal {
            Signal::End(number) => return Ok(Some(End::Signal(number))),
            Signal::Stop => self.terminal.suspend()?,
            Signal::Continue => self.terminal.take_over()?,
            Signal::Resize => self.terminal.resize()?,
        }
        self.app.resize(body_height(self.terminal.size()));
        Ok(None)
    }

    /// Carries out effects. Returns the end of the interface if an effect ends it.
    fn apply(&mut self, effects: Vec<Effect>) -> Result<Option<End>, Error> {
        for effect in effects {
            match effect {
                Effect::Quit => return Ok(Some(End::Quit)),
                // The whole process group stops, as if the terminal had sent the signal. This process catches it.
                Effect::Suspend => drop(kill_current_process_group(ToSend::TSTP)),
                Effect::Redraw => self.terminal.resize()?,
                Effect::Load(load) => {
                    let effects = self.load(load);
                    self.apply(effects)?;
                }
                Effect::Cancel(load) => self.work.cancel(load.slot()),
                Effect::Reload => {
                    let effects = self.reload();
                    let end = self.apply(effects)?;
                    if end.is_some() {
                        return Ok(end);
                    }
                }
                Effect::Decide(scope, choice) => self.decide(scope, choice),
                Effect::Withdraw { id, done } => self.withdraw(id, done),
                // `App` has carried out these effects itself.
                Effect::Ask(_) | Effect::Say(_) | Effect::ShowGroups(_) => {}
            }
        }
        Ok(None)
    }

    fn load(&mut self, load: Load) -> Vec<Effect> {
        let slot = load.slot();
        match self.work.start(load, self.catalog.catalog()) {
            Ok(()) => Vec::new(),
            Err(why) => self.app.news(News::Loaded(Loaded::failed(slot, why))),
        }
    }

    fn reload(&mut self) -> Vec<Effect> {
        if let Some(why) = self.catalog.replaced() {
            self.app.say(why);
            return Vec::new();
        }
        self.catalog.note_version();
        self.app.reload()
    }

    fn decide(&mut self, scope: Scope, choice: Choice) {
        let decider = &self.catalog.decider;
        let made = self.app.groups.change(|review| {
            self.catalog.check_current()?;
            let made = review.decide(decider, scope, choice, now_ms());
            made.map(drop).map_err(|error| match error {
                DecideError::Catalog(error) => unrecorded(&error),
                DecideError::Invalid(why) => format!("Nothing was decided: {why}."),
            })
        });
        if let Err(why) = made {
            self.app.say(why);
        }
    }

    fn withdraw(&mut self, id: i64, done: String) {
        let decider = &self.catalog.decider;
        let withdrawn = self.app.groups.change(|review| {
            self.catalog.check_current()?;
            review.withdraw(decider, id).map(drop).map_err(|error| unrecorded(&error))
        });
        self.app.say(withdrawn.map_or_else(|why| why, |()| done));
    }
}
