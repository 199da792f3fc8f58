//! Races of sweepers that change nothing. Every list is compared with the junk of the made disk.
//!
//! The tools list different things: lop and the script print a directory that they would remove as
//! a whole, and `BleachBit` prints each file in it. Lists are therefore compared as sets of files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Race, SLOW_RUN_S, Setup};
use crate::Failure;
use crate::bare_walk;
use crate::corpus::windows::{Junk, entries_for, junk};
use crate::counts;
use crate::record::{Count, Ending, Role};
use crate::rules::{self, write};
use crate::scenario::{Cache, Work};
use crate::store::Store;
use crate::tools::{BARE_WALK, Entrant};

/// The script that the article describes.
const SCRIPT: &str = include_str!("../../scripts/clean-windows.sh");

/// A disk with fewer files gets only the rules that have files on it. The script needs minutes for
/// all rules, whatever the size of the disk.
const SMALL: u64 = 5_000;

/// Number of patterns of the small rule file.
const FEW: usize = 10;

/// The counts of a preview, as [`Count::what`].
pub(crate) const STATX: &str = "statx";
pub(crate) const STATX_WITHOUT_RULES: &str = "statx without rules";
/// Lines of the list of lop. A directory that is taken as a whole is one.
pub(crate) const MATCHES: &str = "matches";
/// Files and directories that are taken, including those in directories that are taken as a whole.
pub(crate) const ENTRIES: &str = "entries taken";

/// Writes the rules in the formats of all tools, for the tree in `tree`.
pub(super) fn write_rules(store: &Store, setup: &Setup, tree: &Path) -> Result<(), Failure> {
    let mut rules = rules::generate();
    if matches!(setup.work, Work::Sweep | Work::Anywhere) && setup.spec.names < SMALL {
        rules.entries.truncate(entries_for(setup.spec.names));
    }
    let (dir, cleaners) = (store.join("rules"), store.join("home/.config/bleachbit/cleaners"));
    for dir in [&dir, &cleaners] {
        fs::create_dir_all(dir).map_err(|e| Failure::at(dir, e))?;
    }
    let files = [
        (dir.join("all.ini"), write::winapp2(&rules)),
        (dir.join("ten.ini"), write::winapp2(&rules.first(FEW))),
        (dir.join("nobody.ini"), write::winapp2(&rules.without_files())),
        (dir.join("none.ini"), write::winapp2(&rules.first(0))),
        (dir.join("junk.ini"), write::winapp2(&rules::junk_rules())),
        (dir.join("anywhere.toml"), write::ANYWHERE.to_owned()),
        (dir.join("lines.txt"), write::lines(&rules)),
        (dir.join("globs.txt"), write::globs(&rules)),
        (dir.join("find.sh"), write::find_script(&rules)),
        (dir.join("clean-windows.sh"), SCRIPT.to_owned()),
        (cleaners.join("made.xml"), write::cleaner_ml(&rules, tree)),
    ];
    files
        .iter()
        .try_for_each(|(path, text)| fs::write(path, text).map_err(|e| Failure::at(path, e)))
}

impl Race {
    /// Races tools that list what they would remove.
    pub(super) fn sweep(&mut self, setup: &Setup) -> Result<(), Failure> {
        let (tree, counts) = setup.spec.ensure(self.options.store.path())?;
        write_rules(&self.options.store, setup, &tree)?;
        let id = self.scenario(setup, Cache::Warm, &counts);
        let truth = match setup.work {
            Work::Load => Junk::default(),
            _ => junk(setup.spec.names),
        };
        if setup.work != Work::Load {
            self.trace(setup, &tree, &id)?;
        }
        let walls = self.first_lists(setup, &tree, &id, &truth)?;
        for round in 1..=self.rounds(setup) {
            for entrant in self.entrants(setup.work) {
                let Some(&wall) = walls.get(entrant.name) else { continue };
                if round == 1 || wall <= SLOW_RUN_S {
                    let usage = self.run(entrant, &self.places(tree.clone()), None)?;
                    self.record(&id, entrant, round, &usage, None);
                }
            }
        }
        Ok(())
    }

