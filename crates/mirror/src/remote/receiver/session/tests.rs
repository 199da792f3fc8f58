//! Tests of the limits on messages about directories.

use std::fs::File;
use std::sync::Arc;

use wire::{ConnectionError, Loss, Meta, Outgoing};

use super::{BufferSpace, DirLoss, DirMessage, MAX_DIRS, NextStep, Session, SourceDir};
use crate::engine::dest_listing::DestListing;
use crate::engine::dir_state::{DirState, DirTraits};
use crate::model::attributes::Attributes;
use crate::model::dir_node::DirNode;
use crate::remote::receiver::pending::stat_of;

fn session() -> Arc<Session> {
    let nowhere = File::options().write(true).open("/dev/null").expect("open /dev/null");
    Session::new(Arc::new(Outgoing::new(nowhere)))
}

#[test]
fn the_number_of_directories_is_bounded() {
    for is_lost in [false, true] {
        let session = session();
        for number in 0..2 * MAX_DIRS as u64 {
            if is_lost {
                session.dir_lost(number, &DirLoss::Failed(DirNode::top()));
            } else {
                session.dir_listed(number, DirNode::top());
            }
        }
        assert_eq!(session.dirs().expected.len(), MAX_DIRS);
        assert!(
            session.connection.is_broken()
                && matches!(session.connection.why(), Some(ConnectionError::ProtocolViolation(_)))
        );
    }
}

#[test]
fn messages_after_the_last_one_are_refused() {
    let session = session();
    let closed = || DirMessage::Closed(Loss::Vanished, BufferSpace::default());
    assert!(matches!(session.dir_message(7, closed()), Ok(NextStep::Wait)));
    assert!(matches!(session.dir_message(7, closed()), Err(ConnectionError::ProtocolViolation(_))));
    assert!(matches!(session.dir_listed(7, DirNode::top()), NextStep::Close(_, Loss::Vanished)));
    assert!(session.dirs().expected.is_empty());
}

/// A repeated message would remove the directory from the session before its last message arrives.
#[test]
fn a_directory_is_entered_once() {
    let (session, top) = (session(), DirNode::top());
    let entered = || {
        DirMessage::Entered(Box::new(SourceDir {
            stat: stat_of(&Meta::default()),
            attributes: Attributes::new(Vec::new(), false),
            is_listed: true,
            space: BufferSpace::default(),
        }))
    };
    session.dir_listed(0, Arc::clone(&top));
    assert!(matches!(session.dir_message(0, entered()), Ok(NextStep::Begin(_))));
    assert!(session.take_dir(0).is_some());
    let begun = DirState::new(top, DestListing::default(), DirTraits::default());
    assert!(session.dir_begun(0, &begun).is_empty());
    for repeated in [entered(), DirMessage::Closed(Loss::Vanished, BufferSpace::default())] {
        let refused = session.dir_message(0, repeated);
        assert!(matches!(refused, Err(ConnectionError::ProtocolViolation(_))), "{refused:?}");
    }
    let end = session.dir_message(0, DirMessage::End { whole: true });
    assert!(matches!(end, Ok(NextStep::Apply(..))), "{end:?}");
}
