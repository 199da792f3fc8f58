//! The programs of the races, with command lines that make them do the same work.
//!
//! Finders include hidden files, skip empty files, do not follow links, do not report hard links as
//! duplicates, use no cache and print only the groups. Copiers preserve hard links, holes, times,
//! ownership, ACLs and extended attributes, and delete extraneous entries. Deleters delete
//! everything.

mod entrants;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Failure;
use crate::record::{Role, Tool};
use crate::scenario::Work;

pub(crate) use entrants::{
    BARE_SCAN, BARE_WALK, BARE_WALK_WITH_STATX, DUCKDB, ENTRANTS, LOP_FLEET, LOP_FLEET_ANSWER,
    LOP_FLEET_SPARK, LOP_WITHOUT_NAMES, NGINX_COPY, NGINX_LIMIT, NGINX_SENDFILE, PURGE,
    STATIC_WEB_SERVER,
};

/// The origin of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// Built in this workspace.
    Here,
    /// A Debian package.
    Debian(&'static str),
    /// A crate on crates.io.
    Crate(&'static str),
    /// A package for Python.
    Python(&'static str),
}

/// The format in which a finder reports its groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// One path per line on standard output. Lines that are not absolute paths separate the groups.
    Lines,
    /// The result file of rdfind, with the group number in the second column and the path in the
    /// last.
    Rdfind,
    /// The JSON file of czkawka: sizes, each with a list of groups.
    Czkawka,
    /// No groups, because the work changes files.
    None,
}

/// A program with a command line.
#[derive(Debug)]
pub struct Entrant {
    /// The name in the tables.
    pub(crate) name: &'static str,
    /// The role of the program.
    pub(crate) role: Role,
    /// The work that the program does.
    pub(crate) work: Work,
    /// Its origin.
    pub(crate) source: Source,
    /// The command line. Placeholders stand for the parts that differ between runs: `DIR`, `SRC`,
    /// `DST`, `FILE` (a result or catalog, missing at the start), `EMPTY` (a directory), `RSH`
    /// (followed by a host), `RULES/NAME` (a rule file or a script), `CATALOG` (of the tree), `LIST`
    /// (of the files in the tree), `CONF/NAME` (a configuration of a server), `PORT`, `MASTER` (of a
    /// Spark cluster), and the programs `lop-bench`, `lop`, `lop-fleet` and `python`. A shell runs a
    /// command line that contains `&&`.
    command: &'static str,
    /// True if `FILE` is kept from the previous run.
    pub(crate) remembers: bool,
    version: &'static str,
    answer: Answer,
}

/// The values of the placeholders in a command line.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// `DIR` or `SRC`: the tree.
    pub(crate) tree: PathBuf,
    /// `DST`: the copy.
    pub(crate) copy: PathBuf,
    /// `FILE`.
    pub(crate) file: PathBuf,
    /// `EMPTY`.
    pub(crate) empty: PathBuf,
    /// `lop`, `lop-fleet` and `python`.
    pub(crate) programs: Programs,
    /// `RSH`: the command that connects to a host, or nothing.
    pub(crate) rsh: String,
    /// `RULES/...`: the directory of rule files.
    pub(crate) rules: PathBuf,
    /// `CATALOG`: a catalog of the tree that a race made before.
    pub(crate) catalog: PathBuf,
    /// `LIST`: the files of the tree, with what a finder must read of them.
    pub(crate) list: PathBuf,
    /// `CONF` and `CONF/...`: the directory of configurations of servers.
    pub(crate) conf: PathBuf,
    /// `PORT`: the port of a server.
    pub(crate) port: u16,
    /// `MASTER`: the URL of the master of a Spark cluster.
    pub(crate) master: String,
    /// The environment variables of the program, in addition to the usual ones.
    pub(crate) variables: Vec<(String, PathBuf)>,
}

/// The programs that are not found by their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// The binary of lop.
    pub lop: PathBuf,
    /// The binary of lop-fleet.
    pub lop_fleet: PathBuf,
    /// A Python interpreter with the packages of peers.
    pub python: PathBuf,
}

impl Programs {
    /// Returns the path of one of these programs.
    fn find(&self, name: &str) -> Option<&Path> {
        match name {
            "lop" => Some(&self.lop),
            "lop-fleet" => Some(&self.lop_fleet),
            "python" => Some(&self.python),
            _ => None,
        }
    }
}

/// The program of this crate.
const BENCH: &str = "lop-bench";

