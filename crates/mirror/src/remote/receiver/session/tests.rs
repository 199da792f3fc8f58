//! Tests of the limits on messages about directories.

use std::fs::File;
use std::sync::Arc;

use wire::{ConnectionError, Loss, Outgoing};

use super::{BufferSpace, DirLoss, DirMessage, MAX_DIRS, NextStep, Session};
use crate::model::dir_node::DirNode;

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
