//! `lop serve` is killed while a run that a page started changes files.

use std::fs;

use action::run::Runs;
use browser::Browser;
use testkit::{Signal, Snapshot, TreeBuilder, assert_contents_kept, assert_same, signal_process};

use crate::dedupe::BACK;
use crate::jobs::{keep_all_by, until};
use crate::lop::Lop;
use crate::serve_pages::{assert_accessible, start};
use crate::serving::Server;

/// Number of pairs. The run takes much longer than the test needs to notice its first file.
const PAIRS: usize = 3000;

fn tree() -> TreeBuilder {
    (0..PAIRS).fold(TreeBuilder::new(), |tree, n| {
        let text = format!("photo {n:04}");
        tree.file(format!("nas/photos/{n:04}.jpg"), &*text)
            .file(format!("nas/photos copy/{n:04}.jpg"), &*text)
    })
}

/// A run whose server was killed, and which was stopped in the middle.
struct Orphan {
    lop: Lop,
    browser: Browser,
    before: Snapshot,
    /// The process of the run.
    process: u32,
}

/// Returns the number of files that the run has moved away.
fn moved(lop: &Lop) -> usize {
    PAIRS - fs::read_dir(lop.path("nas/photos copy")).expect("is there").count()
}

/// Starts a run from a page, kills the server after the first files, and stops the run.
///
/// The order matters: if a server ends while its run is stopped, the kernel hangs up the run.
fn orphan() -> Option<Orphan> {
    let lop = Lop::with(&tree());
    lop.remember(["nas"]);
    keep_all_by(&lop, "shortest-path");
    let (server, mut browser) = start(&lop)?;
    let before = Snapshot::of(lop.path("nas"));
    browser.open(&server.url());
    browser.open(&server.page("/plan"));
    browser.click("#plan-form button[type=submit]");
    browser.click("button[data-dialog=apply-dialog]");
    browser.click("#apply-dialog button[value=ok]");
    let mut process = 0;
    until("the run has begun", || {
        process = Runs::process(&lop.runs()).unwrap_or(0);
        process > 0 && moved(&lop) > 0
    });
    browser.expect("net::ERR_");
    server.kill();
    assert!(signal_process(process, Signal::STOP), "the run goes on");
    browser.wait_for_text("#alert", "lop serve does not answer");
    assert_in_the_middle(&lop);
    Some(Orphan { lop, browser, before, process })
}

/// Fails unless the run has moved some files and not all.
#[track_caller]
fn assert_in_the_middle(lop: &Lop) {
    let moved = moved(lop);
    assert!(moved > 0 && moved < PAIRS, "{moved} of {PAIRS} files are moved");
}

/// Returns the number of files that the list of runs shows for the only run.
fn shown(browser: &Browser) -> usize {
    let text = browser.text("table.runs tbody td.num").replace(',', "");
    text.parse().expect("a number")
}

/// Undoes the run from its page, and checks that everything is as before.
fn undo(orphan: Orphan, server: &Server, restored: &str) {
    let Orphan { lop, browser, before, .. } = orphan;
    browser.open(&server.page("/runs/1"));
    browser.click("button[data-dialog=undo-dialog]");
    browser.wait_for_text("#undo-dialog .preview", "would be restored");
    browser.click("#undo-dialog button[value=ok]");
    browser.wait_for_text("#outcome", restored);
    browser.finish();
    assert_same(&before, &Snapshot::of(lop.path("nas")), BACK);
}

#[test]
fn a_run_goes_on_without_its_server_and_the_next_server_shows_and_undoes_it() {
    let Some(mut orphan) = orphan() else { return };
    let server = Server::start(&orphan.lop, &["--allow-actions"]);
    let Orphan { lop, browser, before, process } = &mut orphan;
    browser.open(&server.url());
    browser.open(&server.page("/runs"));
    browser.wait_for_text("main", &format!("lop is changing files right now (process {process})"));
    browser.wait_for_text("table.runs", "running");
    assert_in_the_middle(lop);
    assert_accessible(browser);
    assert_contents_kept(before, &[&Snapshot::of(lop.path("nas"))]);

    assert!(signal_process(*process, Signal::CONT), "the run still exists");
    until("the run is over", || Runs::process(&lop.runs()).is_none());
    assert_eq!(moved(lop), PAIRS);
    browser.reload();
    browser.wait_for_text("table.runs", "done");
    assert_eq!(shown(browser), PAIRS);
    assert_contents_kept(before, &[&Snapshot::of(lop.path("nas"))]);
    undo(orphan, &server, "3,000 files restored");
}

#[test]
fn a_run_that_is_killed_with_its_server_is_shown_as_interrupted_and_can_be_undone() {
    let Some(mut orphan) = orphan() else { return };
    assert!(signal_process(orphan.process, Signal::KILL), "the run exists");
    until("the run is gone", || Runs::process(&orphan.lop.runs()).is_none());
    let server = Server::start(&orphan.lop, &["--allow-actions"]);
    let Orphan { lop, browser, before, .. } = &mut orphan;
    assert_in_the_middle(lop);
    let done = moved(lop);
    assert_contents_kept(before, &[&Snapshot::of(lop.path("nas"))]);
    browser.open(&server.url());
    browser.open(&server.page("/runs"));
    browser.wait_for_text("table.runs", "interrupted");
    assert!(shown(browser) <= done, "more files than {done} are shown");
    assert_accessible(browser);
    browser.open(&server.page("/runs/1"));
    browser.wait_for_text("main", "This run was interrupted. No file is lost");
    // Every file that was moved is in the list, as moved or as on its way.
    let states = browser.texts("table.listed .state");
    assert!(states.iter().all(|state| state == "done" || state == "interrupted"), "{states:?}");
    assert!(states.len() >= done.min(1000), "{} of {done} files are listed", states.len());
    assert_accessible(browser);
    undo(orphan, &server, "files restored");
}