/// Returns the running program, or its name if the kernel does not know its path.
fn this() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| BENCH.into())
}

/// The prefix of paths on the host to which `RSH` connects.
const HOST: &str = "localhost:";

impl Places {
    fn fill(&self, word: &str) -> OsString {
        if let Some(path) = word.strip_prefix(HOST) {
            let mut place = OsString::from(HOST);
            place.push(self.fill(path));
            return place;
        }
        if let Some(name) = word.strip_prefix("RULES/") {
            return self.rules.join(name).into_os_string();
        }
        if let Some(name) = word.strip_prefix("CONF/") {
            return self.conf.join(name).into_os_string();
        }
        if let Some(host) = word.strip_suffix("PORT") {
            return format!("{host}{}", self.port).into();
        }
        let (stem, slash) = word.strip_suffix('/').map_or((word, ""), |stem| (stem, "/"));
        let place = match stem {
            "DIR" | "SRC" => &self.tree,
            "DST" => &self.copy,
            "FILE" => &self.file,
            "EMPTY" => &self.empty,
            "CATALOG" => &self.catalog,
            "LIST" => &self.list,
            "CONF" => &self.conf,
            BENCH => return this().into_os_string(),
            "RSH" => return OsString::from(&self.rsh),
            "MASTER" => return OsString::from(&self.master),
            name => match self.programs.find(name) {
                Some(program) => return program.into(),
                None => return OsString::from(word),
            },
        };
        let mut path = place.clone().into_os_string();
        path.push(slash);
        path
    }
}

/// Groups as sets of inode numbers, because tools report different names of the same file.
pub(crate) type Groups = BTreeSet<BTreeSet<u64>>;

impl Entrant {
    /// Returns the command line with its placeholders replaced.
    pub(crate) fn argv(&self, places: &Places) -> Vec<OsString> {
        if !self.command.contains("&&") {
            return self.command.split(' ').map(|word| places.fill(word)).collect();
        }
        // The shell receives the paths as arguments, so that it does not interpret characters in
        // them.
        let mut argv: Vec<OsString> = ["sh", "-c", "", "sh"].map(OsString::from).to_vec();
        let word = |word: &str| {
            let (stem, slash) = word.strip_suffix('/').map_or((word, ""), |stem| (stem, "/"));
            let place = places.fill(stem);
            if place == *stem {
                return word.to_owned();
            }
            argv.push(place);
            format!("\"${}\"{slash}", argv.len() - 4)
        };
        let script: Vec<String> = self.command.split(' ').map(word).collect();
        argv[2] = script.join(" ").into();
        argv
    }

    /// Returns the entry of the program in a record, if it is installed.
    pub(crate) fn tool(&self, programs: &Programs) -> Option<Tool> {
        let program = self.command.split(' ').next()?;
        let this = std::env::current_exe().ok()?;
        let program = match program {
            BENCH => &this,
            name => programs.find(name).unwrap_or(Path::new(name)),
        };
        let mut version = Command::new(program);
        match self.source {
            Source::Python(package) => {
                let script = format!("import {package}; print({package}.__version__)");
                version.args(["-c", &script]);
            }
            _ => drop(version.arg(self.version)),
        }
        let output = version.output().ok()?;
        if matches!(self.source, Source::Python(_)) && !output.status.success() {
            return None;
        }
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        let mut version = text.lines().find_map(version_in).unwrap_or("unknown").to_owned();
        let target = this.ancestors().nth(2)?;
        if self.source == Source::Here && program.starts_with(target) {
            version.push_str(&commit());
        }
        let (name, command) = (self.name.to_owned(), self.command.to_owned());
        Some(Tool { name, role: self.role, version, command })
    }

    /// Reads the reported groups as sets of inode numbers; `None` if the work reports none.
    ///
    /// # Errors
    ///
    /// The output has another format, or contains a path that does not exist.
    pub(crate) fn groups(&self, output: &Path, file: &Path) -> Result<Option<Groups>, Failure> {
        let source = if self.answer == Answer::Lines { output } else { file };
        let read = || {
            let bytes = std::fs::read(source).map_err(|e| Failure::at(source, e))?;
            String::from_utf8(bytes).map_err(|e| Failure::at(source, e))
        };
        let paths = match self.answer {
            Answer::None => return Ok(None),
            Answer::Lines => from_lines(&read()?),
            Answer::Rdfind => from_rdfind(&read()?),
            Answer::Czkawka => from_czkawka(&read()?).map_err(|e| Failure::at(source, e))?,
        };
        inodes(paths).map(Some)
    }
}

