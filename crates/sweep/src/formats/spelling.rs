//! The spellings of Windows directories: environment variables, and the paths that the roles of
//! [`Variable`] have on each generation and language of Windows.
//!
//! For a path that a rule takes, [`taken`] replaces the beginning by a variable only if both have
//! the same role, so the rule takes nothing that plays another role. For an exclusion, [`kept`]
//! returns every spelling that the path may have, because too many exclusions are harmless.
//!
//! Sources: the Known Folders table of Microsoft, the shell folders of Windows XP, and the names
//! that localized versions of Windows XP use on disk.

use super::Dropped;
use crate::matcher::fold::fold;
use crate::rule::glob::Glob;
use crate::rule::pattern::{Base, Component, Pattern};
use crate::rule::variable::Variable;

/// Environment variables in lower case, and what they stand for.
const NAMES: &[(&str, Variable, &[&str])] = &[
    ("localappdata", Variable::Local, &[]),
    ("appdata", Variable::Roaming, &[]),
    ("programfiles", Variable::ProgramFiles, &[]),
    ("programfiles(x86)", Variable::ProgramFiles, &[]),
    ("programw6432", Variable::ProgramFiles, &[]),
    ("programdata", Variable::ProgramData, &[]),
    ("commonappdata", Variable::ProgramData, &[]),
    ("allusersprofile", Variable::ProgramData, &[]),
    ("userprofile", Variable::Profile, &[]),
    ("windir", Variable::Windows, &[]),
    ("systemroot", Variable::Windows, &[]),
    ("systemdrive", Variable::Drive, &[]),
    ("commonprogramfiles", Variable::ProgramFiles, &["Common Files"]),
    ("locallowappdata", Variable::LocalLow, &[]),
    ("localappdatalow", Variable::LocalLow, &[]),
    ("public", Variable::Public, &[]),
    ("documents", Variable::Documents, &[]),
    ("temp", Variable::Temp, &[]),
    ("tmp", Variable::Temp, &[]),
    ("desktop", Variable::Profile, &["Desktop"]),
    ("downloads", Variable::Profile, &["Downloads"]),
    ("music", Variable::Profile, &["Music"]),
    ("pictures", Variable::Profile, &["Pictures"]),
    ("video", Variable::Profile, &["Videos"]),
    ("videos", Variable::Profile, &["Videos"]),
];

/// Paths and the variables that play the same role. `*` is the wildcard for all users.
const PATHS: &[(Variable, &[&str], Variable)] = &[
    (Variable::Local, &["Microsoft", "Windows", "INetCache"], Variable::InetCache),
    (Variable::Local, &["Microsoft", "Windows", "INetCookies"], Variable::InetCookies),
    (Variable::Local, &["Microsoft", "Windows", "Temporary Internet Files"], Variable::InetCache),
    (Variable::Local, &["Temporary Internet Files"], Variable::InetCache),
    (Variable::Local, &["Application Data"], Variable::Local),
    (Variable::Roaming, &["Microsoft", "Windows", "Cookies"], Variable::InetCookies),
    (Variable::Roaming, &["Microsoft", "Windows", "Recent"], Variable::Recent),
    (Variable::Profile, &["AppData", "Local"], Variable::Local),
    (Variable::Profile, &["AppData", "LocalLow"], Variable::LocalLow),
    (Variable::Profile, &["AppData", "Roaming"], Variable::Roaming),
    (Variable::Profile, &["Application Data"], Variable::Roaming),
    (Variable::Profile, &["Anwendungsdaten"], Variable::Roaming),
    (Variable::Profile, &["Datos de programa"], Variable::Roaming),
    (Variable::Profile, &["Dados de aplicativos"], Variable::Roaming),
    (Variable::Profile, &["Dati applicazioni"], Variable::Roaming),
    (Variable::Profile, &["Dane aplikacji"], Variable::Roaming),
    (Variable::Profile, &["Local Settings", "Application Data"], Variable::Local),
    (Variable::Profile, &["Lokale Einstellungen", "Anwendungsdaten"], Variable::Local),
    (Variable::Profile, &["Configuración local", "Datos de programa"], Variable::Local),
    (Variable::Profile, &["Configurações locais", "Dados de aplicativos"], Variable::Local),
    (Variable::Profile, &["Impostazioni locali", "Dati applicazioni"], Variable::Local),
    (Variable::Profile, &["Ustawienia lokalne", "Dane aplikacji"], Variable::Local),
    (Variable::Profile, &["Lokala Inställningar", "Application Data"], Variable::Local),
    (Variable::Profile, &["Local Settings", "Temporary Internet Files"], Variable::InetCache),
    (Variable::Profile, &["Lokale Einstellungen", "Temporary Internet Files"], Variable::InetCache),
    (Variable::Profile, &["Cookies"], Variable::InetCookies),
    (Variable::Profile, &["Recent"], Variable::Recent),
    (Variable::Profile, &["Documents"], Variable::Documents),
    (Variable::Profile, &["My Documents"], Variable::Documents),
    (Variable::ProgramData, &["Application Data"], Variable::ProgramData),
    (Variable::ProgramData, &["Anwendungsdaten"], Variable::ProgramData),
    (Variable::Drive, &["ProgramData"], Variable::ProgramData),
    (Variable::Drive, &["Windows"], Variable::Windows),
    (Variable::Drive, &["WINNT"], Variable::Windows),
    (Variable::Drive, &["Program Files"], Variable::ProgramFiles),
    (Variable::Drive, &["Program Files (x86)"], Variable::ProgramFiles),
    (Variable::Drive, &["Programme"], Variable::ProgramFiles),
    (Variable::Drive, &["Archivos de programa"], Variable::ProgramFiles),
    (Variable::Drive, &["Users", "Public"], Variable::Public),
    (Variable::Drive, &["Users", "All Users"], Variable::ProgramData),
    (Variable::Drive, &["Users", "*"], Variable::Profile),
    (
        Variable::Drive,
        &["Documents and Settings", "All Users", "Application Data"],
        Variable::ProgramData,
    ),
    (
        Variable::Drive,
        &["Documents and Settings", "All Users", "Datos de programa"],
        Variable::ProgramData,
    ),
    (
        Variable::Drive,
        &["Dokumente und Einstellungen", "All Users", "Anwendungsdaten"],
        Variable::ProgramData,
    ),
    (Variable::Drive, &["Documents and Settings", "*"], Variable::Profile),
    (Variable::Drive, &["Dokumente und Einstellungen", "*"], Variable::Profile),
];

