//! Output, exit codes and messages, surveys at the same time, and damaged answers.

use std::collections::BTreeSet;
use std::fs;

use survey::HostSurvey;
use testkit::{Signal, TreeBuilder};

use crate::concurrency::{Holder, said_to_wait};
use crate::lop::{assert_exit_record, settle};
use crate::surveying::hosts::{Hosts, Totals};
use crate::surveying::truth::assert_all_known;

const ARGS: [&str; 2] = ["--min-size", "1"];

/// Two hosts that share two sizes, a head, and a file.
fn two_hosts() -> Hosts {
    let tree = |host: u64| {
        TreeBuilder::new()
            .seeded("equal", 1, 20_000)
            .seeded("of the same size", 2 + host, 20_001)
            .seeded("alone", 9, 30_000 + host)
            .fifo("list")
    };
    Hosts::new([tree(0), tree(1)])
}

#[test]
fn each_round_says_what_was_read_and_what_to_do_next() {
    let fleet = two_hosts();
    let next = "next, when all hosts have run this command: lop-fleet answer DIR\n";
    let export = "to export the new digests: lop export DIR\n";
    let size = |name: &str| fs::metadata(fleet.folder(0).join(name)).expect("a list").len();
    // The next step is suggested only on a terminal.
    let ask = |hint: &str| {
        let shown = fleet.command(1, &ARGS).talk(200, &[]);
        let hints = [next, export].map(|hint| shown.text.contains(hint));
        assert_eq!((shown.code, hints), (Some(0), [next, export].map(|one| one == hint)));
        let output = fleet.command(0, &ARGS).run();
        assert_eq!(output.success().stderr_str(), "");
        output.stdout_str().to_owned()
    };
    let said = ask(next);
    let sizes = size("sizes-0.list");
    let begins = "0 heads and 0 files read, 0 B\n3 sizes and 0 heads listed, ";
    assert_eq!(said, format!("{begins}{sizes} B written\n"));
    // Without an answer, there is nothing else to do.
    assert_eq!(ask(next), format!("{begins}0 B written\n"));
    fleet.answer();
    let said = ask(next);
    let heads = size("heads-0.list");
    let begins = "2 heads and 0 files read, 16.0 KiB\n3 sizes and 2 heads listed, ";
    assert_eq!(said, format!("{begins}{heads} B written\ncompared with h1\n"));
    fleet.answer();
    let said = ask(export);
    let listed = "3 sizes and 2 heads listed, 0 B written\ncompared with h1\n";
    assert_eq!(said, format!("0 heads and 1 file read, 19.5 KiB\n{listed}"));
    fleet.answer();
    assert_eq!(ask(""), format!("0 heads and 0 files read, 0 B\n{listed}"));
    let quiet = fleet.command(0, &ARGS).arg("-q").run();
    assert_eq!((quiet.success().stdout_str(), quiet.stderr_str()), ("", ""));
}

#[test]
fn the_summary_in_json_has_documented_keys() {
    let fleet = two_hosts();
    let summary = fleet.survey(0, &ARGS);
    assert_eq!(summary["awaits_answer"], true);
    fleet.survey(1, &ARGS);
    fleet.answer();
    let summary = fleet.survey(0, &ARGS);
    let keys: BTreeSet<&str> =
        summary.as_object().expect("an object").keys().map(String::as_str).collect();
    let expected = [
        "awaits_answer",
        "bytes_read",
        "bytes_written",
        "files_read",
        "heads_listed",
        "heads_read",
        "host",
        "hosts",
        "sizes_listed",
        "unread",
    ];
    assert_eq!(keys, BTreeSet::from(expected));
    assert_eq!(summary["host"], "h0");
    assert_eq!(summary["hosts"], serde_json::json!(["h1"]));
    assert_eq!(
        (summary["sizes_listed"].as_u64(), summary["heads_listed"].as_u64()),
        (Some(3), Some(2))
    );
    assert_eq!(Totals::of(&summary), Totals { heads: 2, files: 0, bytes: 2 * 8192 });
    let bytes = fs::metadata(fleet.folder(0).join("heads-0.list")).expect("a list").len();
    assert_eq!(summary["bytes_written"], bytes);
}

#[test]
fn a_survey_waits_for_a_running_scan() {
    let fleet = two_hosts();
    let args = ["--min-size", "1"];
    fleet.survey(1, &args);
    fleet.survey(0, &args);
    fleet.answer();
    let lop = &fleet.hosts[0];
    let holder = Holder::start(lop);
    let mut survey = fleet.command(0, &args).spawn();
    assert!(survey.wait_for(&said_to_wait(&holder)));
    lop.lay(&TreeBuilder::new().seeded("later", 5, 20_001));
    settle();
    holder.finish(b"later\n");
    survey.wait().success();
    // The survey has read the file that the scan has added.
    let summary = fleet.survey(0, &args);
    assert_eq!(summary["heads_listed"], 3);
    fleet.converge(&args);
    assert_all_known(&fleet, "out");
}