/// Returns the commands that install missing tools.
pub fn advice(missing: &[&Entrant]) -> Vec<String> {
    let mut packages = BTreeSet::new();
    let mut crates = BTreeSet::new();
    let mut python = BTreeSet::new();
    for entrant in missing {
        match entrant.source {
            Source::Debian(package) => drop(packages.insert(package)),
            Source::Crate(name) => drop(crates.insert(name)),
            Source::Python(package) => drop(python.insert(package)),
            Source::Here => {}
        }
    }
    let line = |command: &str, names: BTreeSet<&str>| {
        let names: Vec<&str> = names.into_iter().collect();
        (!names.is_empty()).then(|| format!("{command} {}", names.join(" ")))
    };
    let lines = [
        line("apt-get install", packages),
        line("cargo install --locked", crates),
        line("target/python/bin/pip install", python),
    ];
    lines.into_iter().flatten().collect()
}

/// Returns the commit of this repository as a suffix for a version.
fn commit() -> String {
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-C", env!("CARGO_MANIFEST_DIR")]).args(args).output().ok()
    };
    let Some(named) = git(&["rev-parse", "--short", "HEAD"]) else { return String::new() };
    let name = String::from_utf8_lossy(&named.stdout).trim().to_owned();
    // Only these paths affect the program under test. The results of a race are stored elsewhere.
    let sources = [":/crates", ":/fleet", ":/Cargo.toml", ":/Cargo.lock", ":/.cargo"];
    let changed = git(&[&["status", "--porcelain", "--"], &sources[..]].concat());
    let clean = changed.is_some_and(|changed| changed.stdout.is_empty());
    if name.is_empty() {
        return name;
    }
    if clean { format!(" ({name})") } else { format!(" ({name}, changed)") }
}

/// Returns the first word that looks like a version, also after a slash, as in `nginx/1.22.1`.
fn version_in(line: &str) -> Option<&str> {
    let numbered =
        |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    let after_slash = |word: &'_ str| word.rfind('/').map_or(0, |slash| slash + 1);
    line.split_whitespace().map(|word| &word[after_slash(word)..]).find(numbered)
}

fn from_lines(text: &str) -> Vec<Vec<String>> {
    let mut groups = vec![Vec::new()];
    for line in text.lines() {
        if line.starts_with('/') {
            groups.last_mut().expect("never empty").push(line.to_owned());
        } else {
            groups.push(Vec::new());
        }
    }
    groups
}

fn from_rdfind(text: &str) -> Vec<Vec<String>> {
    let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.splitn(8, ' ').collect();
        if let [_, group, .., path] = columns[..] {
            // rdfind negates the group number of duplicates.
            groups.entry(group.trim_start_matches('-')).or_default().push(path.to_owned());
        }
    }
    groups.into_values().collect()
}

fn from_czkawka(text: &str) -> serde_json::Result<Vec<Vec<String>>> {
    #[derive(serde::Deserialize)]
    struct Found {
        path: String,
    }
    let sizes: BTreeMap<String, Vec<Vec<Found>>> = serde_json::from_str(text)?;
    let paths = |group: Vec<Found>| group.into_iter().map(|found| found.path).collect();
    Ok(sizes.into_values().flatten().map(paths).collect())
}