/// Paths of directories to which a variable is bound beside other directories. They become
/// canonical only in exclusions.
const COVERED: &[(Variable, &[&str], Variable)] = &[
    (Variable::Local, &["Temp"], Variable::Temp),
    (Variable::Windows, &["Temp"], Variable::Temp),
    (Variable::Profile, &["Local Settings", "Temp"], Variable::Temp),
    (Variable::Profile, &["Lokale Einstellungen", "Temp"], Variable::Temp),
];

/// Whether a path is one that a rule takes or one that it keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// The rule takes entries at the path.
    Taken,
    /// The rule keeps entries at the path.
    Kept,
}

/// Returns what an environment variable of Windows stands for: a variable, and components below it.
pub(super) fn environment(name: &str) -> Option<(Variable, &'static [&'static str])> {
    let found = NAMES.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name))?;
    Some((found.1, found.2))
}

/// Parses a name or a pattern for a name. Patterns cannot contain `{` or `}`. In an exclusion, each
/// of them becomes `?`, which keeps more.
pub(super) fn name(text: &str, for_use: Use) -> Result<Glob, Dropped> {
    if text.is_empty() || matches!(text, "." | "..") {
        return Err(Dropped::UnsafePath);
    }
    // Windows ignores dots and spaces at the end of a name, so the exclusion would match nothing.
    if for_use == Use::Kept && text.ends_with(['.', ' ']) {
        return Err(Dropped::UnsafePath);
    }
    let is_unsafe = |byte| {
        matches!(byte, 0..=31 | 127 | b'/' | b'\\' | b':' | b'%' | b'"' | b'<' | b'>' | b'|')
    };
    if text.bytes().any(is_unsafe) || !text.is_ascii() && text.chars().any(char::is_control) {
        return Err(Dropped::UnsafePath);
    }
    if !text.bytes().any(|byte| matches!(byte, b'{' | b'}')) {
        return Ok(Glob::new(text.as_bytes()));
    }
    match for_use {
        Use::Taken => Err(Dropped::Unsupported("braces in a name")),
        Use::Kept => Ok(Glob::new(text.replace(['{', '}'], "?").as_bytes())),
    }
}

