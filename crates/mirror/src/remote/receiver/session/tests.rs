//! What a sender may say of directories, and how much.

use std::fs::File;
use std::sync::Arc;

use wire::{Broken, Loss, Outgoing};

use super::{Far, Lost, MOST_DIRS, Next, Room, Said};
use crate::model::dir_node::Node;

fn far() -> Arc<Far> {
    let nowhere = File::options().write(true).open("/dev/null").expect("there");
    Far::new(Arc::new(Outgoing::new(nowhere)))
}

#[test]
fn there_are_only_so_many_directories() {
    for is_lost in [false, true] {
        let far = far();
        for number in 0..2 * MOST_DIRS as u64 {
            if is_lost {
                far.lost(number, &Lost::Failed(Node::top()));
            } else {
                far.listed(number, Node::top());
            }
        }
        assert_eq!(far.dirs().expected.len(), MOST_DIRS);
        assert!(
            far.connection.is_broken() && matches!(far.connection.why(), Some(Broken::Nonsense(_)))
        );
    }
}

#[test]
fn nothing_comes_behind_the_end() {
    let far = far();
    let closed = || Said::Closed(Loss::Vanished, Room::default());
    assert!(matches!(far.heard(7, closed()), Ok(Next::Nothing)));
    assert!(matches!(far.heard(7, closed()), Err(Broken::Nonsense(_))));
    assert!(matches!(far.listed(7, Node::top()), Next::Close(_, Loss::Vanished)));
    assert!(far.dirs().expected.is_empty());
}
