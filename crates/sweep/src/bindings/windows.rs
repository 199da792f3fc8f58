//! Finds Windows systems and their profiles.
//!
//! This module recognises a directory with profiles by its name, and a profile by the registry hive
//! of its user. Service accounts are recognised by their paths.
//! `Windows.old` is a system of its own, so its profiles are never mixed with those of the system
//! beside it.
//!
//! The profile list in the `SOFTWARE` hive is not read, so a profile outside the usual directories
//! is not found. `docs/design/sweeping.md` gives the reasons.

use super::binder::Binder;
use super::lookup::joined;
use super::names;
use super::profile;
use crate::matcher::fold::fold;
use crate::rule::variable::Variable;

/// Binds the systems in the target and in every `Windows.old`. Returns true if the target contains
/// a system or a profile.
pub(super) fn bind(binder: &mut Binder<'_>) -> bool {
    let mut bases = vec![Vec::new()];
    let listing = binder.lookup.listing(b"");
    bases
        .extend(listing.dirs.iter().filter(|(name, _)| is_old(name)).map(|(_, name)| name.clone()));
    let found: Vec<bool> = bases.iter().map(|base| bind_base(binder, base)).collect();
    found.contains(&true)
}

/// Returns true for the folded names `WINDOWS.OLD`, `WINDOWS.OLD.000` and `WINDOWS.OLD(1)`.
fn is_old(folded: &[u8]) -> bool {
    folded
        .strip_prefix(b"WINDOWS.OLD")
        .is_some_and(|rest| rest.iter().all(|byte| byte.is_ascii_digit() || b".() ".contains(byte)))
}

/// The directories of one system.
struct Layout {
    /// The root of the system, relative to the target.
    base: Vec<u8>,
    /// Each `Windows` or `WINNT`.
    windows: Vec<Vec<u8>>,
    /// The directories that contain the profiles.
    users: Vec<Vec<u8>>,
    /// The profiles.
    profiles: Vec<Vec<u8>>,
}

fn bind_base(binder: &mut Binder<'_>, base: &[u8]) -> bool {
    let layout = layout(binder, base);
    let is_system = !layout.windows.is_empty() || !base.is_empty() && !layout.profiles.is_empty();
    if !is_system && layout.profiles.is_empty() {
        return false;
    }
    let system = is_system.then(|| {
        let name = name(binder, &layout);
        binder.add_system(base, name, false)
    });
    if is_system {
        bind_system(binder, &layout);
    }
    for users in &layout.users {
        bind_shared(binder, users);
    }
    for path in &layout.profiles {
        if let Some(index) = binder.add_profile(path, system) {
            profile::bind(binder, path, index);
        }
    }
    true
}

fn layout(binder: &mut Binder<'_>, base: &[u8]) -> Layout {
    let lookup = &mut binder.lookup;
    let mut windows = Vec::new();
    for name in names::WINDOWS {
        windows.extend(lookup.folded(base, name));
    }
    windows.retain(|path| !lookup.folded(path, "System32").is_empty());
    let mut users = Vec::new();
    for name in names::USERS {
        users.extend(lookup.folded(base, name));
    }
    for path in &windows {
        users.extend(lookup.folded(path, "Profiles"));
    }
    if base.is_empty() && windows.is_empty() && is_users(binder) {
        users.push(Vec::new());
    }
    let mut profiles = Vec::new();
    for path in &users {
        profiles.extend(profiles_in(binder, path));
    }
    for path in &windows {
        profiles.extend(service_profiles(binder, path));
    }
    profiles.sort();
    Layout { base: base.to_vec(), windows, users, profiles }
}

/// Returns true if the target itself is a directory such as `Users`.
fn is_users(binder: &mut Binder<'_>) -> bool {
    let listing = binder.lookup.listing(b"");
    let has = |names: &[&[u8]]| listing.dirs.iter().any(|(name, _)| names.contains(&&name[..]));
    has(&names::SHARED) && has(&names::TEMPLATES)
}

