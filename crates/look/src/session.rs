//! The event loop: waits for keys, signals and the results of work, and draws the state after each of them.
//!
//! The program draws only after an event, so an idle interface sends no bytes.

#[cfg(test)]
mod tests;

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
    let work = Work::new(options.program, &options.catalog, options.temp_dir);
    let work = work.map_err(Error::Work)?;
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
    /// Waits at most `timeout` for the commit of another process.
    ///
    /// # Errors
    ///
    /// Fails if another process blocks the catalog for longer, or if reading from it fails.
    fn outdated(&self, timeout: Duration) -> Result<Option<&'static str>, catalog::Error> {
        if let Some(why) = self.replaced() {
            return Ok(Some(why));
        }
        self.catalog().wait_at_most(timeout)?;
        let now = self.catalog().data_version();
        self.catalog().wait_at_most(DECISION_TIMEOUT)?;
        Ok((now? != self.version).then_some(CHANGED))
    }

    /// Fails if another process has changed the catalog since this process loaded it, or blocks it for longer than
    /// [`DECISION_TIMEOUT`].
    fn check_current(&self) -> Result<(), String> {
        match self.outdated(DECISION_TIMEOUT) {
            Ok(outdated) => outdated.map_or(Ok(()), |why| Err(why.into())),
            Err(error) => Err(unrecorded(&error)),
        }
    }

    /// Fails unless a plan that was made from the loaded catalog is up to date. The interface reloads the catalog after
    /// such a failure, so the user can make a new plan at once.
    fn check_plan(&self) -> Result<(), String> {
        let why = match self.outdated(DECISION_TIMEOUT) {
            Ok(None) => return Ok(()),
            Ok(Some(_)) => "another process has changed the catalog".into(),
            Err(error) if error.is_busy() => "the catalog is in use by another process".into(),
            Err(error) => with_causes(&error),
        };
        Err(format!("No file was changed: {why}. Press p to make a new plan."))
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
                    let key = self.keys.flush();
                    self.type_keys(key.into_iter().collect())?
                }
                Event::Timeout => {
                    is_changed = self.check_catalog();
                    continue;
                }
            };
            if let Some(end) = end {
                return Ok(end);
            }
            is_changed = true;
        }
    }

    /// Notes whether another process has changed the catalog. Returns whether this is news.
    fn check_catalog(&mut self) -> bool {
        // If another process is committing, the query fails. The last answer is in force until the next check.
        let outdated = self.catalog.outdated(Duration::ZERO);
        outdated.is_ok_and(|outdated| self.app.set_outdated(outdated))
    }

    fn type_keys(&mut self, keys: Vec<Key>) -> Result<Option<End>, Error> {
        for key in keys {
            // A key may decide or start a run, so it must not act on an outdated state.
            self.check_catalog();
            let effects = self.app.key(key);
            let end = self.apply(effects)?;
            if end.is_some() {
                return Ok(end);
            }
        }
        Ok(None)
    }

    fn news(&mut self) -> Result<Option<End>, Error> {
        while let Some(news) = self.work.news() {
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
            Signal::Stop if self.app.is_acting() => self.app.say(self.app.refusal()),
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
        // An undo depends on the journal of its run, not on the catalog.
        let checked = match load {
            Load::Apply(_) => self.catalog.check_plan(),
            _ => Ok(()),
        };
        match checked.and_then(|()| self.work.start(load)) {
            Ok(()) => Vec::new(),
            Err(why) => self.app.news(News::Loaded(Loaded::failed(slot, why))),
        }
    }

    fn reload(&mut self) -> Vec<Effect> {
        if let Some(why) = self.catalog.replaced() {
            self.app.say(why);
            return Vec::new();
        }
        // The work that is in progress may have read the catalog before the change.
        self.work.cancel_all();
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
