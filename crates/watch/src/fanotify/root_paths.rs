//! Notices when a process renames or removes a root, or a directory above one.
//!
//! While a root has another name, its directories seem to be outside of the roots, so the watcher does not note their
//! changes. If another directory takes the place of a root, it may even have the same inode number. An event of such a
//! change contains the handle of the parent directory and a name in it. The watcher therefore keeps the handle of the
//! parent of each component of the root paths.
//!
//! The watcher may read the handles before or after a change, and handles the event later. If several components have
//! changed meanwhile, the handle of the parent of the uppermost one is the same before and after the changes, so at
//! least its event has a known handle.

use std::ffi::CString;
use std::io;

use fsops::Dir;

use super::event::Inode;
use crate::area::{Areas, Means};
use crate::paths::open_dir;

/// A component of the path of a root.
#[derive(Debug)]
struct Component {
    /// `None` if the watcher cannot determine the parent. Any directory may then be the parent.
    parent: Option<Parent>,
    name: Vec<u8>,
    root: Vec<u8>,
}

/// A directory above a component, as events name it.
#[derive(Debug)]
struct Parent {
    /// The identity of the file system. `None` on btrfs, where events have the identity of the top-level subvolume.
    fsid: Option<u64>,
    /// The type of the handle.
    kind: i32,
    handle: Vec<u8>,
}

/// The components of the paths of all roots that are areas. `None` if the watcher has to read them first. A root inside
/// of another root needs none, because the notes of the other root contain these changes.
#[derive(Debug, Default)]
pub(super) struct RootPaths(Option<Vec<Component>>);

impl RootPaths {
    /// Forgets the components, because the directories on the paths may be different ones.
    pub(super) fn forget(&mut self) {
        self.0 = None;
    }

    /// Returns the roots whose paths contain a directory that was created, renamed or removed, and forgets the
    /// components if there are any. `dir` and `name` are its parent and its old or new name.
    pub(super) fn changed(&mut self, dir: Inode<'_>, name: &[u8], areas: &Areas) -> Vec<Vec<u8>> {
        let components = self.0.get_or_insert_with(|| all_components(areas));
        let has_changed = |component: &&Component| {
            component.name == name
                && component.parent.as_ref().is_none_or(|parent| parent.is_same(dir))
        };
        let roots: Vec<_> = components.iter().filter(has_changed).map(|c| c.root.clone()).collect();
        if !roots.is_empty() {
            self.forget();
        }
        roots
    }
}

impl Parent {
    fn of(dir: &Dir) -> io::Result<Parent> {
        let (kind, handle) = dir.handle()?;
        let volume = dir.volume()?;
        Ok(Parent { fsid: (!volume.is_btrfs()).then_some(volume.fsid), kind, handle })
    }

    fn is_same(&self, dir: Inode<'_>) -> bool {
        self.fsid.is_none_or(|fsid| fsid == dir.fsid)
            && self.kind == dir.kind
            && self.handle == dir.handle
    }
}

fn all_components(areas: &Areas) -> Vec<Component> {
    let watched = areas.list.iter().filter(|area| area.means == Means::Fanotify);
    let roots = watched.map(|area| &area.planned.path).filter(|path| areas.roots.contains(path));
    roots.flat_map(|root| components(root)).collect()
}

/// Returns the components of a path, from the uppermost down. If one of them cannot be opened, those below it have no
/// known parents.
fn components(root: &[u8]) -> Vec<Component> {
    let mut dir = open_dir(b"/").ok();
    let mut components = Vec::new();
    for name in root.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
        let parent = dir.as_ref().map(Parent::of);
        dir = dir.and_then(|dir| dir.open_child(&CString::new(name).ok()?).ok());
        // A file system without handles cannot be watched, so no event comes from it.
        let has_none = |error: &io::Error| error.raw_os_error() == Some(libc::EOPNOTSUPP);
        if !matches!(&parent, Some(Err(error)) if has_none(error)) {
            let (parent, name) = (parent.and_then(Result::ok), name.to_vec());
            components.push(Component { parent, name, root: root.to_vec() });
        }
    }
    components
}
