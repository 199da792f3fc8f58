//! Chores of the workspace: `cargo xtask COMMAND`.
//!
//! `test` runs the whole suite ([`suite`]), `generate` writes the man pages, the completions and the command reference below `docs/`,
//! `check` fails if what is there is stale, `transcript` runs the README's example ([`transcript`]), and `tidy` checks rules that no lint knows
//! ([`tidy`]); `fuzz` runs the fuzzers ([`fuzz`]). Corpora, races and counts are the crate `bench`'s, which is built when it is asked
//! for ([`instrument`]).

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

mod fuzz;
mod generated;
mod instrument;
mod suite;
mod tidy;
mod traces;
mod transcript;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask COMMAND

  test       Run all tests, installing the tools they compare with where possible
  generate   Write man pages, completions and the reference below docs/
  check      Fail if one of them is stale
  transcript [--check]
             Run the README's example again and write what it prints; or fail if that is stale
  tidy       Check openings, lengths, layers and mentioned names
  fuzz [N]   Have each fuzzer below fuzz/ look for N seconds (60)

  corpus     Make a tree with known duplicates; lists them
  race       Race lop against its peers, and write docs/benchmarks.md; lists the races
  counts     Compare system calls, bytes and instructions with the stored ones
  page       Write docs/benchmarks.md again from the records
  disk       Put a simulated hard disk in front of a file
  head-trace Record where its head was during a scan, for the chart in docs/io.md";

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let command = std::env::args().nth(1);
    let outcome = match command.as_deref() {
        Some("test") => suite::run(&root),
        Some("generate") => generated::write(&root),
        Some("check") => generated::check(&root),
        Some("transcript") => {
            let check = std::env::args().nth(2).as_deref() == Some("--check");
            transcript::run(&root, check)
        }
        Some("tidy") => tidy::run(&root),
        Some("fuzz") => fuzz::run(&root, std::env::args().nth(2).as_deref()),
        Some("corpus" | "race" | "counts" | "page" | "disk" | "head-trace") => {
            return instrument::run(&root, std::env::args_os().skip(1));
        }
        Some("help" | "-h" | "--help") => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(complaints) if complaints.is_empty() => ExitCode::SUCCESS,
        Ok(complaints) => {
            eprintln!("{}", complaints.join("\n"));
            ExitCode::FAILURE
        }
        Err(e) => {
            eprintln!("xtask: {e}");
            ExitCode::FAILURE
        }
    }
}
