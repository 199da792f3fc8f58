//! Every kind of change is part of the next answer.

use testkit::{FileSystem, Mount, TreeBuilder, skipped};
use watch::Means;

use crate::running::{Running, covers};

#[test]
fn new_file_is_named() {
    for kind in FileSystem::ALL {
        let mount = match Mount::new(kind, 64 << 20) {
            Ok(mount) => mount,
            Err(reason) => {
                skipped(reason);
                continue;
            }
        };
        TreeBuilder::new().file("old", "x").make(mount.path());
        let running = Running::start(&[mount.path()]);
        assert_eq!(running.watched[0].means, Means::Fanotify);
        let position = running.position();
        TreeBuilder::new().file("new", "x").dir("dir").make(mount.path());
        let changes = running.changes(position).expect("known");
        assert!(covers(&changes, &mount.path().join("new"), None), "{changes:?}");
        assert!(covers(&changes, &mount.path().join("dir/x"), None), "{changes:?}");
        assert!(!covers(&changes, &mount.path().join("old"), None), "{changes:?}");
    }
}