#[test]
fn a_scan_waits_for_a_running_survey_or_is_done_before() {
    let fleet = two_hosts();
    for _ in 0..5 {
        let surveys: Vec<_> = (0..2).map(|host| fleet.command(host, &ARGS).spawn()).collect();
        let scans: Vec<_> =
            fleet.hosts.iter().map(|lop| lop.command().args(["scan", "."]).spawn()).collect();
        for running in surveys.into_iter().chain(scans) {
            running.wait().success();
        }
        fleet.answer();
    }
    fleet.converge(&ARGS);
    assert_all_known(&fleet, "out");
}

#[test]
fn a_wait_for_a_scan_can_be_interrupted() {
    let fleet = two_hosts();
    let holder = Holder::start(&fleet.hosts[0]);
    let mut survey = fleet.command(0, &ARGS).spawn();
    assert!(survey.wait_for(&said_to_wait(&holder)));
    assert!(survey.signal(Signal::INT));
    survey.wait().signal(Signal::INT);
    holder.finish(b"");
    assert!(!fleet.out().exists());
}

#[test]
fn another_survey_of_the_same_host_is_refused() {
    let fleet = two_hosts();
    fleet.survey(0, &ARGS);
    let before = fleet.files();
    let other = HostSurvey::open(&fleet.out(), "h0", None).expect("opens");
    let output = fleet.command(0, &ARGS).run();
    output.code(1);
    let message = format!("lop: another process is writing to {}\n", fleet.folder(0).display());
    assert_eq!(output.stderr_str(), message + "hint: try again when it has ended\n");
    assert_exit_record(&fleet.command(0, &ARGS).arg("--json").run(), 1);
    // Other hosts and the answers do not wait.
    fleet.survey(1, &ARGS);
    fleet.answer();
    drop(other);
    assert!(fleet.files().len() > before.len());
    fleet.converge(&ARGS);
}

#[test]
fn a_damaged_answer_is_named_and_the_next_one_replaces_it() {
    let fleet = two_hosts();
    fleet.survey(0, &ARGS);
    fleet.survey(1, &ARGS);
    fleet.answer();
    let path = fleet.folder(0).join("sizes.answer");
    let whole = fs::read(&path).expect("an answer");
    for (bytes, reason) in [
        (whole[..whole.len() - 1].to_vec(), "is incomplete or too long"),
        ([&whole[..], b"x"].concat(), "is incomplete or too long"),
        ([&whole[..whole.len() - 1], b"\x07"].concat(), "is damaged"),
        (b"{\"survey\":2}\n".to_vec(), "has version 2"),
        (b"hello\n".to_vec(), "not a file of a survey"),
    ] {
        fs::write(&path, &bytes).expect("written");
        let catalog = fs::read(fleet.hosts[0].catalog()).expect("a catalog");
        let output = fleet.command(0, &ARGS).run();
        output.code(1);
        let said = output.stderr_str();
        assert!(said.contains("sizes.answer") && said.contains(reason), "{said}");
        assert!(said.contains("hint: answer the survey again: lop-fleet answer DIR"), "{said}");
        assert!(fs::read(fleet.hosts[0].catalog()).expect("a catalog") == catalog);
        fleet.answer();
        assert_eq!(fs::read(&path).expect("an answer"), whole);
    }
    fs::remove_file(&path).expect("removed");
    assert_eq!(fleet.survey(0, &ARGS)["awaits_answer"], true);
    fleet.converge(&ARGS);
    assert_all_known(&fleet, "out");
}

#[test]
fn damaged_lists_are_replaced_by_their_host_and_nothing_is_read_again() {
    let fleet = two_hosts();
    fleet.converge(&ARGS);
    for name in ["sizes-0.list", "heads-0.list"] {
        let path = fleet.folder(0).join(name);
        let whole = fs::read(&path).expect("a list");
        for damaged in [&whole[..whole.len() / 2], &whole[..whole.len() - 1], b""] {
            fs::write(&path, damaged).expect("written");
            let answered = survey::answer(&fleet.out(), &runtime::Progress::default());
            assert_eq!(answered.expect("other hosts are answered").problems.len(), 1);
            let summary = fleet.survey(0, &ARGS);
            assert_eq!(summary["awaits_answer"], true);
            assert_eq!(fleet.converge(&ARGS), [Totals::default(); 2]);
        }
    }
    fleet.hosts[1].add(&TreeBuilder::new().seeded("new", 9, 30_000));
    fleet.hosts[1].remember(["."]);
    fleet.converge(&ARGS);
    assert_all_known(&fleet, "out");
}
