//! Files that have changed, are gone, or cannot be read since the scan.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use survey::{HostSurvey, Kind};
use testkit::{Calls, FileSystem, Mount, NOBODY, Strace, TreeBuilder, is_root, skipped};

use crate::lop::{Lop, assert_exit_record, document, last_record, settle};
use crate::surveying::hosts::{Hosts, Totals};
use crate::surveying::truth::{Elsewhere, assert_all_known, exported};

const ARGS: [&str; 2] = ["--min-size", "1"];

/// Two hosts with the same files, whose sizes have been answered.
fn two_hosts() -> Hosts {
    let tree = ["changed", "gone", "replaced", "fifo", "sound"];
    let tree = (0..).zip(tree).fold(TreeBuilder::new(), |tree, (n, name)| {
        tree.seeded(format!("d/{name}"), n, 20_000 + n)
    });
    let fleet = Hosts::new([tree.clone(), tree]);
    (0..2).for_each(|host| drop(fleet.survey(host, &ARGS)));
    fleet.answer();
    fleet
}

#[test]
fn files_that_changed_or_are_gone_stay_unread_until_the_next_scan() {
    let fleet = two_hosts();
    let lop = &fleet.hosts[0];
    for (name, new) in [
        ("changed", TreeBuilder::new().seeded("d/changed", 77, 20_000)),
        ("gone", TreeBuilder::new()),
        ("replaced", TreeBuilder::new().seeded("d/replaced", 2, 20_002)),
        ("fifo", TreeBuilder::new().fifo("d/fifo")),
    ] {
        fs::remove_file(lop.path("d").join(name)).expect("removed");
        lop.lay(&new);
    }
    settle();
    for read in [1, 0] {
        let summary = fleet.survey(0, &ARGS);
        let total = Totals { heads: read, files: 0, bytes: read * 8192 };
        assert_eq!((Totals::of(&summary), summary["unread"].as_u64()), (total, Some(4)));
        // The survey still lists the sizes that the scan stored.
        assert_eq!(summary["sizes_listed"], 5);
    }
    let said = fleet.command(0, &ARGS).run();
    let text = said.success().stdout_str();
    assert!(text.contains("\n4 still to read\n"), "{text}");
    for _ in 0..2 {
        fleet.survey(1, &ARGS);
        fleet.answer();
        fleet.survey(0, &ARGS);
    }
    // No answer is wrong: the catalog knows the old files, whose bytes were not read.
    let answers = exported(&fleet.export("before", None), 1);
    assert!(answers[0].values().filter(|answer| **answer == Elsewhere::Unknown).count() == 4);
    lop.remember(["."]);
    fleet.converge(&ARGS);
    assert_all_known(&fleet, "after");
}

#[test]
fn a_file_that_the_disk_cannot_read_is_named_and_the_others_are_read() {
    let Ok(strace) = Strace::find().map_err(skipped) else { return };
    let fleet = two_hosts();
    let bad = fleet.hosts[0].path("d/changed");
    let fails = |command| strace.fail(command, &Calls::of("pread64").at(&bad), "EIO");
    let traced = fails(fleet.command(0, &ARGS));
    assert!(traced.fired());
    traced.output.code(3);
    let said = traced.output.stderr_str();
    let reason = format!("lop: {}: cannot read: Input/output error", bad.display());
    assert!(said.starts_with(&reason), "{said}");
    assert!(traced.output.stdout_str().starts_with("4 heads and 0 files read, "), "{said}");
    let traced = fails(fleet.command(0, &ARGS).arg("--json"));
    assert_exit_record(&traced.output, 3);
    let message = last_record(&traced.output)["error"]["message"].to_string();
    assert!(message.contains("0 heads and 0 files read"), "{message}");
    assert_eq!(document(&traced.output)["summary"]["unread"], 1);
    // The disk works again.
    fleet.survey(1, &ARGS);
    fleet.answer();
    fleet.converge(&ARGS);
    assert_all_known(&fleet, "out");
}

#[test]
fn a_file_without_permission_is_named() {
    if !is_root() {
        return skipped("only root can run lop as another user");
    }
    let lop = Lop::with(&TreeBuilder::new().seeded("locked", 1, 9000).seeded("open", 2, 9001));
    let run = |args: &[&str]| lop.command().args(args).as_user(NOBODY, NOBODY).run();
    run(&["scan", "."]).success();
    let out = lop.home().join("fleet");
    let args = ["survey", "--min-size", "1", "--host", "h0", out.to_str().expect("UTF-8")];
    run(&args).success();
    let other = HostSurvey::open(&out, "other", None).expect("opens");
    other.publish(Kind::Sizes, &[9000, 9001]).expect("listed");
    survey::answer(&out, &runtime::Progress::default()).expect("answered");
    // Root has answered for the user. The answer is private, but belongs to the user.
    let answer = fs::metadata(out.join("h0/_survey/sizes.answer")).expect("answered");
    assert_eq!((answer.uid(), answer.mode() & 0o777), (NOBODY, 0o600));
    fs::set_permissions(lop.path("locked"), Permissions::from_mode(0o000)).expect("set");
    let output = run(&args);
    output.code(3);
    let reason = "locked: cannot open: Permission denied";
    assert!(output.stderr_str().contains(reason), "{}", output.stderr_str());
    let text = output.stdout_str();
    assert!(text.starts_with("1 head and 0 files read, 8.0 KiB\n"), "{text}");
    assert!(text.contains("\n1 still to read\n"), "{text}");
}

#[test]
fn files_on_a_disk_that_is_away_are_listed_and_read_when_it_is_back() {
    let Ok(mount) = Mount::new(FileSystem::Ext4, 16 << 20).map_err(skipped) else { return };
    TreeBuilder::new().seeded("x", 1, 20_000).make(&mount);
    let fleet = Hosts::new([TreeBuilder::new().seeded("here", 2, 9000), {
        TreeBuilder::new().seeded("x", 1, 20_000)
    }]);
    settle();
    fleet.hosts[0].remember([mount.path()]);
    let away = mount.away().expect("unmounted");
    for _ in 0..3 {
        let summary = fleet.survey(0, &ARGS);
        assert_eq!(summary["sizes_listed"], 2);
        assert_eq!(Totals::of(&summary), Totals::default());
        fleet.survey(1, &ARGS);
        fleet.answer();
    }
    drop(away);
    let totals = fleet.converge(&ARGS);
    assert_eq!(totals[0], Totals { heads: 1, files: 1, bytes: 20_000 + 8192 });
}