/// Parses `%Variable%\directory\...`, without making it canonical. A backslash at the end is
/// ignored.
pub(super) fn written(path: &str, for_use: Use) -> Result<Pattern, Dropped> {
    let (word, rest) =
        path.strip_prefix('%').and_then(|rest| rest.split_once('%')).ok_or(Dropped::UnsafePath)?;
    let (mut variable, below) =
        environment(word).ok_or_else(|| Dropped::UnknownVariable(shown(word)))?;
    let rest = match rest.get(..3) {
        Some(low) if variable == Variable::Local && low.eq_ignore_ascii_case("low") => {
            variable = Variable::LocalLow;
            &rest[3..]
        }
        _ => rest,
    };
    let rest = rest.strip_suffix(['\\', '/']).unwrap_or(rest);
    let separators = rest.bytes().filter(|byte| matches!(byte, b'\\' | b'/')).count();
    // Callers append `**` and a name.
    let mut components = Vec::with_capacity(below.len() + separators + 2);
    components.extend(below.iter().map(|name| Component::Name(Glob::new(name.as_bytes()))));
    if !rest.is_empty() {
        let rest = rest.strip_prefix(['\\', '/']).ok_or(Dropped::UnsafePath)?;
        if let Some((_, second)) = rest.split_once('%') {
            let is_word = |word: &&str| word.bytes().all(|byte| byte.is_ascii_alphanumeric());
            let word = second.split_once('%').map(|(word, _)| word).filter(is_word);
            return Err(word.map_or(Dropped::UnsafePath, |w| Dropped::UnknownVariable(shown(w))));
        }
        for part in rest.split(['\\', '/']) {
            components.push(Component::Name(name(part, for_use)?));
        }
    }
    Ok(Pattern { base: Base::Variable(variable), components })
}

/// Returns the name of a variable for a message, shortened.
fn shown(word: &str) -> String {
    format!("%{}%", word.chars().take(40).collect::<String>())
}

/// Makes the path of a rule that takes entries canonical.
pub(super) fn taken(mut pattern: Pattern) -> Pattern {
    while let Some((len, variable)) = canonical_prefix(&pattern) {
        pattern.components.drain(..len);
        pattern.base = Base::Variable(variable);
    }
    pattern
}

/// Returns the length of the prefix that a variable stands for.
fn canonical_prefix(pattern: &Pattern) -> Option<(usize, Variable)> {
    let is_prefix = |row: &&(Variable, &[&str], Variable)| {
        Base::Variable(row.0) == pattern.base
            && row.1.len() <= pattern.components.len()
            && row.1.iter().zip(&pattern.components).all(|(known, part)| is_spelling(known, part))
    };
    PATHS.iter().find(is_prefix).map(|row| (row.1.len(), row.2))
}

/// Returns whether a component is the known name, in upper or lower case.
fn is_spelling(known: &str, component: &Component) -> bool {
    let Component::Name(glob) = component else { return false };
    if known.is_ascii() {
        return glob.text().eq_ignore_ascii_case(known.as_bytes());
    }
    glob.is_literal() && fold(glob.text()) == fold(known.as_bytes())
}

/// Returns every spelling of a path that a rule keeps: as written, and relative to each variable
/// that could contain the path.
pub(super) fn kept(pattern: Pattern) -> Vec<Pattern> {
    let mut all = vec![pattern];
    let mut next = 0;
    while let Some(pattern) = all.get(next) {
        let found: Vec<Pattern> = PATHS
            .iter()
            .chain(COVERED)
            .filter(|row| Base::Variable(row.0) == pattern.base)
            .filter(|row| row.1.len() <= pattern.components.len())
            .filter(|row| {
                row.1.iter().zip(&pattern.components).all(|(known, part)| may_be(known, part))
            })
            .map(|row| Pattern {
                base: Base::Variable(row.2),
                components: pattern.components[row.1.len()..].to_vec(),
            })
            .collect();
        for pattern in found {
            if !all.contains(&pattern) {
                all.push(pattern);
            }
        }
        next += 1;
    }
    all
}

