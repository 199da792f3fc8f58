//! Typical layouts, against which each rule is checked when it is loaded.
//!
//! A rule must be safe on every layout, not only on the target at hand.

use fsops::FileKey;

use crate::bindings::{Binding, Bindings};
use crate::rule::variable::Variable;
use Variable as V;

const WINDOWS_10: &[(Variable, &str)] = &[
    (V::Top, ""),
    (V::Drive, ""),
    (V::Windows, "Windows"),
    (V::ProgramFiles, "Program Files"),
    (V::ProgramFiles, "Program Files (x86)"),
    (V::ProgramData, "ProgramData"),
    (V::Profile, "Users/user"),
    (V::Public, "Users/Public"),
    (V::Roaming, "Users/user/AppData/Roaming"),
    (V::Local, "Users/user/AppData/Local"),
    (V::LocalLow, "Users/user/AppData/LocalLow"),
    (V::InetCache, "Users/user/AppData/Local/Microsoft/Windows/INetCache"),
    (V::InetCookies, "Users/user/AppData/Local/Microsoft/Windows/INetCookies"),
    (V::Recent, "Users/user/AppData/Roaming/Microsoft/Windows/Recent"),
    (V::Documents, "Users/user/Documents"),
    (V::Temp, "Users/user/AppData/Local/Temp"),
    (V::Temp, "Windows/Temp"),
    (V::Home, "Users/user"),
    (V::Drive, "Windows.old"),
    (V::Windows, "Windows.old/Windows"),
    (V::ProgramFiles, "Windows.old/Program Files"),
    (V::ProgramData, "Windows.old/ProgramData"),
    (V::Profile, "Windows.old/Users/user"),
];

const WINDOWS_XP: &[(Variable, &str)] = &[
    (V::Top, ""),
    (V::Drive, ""),
    (V::Windows, "WINDOWS"),
    (V::ProgramFiles, "Program Files"),
    (V::ProgramData, "Documents and Settings/All Users/Application Data"),
    (V::Profile, "Documents and Settings/user"),
    (V::Public, "Documents and Settings/All Users"),
    (V::Roaming, "Documents and Settings/user/Application Data"),
    (V::Local, "Documents and Settings/user/Local Settings/Application Data"),
    (V::InetCache, "Documents and Settings/user/Local Settings/Temporary Internet Files"),
    (V::InetCookies, "Documents and Settings/user/Cookies"),
    (V::Recent, "Documents and Settings/user/Recent"),
    (V::Documents, "Documents and Settings/user/My Documents"),
    (V::Temp, "Documents and Settings/user/Local Settings/Temp"),
    (V::Home, "Documents and Settings/user"),
];

const LINUX: &[(Variable, &str)] = &[
    (V::Top, ""),
    (V::Root, ""),
    (V::Home, "home/user"),
    (V::Home, "root"),
    (V::Cache, "home/user/.cache"),
    (V::Config, "home/user/.config"),
    (V::Data, "home/user/.local/share"),
    (V::Temp, "tmp"),
    (V::Temp, "var/tmp"),
];

const MACOS: &[(Variable, &str)] = &[
    (V::Top, ""),
    (V::Root, ""),
    (V::Home, "Users/user"),
    (V::Library, "Users/user/Library"),
    (V::Cache, "Users/user/Library/Caches"),
    (V::Data, "Users/user/Library/Application Support"),
    (V::Temp, "private/tmp"),
];

/// Returns the typical layouts.
pub(crate) fn typical() -> impl Iterator<Item = Bindings> {
    [(WINDOWS_10, true), (WINDOWS_XP, true), (LINUX, false), (MACOS, false)].into_iter().map(
        |(table, folds)| {
            let bound = table.iter().map(|&(variable, path)| Binding {
                variable,
                path: path.into(),
                key: FileKey { device: 0, inode: 0 },
                profile: None,
            });
            Bindings { bound: bound.collect(), folds, ..Bindings::default() }
        },
    )
}
