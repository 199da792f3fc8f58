//! The places for open streams of events.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Maximum number of open streams.
const MAX_STREAMS: usize = 32;

/// The places for open streams.
#[derive(Debug)]
pub(crate) struct Streams(Arc<Semaphore>);

impl Default for Streams {
    fn default() -> Streams {
        Streams(Arc::new(Semaphore::new(MAX_STREAMS)))
    }
}

impl Streams {
    /// Takes a place until the value is dropped. Returns `None` if all places are taken.
    pub(crate) fn open(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0).try_acquire_owned().ok()
    }
}
