//! Writes rules in the formats of the tools.
//!
//! | function | tool |
//! |---|---|
//! | [`winapp2`] | `lop sweep` |
//! | [`lines`] | the script: one path glob per line, in the spelling of Windows XP |
//! | [`cleaner_ml`] | `BleachBit` |
//! | [`globs`] | a walk with the crate `globset` |
//! | [`find_script`] | `find` |
//!
//! The formats cannot express the same. Each function says what differs.

use std::path::Path;

use super::{Base, Key, Reach, RuleSet};

/// A rule file for lop with rules that match anywhere.
pub(crate) const ANYWHERE: &str = "\
format = 1
about = \"Files that match anywhere\"

[[rule]]
id = \"anywhere.thumbs\"
what = \"Thumbnails that file managers stored beside the pictures\"
risk = \"regenerates\"
tags = [\"thumbnails\"]
anywhere = [\"Thumbs.db\", \"ehthumbs.db\", \"ehthumbs_vista.db\"]
";

/// Returns the rules in the format of `winapp2.ini`.
pub(crate) fn winapp2(rules: &RuleSet) -> String {
    let mut text = String::from("; Rules for made disks. All programs are invented.\n");
    for entry in &rules.entries {
        text.push_str(&format!("\n[{} *]\nLangSecRef=3021\n", entry.name));
        if let Some((base, path)) = &entry.detect {
            text.push_str(&format!("DetectFile={}\\{path}\n", base.variable()));
        }
        text.push_str("Default=False\n");
        for (key, number) in entry.keys.iter().zip(1..) {
            let (dir, names) = (windows_path(key), key.names.join(";"));
            let option = match key.reach {
                Reach::Files => "",
                Reach::Below => "|RECURSE",
                Reach::Itself => "|REMOVESELF",
            };
            text.push_str(&format!("FileKey{number}={dir}|{names}{option}\n"));
        }
        if let Some((key, name)) = &entry.keep {
            let key = &entry.keys[*key];
            let kind = if key.reach == Reach::Files { "FILE" } else { "PATH" };
            text.push_str(&format!("ExcludeKey1={kind}|{}|{name}\n", windows_path(key)));
        }
        if entry.has_registry_key {
            text.push_str(&format!("RegKey1=HKCU\\Software\\{}|Recent\n", entry.name));
        }
    }
    text
}

fn windows_path(key: &Key) -> String {
    format!("{}\\{}", key.base.variable(), key.dir.join("\\"))
}

/// Returns the rules as path globs, one per line. The script rewrites them for later generations.
///
/// The script has no exclusions. A directory in its list stands for everything in it.
pub(crate) fn lines(rules: &RuleSet) -> String {
    let line =
        |key: &Key, glob: &str| format!("{}/{}{glob}\n", key.base.on_xp(), key.dir.join("/"));
    let of_key = |key: &Key| match key.reach {
        Reach::Itself => line(key, ""),
        _ if key.takes_all() => line(key, "/*"),
        Reach::Files => key.names.iter().map(|name| line(key, &format!("/{name}"))).collect(),
        Reach::Below => key.names.iter().map(|name| line(key, &format!("/**/{name}"))).collect(),
    };
    rules.keys().map(of_key).collect()
}

/// Returns the rules as a cleaner for the disk in `target`, whose path must not contain characters
/// that are special in globs or XML.
///
/// `BleachBit` walks each directory once for all patterns of a key. Exclusions become regular
/// expressions.
pub(crate) fn cleaner_ml(rules: &RuleSet, target: &Path) -> String {
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<cleaner id=\"made\">\n<label>Made</label>\n\
         <description>Rules for made disks</description>\n<option id=\"all\">\n\
         <label>All</label>\n<description>All rules</description>\n",
    );
    for entry in &rules.entries {
        for (at, key) in entry.keys.iter().enumerate() {
            let keep = entry.keep.as_ref().filter(|(kept, _)| *kept == at);
            let except = keep
                .map(|(_, name)| format!(" nregex=\"^{}$\"", name.replace('.', "\\.")))
                .unwrap_or_default();
            for base in key.base.paths() {
                let dir = format!("{}/{base}/{}", target.display(), key.dir.join("/"));
                let mut action = |search: &str, path: &str, filter: &str| {
                    text.push_str(&format!(
                        "<action command=\"delete\" search=\"{search}\" path=\"{path}\"{filter}\
                         {except}/>\n"
                    ));
                };
                match key.reach {
                    Reach::Itself => {
                        action("walk.all", &dir, "");
                        action("glob", &dir, "");
                    }
                    Reach::Below if key.takes_all() => action("walk.files", &dir, ""),
                    Reach::Below => {
                        let names: Vec<String> = key.names.iter().map(|name| regex(name)).collect();
                        action("walk.files", &dir, &format!(" regex=\"^({})$\"", names.join("|")));
                    }
                    Reach::Files => {
                        for name in &key.names {
                            let name = if key.takes_all() { "*" } else { name };
                            action("glob", &format!("{dir}/{name}"), " type=\"f\"");
                        }
                    }
                }
            }
        }
    }
    text.push_str("</option>\n</cleaner>\n");
    text
}

fn regex(glob: &str) -> String {
    glob.replace('.', "\\.").replace('*', ".*")
}

/// Returns the rules as globs for paths of Windows 10, one per line. There are no exclusions.
pub(crate) fn globs(rules: &RuleSet) -> String {
    let mut text = String::new();
    for key in rules.keys() {
        for base in key.base.paths() {
            for name in &key.names {
                let name = if key.takes_all() { "*" } else { name };
                let below = if key.reach == Reach::Files { "" } else { "**/" };
                text.push_str(&format!("{base}/{}/{below}{name}\n", key.dir.join("/")));
            }
        }
    }
    text
}

/// Returns a script that runs one `find` with a term for each pattern, in the directory of its
/// first argument. A wildcard of find also matches slashes, so patterns for files in a directory
/// match files below it too. There are no exclusions.
pub(crate) fn find_script(rules: &RuleSet) -> String {
    // The terms need more room than the kernel grants by default.
    let mut text = String::from("ulimit -s unlimited\nexec find \"$1\" -type f \\( -false \\\n");
    for key in rules.keys() {
        for base in key.base.paths() {
            let dir = format!("{base}/{}", key.dir.join("/"));
            let mut term = |path: String| {
                text.push_str(&format!("-o -path \"$1\"'/{dir}/{path}' \\\n"));
            };
            for name in &key.names {
                if key.takes_all() {
                    term("*".into());
                    continue;
                }
                term(name.clone());
                if key.reach == Reach::Below && !name.starts_with('*') {
                    term(format!("*/{name}"));
                }
            }
        }
    }
    text.push_str("\\)\n");
    text
}

impl Base {
    /// Returns the directories of the base on the made disk. `users` are the names of the profiles.
    pub(crate) fn directories(self, users: &[&str]) -> Vec<String> {
        let of_path = |path: &&str| match path.split_once('*') {
            Some((before, after)) => {
                users.iter().map(|user| format!("{before}{user}{after}")).collect()
            }
            None => vec![(*path).to_owned()],
        };
        self.paths().iter().flat_map(of_path).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{cleaner_ml, find_script, globs, lines, winapp2};
    use crate::rules::{Base, Entry, Key, Reach, RuleSet};
    use std::path::Path;

    fn rules() -> RuleSet {
        let key = |base, dir: &[&str], names: &[&str], reach| Key {
            base,
            dir: dir.iter().map(|&name| name.to_owned()).collect(),
            names: names.iter().map(|&name| name.to_owned()).collect(),
            reach,
        };
        let entry = Entry {
            name: "Balu 1".into(),
            detect: Some((Base::Local, "Balu".into())),
            keys: vec![
                key(Base::Local, &["Balu", "*", "Logs"], &["*.log", "a.txt"], Reach::Below),
                key(Base::ProgramFiles, &["Balu", "Temp"], &["*.*"], Reach::Files),
                key(Base::ProgramData, &["Balu"], &["*.*"], Reach::Itself),
            ],
            keep: Some((1, "settings.keep".into())),
            has_registry_key: true,
            is_installed: false,
        };
        RuleSet { entries: vec![entry] }
    }

    #[test]
    fn an_entry_becomes_a_section_of_winapp2() {
        let expected = "\
[Balu 1 *]
LangSecRef=3021
DetectFile=%LocalAppData%\\Balu
Default=False
FileKey1=%LocalAppData%\\Balu\\*\\Logs|*.log;a.txt|RECURSE
FileKey2=%ProgramFiles%\\Balu\\Temp|*.*
FileKey3=%ProgramData%\\Balu|*.*|REMOVESELF
ExcludeKey1=FILE|%ProgramFiles%\\Balu\\Temp|settings.keep
RegKey1=HKCU\\Software\\Balu 1|Recent
";
        assert!(winapp2(&rules()).ends_with(expected), "{}", winapp2(&rules()));
    }

    #[test]
    fn a_pattern_becomes_a_line_of_the_script() {
        let expected = "\
Documents and Settings/*/Local Settings/Application Data/Balu/*/Logs/**/*.log
Documents and Settings/*/Local Settings/Application Data/Balu/*/Logs/**/a.txt
Program Files/Balu/Temp/*
Documents and Settings/All Users/Application Data/Balu
";
        assert_eq!(lines(&rules()), expected);
    }

    #[test]
    fn a_pattern_becomes_a_glob_for_each_base() {
        let expected = "\
Users/*/AppData/Local/Balu/*/Logs/**/*.log
Users/*/AppData/Local/Balu/*/Logs/**/a.txt
Program Files/Balu/Temp/*
Program Files (x86)/Balu/Temp/*
ProgramData/Balu/**/*
";
        assert_eq!(globs(&rules()), expected);
    }

    #[test]
    fn peers_get_paths_of_windows_10() {
        let xml = cleaner_ml(&rules(), Path::new("/disk"));
        let below = "search=\"walk.files\" path=\"/disk/Users/*/AppData/Local/Balu/*/Logs\" \
                     regex=\"^(.*\\.log|a\\.txt)$\"";
        assert!(xml.contains(below), "{xml}");
        assert!(xml.contains("path=\"/disk/Program Files (x86)/Balu/Temp/*\" type=\"f\" nregex"));
        assert_eq!(xml.matches("<action").count(), 5, "{xml}");
        let script = find_script(&rules());
        assert!(script.contains("-o -path \"$1\"'/ProgramData/Balu/*'"), "{script}");
        assert_eq!(script.matches("-o ").count(), 6, "{script}");
    }
}
