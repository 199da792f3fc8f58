//! Runs each fuzzer of `fuzz/` for some seconds, without `cargo fuzz` and on any toolchain. Apart
//! from sanitizers, stable Rust has every compiler option that `cargo fuzz` uses.

use std::io;
use std::num::NonZero;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::programs;

/// The compiler options that count taken branches as libFuzzer expects.
const INSTRUMENTATION: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Ccodegen-units=1 --cfg fuzzing";

const TARGETS: [&str; 11] = [
    "messages",
    "sender",
    "receiver",
    "rules_toml",
    "rules_winapp2",
    "rules_cleanerml",
    "rules_tmpfiles",
    "filter",
    "pages",
    "requests",
    "fields",
];

/// The largest conversation in bytes, and the limits of one run in seconds and MiB.
const LIMITS: [&str; 3] = ["-max_len=65536", "-timeout=30", "-rss_limit_mb=1024"];

/// The default duration of each fuzzer in seconds.
const DEFAULT_SECONDS: &str = "60";

/// Runs each fuzzer for a number of seconds. As many fuzzers as there are processors run at the same time. Returns a
/// complaint for each fuzzer that found something.
pub(crate) fn run(root: &Path, seconds: Option<&str>) -> io::Result<Vec<String>> {
    let Ok(seconds) = seconds.unwrap_or(DEFAULT_SECONDS).parse::<u32>() else {
        return Ok(vec!["xtask fuzz: not a number of seconds".into()]);
    };
    let has_compiler =
        Command::new("c++").arg("--version").output().is_ok_and(|output| output.status.success());
    if !has_compiler {
        println!("skipped: libFuzzer is built with c++, which is not installed");
        return Ok(Vec::new());
    }
    let folder = root.join("fuzz");
    // With an explicit target, build scripts are compiled without the instrumentation.
    let host = host()?;
    let mut build = programs::cargo();
    build.args(["build", "--quiet", "--release", "--locked", "--target", &host]);
    build.env("RUSTFLAGS", INSTRUMENTATION).current_dir(&folder);
    if !build.status()?.success() {
        return Ok(vec!["the fuzzers cannot be built".into()]);
    }
    let programs = folder.join(format!("target/{host}/release"));
    let (next, complaints) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let run_some = || {
        while let Some(target) = TARGETS.get(next.fetch_add(1, Relaxed)) {
            let complaint = run_one(&folder, &programs, target, seconds)
                .unwrap_or_else(|e| Some(format!("the fuzzer {target} cannot be run: {e}")));
            complaints.lock().unwrap_or_else(PoisonError::into_inner).extend(complaint);
        }
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(run_some))));
    Ok(complaints.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Runs one fuzzer and prints the line that ends its report. Returns a complaint if it found something.
#[expect(clippy::disallowed_methods, reason = "makes folders of its own, in this repository")]
fn run_one(
    folder: &Path,
    programs: &Path,
    target: &str,
    seconds: u32,
) -> io::Result<Option<String>> {
    let (corpus, artifacts) =
        (folder.join("corpus").join(target), folder.join("artifacts").join(target));
    std::fs::create_dir_all(&corpus)?;
    std::fs::create_dir_all(&artifacts)?;
    let mut fuzzer = Command::new(programs.join(target));
    fuzzer.args(LIMITS).arg(format!("-max_total_time={seconds}"));
    fuzzer.arg(format!("-artifact_prefix={}/", artifacts.display())).arg(&corpus);
    let output = fuzzer.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let done = said.lines().rev().find(|line| line.starts_with("Done "));
    println!("{target}: {}", done.unwrap_or("it found something"));
    let has_failed = !output.status.success() || done.is_none();
    Ok(has_failed.then(|| format!("the fuzzer {target} found something:\n{said}")))
}

/// Returns the host target of the compiler.
fn host() -> io::Result<String> {
    let output = Command::new("rustc").arg("-vV").output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_string).ok_or_else(|| io::Error::other("rustc does not tell its host"))
}
