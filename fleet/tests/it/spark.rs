//! Tests of `--engine spark://...` with a cluster on this machine.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use testkit::{Invocation, Sandbox, Spark, python};

use crate::golden::{answers, ask_with, differences, name, oracles, queries};
use crate::{two_hosts, worlds};

/// Returns a command that finds the cluster.
pub(crate) fn on<'a>(spark: &Spark, command: Invocation<'a>) -> Invocation<'a> {
    let command = command.args(["--engine", &spark.master()]);
    spark.variables().into_iter().fold(command, |command, (name, value)| command.env(name, value))
}

/// One test, because starting a cluster takes longer than most queries.
#[test]
fn spark_answers_as_the_other_engines_do() {
    let Some(spark) = Spark::start() else { return };
    golden_queries_have_the_same_rows(&spark);
    reports_are_equal(&spark);
    values_keep_their_types(&spark);
    errors_are_one_line(&spark);
    queries_end_with_lop_fleet(&spark);
}

fn golden_queries_have_the_same_rows(spark: &Spark) {
    if python().is_none() {
        return;
    }
    let (all, mut some) = (queries(), queries());
    some.retain(|query| {
        ["exports", "paths-of-groups", "problems-per-host"].contains(&&*name(query))
    });
    let worlds =
        [(worlds::unusual(), &all), (worlds::random(4, 400), &all), (worlds::keyed(), &some)];
    for (hosts, queries) in worlds {
        let answers = answers(&ask_with(&hosts, queries, |command| on(spark, command)), queries);
        for expected in oracles(&hosts).iter().flatten() {
            assert_eq!(differences(&answers, expected), [""; 0]);
        }
    }
}

fn reports_are_equal(spark: &Spark) {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    for (hosts, args) in [
        (worlds::unusual(), &["--json", "--limit", "3"][..]),
        (worlds::random(5, 300), &["--min-size", "1024"]),
        (worlds::random(6, 300), &["--html"]),
    ] {
        let command = || sandbox.command().arg("report").arg(hosts.dir.path()).args(args);
        let (here, there) = (command().run(), on(spark, command()).run());
        // The header of the HTML page contains the time at which it was generated.
        let timeless = |text: &str| text.split("</header>").last().map(str::to_owned);
        assert_eq!(timeless(there.success().stdout_str()), timeless(here.success().stdout_str()));
        assert_eq!(there.stderr_str(), here.stderr_str());
    }
}

fn values_keep_their_types(spark: &Spark) {
    let hosts = two_hosts();
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    let query = "SELECT host, size, digest, size > 1500 AS large, avg(size) AS mean, CAST(1.5 AS DECIMAL(3, 2)) AS d \
                 FROM inodes WHERE size = 77 GROUP BY host, size, digest;";
    let command = sandbox.command().arg("sql").arg(hosts.dir.path()).arg(query);
    let output = on(spark, command).args(["--format", "csv"]).run();
    let expected = "host,size,digest,large,mean,d\r\nlaptop,77,,false,77.0,1.50\r\n";
    assert_eq!(output.success().stdout_str(), expected);
    assert_eq!(output.stderr_str(), "");
}

fn errors_are_one_line(spark: &Spark) {
    let hosts = two_hosts();
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    let error = |query: &str| {
        let output = on(spark, sandbox.command().arg("sql").arg(hosts.dir.path()).arg(query)).run();
        assert_eq!(output.code(1).stdout_str(), "");
        assert_eq!(output.stderr_str().lines().count(), 1, "{output:?}");
        output.stderr_str().to_owned()
    };
    let dir = hosts.dir.path().display();
    for (query, expected) in [
        (format!("INSERT OVERWRITE DIRECTORY '{dir}' USING parquet SELECT 1"), "only a query"),
        // In ANSI mode, a sum that is too large is an error.
        ("SELECT sum(size + 9223372036854770000) FROM inodes".into(), "OVERFLOW"),
    ] {
        let said = error(&query);
        assert!(said.starts_with("lop-fleet: Spark: ") && said.contains(expected), "{said}");
        assert!(said.contains("; see ") && said.trim_end().ends_with("/spark.log"), "{said}");
    }
}

