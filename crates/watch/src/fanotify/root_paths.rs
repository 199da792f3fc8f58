//! Notices when a process renames or removes a root, or a directory above one.
//!
//! While a root has another name, its directories seem to be outside of the roots, so the watcher does not note their
//! changes. If another directory takes the place of a root, it may even have the same inode number. An event of such a
//! change contains the handle of the parent directory and a name in it. The watcher therefore keeps the handle of the
//! parent of each component of the root paths.
//!
//! The watcher may read the handles before or after a change, and handles the event later. If several components have
//! changed meanwhile, the handle of the parent of the uppermost one is the same before and after the changes, so at least
//! its event has a known handle.

use std::ffi::CString;

use fsops::Dir;

use super::event::Inode;
use crate::area::{Areas, Means};
use crate::paths::as_path;

/// A component of the path of a root.
#[derive(Debug)]
struct Component {
    /// The type and the bytes of the handle of its parent, or `None` if the watcher cannot determine the handle.
    dir: Option<(i32, Vec<u8>)>,
    name: Vec<u8>,
    root: Vec<u8>,
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
    /// components if there are any. `dir` and `name` are its parent and its old or new name. File systems are not
    /// compared, so in rare cases, this function returns a root whose path has not changed.
    pub(super) fn changed(&mut self, dir: Inode<'_>, name: &[u8], areas: &Areas) -> Vec<Vec<u8>> {
        let components = self.0.get_or_insert_with(|| all_components(areas));
        let is_same = |component: &&Component| {
            let is_parent =
                |(kind, handle): &(i32, Vec<u8>)| *kind == dir.kind && handle == dir.handle;
            component.name == name && component.dir.as_ref().is_none_or(is_parent)
        };
        let roots: Vec<_> = components.iter().filter(is_same).map(|c| c.root.clone()).collect();
        if !roots.is_empty() {
            self.forget();
        }
        roots
    }
}

fn all_components(areas: &Areas) -> Vec<Component> {
    let watched = areas.list.iter().filter(|area| area.means == Means::Fanotify);
    let roots = watched.map(|area| &area.planned.path).filter(|path| areas.roots.contains(path));
    roots.flat_map(|root| components(root)).collect()
}

/// Returns the components of a path, from the uppermost down. If one of them is not a directory, those below it have no
/// handles.
fn components(root: &[u8]) -> Vec<Component> {
    let mut dir = Dir::open(as_path(b"/")).ok();
    let names = root.split(|&byte| byte == b'/').filter(|name| !name.is_empty());
    let component = |name: &[u8]| {
        let parent = dir.take();
        let handle = parent.as_ref().and_then(|parent| parent.handle().ok());
        dir = parent.and_then(|parent| parent.open_child(&CString::new(name).ok()?).ok());
        Component { dir: handle, name: name.to_vec(), root: root.to_vec() }
    };
    names.map(component).collect()
}
