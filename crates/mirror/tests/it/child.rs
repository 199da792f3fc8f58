//! Runs a mirror in a separate process. The process is killed at a given change, or the change is made to fail.

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fsops::faults::{ChangeFault, changes, fault_at_change};

use crate::hints::FakeHints;
use crate::world::{Variant, deleting, try_mirror, with};

const FOLDER: &str = "MIRROR_TEST_FOLDER";
const BLOW: &str = "MIRROR_TEST_BLOW";
const VARIANT: &str = "MIRROR_TEST_WAY";
const PLACES: &str = "MIRROR_TEST_PLACES";

/// How the process ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The number of changes that were made and the number of entries that failed. `None` if the process was killed.
    pub(crate) done: Option<(u64, u64)>,
    pub(crate) account: String,
}

/// Runs a process that mirrors `folder/from` to `folder/to`, and injects a fault at change
/// `number`.
pub(crate) fn run(folder: &Path, number: u64, blow: ChangeFault) -> Ended {
    run_with(folder, number, blow, &[])
}

/// Like [`run`], but with hints that the files in `places` can be reused.
pub(crate) fn run_with(folder: &Path, number: u64, blow: ChangeFault, places: &[&str]) -> Ended {
    let mut command = Command::new(std::env::current_exe().expect("the binary of this test"));
    command.args(["--exact", "child::runs_the_mirror_of_the_parent", "--ignored", "--nocapture"]);
    let errno = if let ChangeFault::Fail(errno) = blow { errno } else { 0 };
    command.arg("--test-threads=1").env(FOLDER, folder).env(BLOW, format!("{number} {errno}"));
    if !places.is_empty() {
        command.env(PLACES, places.join(" "));
    }
    command.env(VARIANT, format!("{:?}", Variant::now()));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = testkit::spawn(&mut command).and_then(std::process::Child::wait_with_output);
    let output = output.expect("runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let account = format!("{}\n{}\n{}", output.status, text(&output.stdout), text(&output.stderr));
    let numbers = account.lines().find_map(|line| line.split("changes=").nth(1));
    let done = numbers.and_then(|numbers| {
        let (changes, failed) = numbers.split_once(' ')?;
        Some((changes.parse().ok()?, failed.parse().ok()?))
    });
    let killed = output.status.signal() == Some(9);
    assert!(killed || output.status.success(), "{account}");
    assert_ne!(killed, done.is_some(), "{account}");
    Ended { done, account }
}

#[test]
#[ignore = "run by other tests, in a process of its own"]
#[expect(clippy::print_stdout, reason = "the account for the test that started it")]
fn runs_the_mirror_of_the_parent() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("another test runs this one"));
    let blow = std::env::var(BLOW).expect("the fault is in the environment");
    let (number, errno) = blow.split_once(' ').expect("two numbers");
    let (number, errno) = (number.parse().expect("a number"), errno.parse().expect("a number"));
    fault_at_change(number, if errno == 0 { ChangeFault::Kill } else { ChangeFault::Fail(errno) });
    let way = std::env::var(VARIANT).expect("the variant is in the environment");
    let all = [Variant::OneHost, Variant::TwoHosts, Variant::DiskOrder];
    let way = all.into_iter().find(|known| format!("{known:?}") == way).expect("a way");
    way.of(|| {
        // With one worker, the changes are made in the same order each time.
        let mut options = mirror::Options { threads: with(1).threads, ..deleting() };
        if let Ok(places) = std::env::var(PLACES) {
            options = FakeHints::of(&places.split(' ').collect::<Vec<_>>()).to(options);
        }
        let outcome = try_mirror(folder.join("from"), folder.join("to"), &options);
        println!("{:?}", outcome.problems);
        println!("\nchanges={} {}", changes(), outcome.counts.failed);
    });
}
