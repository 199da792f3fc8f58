//! Tests of plans, runs and undos.

use action::plan::Kind;
use action::run::RunSummary;
use testkit::TreeBuilder;

use super::{Interface, photos};
use crate::app::acting::{RUNNING, STOPPING};
use crate::effect::Effect;
use crate::key::Key;
use crate::work::{Acted, Load, Loaded, News, RunList, Slot};

const APPLY: Load = Load::Apply(Kind::Hardlink);

/// Shows the page of a run that is changing files.
fn running() -> Interface {
    let mut interface = Interface::of(&photos());
    assert_eq!(interface.app.begin(APPLY), [Effect::Load(APPLY)]);
    interface
}

/// Ends the run.
fn end(interface: &mut Interface, result: Result<Acted, String>) {
    interface.tell(News::Loaded(Loaded::Acted(result)));
}

fn acted() -> Acted {
    let messages = vec!["/a: changed".into()];
    Acted { text: "Run 3: 2 files done".into(), run: Some(3), done: 2, messages }
}

#[test]
fn files_change_only_after_a_question() {
    let mut interface = Interface::of(&photos());
    interface.types("p");
    interface.shows("Loading");
    interface.types("a");
    interface.shows("The plan is not ready yet.");
    interface.types("5");
    interface.shows("No run has changed files.");
    interface.refused.clear();
    interface.types("u");
    assert_eq!(interface.refused, [], "there is no run");
    // The page with the result of a run offers to undo it.
    interface.app.begin(APPLY);
    interface.shows("Loading");
    end(&mut interface, Ok(acted()));
    interface.shows("/a: changed");
    interface.types("u");
    interface.shows("Undo run 3 and restore 2 files?");
    interface.types("\r");
    assert_eq!(interface.refused, [], "only y confirms");
    interface.types("y");
    assert_eq!(interface.refused, [Load::Undo { run: 3, kind: Kind::Hardlink }]);
}

#[test]
fn a_question_cannot_be_answered_before_it_is_shown() {
    let mut interface = running();
    end(&mut interface, Ok(acted()));
    interface.refused.clear();
    interface.types("uy");
    assert_eq!(interface.refused, []);
    interface.shows("Undo run 3 and restore 2 files? [y/n]");
    interface.types("n").types("uy");
    assert_eq!(interface.refused, [], "the second question is another one");
    interface.screen();
    interface.types("y");
    assert_eq!(interface.refused.len(), 1);
}

#[test]
fn the_interface_stays_until_a_run_ends() {
    let mut interface = running();
    for keys in ["q", "1", "p", "\x03", "\x1a"] {
        interface.types("?\x1b").types(keys);
        interface.shows(RUNNING);
    }
    assert!(!interface.has_quit);
    assert_eq!(interface.app.key(Key::Ctrl('z')), [], "a run waits for the reader of its progress");
    end(&mut interface, Ok(acted()));
    assert_eq!(interface.app.key(Key::Ctrl('z')), [Effect::Suspend]);
}

#[test]
fn a_run_that_was_stopped_finishes_the_current_file() {
    let mut interface = running();
    let progress = || News::Progress(Slot::Act, "1 of 3 files".into());
    interface.tell(progress());
    interface.shows("1 of 3 files (Esc stops)");
    assert_eq!(interface.app.key(Key::Esc), [Effect::Cancel(APPLY)]);
    interface.tell(progress());
    interface.shows("Stopping after the current file… 1 of 3 files\n");
    end(&mut interface, Ok(acted()));
    interface.shows("Run 3: 2 files done");
}

#[test]
fn the_user_may_leave_a_run_that_is_stopping() {
    let mut interface = running();
    let wait = "waiting for process 9";
    interface.tell(News::Progress(Slot::Act, "2 of 3 files".into()));
    interface.types("\x1b");
    interface.shows("Stopping after the current file…\n");
    interface.shows("q leaves while lop finishes; the result is then in list 5");
    interface.tell(News::Progress(Slot::Act, wait.into()));
    interface.types("\x1b");
    interface.shows(&format!("Stopping after the current file… {wait}\n"));
    for keys in ["1", "p"] {
        interface.types(keys);
        interface.shows(STOPPING);
    }
    assert_eq!(interface.app.key(Key::Ctrl('z')), [], "a run waits for the reader of its progress");
    assert!(!interface.has_quit);
    for key in [Key::Char('q'), Key::Ctrl('c')] {
        assert_eq!(interface.app.key(key), [Effect::Quit]);
    }
}

