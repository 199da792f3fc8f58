//! Limits for the memory of listings.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Maximum number of entries of a listing.
const MAX_ENTRIES: usize = 2_000_000;

/// Maximum number of entries of all listings that are being made or sent, without the first [`STEP`] of each. This
/// bounds their memory to about 1 GiB.
const MAX_RESERVED: usize = 4_000_000;

/// Number of entries that are reserved at a time. The first ones of each listing are free, so that ordinary listings
/// are never refused.
const STEP: usize = 10_000;

/// The number of entries for which memory is reserved, shared by the listings of a server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Budget(Arc<AtomicUsize>);

/// Memory for the entries of one listing. Dropping it returns the memory to the budget.
#[derive(Debug)]
pub(super) struct Reservation {
    budget: Budget,
    entries: usize,
    reserved: usize,
}

impl Budget {
    /// Returns a reservation for a listing without entries.
    pub(super) fn reserve(&self) -> Reservation {
        Reservation { budget: self.clone(), entries: 0, reserved: 0 }
    }
}

impl Reservation {
    /// Adds one entry.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::FileTooLarge`] if the listing has too many entries, and [`io::ErrorKind::ResourceBusy`] if all
    /// listings together have. The caller has to drop the entries then.
    pub(super) fn grow(&mut self) -> io::Result<()> {
        if self.entries == MAX_ENTRIES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        if self.entries == STEP + self.reserved {
            let before = self.budget.0.fetch_add(STEP, Relaxed);
            self.reserved += STEP;
            if before + STEP > MAX_RESERVED {
                // Other listings can go on at once, so that some of those that compete are completed.
                self.release();
                return Err(io::ErrorKind::ResourceBusy.into());
            }
        }
        self.entries += 1;
        Ok(())
    }

    fn release(&mut self) {
        self.budget.0.fetch_sub(std::mem::take(&mut self.reserved), Relaxed);
    }

    /// Returns true if the memory of the listing counts.
    pub(super) fn is_large(&self) -> bool {
        self.reserved > 0
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::sync::atomic::Ordering::Relaxed;

    use super::{Budget, MAX_ENTRIES, MAX_RESERVED, Reservation, STEP};

    fn grow(reservation: &mut Reservation, entries: usize) -> Result<(), ErrorKind> {
        (0..entries).try_for_each(|_| reservation.grow()).map_err(|error| error.kind())
    }

    #[test]
    fn a_listing_has_a_maximum() {
        let mut one = Budget::default().reserve();
        assert_eq!(grow(&mut one, MAX_ENTRIES), Ok(()));
        assert_eq!(grow(&mut one, 1), Err(ErrorKind::FileTooLarge));
    }

    #[test]
    fn small_listings_have_memory_beside_large_ones() {
        let budget = Budget::default();
        let mut large: Vec<_> =
            (0..MAX_RESERVED / (MAX_ENTRIES - STEP)).map(|_| budget.reserve()).collect();
        for listing in &mut large {
            assert_eq!(grow(listing, MAX_ENTRIES), Ok(()));
            assert!(listing.is_large());
        }
        let mut next = budget.reserve();
        assert_eq!(grow(&mut next, STEP), Ok(()));
        assert!(!next.is_large());
        let rest = MAX_RESERVED - budget.0.load(Relaxed);
        assert_eq!(grow(&mut next, rest + 1), Err(ErrorKind::ResourceBusy));
        assert_eq!(MAX_RESERVED - budget.0.load(Relaxed), rest, "it has released its memory");
        drop(large.pop());
        assert_eq!(grow(&mut budget.reserve(), MAX_ENTRIES - STEP), Ok(()));
        drop((large, next));
        assert_eq!(budget.0.load(Relaxed), 0);
    }
}
