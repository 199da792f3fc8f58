//! The jobs of `lop serve`: child processes that run lop. Tested here, because the tests need the program.

use std::fs;
use std::io::{BufRead, Read};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use catalog::{Choice, Decider, Scope};
use serve::jobs::{Action, Job, JobId, JobSpec, Jobs, StartError};
use testkit::{Snapshot, TEST_TIMEOUT, TreeBuilder, assert_same};

use crate::concurrency::Holder;
use crate::dedupe::BACK;
use crate::lop::Lop;

fn pairs(number: usize) -> TreeBuilder {
    (0..number).fold(TreeBuilder::new(), |tree, pair| {
        let bytes = format!("pair {pair:05}");
        tree.file(format!("d/{bytes} a"), &*bytes).file(format!("d/{bytes} b"), &*bytes)
    })
}

fn jobs(lop: &Lop) -> Jobs {
    let temp = std::env::temp_dir();
    Jobs::with_temp_dir(env!("CARGO_BIN_EXE_lop").into(), lop.catalog(), temp)
}

/// Starts a job and waits for its end.
#[track_caller]
fn run(jobs: &Jobs, spec: JobSpec) -> Job {
    let id = jobs.start(spec).expect("started");
    let job = jobs.wait(id, TEST_TIMEOUT).expect("known");
    assert!(!job.is_running(), "{job:?}");
    Job::clone(&job)
}

fn plan(action: Action) -> JobSpec {
    JobSpec::Plan { action }
}

fn scan(lop: &Lop) -> JobSpec {
    JobSpec::Scan { paths: vec![lop.path("d")] }
}

pub(crate) fn keep_all_by(lop: &Lop, rule: &str) {
    let decider = Decider::open(&lop.catalog()).expect("a catalog");
    let rules = Choice::Rules(vec![rule.into()]);
    decider.decide(Scope::Filter(String::new()), rules, 1).expect("decided");
}

/// Returns the number of files in the tree.
fn files(lop: &Lop) -> usize {
    fs::read_dir(lop.path("d")).expect("is there").count()
}

/// Waits until something is so.
#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < TEST_TIMEOUT, "never: {what}");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_plan_of_decisions_is_made_applied_and_undone() {
    let lop = Lop::with(&pairs(5));
    let before = Snapshot::of(lop.work());
    let jobs = jobs(&lop);
    let scanned = run(&jobs, scan(&lop));
    assert_eq!((scanned.exit_code, scanned.signal), (Some(0), None), "{scanned:?}");
    assert_eq!(scanned.result.expect("a document")["summary"]["groups"], 5);
    assert_eq!(scanned.progress.expect("progress").stage, "commit");
    keep_all_by(&lop, "shortest-path");

    let planned = run(&jobs, plan(Action::Quarantine));
    assert_eq!(planned.result.expect("a document")["summary"]["files"], 5);
    assert_eq!(files(&lop), 10, "a plan changes nothing");
    let lines = jobs.plan(planned.id).expect("a plan").reader().lines().count();
    assert_eq!(lines, 5);

    let applied = run(&jobs, JobSpec::Apply { plan: planned.id });
    assert_eq!(applied.exit_code, Some(0), "{applied:?}");
    let summary = &applied.result.expect("a document")["summary"];
    assert_eq!((&summary["done"], files(&lop)), (&5.into(), 5));
    let mut text = String::new();
    jobs.output(applied.id).expect("output").reader().read_to_string(&mut text).expect("UTF-8");
    assert!(text.starts_with("{\"format_version\":1,\"summary\":"), "{text}");

    let undone = run(&jobs, JobSpec::Undo { run: summary["run"].as_u64().expect("a run") });
    assert_eq!(undone.exit_code, Some(0), "{undone:?}");
    assert_same(&before, &Snapshot::of(lop.work()), BACK);
    assert_eq!(jobs.list().iter().map(|job| job.id).collect::<Vec<_>>(), [4, 3, 2, 1].map(JobId));
}

#[test]
fn files_in_quarantine_are_restored_and_purged() {
    let lop = Lop::with(&pairs(3));
    let jobs = jobs(&lop);
    run(&jobs, scan(&lop));
    keep_all_by(&lop, "shortest-path");
    for last in [JobSpec::Restore, JobSpec::PurgeQuarantine { older_than_seconds: 0 }] {
        let planned = run(&jobs, plan(Action::Quarantine));
        run(&jobs, JobSpec::Apply { plan: planned.id });
        assert_eq!(files(&lop), 3);
        let ended = run(&jobs, last);
        assert_eq!(ended.exit_code, Some(0), "{ended:?}");
    }
    assert_eq!(files(&lop), 3);
    let restored = lop.json(["quarantine", "list"]);
    assert_eq!(restored["files"].as_array().map(Vec::len), Some(0), "{restored}");
    let folders = run(&jobs, JobSpec::Folders);
    assert!(folders.result.expect("a document")["related"].is_array());
}