/// Returns the profiles in a directory such as `Users`.
fn profiles_in(binder: &mut Binder<'_>, users: &[u8]) -> Vec<Vec<u8>> {
    let listing = binder.lookup.listing(users);
    let mut profiles = Vec::new();
    for (folded, name) in &listing.dirs {
        let path = joined(users, name);
        let is_profile = !names::SHARED.contains(&&folded[..])
            && (binder.lookup.listing(&path).has_user_hive
                || names::SERVICES.contains(&&folded[..]));
        if is_profile {
            profiles.push(path);
        }
    }
    profiles
}

/// Returns the profiles of service accounts in the Windows directory.
fn service_profiles(binder: &mut Binder<'_>, windows: &[u8]) -> Vec<Vec<u8>> {
    let lookup = &mut binder.lookup;
    let mut profiles = Vec::new();
    for parent in lookup.folded(windows, "ServiceProfiles") {
        let listing = lookup.listing(&parent);
        profiles.extend(listing.dirs.iter().map(|(_, name)| joined(&parent, name)));
    }
    for system in ["System32", "SysWOW64"] {
        for path in lookup.folded(windows, system) {
            profiles.extend(lookup.exact_or_folded(&path, "config/systemprofile"));
        }
    }
    profiles
}

fn bind_system(binder: &mut Binder<'_>, layout: &Layout) {
    binder.bind(Variable::Drive, &layout.base, None);
    for path in &layout.windows {
        binder.bind(Variable::Windows, path, None);
        binder.bind_folded(Variable::Temp, path, "Temp", None);
    }
    for name in names::PROGRAMS {
        binder.bind_folded(Variable::ProgramFiles, &layout.base, name, None);
    }
    if !is_vista(binder, layout) {
        for name in names::TRANSLATED_PROGRAMS {
            binder.bind_folded(Variable::ProgramFiles, &layout.base, name, None);
        }
    }
    binder.bind_folded(Variable::ProgramData, &layout.base, "ProgramData", None);
    let is_nt4 = layout.users.iter().any(|path| ends_with_profiles(path));
    if is_nt4 {
        binder.bind_folded(Variable::Temp, &layout.base, "TEMP", None);
    }
}

/// Binds the directories that all users share, beside the profiles.
fn bind_shared(binder: &mut Binder<'_>, users: &[u8]) {
    for name in ["Public", "All Users"] {
        binder.bind_folded(Variable::Public, users, name, None);
    }
    for all in binder.lookup.folded(users, "All Users") {
        for name in names::APPLICATION_DATA {
            binder.bind_folded(Variable::ProgramData, &all, name, None);
        }
    }
}

/// Returns true if the system is Windows Vista or later, which does not translate names.
fn is_vista(binder: &mut Binder<'_>, layout: &Layout) -> bool {
    let lookup = &mut binder.lookup;
    !lookup.folded(&layout.base, "Users").is_empty()
        && (!lookup.folded(&layout.base, "ProgramData").is_empty()
            || layout.profiles.iter().any(|path| !lookup.folded(path, "AppData").is_empty()))
}

/// Returns true for `WINNT/Profiles`.
fn ends_with_profiles(path: &[u8]) -> bool {
    fold(path).is_some_and(|path| path.ends_with(b"/PROFILES"))
}

/// Returns the name to display. The version follows from directories that only some versions have.
fn name(binder: &mut Binder<'_>, layout: &Layout) -> String {
    let is_vista = is_vista(binder, layout);
    let lookup = &mut binder.lookup;
    let mut has = |name: &str| layout.windows.iter().any(|w| !lookup.folded(w, name).is_empty());
    let name = if is_vista {
        if has("SystemApps") {
            "Windows 10 or later"
        } else if has("ImmersiveControlPanel") {
            "Windows 8"
        } else {
            "Windows Vista or later"
        }
    } else if layout.users.iter().any(|path| ends_with_profiles(path)) {
        "Windows NT or 2000"
    } else if layout.windows.iter().any(|path| is_winnt(path)) {
        "Windows 2000"
    } else if layout.users.is_empty() {
        "Windows"
    } else {
        "Windows XP"
    };
    name.to_owned()
}

fn is_winnt(path: &[u8]) -> bool {
    fold(path).is_some_and(|path| path.ends_with(b"WINNT"))
}
