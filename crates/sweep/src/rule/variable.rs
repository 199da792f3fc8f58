//! The variables of rules.
//!
//! A variable names the role of a directory, which has different names on different disks. A
//! [`Rule`](crate::rule::Rule) contains only these variables: the readers of rule files replace the
//! names of a system generation, a language or another rule format.

use std::fmt;

/// The role of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Variable {
    /// The target itself.
    Top,
    /// The root of each Windows system: the directory that contains `Windows` and the profiles.
    /// Each `Windows.old` is one too.
    Drive,
    /// `Windows` or `WINNT`.
    Windows,
    /// `Program Files` and `Program Files (x86)`.
    ProgramFiles,
    /// `ProgramData`, or `All Users\Application Data` on Windows XP.
    ProgramData,
    /// The home directory of each Windows user, including service accounts.
    Profile,
    /// `Users\Public`, or `All Users` on Windows XP.
    Public,
    /// `AppData\Roaming` of each profile.
    Roaming,
    /// `AppData\Local` of each profile.
    Local,
    /// `AppData\LocalLow` of each profile.
    LocalLow,
    /// The cache of Internet Explorer (`INetCache`, `Temporary Internet Files`) of each profile.
    InetCache,
    /// The cookies of Internet Explorer of each profile.
    InetCookies,
    /// The shortcuts to recent documents of each profile.
    Recent,
    /// `Documents` of each profile.
    Documents,
    /// The directories for temporary files: of each profile, of Windows, and `/tmp` and `/var/tmp`
    /// of each Unix system.
    Temp,
    /// The root of each Unix system.
    Root,
    /// The home directory of each user, on every kind of system.
    Home,
    /// `~/.cache`, or `~/Library/Caches` on macOS.
    Cache,
    /// `~/.config`, on macOS too.
    Config,
    /// `~/.local/share`, or `~/Library/Application Support` on macOS.
    Data,
    /// `~/Library` on macOS.
    Library,
}

impl Variable {
    /// Every variable.
    pub const ALL: [Variable; 21] = [
        Variable::Top,
        Variable::Drive,
        Variable::Windows,
        Variable::ProgramFiles,
        Variable::ProgramData,
        Variable::Profile,
        Variable::Public,
        Variable::Roaming,
        Variable::Local,
        Variable::LocalLow,
        Variable::InetCache,
        Variable::InetCookies,
        Variable::Recent,
        Variable::Documents,
        Variable::Temp,
        Variable::Root,
        Variable::Home,
        Variable::Cache,
        Variable::Config,
        Variable::Data,
        Variable::Library,
    ];

    /// Returns the name in rule files, without braces.
    pub fn word(self) -> &'static str {
        match self {
            Variable::Top => "top",
            Variable::Drive => "drive",
            Variable::Windows => "windows",
            Variable::ProgramFiles => "programfiles",
            Variable::ProgramData => "programdata",
            Variable::Profile => "profile",
            Variable::Public => "public",
            Variable::Roaming => "roaming",
            Variable::Local => "local",
            Variable::LocalLow => "locallow",
            Variable::InetCache => "inetcache",
            Variable::InetCookies => "inetcookies",
            Variable::Recent => "recent",
            Variable::Documents => "documents",
            Variable::Temp => "temp",
            Variable::Root => "root",
            Variable::Home => "home",
            Variable::Cache => "cache",
            Variable::Config => "config",
            Variable::Data => "data",
            Variable::Library => "library",
        }
    }

    /// Returns the variable with this name.
    pub fn of_word(word: &str) -> Option<Variable> {
        Variable::ALL.into_iter().find(|variable| variable.word() == word)
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{}}}", self.word())
    }
}
