//! Binds the directories of one Windows profile.
//!
//! Every directory that exists is bound. Its name can belong to any generation or language.

use super::binder::Binder;
use super::names;
use crate::rule::variable::Variable;

/// Binds the directories of the profile at `path`.
pub(super) fn bind(binder: &mut Binder<'_>, path: &[u8], index: usize) {
    let profile = Some(index);
    binder.bind(Variable::Profile, path, profile);
    for (variable, relative) in names::OF_PROFILE {
        binder.bind_folded(variable, path, relative, profile);
    }
    for name in names::MY_DOCUMENTS {
        binder.bind_folded(Variable::Documents, path, name, profile);
    }
    let mut roaming = binder.lookup.folded(path, "AppData/Roaming");
    let mut local = binder.lookup.folded(path, "AppData/Local");
    for name in names::APPLICATION_DATA {
        roaming.extend(binder.bind_folded(Variable::Roaming, path, name, profile));
    }
    for name in names::LOCAL_SETTINGS {
        for settings in binder.lookup.folded(path, name) {
            for data in names::APPLICATION_DATA {
                local.extend(binder.bind_folded(Variable::Local, &settings, data, profile));
            }
            for (variable, relative) in names::OF_LOCAL_SETTINGS {
                binder.bind_folded(variable, &settings, relative, profile);
            }
        }
    }
    for path in &roaming {
        for (variable, relative) in names::OF_ROAMING {
            binder.bind_folded(variable, path, relative, profile);
        }
    }
    for path in &local {
        bind_local(binder, path, index);
    }
}

fn bind_local(binder: &mut Binder<'_>, local: &[u8], index: usize) {
    for (variable, relative) in names::OF_LOCAL {
        binder.bind_folded(variable, local, relative, Some(index));
    }
    for store in binder.lookup.folded(local, "VirtualStore") {
        for (variable, relative) in names::OF_VIRTUAL_STORE {
            binder.bind_folded(variable, &store, relative, Some(index));
        }
    }
}