#[test]
fn problems_become_messages_and_the_reason_of_the_failure_is_kept() {
    let lop = Lop::with(&pairs(1));
    let jobs = jobs(&lop);
    let nowhere = lop.path("nowhere").display().to_string();
    let job = run(&jobs, JobSpec::Scan { paths: vec![lop.path("d"), lop.path("nowhere")] });
    assert_eq!((job.exit_code, job.messages_total), (Some(3), 1), "{job:?}");
    assert_eq!(job.messages, [format!("{nowhere}: No such file or directory")]);
    assert_eq!(job.error.expect("an error").code, 3);
}

#[test]
fn one_job_changes_files_at_a_time_and_it_can_be_cancelled() {
    let lop = Lop::with(&pairs(2).fifo("list"));
    lop.remember(["d"]);
    let jobs = jobs(&lop);
    // The job waits for the catalog.
    let holder = Holder::start(&lop);
    let waiting = jobs.start(scan(&lop)).expect("started");
    let changes = jobs.subscribe();
    until("the job waits", || !jobs.job(waiting).expect("known").messages.is_empty());
    assert!(jobs.job(waiting).expect("known").messages[0].starts_with("waiting for process "));
    match jobs.start(JobSpec::Undo { run: 1 }) {
        Err(StartError::Busy(id)) => assert_eq!(id, waiting),
        other => panic!("{other:?}"),
    }
    assert!(
        !run(&jobs, JobSpec::Folders).cancelled,
        "a job that changes nothing may run beside it"
    );
    assert!(matches!(jobs.start(JobSpec::Apply { plan: waiting }), Err(StartError::Busy(_))));

    let before = *changes.borrow();
    assert!(jobs.cancel(waiting));
    let ended = jobs.wait(waiting, TEST_TIMEOUT).expect("known");
    assert!(ended.cancelled && !ended.is_running(), "{ended:?}");
    assert_eq!((ended.exit_code, ended.signal), (None, Some(15)));
    assert!(*changes.borrow() > before);
    assert!(!jobs.cancel(waiting), "it has ended");
    holder.finish(b"");
    assert!(matches!(jobs.start(JobSpec::Apply { plan: waiting }), Err(StartError::NoPlan(_))));
}

#[test]
fn stopping_the_server_interrupts_its_job() {
    let lop = Lop::with(&pairs(2).fifo("list"));
    lop.remember(["d"]);
    let jobs = jobs(&lop);
    let holder = Holder::start(&lop);
    let waiting = jobs.start(scan(&lop)).expect("started");
    until("the job waits", || !jobs.job(waiting).expect("known").messages.is_empty());
    jobs.shutdown();
    let ended = jobs.job(waiting).expect("known");
    assert!(!ended.is_running() && ended.cancelled, "{ended:?}");
    assert!(matches!(jobs.start(JobSpec::Folders), Err(StartError::ShutDown)));
    holder.finish(b"");
}

/// Names the catalog of the job that [`process_that_is_killed`] starts.
const CATALOG: &str = "LOP_TEST_CATALOG";

/// Not a test: the process that the test below kills while it runs a job.
#[test]
fn process_that_is_killed() {
    let Some(catalog) = std::env::var_os(CATALOG) else { return };
    let jobs = Jobs::new(env!("CARGO_BIN_EXE_lop").into(), catalog.into());
    let undo = JobSpec::Undo { run: 1 };
    let id = jobs.start(undo).expect("started");
    jobs.wait(id, TEST_TIMEOUT);
}

#[test]
fn a_run_survives_the_server_that_started_it() {
    let lop = Lop::with(&pairs(3000));
    lop.remember(["d"]);
    lop.run(["dedupe", "--by", "quarantine", "--apply", "--all"]).success();
    assert_eq!(files(&lop), 3000);
    let test = std::env::current_exe().expect("this program");
    let mut server = Command::new(test)
        .args(["--exact", "jobs::process_that_is_killed"])
        .env(CATALOG, lop.catalog())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("started");
    until("the run has begun", || files(&lop) > 3000);
    server.kill().expect("killed");
    server.wait().expect("reaped");
    let then = files(&lop);
    assert!(then < 6000, "the run was over before the server was killed");
    until("the run is over", || files(&lop) == 6000);
    // The command waits until the run has released the journals.
    lop.run(["undo", "1"]).success();
    let history = lop.json(["history", "1"]);
    assert_eq!(history["summary"]["restored"], 3000, "{}", history["summary"]);
    // The run updates the catalog afterwards.
    until("the catalog follows the run", || lop.report().len() == 3000);
}
