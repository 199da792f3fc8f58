//! Times `lop-fleet answer`, and measures the files that hosts exchange in a survey.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Race, Setup};
use crate::Failure;
use crate::corpus::Counts;
use crate::record::{Count, Ending};
use crate::scenario::{Cache, Work};

/// The names of counts ([`Count::what`]). Each host has its own number of bytes; the race records the largest.
pub(crate) const HEAD_BYTES: &str = "bytes of the list of heads of a host";
pub(crate) const SIZE_BYTES: &str = "bytes of the list of sizes of a host";
pub(crate) const ANSWER_BYTES: &str = "bytes of the answers for a host";
/// The sum over all hosts: `lop-fleet answer` says that another host has these heads.
pub(crate) const ANSWERED: &str = "heads that are answered to be on another host";
pub(crate) const SHARED: &str = "heads that are on another host";

/// Keys have 48 bits. Among 6 * 10^7 different keys, about six pairs collide.
const MOST_COINCIDENCES: u64 = 100;

/// The output of `lop-fleet --json answer`.
#[derive(Deserialize)]
struct Answered {
    hosts: Vec<Host>,
}

#[derive(Deserialize)]
struct Host {
    heads: u64,
    shared_heads: u64,
}

impl Race {
    /// Tells each host which of its heads another host has, too.
    pub(super) fn survey(&mut self, setup: &Setup) -> Result<(), Failure> {
        let (root, counts) = setup.spec.ensure(self.options.store.path())?;
        let places = self.places(root.clone());
        let id = self.scenario(setup, Cache::Warm, &counts);
        for round in 0..=self.rounds(setup) {
            for entrant in self.entrants(Work::Survey) {
                for path in files(&root, "", "answer")?.concat() {
                    fs::remove_file(&path).map_err(|e| Failure::at(&path, e))?;
                }
                let usage = self.run(entrant, &places, None)?;
                self.record(&id, entrant, round, &usage, None);
                if usage.ending != Ending::Done {
                    self.complaints.push(format!("{id}: {} failed", entrant.name));
                } else if round == 0 {
                    let counted = self.check_answers(&id, &root, &counts)?;
                    for (what, count) in counted {
                        println!("  {}: {what}: {count}", entrant.name);
                        let (scenario, tool) = (id.clone(), entrant.name.to_owned());
                        self.record.counts.push(Count { scenario, tool, what: what.into(), count });
                    }
                }
            }
        }
        Ok(())
    }

    /// Compares the answers with the lists, and returns the counts to record.
    fn check_answers(
        &mut self,
        id: &str,
        root: &Path,
        counts: &Counts,
    ) -> Result<[(&'static str, u64); 5], Failure> {
        let output = self.options.store.join("output");
        let text = fs::read(&output).map_err(|e| Failure::at(&output, e))?;
        let answered: Answered =
            serde_json::from_slice(&text).map_err(|e| Failure::at(&output, e))?;
        let heads: u64 = answered.hosts.iter().map(|host| host.heads).sum();
        let shared: u64 = answered.hosts.iter().map(|host| host.shared_heads).sum();
        let answer = format!(
            "{shared} of {heads} heads are answered to be on another host; {} of {} are",
            counts.in_groups, counts.names
        );
        let is_right = shared >= counts.in_groups && shared < counts.in_groups + MOST_COINCIDENCES;
        if heads != counts.names || !is_right {
            self.complaints.push(format!("{id}: {answer}"));
        }
        self.note_answers(&[id.to_owned()], &answer);
        Ok([
            (HEAD_BYTES, most_bytes(root, "heads", "list")?),
            (SIZE_BYTES, most_bytes(root, "sizes", "list")?),
            (ANSWER_BYTES, most_bytes(root, "", "answer")?),
            (ANSWERED, shared),
            (SHARED, counts.in_groups),
        ])
    }
}

/// Returns the bytes of the files of a survey with this beginning and extension, of the host that has most.
fn most_bytes(root: &Path, begin: &str, extension: &str) -> Result<u64, Failure> {
    let mut most = 0;
    for host in files(root, begin, extension)? {
        let mut bytes = 0;
        for path in host {
            bytes += fs::metadata(&path).map_err(|e| Failure::at(&path, e))?.len();
        }
        most = most.max(bytes);
    }
    Ok(most)
}

/// Returns the files of a survey with this beginning and extension, for each host.
fn files(root: &Path, begin: &str, extension: &str) -> Result<Vec<Vec<PathBuf>>, Failure> {
    let list = |dir: &Path| -> Result<Vec<_>, Failure> {
        let entries = fs::read_dir(dir).map_err(|e| Failure::at(dir, e))?;
        entries
            .map(|entry| entry.map(|entry| entry.path()).map_err(|e| Failure::at(dir, e)))
            .collect()
    };
    let mut hosts = Vec::new();
    for host in list(root)?.iter().filter(|host| host.is_dir()) {
        let mut files = list(&host.join("_survey"))?;
        let is_wanted = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(begin) && path.extension().is_some_and(|found| found == extension)
        };
        files.retain(is_wanted);
        hosts.push(files);
    }
    Ok(hosts)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{files, most_bytes};

    #[test]
    fn the_host_with_the_most_bytes_counts() {
        let temp = testkit::TempTree::new();
        for (path, bytes) in
            [("a/_survey/1.list", 3), ("a/_survey/2.list", 4), ("b/_survey/1.list", 5)]
        {
            let path = temp.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, vec![0; bytes]).expect("written");
        }
        fs::write(temp.join("b/_survey/1.answer"), "other").expect("written");
        assert_eq!(most_bytes(temp.path(), "", "list").expect("read"), 7);
        assert_eq!(most_bytes(temp.path(), "2", "list").expect("read"), 4);
        assert_eq!(files(temp.path(), "", "answer").expect("read").concat().len(), 1);
    }
}
