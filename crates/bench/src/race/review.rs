//! The race of `lop space`, and the measurements of `lop serve` in a browser.
//!
//! Both use a catalog that `lop scan` makes of the tree, once for each build of lop. Each round of a
//! review starts a new server on a copy of this catalog, because a server remembers the lists of
//! filters and the decisions. None of the peers does the same work: those that show disk space walk
//! the tree.

mod page;
mod server;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use browser::{Browser, Options};
use serde_json::{Value, json};

use super::{Race, Setup};
use crate::Failure;
use crate::corpus::{Counts, seal};
use crate::record::{Ending, Reading, Role, Unit};
use crate::scenario::{Cache, Work};
use crate::stats::float;

use page::Watched;
use server::Server;

/// The measurements of a review, as [`Reading::what`].
pub(crate) const FIRST_ROWS_AT_START: &str = "first rows, right after the server has started";
pub(crate) const FIRST_ROWS_AGAIN: &str = "first rows, later";
pub(crate) const PAGE: &str = "bytes of the page with its first rows";
/// The browser reports tasks of more than 50 ms; 0 if it reported none.
pub(crate) const LONGEST_TASK: &str = "longest task while scrolling";
pub(crate) const HEAP_BEFORE: &str = "heap before scrolling";
pub(crate) const HEAP_AFTER_ONE: &str = "heap after scrolling once";
pub(crate) const HEAP_AFTER_ALL: &str = "heap after scrolling three times";
/// The prefix of the names of measurements. The filter follows.
pub(crate) const FILTER: &str = "filter ";
pub(crate) const DECIDED: &str = "groups that one decision is about";
pub(crate) const DECISION: &str = "decision by folder";
pub(crate) const IDLE_MEMORY: &str = "memory of the server, idle";
pub(crate) const PEAK_MEMORY: &str = "memory of the server, at most";
pub(crate) const BINARY: &str = "size of lop";
pub(crate) const LOAD: &str = "load of the machine before the round";

/// The filters: words in paths, patterns of names and paths, and one that no file matches.
const FILTERS: [&str; 6] = [
    "img_",
    "photos !backup",
    "name:*.jpg size:>1k",
    "path:**/documents/**/2019/**",
    "type:document copies:>3",
    "nothing has this name",
];

/// The measured decision is about at least one group for this many names of the tree.
const DECISION_SHARE: u64 = 50;

/// The time from its start after which a server has freed the groups. It checks once a minute, and
/// frees them when they were not used for five minutes.
const UNTIL_IDLE: Duration = Duration::from_secs(5 * 60 + 20);

/// A smaller tree is not worth the wait for an idle server.
const WORTH_WAITING: u64 = 100_000;

impl Race {
    /// Races `lop space` against programs that walk the tree.
    pub(super) fn space(&mut self, setup: &Setup) -> Result<(), Failure> {
        let (tree, counts) = self.scanned(setup)?;
        let id = self.scenario(setup, Cache::Warm, &counts);
        for round in 0..=self.rounds(setup) {
            for entrant in self.entrants(Work::Space) {
                let usage = self.run(entrant, &self.places(tree.clone()), None)?;
                self.record(&id, entrant, round, &usage, None);
                if entrant.role == Role::Ours && usage.ending != Ending::Done {
                    self.complaints.push(format!("{id}: lop failed"));
                }
            }
        }
        let found = self.files_in_catalog(&tree)?;
        if found != counts.names {
            self.complaints.push(format!("{id}: lop counts {found} files of {}", counts.names));
        }
        let answer = format!("lop counts {found} files, of {} in the tree", counts.names);
        self.note_answers(&[id], &answer);
        Ok(())
    }

    /// Measures the review of duplicates in a browser.
    pub(super) fn review(&mut self, setup: &Setup) -> Result<(), Failure> {
        let (_, counts) = self.scanned(setup)?;
        let id = self.scenario(setup, Cache::Warm, &counts);
        let options = Options { longest_task: Duration::ZERO, ..Options::default() };
        let browser = Browser::start(options);
        let browser = browser.ok_or_else(|| Failure::new("the browser does not start"))?;
        let watched = Watched::new(&browser);
        let idle =
            Server::start(&self.options.programs.lop, &self.options.store.join("catalog.db"))?;
        let started = Instant::now();
        let mut answers = String::new();
        for round in 0..=self.rounds(setup) {
            answers = self.round_of_review(&id, round, &counts, &watched)?;
        }
        if counts.names >= WORTH_WAITING {
            println!("  waiting until the first server is idle");
            self.wait_until(started + UNTIL_IDLE)?;
            self.read_off(&id, 1, IDLE_MEMORY, Unit::Bytes, idle.resident_bytes()?);
        }
        let size = fs::metadata(&self.options.programs.lop)
            .map_err(|e| Failure::at(&self.options.programs.lop, e))?;
        self.read_off(&id, 1, BINARY, Unit::Bytes, float(size.len()));
        for complaint in browser.findings().console {
            self.complaints.push(format!("{id}: the browser complains: {complaint}"));
        }
        self.note_answers(&[id], &answers);
        Ok(())
    }