#[test]
fn spark_that_cannot_be_used_is_an_error() {
    let hosts = two_hosts();
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    let command = || sandbox.command().arg("sql").arg(hosts.dir.path()).arg("SELECT 1");
    let output =
        command().args(["--engine", "spark://localhost:1"]).env("SPARK_HOME", "/nowhere").run();
    let expected = "lop-fleet: cannot run /nowhere/bin/spark-submit: No such file or directory; install Spark, or set \
                    SPARK_HOME\n";
    assert_eq!(output.code(1).stderr_str(), expected);
    let output = command().args(["--engine", "yarn"]).run();
    assert!(output.code(2).stderr_str().contains("spark://host:7077"), "{output:?}");
}

#[test]
fn the_output_of_spark_goes_to_a_log() {
    let hosts = two_hosts();
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    let bin = hosts.dir.join("_spark/bin");
    fs::create_dir_all(&bin).expect("made");
    let script = "#!/bin/sh\necho noise\necho 'SparkException: no workers' >&2\necho '\tat a.b.c' >&2\nexit 1\n";
    let submit = bin.join("spark-submit");
    fs::write(&submit, script).expect("written");
    fs::set_permissions(&submit, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("set");
    let command = sandbox.command().arg("sql").arg(hosts.dir.path()).arg("SELECT 1");
    let command = command.args(["--engine", "spark://localhost:1"]);
    let output = command.env("SPARK_HOME", hosts.dir.join("_spark")).run();
    assert_eq!(output.code(1).stdout_str(), "");
    let said = output.stderr_str();
    let (reason, log) = said.split_once("; see ").expect("names the log");
    assert_eq!(reason, "lop-fleet: Spark: SparkException: no workers");
    let log = fs::read_to_string(log.trim_end()).expect("the log");
    assert!(log.starts_with("noise\n"), "{log}");
}

/// Kills lop-fleet during a query. All processes of the query must end, too.
fn queries_end_with_lop_fleet(spark: &Spark) {
    let hosts = worlds::random(1, 400);
    let temporary = hosts.dir.join("_tmp");
    fs::create_dir(&temporary).expect("made");
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    let query = "SELECT count(*) FROM inodes a, inodes b, inodes c, inodes d WHERE a.size + b.size + c.size < d.size";
    let command = sandbox.command().arg("sql").arg(hosts.dir.path()).arg(query);
    let mut running = on(spark, command).env("TMPDIR", &temporary).spawn();
    let log = || {
        let folder = fs::read_dir(&temporary).expect("a folder").next();
        let log = folder.map(|folder| folder.expect("one").path().join("spark.log"));
        log.and_then(|log| fs::read_to_string(log).ok()).unwrap_or_default()
    };
    wait_until(|| log().contains("Starting task"));
    assert!(running.is_running() && !processes_with(&temporary).is_empty());
    assert!(running.signal(testkit::Signal::KILL));
    running.wait().signal(testkit::Signal::KILL);
    wait_until(|| processes_with(&temporary).is_empty());
    assert_eq!(fs::read_dir(&temporary).expect("a folder").count(), 0);
}

fn wait_until(is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + testkit::TEST_TIMEOUT;
    while !is_so() {
        assert!(Instant::now() < deadline, "nothing happens");
        thread::sleep(Duration::from_millis(100));
    }
}

/// Returns the processes that have a path in their command lines.
fn processes_with(path: &Path) -> Vec<PathBuf> {
    let path = path.as_os_str().as_bytes();
    let processes = fs::read_dir("/proc").expect("mounted").map(|entry| entry.expect("one").path());
    let has_path = |process: &PathBuf| {
        let line = fs::read(process.join("cmdline")).unwrap_or_default();
        line.windows(path.len()).any(|part| part == path)
    };
    processes.filter(has_path).collect()
}
