//! State that all handlers share: the options, the jobs, and a helper for slow work.

pub(crate) mod changes;
pub(crate) mod disks;
mod door;
pub(crate) mod folders;
pub(crate) mod listings;
pub(crate) mod plan_lines;
pub(crate) mod plans;
pub(crate) mod reviews;
pub(crate) mod spaces;
mod streams;
pub(crate) mod summaries;
pub(crate) mod watching;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use action::run::Runs;
use catalog::{Catalog, Decider};
use review::Review;
use runtime::Throttle;

use self::changes::Changes;
use self::disks::{ANSWER_TIMEOUT, Disks};
use self::door::CatalogDoor;
use self::folders::{Folders, Progress};
use self::plans::{Basis, Plans};
use self::reviews::{Loaded, Reviews};
use self::spaces::{Sizes, Spaces};
use self::streams::Streams;
use self::summaries::{Summaries, Summary};
use self::watching::{News, Watching};

use crate::error::PageError;
use crate::hash::fnv1a;
use crate::jobs::{JobId, Jobs};
use crate::options::Options;

/// Time after which data that no page has used is dropped from memory.
const IDLE: Duration = Duration::from_secs(5 * 60);

/// The shared state of a server.
#[derive(Debug)]
pub(crate) struct App {
    options: Options,
    csrf: String,
    pub(crate) jobs: Jobs,
    /// The plans that ended jobs made.
    pub(crate) plans: Plans,
    /// The decisions that this server has changed.
    pub(crate) changes: Changes,
    /// The open streams of events.
    pub(crate) streams: Streams,
    /// The threads that work on files.
    pub(crate) disks: Arc<Disks>,
    /// The limit of the rate at which the contents of files are sent.
    pub(crate) file_rate: Arc<Throttle>,
    /// The summary of the catalog, until the catalog changes.
    summaries: Summaries,
    door: CatalogDoor,
    reviews: Reviews,
    spaces: Spaces,
    /// The comparison of folders, until the catalog changes.
    folders: Folders,
    /// The last answer of the watcher.
    watching: Watching,
}

impl App {
    pub(crate) fn new(options: Options, csrf: String) -> App {
        let jobs = Jobs::new(options.program.clone(), options.catalog.clone());
        let (plans, streams) = (Plans::default(), Streams::default());
        let (spaces, folders) = (Spaces::default(), Folders::default());
        let door = CatalogDoor::new(&options.catalog);
        let file_rate = Arc::new(Throttle::new(options.rates.total));
        App {
            options,
            csrf,
            jobs,
            plans,
            changes: Changes::default(),
            streams,
            disks: Arc::new(Disks::new()),
            file_rate,
            summaries: Summaries::default(),
            door,
            reviews: Reviews::new(),
            spaces,
            folders,
            watching: Watching::default(),
        }
    }

    /// Returns the secret that pages send with every change.
    pub(crate) fn csrf(&self) -> &str {
        &self.csrf
    }

    /// Returns the path of the catalog.
    pub(crate) fn catalog_path(&self) -> &Path {
        &self.options.catalog
    }

    /// Passes the open catalog to `ask`. Only one thread uses the catalog at a time.
    ///
    /// # Errors
    ///
    /// Fails if the catalog does not exist or cannot be read, or if `ask` fails.
    pub(crate) fn with_catalog<T>(
        &self,
        ask: impl FnOnce(&Catalog) -> Result<T, PageError>,
    ) -> Result<T, PageError> {
        self.with_decider(|decider| ask(decider.catalog()))
    }

    /// Like [`App::with_catalog`], for changing decisions.
    ///
    /// # Errors
    ///
    /// Fails if the catalog does not exist or cannot be read, or if `change` fails.
    pub(crate) fn with_decider<T>(
        &self,
        change: impl FnOnce(&Decider) -> Result<T, PageError>,
    ) -> Result<T, PageError> {
        self.door.with(change)
    }

    /// Returns a number that changes whenever another process has changed the catalog. Decisions of this
    /// server do not change it.
    ///
    /// # Errors
    ///
    /// Fails if the catalog does not exist or cannot be read.
    pub(crate) fn catalog_version(&self) -> Result<u64, PageError> {
        self.door.version()
    }

    /// Like [`App::catalog_version`], but returns 0 if there is no catalog that can be used, and `None`
    /// instead of waiting for queries of other pages.
    pub(crate) fn catalog_version_if_free(&self) -> Option<u64> {
        self.door.version_if_free().unwrap_or(Some(0))
    }

    /// Returns what has changed since the last scans, if a watcher knows it.
    ///
    /// # Errors
    ///
    /// Fails if the catalog does not exist or cannot be read.
    pub(crate) async fn news(self: &Arc<App>) -> Result<News, PageError> {
        self.watching.news(self).await
    }

    /// Returns why the catalog cannot be used. Does not wait for queries of other pages.
    pub(crate) fn catalog_problem(&self) -> Option<PageError> {
        self.door.version_if_free().err()
    }

