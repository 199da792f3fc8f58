//! Runs lop's actions in a separate process that can be killed before any change to the file system. Alternatively, any
//! change can be made to fail.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use action::plan::Kind;
use action::run::Runs;
use action::trash::TrashRun;
use fsops::faults::{ChangeFault, Fault, before_change, changes, fault_at_change};
use runtime::Progress;

use crate::world::World;
use crate::{discard, sweep, world};

const FOLDER: &str = "ACTION_TEST_FOLDER";
const WHAT: &str = "ACTION_TEST_WHAT";
const RUNS: &str = "ACTION_TEST_RUNS";
const SYNCED_AT: &str = "ACTION_TEST_SYNCED_AT";
const STOPPED_AT: &str = "ACTION_TEST_STOPPED_AT";
const FULL: &str = "ACTION_TEST_FULL";
const BLOW: &str = "ACTION_TEST_BLOW";

/// The task of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Apply(Kind),
    Undo,
    Discard,
}

/// The outcome of the process.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Number of changes that the process made. `None` if the process was killed.
    pub(crate) changes: Option<u64>,
    pub(crate) killed: bool,
    pub(crate) account: String,
}

/// Runs a command to completion.
pub(crate) fn output(command: &mut Command) -> std::io::Result<Output> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    testkit::spawn(command)?.wait_with_output()
}

/// The task of a process, with the fault to inject.
#[derive(Clone, Debug)]
pub(crate) struct Orders {
    /// The folder with the tree.
    folder: PathBuf,
    runs: PathBuf,
    what: What,
    /// Number of a change. The disk is synced just before this change.
    pub(crate) synced_at: Option<u64>,
    /// Number of a change. The user interrupts the run just before this change.
    pub(crate) stopped_at: Option<u64>,
    /// Whether to simulate a disk without room for a staging directory.
    pub(crate) is_full: bool,
}

impl Orders {
    pub(crate) fn of(world: &World, what: What) -> Orders {
        let (folder, runs) = (world.folder(), world.runs.clone());
        Orders { folder, runs, what, synced_at: None, stopped_at: None, is_full: false }
    }

    /// Runs a process until it exits or is killed.
    pub(crate) fn carry_out(&self, number: u64, blow: ChangeFault) -> Ended {
        let mut command = command(&self.folder, self.what, number, blow);
        command.env(RUNS, &self.runs);
        command.envs(self.is_full.then_some((FULL, "yes")));
        command.envs(self.stopped_at.map(|number| (STOPPED_AT, number.to_string())));
        command.envs(self.synced_at.map(|number| (SYNCED_AT, number.to_string())));
        ended(&mut command)
    }
}

fn command(folder: &Path, what: What, number: u64, blow: ChangeFault) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("the binary of this test"));
    command.args([
        "--exact",
        "child::child_process_follows_its_orders",
        "--ignored",
        "--nocapture",
    ]);
    command.arg("--test-threads=1").env(FOLDER, folder);
    let what = match what {
        What::Apply(kind) => kind.word(),
        What::Undo => "undo",
        What::Discard => "discard",
    };
    let blow = match blow {
        ChangeFault::Kill => 0,
        ChangeFault::Fail(errno) => errno,
    };
    command.env(WHAT, what).env(BLOW, format!("{number} {blow}"));
    command
}

/// Runs a process on `folder/tree` with the journals in `folder/runs`, until it exits or is killed.
pub(crate) fn run(folder: &Path, what: What, number: u64, blow: ChangeFault) -> Ended {
    ended(&mut command(folder, what, number, blow))
}

fn ended(command: &mut Command) -> Ended {
    let output = output(command).expect("runs");
    let account = account(&output);
    let changes = account.lines().find_map(|line| line.split("changes=").nth(1)?.parse().ok());
    let killed = output.status.signal() == Some(9);
    assert!(killed || output.status.success(), "{account}");
    assert_ne!(killed, changes.is_some(), "{account}");
    Ended { changes, killed, account }
}

fn account(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}\n{}", output.status, text(&output.stdout), text(&output.stderr))
}

#[test]
#[ignore = "run by other tests, in a process of its own"]
#[expect(clippy::print_stdout, reason = "the account for the test that started it")]
fn child_process_follows_its_orders() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("another test runs this one"));
    let what = std::env::var(WHAT).expect("the task is in the environment");
    let blow = std::env::var(BLOW).expect("the fault is in the environment");
    let (number, errno) = blow.split_once(' ').expect("two numbers");
    let (number, errno) = (number.parse().expect("a number"), errno.parse().expect("a number"));
    let blow = if errno == 0 { ChangeFault::Kill } else { ChangeFault::Fail(errno) };
    let runs = std::env::var_os(RUNS).map_or_else(|| folder.join("runs"), PathBuf::from);
    let number_in = |variable: &str| std::env::var(variable).ok()?.parse::<u64>().ok();
    if let Some(number) = number_in(SYNCED_AT) {
        let dir = fsops::Dir::open(&folder).expect("a folder");
        before_change(number, move || dir.sync_file_system().expect("is synced"));
    }
    if std::env::var_os(FULL).is_some() {
        let name = format!(".lop-quarantine-{}", fsops::effective_user());
        let (op, name_suffix) = (fsops::Op::Create, name.into_bytes());
        fsops::faults::inject(vec![Fault { op, name_suffix, errno: 28 }]);
    }
    let kinds = [Kind::Delete, Kind::Hardlink, Kind::Symlink, Kind::Quarantine, Kind::Separate];
    if what == Kind::Sweep.word() {
        let entries = sweep::some_entries(&folder.join("tree"));
        fault_at_change(number, blow);
        if let Ok(runs) = Runs::open(&runs, |_| {}) {
            let (outcome, ended) = sweep::sweep(&runs, entries);
            println!("done {} {:?} {ended:?}", outcome.done, outcome.refused);
        }
    } else if let Some(&kind) = kinds.iter().find(|kind| kind.word() == what) {
        let plans = world::plans(&folder.join("tree"), kind);
        fault_at_change(number, blow);
        if let Ok(runs) = Runs::open(&runs, |_| {}) {
            // With one thread, the changes are made in the same order each time.
            let progress = Arc::new(Progress::default());
            if let Some(number) = number_in(STOPPED_AT) {
                let stopped = Arc::clone(&progress);
                before_change(number, move || stopped.stop());
            }
            let groups = plans.into_iter().map(Into::into).collect();
            if let Ok((_, outcome, ended)) = world::apply_with(&runs, kind, groups, 1, &progress) {
                println!("done {} {:?} {ended:?}", outcome.done, outcome.refused);
            }
        }
    } else if what == "discard" {
        let trees = discard::trees(&folder.join("tree"));
        fault_at_change(number, blow);
        if let Ok(begun) = TrashRun::begin(&runs, &trees) {
            println!("run {} {:?} {:?}", begun.run.run(), begun.refused, begun.ended);
        }
    } else {
        fault_at_change(number, blow);
        if let Ok(runs) = Runs::open(&runs, |_| {}) {
            let undone =
                runs.undo(None, &[], &runtime::Progress::default(), |error| println!("{error}"));
            println!("{:?}", undone.map(|undone| undone.1));
        }
    }
    println!("\nchanges={}", changes());
}
