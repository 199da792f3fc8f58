//! Tests of waiting names, leaders and copies.

use fsops::FileKey;

use super::{GroupState, Leader, LinkGroups};
use crate::engine::batch::Batch;
use crate::engine::dest_listing::DestListing;
use crate::engine::dir_state::{DirState, DirTraits, SharedBatch, Waiter};
use crate::hardlinks::birth::Identity;
use crate::hardlinks::inode_set::InodeSet;
use crate::hardlinks::table::SourceInode;
use crate::model::dir_node::DirNode;

const KEY: SourceInode = SourceInode { device: 0, inode: 7 };

fn leader(identity: i64) -> Leader {
    Leader {
        node: DirNode::top(),
        name: c"first".to_owned(),
        inode: 70,
        identity: Identity(identity),
    }
}

fn made_known(links: &LinkGroups, identity: i64, left: u32) {
    let (leader, identity) = (leader(identity), Identity(identity));
    assert!(matches!(links.begin(KEY, identity), GroupState::Unknown));
    assert!(matches!(links.begin(KEY, identity), GroupState::InProgress));
    assert!(links.finish(KEY, &leader, left).is_empty());
}

#[test]
fn a_file_is_forgotten_after_its_last_name_or_when_its_number_is_reused() {
    let links = LinkGroups::default();
    made_known(&links, 1, 2);
    links.name_done(KEY);
    assert!(
        matches!(links.begin(KEY, Identity(1)), GroupState::Placed(leader) if leader.inode == 70)
    );
    // No other identity counts as the first one.
    for identity in 2..200_000 {
        made_known(&links, identity, 1);
        made_known(&links, 1, 1);
    }
    links.name_done(KEY);
    assert!(matches!(links.state(KEY), GroupState::Unknown));
}

#[test]
fn an_inode_is_a_copy_of_one_file_only() {
    let (links, claimed_inodes) = (LinkGroups::default(), InodeSet::default());
    let dest = |inode| FileKey { device: 1, inode };
    for _ in 0..2 {
        assert!(links.adopt_copy(KEY, dest(71), &claimed_inodes));
    }
    assert!(claimed_inodes.claim(dest(72)) && !links.adopt_copy(KEY, dest(72), &claimed_inodes));
    assert!(!links.adopt_copy(SourceInode { inode: 8, ..KEY }, dest(71), &claimed_inodes));
}

/// Returns a waiting name in an empty batch.
fn waiter() -> Waiter {
    let top = DirState::new(DirNode::top(), DestListing::default(), DirTraits::default());
    Waiter { shared: SharedBatch::new(&top, Batch::default()), index: 3 }
}

#[test]
fn names_wait_until_the_file_is_there_or_given_up() {
    let links = LinkGroups::default();
    assert!(links.wait(KEY, waiter()).is_some(), "nobody copies the file");
    for is_given_up in [false, true] {
        assert!(matches!(links.begin(KEY, Identity(1)), GroupState::Unknown));
        assert!(links.wait(KEY, waiter()).is_none() && links.wait(KEY, waiter()).is_none());
        assert_eq!(links.waiting(), 2);
        let waiters =
            if is_given_up { links.abandon(KEY) } else { links.finish(KEY, &leader(1), 0) };
        assert_eq!((waiters.len(), links.waiting()), (2, 0));
        assert!(matches!(links.state(KEY), GroupState::Unknown));
    }
}

#[test]
fn further_names_follow_the_leader_that_has_room() {
    let links = LinkGroups::default();
    made_known(&links, 1, 3);
    let second = Leader { name: c"second".to_owned(), inode: 80, ..leader(1) };
    links.set_leader(KEY, &second, leader(1).key());
    assert!(matches!(links.state(KEY), GroupState::Placed(leader) if leader.inode == 80));
    assert!(links.has_copies(KEY) && links.is_copy(KEY, leader(1).key()));
    for _ in 0..3 {
        links.name_done(KEY);
    }
    // A closed group takes no memory.
    assert!(matches!(links.state(KEY), GroupState::Unknown) && !links.has_copies(KEY));
}
