//! The sorted lists that pages show.
//!
//! A page requests rows by their rank, so the order of a list MUST NOT change while the page scrolls,
//! even if a decision changes which groups match the filter.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use review::{Filter, Review, Sort};

/// Number of listings that are kept. Each open page uses one, with 4 bytes per row.
const MOST: usize = 8;

/// The subject of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The groups that match a filter.
    Groups(Filter, Sort),
    /// The folder sets with a folder whose path contains this text.
    Sets(String),
}

/// The order of a list.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) number: u64,
    pub(crate) wanted: Wanted,
    /// The groups or sets in the order of their ranks.
    pub(crate) order: Vec<u32>,
}

impl Listing {
    /// Returns the groups of all rows.
    pub(crate) fn groups(&self, review: &Review) -> Cow<'_, [u32]> {
        match self.wanted {
            Wanted::Groups(..) => Cow::Borrowed(&self.order),
            Wanted::Sets(_) => {
                let sets = self.order.iter();
                Cow::Owned(sets.flat_map(|&set| review.sets().groups_of(set)).copied().collect())
            }
        }
    }
}

/// The listings that were used last.
#[derive(Debug, Default)]
pub(crate) struct Listings {
    next: u64,
    /// The most recently used listing is last.
    recent: VecDeque<Arc<Listing>>,
}

impl Listings {
    pub(super) fn get(&mut self, number: u64) -> Option<Arc<Listing>> {
        self.take(|listing| listing.number == number)
    }

    /// Returns a listing for this. A filter that asks for decisions may find other groups now, so its
    /// listing is made again.
    pub(super) fn find(&mut self, wanted: &Wanted) -> Option<Arc<Listing>> {
        match wanted {
            Wanted::Groups(filter, _) if filter.asks_decisions() => None,
            wanted => self.take(|listing| listing.wanted == *wanted),
        }
    }

    pub(super) fn add(&mut self, wanted: Wanted, order: Vec<u32>) -> Arc<Listing> {
        self.next += 1;
        let listing = Arc::new(Listing { number: self.next, wanted, order });
        if self.recent.len() >= MOST {
            self.recent.pop_front();
        }
        self.recent.push_back(Arc::clone(&listing));
        listing
    }

    /// Forgets all listings. Numbers are not used again.
    pub(super) fn clear(&mut self) {
        self.recent.clear();
    }

    fn take(&mut self, is_it: impl Fn(&Listing) -> bool) -> Option<Arc<Listing>> {
        let at = self.recent.iter().position(|listing| is_it(listing))?;
        let listing = self.recent.remove(at)?;
        self.recent.push_back(Arc::clone(&listing));
        Some(listing)
    }
}

#[cfg(test)]
mod tests {
    use review::{Filter, Sort};

    use super::{Listings, MOST, Wanted};

    #[test]
    fn the_listings_that_were_used_last_are_kept() {
        let mut listings = Listings::default();
        let first = listings.add(Wanted::Sets("0".into()), vec![7]).number;
        let second = listings.add(Wanted::Sets("1".into()), Vec::new()).number;
        for text in 2..MOST {
            listings.add(Wanted::Sets(text.to_string()), Vec::new());
        }
        assert_eq!(listings.get(first).expect("kept").order, [7]);
        listings.add(Wanted::Sets("more".into()), Vec::new());
        assert!(listings.get(first).is_some() && listings.get(second).is_none());
        assert_eq!(listings.find(&Wanted::Sets("0".into())).expect("kept").number, first);
    }

    #[test]
    fn a_filter_for_decisions_is_evaluated_again() {
        let mut listings = Listings::default();
        for (text, is_kept) in [("is:undecided", false), ("size:>1k", true)] {
            let wanted = Wanted::Groups(Filter::parse(text).expect("a filter"), Sort::Size);
            let number = listings.add(wanted.clone(), Vec::new()).number;
            assert_eq!(listings.find(&wanted).is_some(), is_kept, "{text}");
            assert!(listings.get(number).is_some(), "rows of {text} can still be loaded");
        }
    }
}
