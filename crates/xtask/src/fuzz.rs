//! Runs each fuzzer of `fuzz/` for some seconds, without `cargo fuzz` and on any toolchain. Apart
//! from sanitizers, stable Rust has every compiler option that `cargo fuzz` uses.

use std::io;
use std::path::Path;
use std::process::Command;

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

/// Runs each fuzzer for some seconds. Returns a complaint for each fuzzer that found something.
#[expect(clippy::disallowed_methods, reason = "makes folders of its own, in this repository")]
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
    let mut complaints = Vec::new();
    for target in TARGETS {
        let (corpus, artifacts) =
            (folder.join("corpus").join(target), folder.join("artifacts").join(target));
        std::fs::create_dir_all(&corpus)?;
        std::fs::create_dir_all(&artifacts)?;
        let mut fuzzer = Command::new(folder.join(format!("target/{host}/release/{target}")));
        fuzzer.args(LIMITS).arg(format!("-max_total_time={seconds}"));
        fuzzer.arg(format!("-artifact_prefix={}/", artifacts.display())).arg(&corpus);
        let output = fuzzer.output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        let done = said.lines().rev().find(|line| line.starts_with("Done "));
        println!("{target}: {}", done.unwrap_or("it found something"));
        if !output.status.success() || done.is_none() {
            complaints.push(format!("the fuzzer {target} found something:\n{said}"));
        }
    }
    Ok(complaints)
}

/// Returns the host target of the compiler.
fn host() -> io::Result<String> {
    let output = Command::new("rustc").arg("-vV").output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_string).ok_or_else(|| io::Error::other("rustc does not tell its host"))
}