/// Returns whether a component may stand for the known name.
fn may_be(known: &str, component: &Component) -> bool {
    match component {
        Component::AnyDepth => true,
        Component::Name(glob) => glob.folded().may_overlap(&Glob::new(known.as_bytes()).folded()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Use, kept, taken, written};
    use crate::formats::Dropped;

    fn canonical(path: &str) -> String {
        taken(written(path, Use::Taken).expect(path)).to_string()
    }

    #[test]
    fn every_spelling_of_a_directory_becomes_its_variable() {
        for (path, expected) in [
            (r"%LocalAppData%\A B\c*", "{local}/A B/c*"),
            (r"%localappdata%\A\", "{local}/A"),
            (r"%LOCALAPPDATA%Low\A", "{locallow}/A"),
            (r"%UserProfile%\AppData\Local\A", "{local}/A"),
            (r"%UserProfile%\appdata\ROAMING\A", "{roaming}/A"),
            (r"%UserProfile%\AppData\LocalLow\A", "{locallow}/A"),
            (r"%UserProfile%\Local Settings\Application Data\A", "{local}/A"),
            (r"%UserProfile%\Lokale Einstellungen\Anwendungsdaten\A", "{local}/A"),
            (r"%UserProfile%\CONFIGURACIÓN LOCAL\Datos de programa\A", "{local}/A"),
            (r"%UserProfile%\Anwendungsdaten\A", "{roaming}/A"),
            (r"%SystemDrive%\Users\*\AppData\Local\A", "{local}/A"),
            (r"%SystemDrive%\Documents and Settings\*\Application Data\A", "{roaming}/A"),
            (
                r"%SystemDrive%\Documents and Settings\All Users\Application Data\A",
                "{programdata}/A",
            ),
            (r"%AllUsersProfile%\Application Data\A", "{programdata}/A"),
            (r"%SystemDrive%\Program Files (x86)\A", "{programfiles}/A"),
            (r"%SystemDrive%\WINDOWS\A", "{windows}/A"),
            (r"%SystemDrive%\Users\Public\A", "{public}/A"),
            (r"%CommonProgramFiles%\A", "{programfiles}/Common Files/A"),
            (r"%Pictures%\A", "{profile}/Pictures/A"),
            (r"%LocalAppData%\Microsoft\Windows\INetCache\IE", "{inetcache}/IE"),
            (r"%UserProfile%\Local Settings\Temporary Internet Files", "{inetcache}"),
            (r"%UserProfile%\Cookies", "{inetcookies}"),
            (r"%AppData%\Microsoft\Windows\Recent", "{recent}"),
            (r"%UserProfile%\My Documents\A", "{documents}/A"),
            (r"%Temp%", "{temp}"),
        ] {
            assert_eq!(canonical(path), expected, "{path}");
        }
    }

    #[test]
    fn paths_that_a_variable_only_covers_stay_as_written() {
        for (path, expected) in [
            (r"%WinDir%\Temp\A", "{windows}/Temp/A"),
            (r"%UserProfile%\AppData\Local\Temp\A", "{local}/Temp/A"),
            (
                r"%LocalAppData%\VirtualStore\Program Files\A",
                "{local}/VirtualStore/Program Files/A",
            ),
            (
                r"%SystemDrive%\Users\Somebody\AppData\Local\A",
                "{drive}/Users/Somebody/AppData/Local/A",
            ),
            (r"%SystemDrive%\Program Files*\A", "{drive}/Program Files*/A"),
            (r"%UserProfile%\AppData\*\A", "{profile}/AppData/*/A"),
        ] {
            assert_eq!(canonical(path), expected, "{path}");
        }
    }

    #[test]
    fn an_exclusion_has_every_spelling_that_its_path_may_have() {
        let all = |path: &str| -> Vec<String> {
            kept(written(path, Use::Kept).expect(path)).iter().map(ToString::to_string).collect()
        };
        assert_eq!(all(r"%LocalAppData%\A"), ["{local}/A"]);
        assert_eq!(
            all(r"%UserProfile%\AppData\Local\Temp\a"),
            ["{profile}/AppData/Local/Temp/a", "{local}/Temp/a", "{temp}/a"]
        );
        assert!(all(r"%LocalAppData%\Micro*\*\INetCache\a").contains(&"{inetcache}/a".to_string()));
        assert!(all(r"%SystemDrive%\*\*\*\*\*\*\*\*").len() < 200);
    }

    #[test]
    fn paths_that_could_lead_elsewhere_are_refused() {
        for path in [
            "",
            "a",
            r"\a",
            r"C:\a",
            r"\\host\share",
            r"%LocalAppData%\..\a",
            r"%LocalAppData%\.\a",
            r"%LocalAppData%a",
            r"%LocalAppData%\\a",
            r"%LocalAppData%\a:b",
            r"%LocalAppData%\a%\b",
            "%LocalAppData%\\a\u{1}",
            "%LocalAppData%\\a\u{85}",
            r"%LocalAppData",
            r"%LocalAppData%\\",
        ] {
            assert_eq!(written(path, Use::Taken), Err(Dropped::UnsafePath), "{path}");
        }
        for path in [r"%Nope%\a", r"%LocalAppData%\%UserName%", "%%"] {
            let result = written(path, Use::Taken);
            assert!(matches!(result, Err(Dropped::UnknownVariable(_))), "{path}: {result:?}");
        }
    }

    #[test]
    fn braces_are_refused_in_takes_and_widened_in_exclusions() {
        let path = r"%ProgramData%\{A}";
        assert!(matches!(written(path, Use::Taken), Err(Dropped::Unsupported(_))));
        assert_eq!(written(path, Use::Kept).expect(path).to_string(), "{programdata}/?A?");
    }
}