/// Looks up the inode of every path. Several names of one inode are one file.
fn inodes(groups: Vec<Vec<String>>) -> Result<Groups, Failure> {
    let inode = |path: String| {
        let found = std::fs::symlink_metadata(&path);
        found.map(|metadata| metadata.ino()).map_err(|e| Failure::at(path.as_ref(), e))
    };
    let mut found = Groups::new();
    for group in groups {
        let group = group.into_iter().map(inode).collect::<Result<BTreeSet<_>, _>>()?;
        if group.len() > 1 {
            found.insert(group);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{
        ENTRANTS, Entrant, Places, Programs, Work, from_czkawka, from_lines, from_rdfind,
        version_in,
    };
    use std::path::PathBuf;

    #[test]
    fn groups_are_read_from_each_format() {
        let expected = [["/a b", "/c"], ["/d", "/e"]];
        let of = |groups: Vec<Vec<String>>| {
            groups.into_iter().filter(|group| !group.is_empty()).collect::<Vec<_>>()
        };
        assert_eq!(of(from_lines("\n/a b\n/c\n\n/d\n/e\n")), expected);
        let duff = "2 files in cluster 1 (4 bytes)\n/a b\n/c\n2 files in cluster 2\n/d\n/e\n";
        assert_eq!(of(from_lines(duff)), expected);
        let rdfind = "# a comment\nDUPTYPE_FIRST_OCCURRENCE 1 1 4 65024 7 3 /a b\n\
            DUPTYPE_WITHIN_SAME_TREE -1 1 4 65024 8 3 /c\n\
            DUPTYPE_FIRST_OCCURRENCE 2 1 4 65024 9 3 /d\nDUPTYPE_X -2 1 4 65024 10 3 /e\n";
        assert_eq!(of(from_rdfind(rdfind)), expected);
        let czkawka =
            r#"{"4":[[{"path":"/a b","size":4},{"path":"/c"}],[{"path":"/d"},{"path":"/e"}]]}"#;
        assert_eq!(of(from_czkawka(czkawka).expect("well-formed")), expected);
        assert!(from_czkawka("{\"4\":[[{\"path\":\"/a").is_err(), "cut off");
    }

    #[test]
    fn placeholders_are_replaced_and_the_rest_is_kept() {
        let places = Places {
            tree: PathBuf::from("/t"),
            copy: PathBuf::from("/c"),
            file: PathBuf::from("/f"),
            empty: PathBuf::from("/e"),
            programs: Programs {
                lop: PathBuf::from("/bin/lop"),
                lop_fleet: PathBuf::from("/bin/lop-fleet"),
                python: PathBuf::from("/python"),
            },
            rsh: "ssh -p 7".into(),
            rules: PathBuf::from("/rules"),
            catalog: PathBuf::from("/db"),
            list: PathBuf::from("/list"),
            conf: PathBuf::from("/conf"),
            port: 8080,
            master: "spark://m:1".into(),
            variables: Vec::new(),
        };
        let line = |name: &str, work| {
            let is = |entrant: &&Entrant| (entrant.name, entrant.work) == (name, work);
            let found = ENTRANTS.iter().find(is).expect("known");
            found.argv(&places).join(" ".as_ref()).into_string().expect("text")
        };
        assert_eq!(line("lop", Work::Find), "/bin/lop scan --no-catalog -q --format fdupes /t");
        let bare_scan = line("bare scan", Work::Find);
        assert!(bare_scan.ends_with(" bare-scan /t /list"), "{bare_scan}");
        let script = r#"rsync -a --delete "$1"/ "$2"/ && rmdir "$3""#;
        assert_eq!(line("rsync", Work::Delete), format!("sh -c {script} sh /e /t /t"));
        let script =
            r#"fclones -q group --hidden --no-ignore -o "$1" "$2" && fclones -q link < "$3""#;
        assert_eq!(line("fclones", Work::Link), format!("sh -c {script} sh /f /t /f"));
        assert_eq!(line("cp", Work::Mirror), "cp -a -T /t /c");
        let sweep = "/bin/lop sweep -q --list --rules /rules/all.ini /t";
        assert_eq!(line("lop", Work::Sweep), sweep);
        assert_eq!(line("lop", Work::Space), "/bin/lop space -q --catalog /db /t");
        let share = "/bin/lop share -q --public --listen 127.0.0.1:8080 /t";
        assert_eq!(line("lop", Work::Serve), share);
        let export = "/bin/lop export -q --catalog /db --host made /f";
        assert_eq!(line("lop", Work::Export), export);
        let on_spark = "/bin/lop-fleet --json report --engine spark://m:1 /t";
        assert_eq!(line("lop-fleet, Spark", Work::Spark), on_spark);
        let report = "/bin/lop-fleet --json report --memory 2G /t";
        assert_eq!(line("lop-fleet", Work::Fleet), report);
        assert_eq!(line("DuckDB", Work::Fleet), "/python -B /rules/groups.py /t /f");
        let lighttpd = "lighttpd -D -f /conf/lighttpd.conf";
        assert_eq!(line("lighttpd", Work::Serve), lighttpd);
        assert_eq!(line("rsync", Work::Push), "rsync -aHAXS -e ssh -p 7 /t/ localhost:/c/");
    }

    #[test]
    fn versions_are_found_in_the_output_of_programs() {
        assert_eq!(version_in("jdupes 1.21.3 (2023-02-09) 64-bit"), Some("1.21.3"));
        assert_eq!(version_in("This is rdfind version 1.5.0"), Some("1.5.0"));
        assert_eq!(version_in("nginx version: nginx/1.22.1"), Some("1.22.1"));
        assert_eq!(version_in("duff"), None);
    }
}