    /// Starts a server and measures everything once. Returns the numbers of groups that were found.
    fn round_of_review(
        &mut self,
        id: &str,
        round: u32,
        counts: &Counts,
        watched: &Watched,
    ) -> Result<String, Failure> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(Failure::new("interrupted"));
        }
        let note = |race: &mut Self, what: &str, unit, value| {
            race.read_off(id, round, what, unit, value);
        };
        note(self, LOAD, Unit::Number, load()?);
        let catalog = self.fresh_catalog()?;
        let server = Server::start(&self.options.programs.lop, &catalog)?;
        note(self, FIRST_ROWS_AT_START, Unit::Ms, watched.first_rows(&server.url("/groups"))?);
        note(self, PAGE, Unit::Bytes, watched.transferred()?);
        note(self, FIRST_ROWS_AGAIN, Unit::Ms, watched.first_rows(&server.page("/groups"))?);
        let scrolled = watched.scroll();
        note(self, LONGEST_TASK, Unit::Ms, scrolled.longest_task_ms);
        note(self, HEAP_BEFORE, Unit::Bytes, scrolled.heap_before);
        note(self, HEAP_AFTER_ONE, Unit::Bytes, scrolled.heap_after_one);
        note(self, HEAP_AFTER_ALL, Unit::Bytes, scrolled.heap_after_all);
        let mut answers = vec![format!("the list has {} groups", counts.groups)];
        for filter in FILTERS {
            let query = percent_encoded(filter);
            let (answer, ms) = server.get_json(&format!("/groups/view?filter={query}"))?;
            note(self, &format!("{FILTER}{filter}"), Unit::Ms, ms);
            answers.push(format!("{filter} finds {}", answer["count"]));
        }
        let (decided, ms) = decide(&server, counts.names / DECISION_SHARE)?;
        note(self, DECIDED, Unit::Number, float(decided));
        note(self, DECISION, Unit::Ms, ms);
        note(self, PEAK_MEMORY, Unit::Bytes, server.peak_bytes()?);
        let (all, _) = server.get_json("/groups/view")?;
        if all["count"] != counts.groups {
            let found = &all["count"];
            self.complaints.push(format!("{id}: {found} groups of {}", counts.groups));
        }
        Ok(answers.join("; "))
    }

    /// Makes the tree and a catalog of it, unless this build of lop did that before.
    pub(super) fn scanned(&self, setup: &Setup) -> Result<(PathBuf, Counts), Failure> {
        let store = &self.options.store;
        let (tree, counts) = setup.spec.ensure(store.path())?;
        let lop = &self.options.programs.lop;
        let built = fs::metadata(lop).map_err(|e| Failure::at(lop, e))?;
        let key = format!("{} by {}.{}", setup.spec.key()?, built.mtime(), built.mtime_nsec());
        let catalog = store.join("catalog.db");
        let counts = seal::once(&catalog, &key, || {
            println!("  scanning");
            let mut scan = self.lop_with(&catalog);
            done(scan.args(["scan", "-q"]).arg(&tree).stdout(Stdio::null()))?;
            Ok(counts)
        })?;
        Ok((tree, counts))
    }

    /// Returns a command that runs lop as a user without settings.
    fn lop_with(&self, catalog: &Path) -> Command {
        let mut command = Command::new(&self.options.programs.lop);
        command.env("HOME", self.options.store.join("home")).env("LOP_CONFIG", "");
        command.arg("--catalog").arg(catalog);
        command
    }

    fn files_in_catalog(&self, tree: &Path) -> Result<u64, Failure> {
        let mut space = self.lop_with(&self.options.store.join("catalog.db"));
        let output = space.args(["space", "--json", "--depth", "0"]).arg(tree).output();
        let output = output.map_err(|e| Failure::at(&self.options.programs.lop, e))?;
        let answer: Value = serde_json::from_slice(&output.stdout)
            .map_err(|e| Failure::new(format!("lop space: {e}")))?;
        let files = answer["dirs"][0]["files"].as_u64();
        files.ok_or_else(|| Failure::new("lop space counts no files"))
    }

    /// Copies the catalog, for a server that will change it.
    fn fresh_catalog(&self) -> Result<PathBuf, Failure> {
        let copy = self.options.store.join("review.db");
        for ending in ["-wal", "-shm"] {
            let mut beside = copy.clone().into_os_string();
            beside.push(ending);
            drop(fs::remove_file(beside));
        }
        let original = self.options.store.join("catalog.db");
        fs::copy(&original, &copy).map_err(|e| Failure::at(&original, e))?;
        Ok(copy)
    }

    pub(super) fn read_off(&mut self, id: &str, round: u32, what: &str, unit: Unit, value: f64) {
        println!("  {round} {what}: {value:.1} {unit:?}");
        let (scenario, what) = (id.to_owned(), what.to_owned());
        let tool = String::new();
        self.record.readings.push(Reading { scenario, tool, what, round, unit, value });
    }

    fn wait_until(&self, moment: Instant) -> Result<(), Failure> {
        while Instant::now() < moment {
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(Failure::new("interrupted"));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(())
    }
}

