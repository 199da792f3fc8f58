//! The names of Windows directories, by generation and language.
//!
//! Up to Windows XP, the names on the disk are translated. Since Windows Vista, they are English in
//! every language, and the translated names are junctions. A lookup never follows a junction, so
//! the older names of profile directories are looked up on every system.

use crate::rule::variable::Variable;

/// Directories that contain the Windows system files.
pub(super) const WINDOWS: [&str; 2] = ["Windows", "WINNT"];

/// Directories with one subdirectory for each user, relative to the root of a system.
pub(super) const USERS: [&str; 3] = [
    "Users",
    "Documents and Settings",
    "Dokumente und Einstellungen", // German
];

/// Program directories since Windows Vista, and of older systems in English.
pub(super) const PROGRAMS: [&str; 3] =
    ["Program Files", "Program Files (x86)", "Program Files (Arm)"];

/// Program directories before Windows Vista, in other languages.
pub(super) const TRANSLATED_PROGRAMS: [&str; 8] = [
    "Programme",             // German
    "Archivos de programa",  // Spanish
    "Arquivos de programas", // Brazilian Portuguese
    "Programas",             // Portuguese
    "Programmi",             // Italian
    "Program",               // Swedish
    "Programmer",            // Danish
    "Programfiler",          // Norwegian
];

/// Translations of `Application Data`.
pub(super) const APPLICATION_DATA: [&str; 8] = [
    "Application Data",
    "Anwendungsdaten",      // German
    "Datos de programa",    // Spanish
    "Dados de aplicativos", // Brazilian Portuguese
    "Dati applicazioni",    // Italian
    "Dane aplikacji",       // Polish
    "Data aplikací",        // Czech
    "Programdata",          // Norwegian
];

/// Translations of `Local Settings`.
pub(super) const LOCAL_SETTINGS: [&str; 9] = [
    "Local Settings",
    "Lokale Einstellungen", // German
    "Configuración local",  // Spanish
    "Configurações locais", // Brazilian Portuguese
    "Impostazioni locali",  // Italian
    "Ustawienia lokalne",   // Polish
    "Lokala Inställningar", // Swedish
    "Lokale indstillinger", // Danish
    "Lokale innstillinger", // Norwegian
];

/// Directories of a profile since Windows Vista.
pub(super) const OF_PROFILE: [(Variable, &str); 8] = [
    (Variable::Roaming, "AppData/Roaming"),
    (Variable::Local, "AppData/Local"),
    (Variable::LocalLow, "AppData/LocalLow"),
    (Variable::Temp, "AppData/Local/Temp"),
    (Variable::InetCookies, "Cookies"),
    (Variable::Recent, "Recent"),
    (Variable::Recent, "Reciente"), // Spanish
    (Variable::Documents, "Documents"),
];

/// Names of the documents of a user before Windows Vista.
pub(super) const MY_DOCUMENTS: [&str; 9] = [
    "My Documents",
    "Eigene Dateien",  // German
    "Mis documentos",  // Spanish
    "Mes documents",   // French
    "Meus documentos", // Portuguese
    "Documenti",       // Italian
    "Moje dokumenty",  // Polish
    "Mina dokument",   // Swedish
    "Mijn documenten", // Dutch
];

/// Directories below `{local}`.
pub(super) const OF_LOCAL: [(Variable, &str); 3] = [
    (Variable::InetCache, "Microsoft/Windows/Temporary Internet Files"),
    (Variable::InetCache, "Microsoft/Windows/INetCache"),
    (Variable::InetCookies, "Microsoft/Windows/INetCookies"),
];

/// Directories below `{roaming}`.
pub(super) const OF_ROAMING: [(Variable, &str); 2] = [
    (Variable::InetCookies, "Microsoft/Windows/Cookies"),
    (Variable::Recent, "Microsoft/Windows/Recent"),
];

/// Directories below `Local Settings`.
pub(super) const OF_LOCAL_SETTINGS: [(Variable, &str); 2] =
    [(Variable::Temp, "Temp"), (Variable::InetCache, "Temporary Internet Files")];

/// Directories to which Windows redirects writes of old programs, below `{local}/VirtualStore`.
pub(super) const OF_VIRTUAL_STORE: [(Variable, &str); 4] = [
    (Variable::ProgramFiles, "Program Files"),
    (Variable::ProgramFiles, "Program Files (x86)"),
    (Variable::ProgramData, "ProgramData"),
    (Variable::Windows, "Windows"),
];

/// Folded names of directories beside the profiles that are not profiles.
pub(super) const SHARED: [&[u8]; 2] = [b"PUBLIC", b"ALL USERS"];

/// Folded names of service accounts beside the profiles (Windows XP).
pub(super) const SERVICES: [&[u8]; 2] = [b"LOCALSERVICE", b"NETWORKSERVICE"];

/// Folded names of templates for new profiles.
pub(super) const TEMPLATES: [&[u8]; 2] = [b"DEFAULT", b"DEFAULT USER"];
