//! Entries that no rule takes.
//!
//! Guard 3 refuses rules that could take protected entries. In addition, the walk keeps protected
//! entries inside of directories that a rule takes.

use crate::rule::glob::Glob;
use crate::rule::pattern::{Base, Component, Pattern, components};
use crate::rule::variable::Variable;

/// Which entries a protected path protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The entry itself and its ancestors.
    Itself,
    /// The entry itself, its ancestors, and everything below it.
    Below,
}

use Extent::{Below, Itself};

/// Protected paths below variables. The components are literal or globs, without `**`.
pub(crate) const PATHS: &[(Variable, &str, Extent)] = &[
    (Variable::Drive, "Boot", Below),
    (Variable::Drive, "EFI", Below),
    (Variable::Drive, "bootmgr", Itself),
    (Variable::Drive, "boot.ini", Itself),
    (Variable::Drive, "ntldr", Itself),
    (Variable::Drive, "hiberfil.sys", Itself),
    (Variable::Drive, "pagefile.sys", Itself),
    (Variable::Drive, "swapfile.sys", Itself),
    (Variable::Drive, "Recovery", Below),
    (Variable::Drive, "System Volume Information", Below),
    (Variable::Windows, "System32", Itself),
    (Variable::Windows, "System32/config", Below),
    (Variable::Windows, "System32/drivers", Below),
    (Variable::Windows, "SysWOW64", Itself),
    (Variable::Windows, "WinSxS", Itself),
    (Variable::Windows, "assembly", Itself),
    (Variable::Windows, "Boot", Below),
    (Variable::Windows, "Fonts", Below),
    (Variable::Windows, "Installer", Below),
    (Variable::Windows, "Media", Below),
    (Variable::Windows, "Web", Below),
    (Variable::Documents, "", Below),
    (Variable::Top, ".ssh", Below),
    (Variable::Top, ".gnupg", Below),
    (Variable::Root, "bin", Below),
    (Variable::Root, "boot", Below),
    (Variable::Root, "dev", Below),
    (Variable::Root, "etc", Below),
    (Variable::Root, "lib*", Below),
    (Variable::Root, "opt", Itself),
    (Variable::Root, "proc", Below),
    (Variable::Root, "sbin", Below),
    (Variable::Root, "srv", Below),
    (Variable::Root, "sys", Below),
    (Variable::Root, "usr", Below),
    (Variable::Root, "var", Itself),
    (Variable::Root, "var/lib", Itself),
    (Variable::Root, "var/mail", Below),
    (Variable::Root, "var/spool", Itself),
    (Variable::Root, "System", Below),
    (Variable::Root, "Applications", Below),
    (Variable::Library, "Keychains", Below),
    (Variable::Library, "Mail", Below),
    (Variable::Library, "Messages", Below),
    (Variable::Library, "Mobile Documents", Below),
    (Variable::Library, "Preferences", Below),
];

/// The directories of a user that hold the user's own files, with everything below them.
pub(crate) const USER_DIRS: &[&str] = &[
    "Documents",
    "My Documents",
    "Eigene Dateien",
    "Desktop",
    "Downloads",
    "Pictures",
    "My Pictures",
    "Music",
    "My Music",
    "Movies",
    "Videos",
    "My Videos",
    "Public",
    "Favorites",
    "Contacts",
    "Saved Games",
    "OneDrive*",
    "Dropbox*",
    "Nextcloud*",
    "Google Drive*",
    "iCloudDrive*",
    ".ssh",
    ".gnupg",
];

/// The variables whose directories contain [`USER_DIRS`].
pub(crate) const USER_BASES: &[Variable] = &[Variable::Profile, Variable::Home, Variable::Public];

/// Names that are protected wherever they are.
pub(crate) const NAMES: &[&str] = &[
    "NTUSER.*",
    "UsrClass.dat*",
    "*.blf",
    "*.regtrans-ms",
    "*.pst",
    "*.ost",
    "*.kdbx",
    "desktop.ini",
    ".ssh",
    ".gnupg",
    ".git",
];

/// Names that browsers give to files and directories with the user's data. They are protected below
/// [`BROWSER_BASES`].
pub(crate) const BROWSER_NAMES: &[&str] = &[
    "Bookmarks",
    "Bookmarks.bak",
    "Cookies",
    "Cookies-journal",
    "Extension State",
    "History",
    "History-journal",
    "IndexedDB",
    "Local Extension Settings",
    "Local Storage",
    "Login Data*",
    "Preferences",
    "Secure Preferences",
    "Session Storage",
    "Sessions",
    "Web Data*",
    "bookmarkbackups",
    "cert9.db",
    "cookies.sqlite*",
    "extensions",
    "favicons.sqlite*",
    "formhistory.sqlite*",
    "key3.db",
    "key4.db",
    "logins.json",
    "places.sqlite*",
    "prefs.js",
    "sessionstore*",
];

/// The variables below which browsers store the user's data.
pub(crate) const BROWSER_BASES: &[Variable] = &[
    Variable::Roaming,
    Variable::Local,
    Variable::Config,
    Variable::Data,
    Variable::Library,
    Variable::Cache,
];

/// Names of directories for the user's media and saved games. A rule that names one is refused.
pub(crate) const MEDIA_DIRS: &[&str] = &[
    "documents",
    "music",
    "photos",
    "pictures",
    "recordings",
    "save",
    "saved games",
    "savegames",
    "saves",
    "screenshots",
    "videos",
];

/// Endings of program files. A rule for files of Windows and of installed programs is refused if
/// its pattern has one of these endings.
pub(crate) const PROGRAM_ENDINGS: &[&str] =
    &[".com", ".cpl", ".dll", ".drv", ".exe", ".ocx", ".scr", ".sys"];

/// Variables whose directories a rule may empty. The directories themselves stay.
pub(crate) const EMPTIABLE: &[Variable] = &[
    Variable::Temp,
    Variable::InetCache,
    Variable::InetCookies,
    Variable::Recent,
    Variable::Cache,
];

/// Returns the patterns of entries that the walk keeps.
pub(crate) fn runtime_patterns() -> Vec<Pattern> {
    let anywhere = Base::Anywhere;
    let name = |name: &&str| Component::Name(Glob::new(name.as_bytes()));
    let mut all: Vec<Pattern> = NAMES
        .iter()
        .map(|text| Pattern { base: anywhere, components: vec![name(text), Component::AnyDepth] })
        .collect();
    for &variable in BROWSER_BASES {
        let base = Base::Variable(variable);
        all.extend(BROWSER_NAMES.iter().map(|text| Pattern {
            base,
            components: vec![Component::AnyDepth, name(text), Component::AnyDepth],
        }));
    }
    for (base, path, _) in paths() {
        all.push(Pattern { base: Base::Variable(base), components: path });
    }
    all
}

/// Returns all protected paths.
pub(crate) fn paths() -> impl Iterator<Item = (Variable, Vec<Component>, Extent)> {
    let of_users =
        USER_BASES.iter().flat_map(|&base| USER_DIRS.iter().map(move |&path| (base, path, Below)));
    PATHS.iter().copied().chain(of_users).map(|(base, path, extent)| {
        let parsed = if path.is_empty() { Ok(Vec::new()) } else { components(path) };
        (base, parsed.expect("a path of the table is well formed"), extent)
    })
}

#[cfg(test)]
mod tests {
    use super::runtime_patterns;

    #[test]
    fn all_paths_of_the_tables_are_well_formed() {
        assert!(runtime_patterns().len() > 100);
    }
}