    /// Calls `work` with the groups and decisions. Loading them may take seconds, so call this in
    /// [`App::blocking`].
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be loaded or `work` fails.
    pub(crate) fn review<T>(
        &self,
        work: impl FnOnce(Loaded<'_>) -> Result<T, PageError>,
    ) -> Result<T, PageError> {
        self.reviews.read(&self.door, work)
    }

    /// Calls `work` with the groups and decisions if they are in memory. Does not wait until they are.
    pub(crate) fn review_if_loaded<T>(&self, work: impl FnOnce(Loaded<'_>) -> T) -> Option<T> {
        self.reviews.read_if_loaded(&self.door, work)
    }

    /// Calls `work` to change decisions about groups that have the numbers of `revision`.
    ///
    /// # Errors
    ///
    /// Fails if `revision` is not the current one or `work` fails.
    pub(crate) fn change(
        &self,
        revision: u64,
        work: impl FnOnce(&mut Review, &Decider) -> Result<(), PageError>,
    ) -> Result<(), PageError> {
        self.reviews.change(&self.door, revision, work)
    }

    /// Loads the groups before a page asks for them. A catalog that cannot be loaded is reported by
    /// the page.
    pub(crate) fn load_ahead(&self) {
        drop(self.review(|_| Ok(())));
    }

    /// Returns the sizes of all directories. Loading them may take seconds, so call this in
    /// [`App::blocking`].
    ///
    /// # Errors
    ///
    /// Fails if the catalog does not exist or cannot be read.
    pub(crate) fn sizes(&self) -> Result<Arc<Sizes>, PageError> {
        // Growth needs no journals, so journals that cannot be examined do not matter.
        let changed_ms = || Runs::last_change_ms(&self.runs_dir()).unwrap_or(None);
        let load = || Sizes::load(&self.door.reopen()?, changed_ms());
        self.spaces.get(self.catalog_version()?, load)
    }

    /// Returns the folders that have something in common, if they are known.
    ///
    /// # Errors
    ///
    /// Fails if the catalog does not exist or cannot be read.
    pub(crate) fn related_folders(&self) -> Result<Progress, PageError> {
        Ok(self.folders.progress(&self.jobs, self.catalog_version()?))
    }

    /// Starts to find the folders that have something in common.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read, if another job must end first, or if the job cannot be
    /// started.
    pub(crate) fn compare_folders(&self) -> Result<JobId, PageError> {
        self.folders.start(&self.jobs, self.catalog_version()?)
    }

    /// Frees memory that idle servers do not need.
    pub(crate) fn tidy_up(&self) {
        self.spaces.drop_if_idle(IDLE);
        self.reviews.drop_if_idle(IDLE);
        self.folders.drop_if_idle(IDLE);
    }

    /// Drops groups and folders, as if no page had needed them for a while.
    #[cfg(test)]
    pub(crate) fn drop_all(&self) {
        self.reviews.drop_if_idle(Duration::ZERO);
        self.folders.drop_if_idle(Duration::ZERO);
    }

    /// Returns the summary of the catalog. The first call after a change reads the whole catalog.
    ///
    /// # Errors
    ///
    /// Fails if the catalog does not exist or cannot be read.
    pub(crate) fn summary(&self) -> Result<Arc<Summary>, PageError> {
        let read = || Ok(Summary::read(&self.door.reopen()?)?);
        self.summaries.at(self.catalog_version()?, read)
    }

    /// Returns the number of decisions, and a number that changes when one is made or withdrawn.
    ///
    /// # Errors
    ///
    /// Fails if the catalog does not exist or cannot be read.
    pub(crate) fn decisions_now(&self) -> Result<(u64, u64), PageError> {
        let decisions = self.with_catalog(|catalog| Ok(catalog.decisions()?))?;
        let numbers = decisions.iter().flat_map(|decision| [decision.id, decision.made_ms]);
        let state = fnv1a(numbers.flat_map(i64::to_le_bytes));
        Ok((decisions.len() as u64, state))
    }

    /// Returns the versions of the data from which a plan would be made now.
    ///
    /// # Errors
    ///
    /// Fails if the catalog does not exist or cannot be read.
    pub(crate) fn plan_basis(&self) -> Result<Basis, PageError> {
        Ok(Basis { catalog: self.catalog_version()?, decisions: self.decisions_now()?.1 })
    }

    /// Returns the folder with the journals of runs.
    pub(crate) fn runs_dir(&self) -> PathBuf {
        Catalog::runs_dir(self.catalog_path())
    }

    /// Fails unless the server may start runs that change files.
    ///
    /// # Errors
    ///
    /// Fails if the server is read-only.
    pub(crate) fn check_actions(&self) -> Result<(), PageError> {
        if self.options.allow_actions {
            return Ok(());
        }
        let advice = "Start it with --allow-actions to change files from the browser.";
        Err(PageError::forbidden("This server is read-only", advice))
    }

    /// Returns whether the server may start runs that change files.
    pub(crate) fn allows_actions(&self) -> bool {
        self.options.allow_actions
    }

    /// Runs slow work, such as queries, on another thread. The work must not touch files of the user, which
    /// may be on a disk that does not answer; use [`App::on_disk`] for that.
    ///
    /// # Errors
    ///
    /// Fails if `work` fails.
    ///
    /// # Panics
    ///
    /// Panics if `work` panics. The gate turns the panic into an error page.
    pub(crate) async fn blocking<T: Send + 'static>(
        self: &Arc<App>,
        work: impl FnOnce(&App) -> Result<T, PageError> + Send + 'static,
    ) -> Result<T, PageError> {
        let app = Arc::clone(self);
        match tokio::task::spawn_blocking(move || work(&app)).await {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
    }

    /// Runs work on files of the user on another thread. For `disk` see [`Disks::run`].
    ///
    /// # Errors
    ///
    /// Fails if the disk does not answer or `work` fails.
    pub(crate) async fn on_disk<T: Send + 'static>(
        &self,
        disk: u64,
        work: impl FnOnce() -> Result<T, PageError> + Send + 'static,
    ) -> Result<T, PageError> {
        self.disks.run(disk, ANSWER_TIMEOUT, work).await?
    }

    /// Ends running jobs when the server stops.
    pub(crate) fn shut_down(&self) {
        self.jobs.shutdown();
    }
}