    /// Runs every tool once and checks its list. Returns the times of the tools that ended.
    fn first_lists(
        &mut self,
        setup: &Setup,
        tree: &Path,
        id: &str,
        truth: &Junk,
    ) -> Result<BTreeMap<&'static str, f64>, Failure> {
        let (mut walls, mut answers) = (BTreeMap::new(), Vec::new());
        let (wanted, kept) = match setup.work {
            Work::Anywhere => (&truth.thumbnails, None),
            _ => (&truth.taken, Some(&truth.kept)),
        };
        answers.push(format!("{} files are junk", wanted.len()));
        for entrant in self.entrants(setup.work) {
            let usage = self.run(entrant, &self.places(tree.to_path_buf()), None)?;
            self.record(id, entrant, 0, &usage, None);
            let name = entrant.name;
            if usage.ending != Ending::Done {
                answers.push(format!("{name} did not end"));
                if entrant.role == Role::Ours {
                    self.complaints.push(format!("{id}: {name} failed"));
                }
                continue;
            }
            walls.insert(name, usage.wall_s);
            if entrant.role == Role::Aside {
                continue;
            }
            let found = listed_files(&self.options.store.join("output"), tree)?;
            let fault = difference(wanted, kept, &found);
            if entrant.role == Role::Ours && fault.is_some() {
                self.complaints.push(format!("{id}: {name} {}", fault.clone().unwrap_or_default()));
            }
            let said = fault.unwrap_or_else(|| "lists them and no others".into());
            answers.push(format!("{name} {said}"));
        }
        self.note_answers(&[id.to_owned()], &answers.join("; "));
        Ok(walls)
    }

    /// Counts the `statx` calls of lop, and stores the directories that lop lists for the bare walk.
    fn trace(&mut self, setup: &Setup, tree: &Path, id: &str) -> Result<(), Failure> {
        let places = self.places(tree.to_path_buf());
        let ours = self.entrants(setup.work).into_iter().find(|e| e.role == Role::Ours);
        let ours = ours.ok_or_else(|| Failure::new("lop does not take part"))?;
        let argv: Vec<PathBuf> = ours.argv(&places).into_iter().map(PathBuf::from).collect();
        let mut without = argv.clone();
        let rules = without.iter().position(|word| word.as_os_str() == "--rules");
        let rules = rules.ok_or_else(|| Failure::new("lop has no rules"))?;
        without[rules + 1] = places.rules.join("none.ini");
        let store = &self.options.store;
        let mut found = Vec::new();
        for (what, argv) in [(STATX, &argv), (STATX_WITHOUT_RULES, &without)] {
            match counts::calls(argv, store)? {
                Ok(calls) => found.push((what, calls.get("statx").copied().unwrap_or(0))),
                Err(reason) => println!("  not counted: {reason}"),
            }
        }
        let list = Command::new(&argv[0]).args(&argv[1..]).output();
        let list = list.map_err(|e| Failure::at(&argv[0], e))?.stdout;
        let list = String::from_utf8_lossy(&list);
        found.push((MATCHES, list.lines().count() as u64));
        found.push((ENTRIES, list.lines().map(|line| entries(Path::new(line))).sum()));
        let dirs = opened_dirs(&argv, store, tree)?;
        let path = places.rules.join("dirs");
        fs::write(&path, bare_walk::write_list(&dirs, [])).map_err(|e| Failure::at(&path, e))?;
        let mut files = BTreeSet::new();
        for path in list.lines().filter_map(|line| Path::new(line).strip_prefix(tree).ok()) {
            add_files(tree, &path.to_string_lossy(), &mut files)?;
        }
        let path = places.rules.join("entries");
        fs::write(&path, bare_walk::write_list(&dirs, &files))
            .map_err(|e| Failure::at(&path, e))?;
        for (what, count) in found {
            println!("  {what}: {count}");
            let (scenario, tool) = (id.to_owned(), ours.name.to_owned());
            self.record.counts.push(Count { scenario, tool, what: what.into(), count });
        }
        println!("  {BARE_WALK}: {} directories", dirs.len());
        Ok(())
    }
}

/// Checks the result of taking the junk out of a tree that consists of junk and of the files by
/// which Windows is recognised. Returns the reason why it is wrong.
pub(super) fn applied(setup: &Setup, entrant: &Entrant, tree: &Path) -> Result<(), String> {
    let plan = setup.spec.plan().ok().flatten().ok_or("has no plan")?;
    let (mut left, mut lost) = (0, 0);
    for path in plan.paths() {
        let is_there = tree.join(&path).symlink_metadata().is_ok();
        let is_junk = path.extension().is_some_and(|ending| ending == "tmp");
        let must_go = is_junk || entrant.role == Role::Aside;
        left += u64::from(must_go && is_there);
        lost += u64::from(!must_go && !is_there);
    }
    if left + lost > 0 {
        return Err(format!("left {left} files behind and lost {lost}"));
    }
    Ok(())
}

/// Returns the directories of the tree that a run of lop opens, in order and without repetitions.
fn opened_dirs(argv: &[PathBuf], store: &Store, tree: &Path) -> Result<Vec<String>, Failure> {
    let log = store.join("strace.log");
    let mut strace = Command::new("strace");
    // With -y, the path of each opened descriptor is part of the line.
    strace.args(["-f", "-y", "-e", "trace=openat2,openat", "-o"]).arg(&log).args(argv);
    let status = strace.stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !status.is_ok_and(|status| status.success()) {
        return Err(Failure::new("strace is not installed, or lop fails under it"));
    }
    let text = fs::read_to_string(&log).map_err(|e| Failure::at(&log, e))?;
    let mut seen = BTreeSet::new();
    let opened = text.lines().filter_map(opened_path).filter_map(|path| {
        let path = Path::new(path).strip_prefix(tree).ok()?;
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let is_new = tree.join(path).is_dir() && seen.insert(path.to_path_buf());
        is_new.then(|| path.display().to_string())
    });
    Ok(opened.collect())
}