/// Keeps the files of one folder in the folder set with the fewest groups, but at least `least`.
/// Returns the number of groups, and the time of the answer in milliseconds.
fn decide(server: &Server, least: u64) -> Result<(u64, f64), Failure> {
    let (listed, _) = server.get_json("/same-folders/view")?;
    let view = &listed["view"];
    let rows = server.get(&format!("/same-folders/rows?view={view}&from=0&n=100"))?;
    let sets = sets_in(&rows).into_iter().filter(|(_, groups)| *groups >= least);
    let (set, groups) = sets
        .min_by_key(|(_, groups)| *groups)
        .ok_or_else(|| Failure::new(format!("no folder set has {least} groups")))?;
    let decision = json!({
        "scope": { "set": set },
        "choice": { "folders": [0] },
        "revision": listed["revision"],
        "seen": listed["seen"],
        "view": view,
    });
    let (_, ms) = server.post_json("/api/decide", &decision)?;
    Ok((groups, ms))
}

/// Returns the number of each set in some rows, with its number of groups.
fn sets_in(rows: &str) -> Vec<(u64, u64)> {
    let set = |row: &str| {
        let (number, rest) = row.split_once('"')?;
        let (before, _) = rest.split_once(" group")?;
        let groups: String = before.rsplit('>').next()?.split(',').collect();
        Some((number.parse().ok()?, groups.parse().ok()?))
    };
    rows.split("data-id=\"").skip(1).filter_map(set).collect()
}

fn percent_encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |encoded, byte| {
        if byte.is_ascii_alphanumeric() {
            encoded + &char::from(byte).to_string()
        } else {
            encoded + &format!("%{byte:02X}")
        }
    })
}

/// Returns the average number of tasks that ran or waited during the last minute.
fn load() -> Result<f64, Failure> {
    let path = Path::new("/proc/loadavg");
    let text = fs::read_to_string(path).map_err(|e| Failure::at(path, e))?;
    let first = text.split(' ').next().and_then(|load| load.parse().ok());
    first.ok_or_else(|| Failure::at(path, "has another format"))
}

fn done(command: &mut Command) -> Result<(), Failure> {
    let program = PathBuf::from(command.get_program());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::at(&program, status)),
        Err(e) => Err(Failure::at(&program, e)),
    }
}

#[cfg(test)]
mod tests {
    use super::{percent_encoded, sets_in};

    #[test]
    fn sets_are_read_from_their_rows() {
        let row = |id, groups| {
            format!(
                "<div class=\"row\" data-rank=\"0\" data-id=\"{id}\"><span class=\"num\"><b>1 GiB</b>\
                 </span><span class=\"optional\">{groups}</span><span>group 7</span></div>"
            )
        };
        let rows = row(12, "24,000 groups") + &row(3, "1 group");
        assert_eq!(sets_in(&rows), [(12, 24_000), (3, 1)]);
        assert_eq!(sets_in(""), []);
    }

    #[test]
    fn filters_are_encoded_for_an_address() {
        assert_eq!(percent_encoded("photos !b"), "photos%20%21b");
    }
}