#[test]
fn only_runs_that_can_be_undone_offer_it() {
    let mut interface = running();
    end(&mut interface, Ok(Acted { run: None, ..acted() }));
    let screen = interface.screen();
    assert!(!screen.contains("u undo"), "{screen}");
    interface.types("u");
    assert!(interface.app.dialog().is_none());
}

#[test]
fn long_failures_can_be_read() {
    let mut interface = running();
    let long = |end: &str| format!("{}{end}", "long text ".repeat(10));
    end(&mut interface, Err(long("of a failure")));
    interface.shows("of a failure");
    interface.types("i");
    assert_eq!(interface.screen().matches("of a failure").count(), 2, "{}", interface.screen());
    interface.app.begin(APPLY);
    end(&mut interface, Ok(Acted { text: long("of a result"), ..acted() }));
    interface.shows("…\n> /a: changed");
    interface.types("i");
    interface.shows("of a result. /a: changed");
}

fn run(kind: Kind) -> RunSummary {
    let (run, done, failed, freed) = (7, 3, 0, 0);
    let (started_ms, ended_ms, damaged) = (0, Some(1), 0);
    let (undone, purged, already, unrecorded) = (0, 0, 0, 0);
    RunSummary {
        run,
        kind,
        started_ms,
        ended_ms,
        done,
        undone,
        purged,
        already,
        failed,
        unrecorded,
        freed,
        damaged,
    }
}

#[test]
fn a_sweep_restores_entries() {
    let mut interface = Interface::of(&photos());
    interface.types("5");
    let list = RunList { runs: vec![run(Kind::Sweep)], unreadable: 1, first_that_may_run: 8 };
    interface.tell(News::Loaded(Loaded::Runs(Ok(list))));
    interface.shows("3 entries");
    interface
        .shows("1 run; 1 journal could not be read; see: lop history; u undoes the selected run");
    interface.types("u");
    interface.shows("Undo run 7 and restore 3 entries?");
}

#[test]
fn a_run_that_another_process_may_still_be_carrying_out_is_not_undone() {
    let mut interface = Interface::of(&photos());
    interface.types("5");
    let show = |interface: &mut Interface, ended_ms, first_that_may_run| {
        let runs = vec![RunSummary { ended_ms, ..run(Kind::Hardlink) }];
        let list = RunList { runs, unreadable: 0, first_that_may_run };
        interface.tell(News::Loaded(Loaded::Runs(Ok(list))));
    };
    show(&mut interface, None, 7);
    interface.shows("3 files, may still be running");
    assert!(!interface.screen().contains("u undo"), "{}", interface.screen());
    interface.types("i");
    interface.shows("Run 7: 3 files, may still be running");
    interface.types("u");
    interface.shows("Run 7 may still be running. Press R to list the runs again.");
    for (ended_ms, first_that_may_run) in [(None, 8), (Some(1), 7)] {
        show(&mut interface, ended_ms, first_that_may_run);
        let is_interrupted = interface.screen().contains("3 files, interrupted");
        assert_eq!(is_interrupted, ended_ms.is_none());
        interface.types("u");
        interface.shows("Undo run 7 and restore 3 files?");
        interface.types("n");
    }
}

#[test]
fn runs_with_unreadable_journals_are_not_taken_for_none() {
    let mut interface = Interface::of(&photos());
    let tree = TreeBuilder::new().dir("c.db.runs").mode("c.db.runs", 0o700);
    let tree = tree.dir("c.db.runs/1.jsonl").dir("c.db.runs/2.jsonl");
    let _made = tree.make(interface.temp.path());
    interface.types("5");
    interface.shows("2 journals could not be read; see: lop history");
}