/// Returns the path that a line of `strace -y` says was opened, as in `openat(...) = 4</path>`.
fn opened_path(line: &str) -> Option<&str> {
    let (_, result) = line.rsplit_once(") = ")?;
    result.split_once('<')?.1.strip_suffix('>')
}

/// Reads the list of a tool as a set of files, relative to the tree. A directory stands for all
/// files below it.
fn listed_files(output: &Path, tree: &Path) -> Result<BTreeSet<String>, Failure> {
    let bytes = fs::read(output).map_err(|e| Failure::at(output, e))?;
    let text = String::from_utf8_lossy(&bytes);
    let top = format!("{}/", tree.display());
    let mut files = BTreeSet::new();
    for line in text.lines() {
        // BleachBit prints the action and the size before the path.
        let Some(at) = line.find(&top) else { continue };
        add_files(tree, &line[at + top.len()..], &mut files)?;
    }
    Ok(files)
}

fn add_files(tree: &Path, path: &str, files: &mut BTreeSet<String>) -> Result<(), Failure> {
    let full = tree.join(path);
    let metadata = full.symlink_metadata().map_err(|e| Failure::at(&full, e))?;
    if !metadata.is_dir() {
        files.insert(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(&full).map_err(|e| Failure::at(&full, e))? {
        let name = entry.map_err(|e| Failure::at(&full, e))?.file_name();
        let name = String::from_utf8_lossy(name.as_bytes()).into_owned();
        add_files(tree, &format!("{}/{name}", path.trim_end_matches('/')), files)?;
    }
    Ok(())
}

/// Returns the number of files and directories at a path and below it.
fn entries(path: &Path) -> u64 {
    let is_dir = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
    let below = if is_dir { fs::read_dir(path).ok() } else { None };
    1 + below.into_iter().flatten().flatten().map(|entry| entries(&entry.path())).sum::<u64>()
}

/// Describes the difference between a list and the junk; `None` if they are equal. `kept` are files
/// that a tool without exclusions lists.
fn difference(
    wanted: &BTreeSet<String>,
    kept: Option<&BTreeSet<String>>,
    found: &BTreeSet<String>,
) -> Option<String> {
    let lacks = wanted.difference(found).count();
    let more: Vec<&String> = found.difference(wanted).collect();
    let excluded =
        more.iter().filter(|path| kept.is_some_and(|kept| kept.contains(**path))).count();
    let others = more.len() - excluded;
    let mut parts = Vec::new();
    if lacks > 0 {
        parts.push(format!("lacks {lacks} of them"));
    }
    if excluded > 0 {
        parts.push(format!("also lists {excluded} that a rule excludes"));
    }
    if others > 0 {
        let example = more.iter().find(|path| kept.is_none_or(|kept| !kept.contains(**path)));
        let example = example.map_or("", |path| path.as_str());
        parts.push(format!("lists {others} others, such as {example}"));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::{difference, entries, listed_files, opened_path};
    use std::collections::BTreeSet;
    use std::fs;

    fn set(paths: &[&str]) -> BTreeSet<String> {
        paths.iter().map(|&path| path.to_owned()).collect()
    }

    #[test]
    fn a_listed_directory_stands_for_its_files() {
        let temp = testkit::TempTree::new();
        fs::create_dir_all(temp.join("tree/a/b")).expect("made");
        for file in ["a/1", "a/b/2", "3"] {
            fs::write(temp.join(format!("tree/{file}")), "").expect("written");
        }
        let tree = temp.join("tree");
        let top = tree.display();
        let output = temp.join("output");
        fs::write(&output, format!("{top}/a\nDelete 4.1kB {top}/3\nFiles: 2\n")).expect("written");
        assert_eq!(listed_files(&output, &tree), Ok(set(&["a/1", "a/b/2", "3"])));
        assert_eq!((entries(&tree.join("a")), entries(&tree.join("3"))), (4, 1));
    }

    #[test]
    fn opened_paths_are_read_from_strace() {
        let line = r#"7 openat2(3</t>, "a (1)", {flags=O_RDONLY|O_DIRECTORY}, 24) = 4</t/a (1)>"#;
        assert_eq!(opened_path(line), Some("/t/a (1)"));
        assert_eq!(opened_path("8 <... openat2 resumed>) = 5</t/b>"), Some("/t/b"));
        let failed = r#"7 openat(3</t>, "x", O_RDONLY) = -1 ENOENT (No such file or directory)"#;
        assert_eq!(opened_path(failed), None);
    }

    #[test]
    fn excluded_files_are_distinguished_from_wrong_ones() {
        let (wanted, kept) = (set(&["a", "b"]), set(&["k"]));
        let said = |found: &[&str]| difference(&wanted, Some(&kept), &set(found));
        assert_eq!(said(&["a", "b"]), None);
        assert_eq!(said(&["a", "b", "k"]).as_deref(), Some("also lists 1 that a rule excludes"));
        let both = "lacks 1 of them, lists 1 others, such as x";
        assert_eq!(said(&["a", "x"]).as_deref(), Some(both));
    }
}
