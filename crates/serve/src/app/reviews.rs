//! The groups and decisions in memory. They are loaded when a page needs them, loaded again after the
//! catalog has changed, and dropped when no page has needed them for a while.
//!
//! Pages identify groups and folder sets by numbers that are valid for one *revision*. A change that
//! refers to another revision MUST be refused, because it could affect different files.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard};
use std::time::{Duration, Instant};

use catalog::Decider;
use review::Review;
use runtime::epoch::now_ns;

use crate::app::door::CatalogDoor;
use crate::app::listings::{Listing, Listings, Wanted};
use crate::error::PageError;

/// Number of attempts to load the groups for one request, if the catalog keeps changing.
const ATTEMPTS: u32 = 3;

/// The groups and decisions of a catalog, if they are in memory.
#[derive(Debug)]
pub(super) struct Reviews {
    state: RwLock<State>,
    listings: Mutex<Listings>,
    /// Time of the last use, in milliseconds since `start`.
    used: AtomicU64,
    start: Instant,
}

#[derive(Debug, Default)]
struct State {
    /// Changes when the numbers of groups may have changed.
    revision: u64,
    /// The version of the catalog that `revision` stands for, from [`CatalogDoor::version`].
    version: Option<u64>,
    review: Option<Review>,
}

/// The groups and decisions, as long as a request uses them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loaded<'a> {
    pub(crate) review: &'a Review,
    pub(crate) revision: u64,
    listings: &'a Mutex<Listings>,
}

impl Reviews {
    pub(super) fn new() -> Reviews {
        Reviews {
            state: RwLock::default(),
            listings: Mutex::default(),
            used: AtomicU64::new(0),
            start: Instant::now(),
        }
    }

    /// Calls `work` with the groups, and loads them first if necessary.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be loaded or `work` fails.
    pub(super) fn read<T>(
        &self,
        door: &CatalogDoor,
        work: impl FnOnce(Loaded<'_>) -> Result<T, PageError>,
    ) -> Result<T, PageError> {
        let mut attempt = 0;
        loop {
            // A page does not wait for the queries of other pages, such as a load of the whole catalog.
            let version = door.version_if_free()?;
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            let is_current = version.is_none() || version == state.version;
            if let Some(review) =
                state.review.as_ref().filter(|_| is_current || attempt >= ATTEMPTS)
            {
                self.touch();
                let State { revision, .. } = *state;
                return work(Loaded { review, revision, listings: &self.listings });
            }
            drop(state);
            attempt += 1;
            self.load(&mut self.write(), door)?;
        }
    }

    /// Calls `work` with the groups if they are in memory and the catalog has not changed since.
    pub(super) fn read_if_loaded<T>(
        &self,
        door: &CatalogDoor,
        work: impl FnOnce(Loaded<'_>) -> T,
    ) -> Option<T> {
        let version = door.version_if_free().ok()?;
        let state = self.state.try_read().ok()?;
        let is_current = version.is_none() || version == state.version;
        let review = state.review.as_ref().filter(|_| is_current)?;
        self.touch();
        Some(work(Loaded { review, revision: state.revision, listings: &self.listings }))
    }

    /// Calls `work` to change decisions.
    ///
    /// # Errors
    ///
    /// Fails if `revision` is not the current one, if the catalog cannot be loaded, or if `work`
    /// fails.
    pub(super) fn change(
        &self,
        door: &CatalogDoor,
        revision: u64,
        work: impl FnOnce(&mut Review, &Decider) -> Result<(), PageError>,
    ) -> Result<(), PageError> {
        let mut state = self.write();
        self.load(&mut state, door)?;
        let current = state.revision;
        let review = state.review.as_mut().filter(|_| current == revision).ok_or_else(stale)?;
        door.with(|decider| work(review, decider))
    }

    /// Drops the groups if no page has needed them for this time. The revision stays the same if the
    /// catalog does.
    pub(super) fn drop_if_idle(&self, idle: Duration) {
        let used = Duration::from_millis(self.used.load(Relaxed));
        // Groups that are locked are in use.
        if self.start.elapsed().saturating_sub(used) >= idle
            && let Ok(mut state) = self.state.try_write()
        {
            state.review = None;
            self.listings().clear();
        }
    }

    fn touch(&self) {
        let now = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.used.store(now, Relaxed);
    }

    fn listings(&self) -> MutexGuard<'_, Listings> {
        self.listings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(|poisoned| {
            // A change of decisions panicked halfway, so the groups have to be loaded again.
            self.state.clear_poison();
            let mut state = poisoned.into_inner();
            (state.review, state.version) = (None, None);
            state
        })
    }

    /// Loads the groups unless they are in memory and the catalog has not changed since.
    fn load(&self, state: &mut State, door: &CatalogDoor) -> Result<(), PageError> {
        let version = door.version()?;
        if state.review.is_some() && state.version == Some(version) {
            return Ok(());
        }
        // The old groups are dropped first, so that memory does not hold both.
        state.review = None;
        if state.version != Some(version) {
            state.version = None;
            self.listings().clear();
        }
        // If the catalog changes from here on, its version differs and the next request loads it again.
        let review = Review::load(&door.reopen()?, now_ns())?;
        if state.version.is_none() {
            state.revision += 1;
        }
        (state.review, state.version) = (Some(review), Some(version));
        self.touch();
        Ok(())
    }
}

impl Loaded<'_> {
    /// Fails unless a page has numbers of this revision.
    ///
    /// # Errors
    ///
    /// Fails if the revision is not the current one.
    pub(crate) fn check(&self, revision: u64) -> Result<(), PageError> {
        if revision == self.revision { Ok(()) } else { Err(stale()) }
    }

    /// Returns the listing with this number.
    ///
    /// # Errors
    ///
    /// Fails if the listing is no longer known. The page then asks for a new one.
    pub(crate) fn listing(&self, number: u64) -> Result<Arc<Listing>, PageError> {
        self.lock().get(number).ok_or_else(stale)
    }

    /// Returns a listing, and makes its order with `order` unless it is known.
    pub(crate) fn list(&self, wanted: Wanted, order: impl FnOnce() -> Vec<u32>) -> Arc<Listing> {
        if let Some(known) = self.lock().find(&wanted) {
            return known;
        }
        let order = order();
        self.lock().add(wanted, order)
    }

    fn lock(&self) -> MutexGuard<'_, Listings> {
        self.listings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stale() -> PageError {
    PageError::conflict(
        "The catalog has changed since this page was loaded",
        "The list is loaded again. Check your choice before you repeat it.",
    )
}
