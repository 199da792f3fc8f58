//! Hosts whose surveys and exports are in one folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use runtime::Progress;
use serde_json::Value;
use survey::{Answered, answer};
use testkit::{Invocation, TempTree, TreeBuilder};

use crate::lop::{Lop, document, settle};

/// The hosts `h0`, `h1` and so on, each with its own catalog.
pub(super) struct Hosts {
    pub(super) hosts: Vec<Lop>,
    pub(super) dir: TempTree,
}

/// The reads of several surveys of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) heads: u64,
    pub(super) files: u64,
    pub(super) bytes: u64,
}

impl Totals {
    /// Returns the numbers of a summary.
    #[track_caller]
    pub(super) fn of(summary: &Value) -> Totals {
        let number = |key: &str| summary[key].as_u64().expect("a number");
        Totals {
            heads: number("heads_read"),
            files: number("files_read"),
            bytes: number("bytes_read"),
        }
    }

    pub(super) fn add(&mut self, other: &Totals) {
        self.heads += other.heads;
        self.files += other.files;
        self.bytes += other.bytes;
    }
}

impl Hosts {
    /// Creates a host for each tree, and scans it.
    pub(super) fn new(trees: impl IntoIterator<Item = TreeBuilder>) -> Hosts {
        let hosts: Vec<Lop> = trees
            .into_iter()
            .map(|tree| {
                let lop = Lop::new();
                lop.lay(&tree);
                lop
            })
            .collect();
        settle();
        for lop in &hosts {
            lop.remember(["."]);
        }
        Hosts { hosts, dir: TempTree::new() }
    }

    /// Returns the folder of all surveys.
    pub(super) fn out(&self) -> PathBuf {
        self.dir.join("out")
    }

    /// Returns the folder of the survey of a host.
    pub(super) fn folder(&self, host: usize) -> PathBuf {
        self.out().join(format!("h{host}/_survey"))
    }

    /// Returns a survey of a host.
    pub(super) fn command<'a>(&'a self, host: usize, args: &[&str]) -> Invocation<'a> {
        let command = self.hosts[host].command().args(["survey", "--host"]).arg(format!("h{host}"));
        command.args(args).arg(self.out())
    }

    /// Runs a survey of a host, which must succeed, and returns its summary.
    #[track_caller]
    pub(super) fn survey(&self, host: usize, args: &[&str]) -> Value {
        let output = self.command(host, args).arg("--json").run();
        output.success();
        document(&output)["summary"].clone()
    }

    /// Answers all hosts. There must be no problem.
    #[track_caller]
    pub(super) fn answer(&self) -> Answered {
        let answered = answer(&self.out(), &Progress::default()).expect("the lists are valid");
        assert!(answered.problems.is_empty(), "{:?}", answered.problems);
        answered
    }

    /// Runs surveys on all hosts until there is nothing left to read. Returns what each host has read.
    #[track_caller]
    pub(super) fn converge(&self, args: &[&str]) -> Vec<Totals> {
        self.converge_some(&(0..self.hosts.len()).collect::<Vec<_>>(), args)
    }

    /// Does the same with some of the hosts.
    #[track_caller]
    pub(super) fn converge_some(&self, hosts: &[usize], args: &[&str]) -> Vec<Totals> {
        let mut totals = vec![Totals::default(); hosts.len()];
        // Sizes, heads, whole files, and a last round in which nothing is left.
        for _ in 0..4 {
            let mut is_idle = true;
            for (&host, total) in hosts.iter().zip(&mut totals) {
                let summary = self.survey(host, args);
                let read = Totals::of(&summary);
                assert_eq!(summary["unread"].as_u64(), Some(0), "{summary}");
                is_idle &= read == Totals::default() && summary["bytes_written"] == 0;
                is_idle &= summary["awaits_answer"] == false;
                total.add(&read);
            }
            is_idle &= self.answer().hosts.iter().all(|host| host.bytes == 0);
            if is_idle {
                return totals;
            }
        }
        panic!("the survey has not ended after four rounds");
    }

    /// Exports all hosts to a new folder, which is returned. With `scan`, files are scanned with this option
    /// and a catalog of their own before.
    pub(super) fn export(&self, folder: &str, scan: Option<&str>) -> PathBuf {
        let out = self.dir.join(folder);
        for (number, lop) in self.hosts.iter().enumerate() {
            let catalog = match scan {
                None => lop.catalog(),
                Some(_) => lop.home().join("other.db"),
            };
            if let Some(option) = scan {
                let scan = lop.command().args(["scan", option, ".", "--catalog"]);
                scan.arg(&catalog).run().success();
            }
            let export = lop.command().args(["export", "--host"]).arg(format!("h{number}"));
            export.arg("--catalog").arg(&catalog).arg(&out).run().success();
        }
        out
    }

    /// Returns all files of the surveys, with their bytes and modification times.
    pub(super) fn files(&self) -> Vec<(PathBuf, Vec<u8>, SystemTime)> {
        let mut files = Vec::new();
        add_files(&self.out(), &mut files);
        files.sort();
        files
    }
}

fn add_files(dir: &Path, files: &mut Vec<(PathBuf, Vec<u8>, SystemTime)>) {
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            add_files(&path, files);
        } else {
            let modified = fs::metadata(&path).and_then(|meta| meta.modified()).expect("a time");
            files.push((path.clone(), fs::read(&path).expect("readable"), modified));
        }
    }
}
