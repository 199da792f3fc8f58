//! Development tasks of the workspace: `cargo xtask COMMAND`.
//!
//! | command | module |
//! |---|---|
//! | `test` | [`suite`]: the whole test suite, the engines that it compares exports with ([`python`]), and the traces that it must not leave ([`traces`]) |
//! | `generate`, `check`, `page` | [`generated`]: generated files below `docs/`, written or compared |
//! | `transcript` | [`transcript`]: the example in the README, run again |
//! | `screenshots` | [`screenshots`]: the pictures of the pages in `docs/serve.md`, taken again |
//! | `package` | [`package`]: the packages that install lop without a Rust toolchain |
//! | `release` | [`release`]: a version, and a section of the changelog |
//! | `tidy` | [`tidy`]: rules that no lint checks |
//! | `fuzz` | [`fuzz`]: the fuzzers |
//! | `corpus`, `race`, `counts`, `disk`, `head-trace`, `filter-graph`, `profile` | [`instrument`]: commands of the crate `bench`, built on demand |

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

mod fuzz;
mod generated;
mod instrument;
mod package;
mod programs;
mod python;
mod release;
mod screenshots;
mod suite;
mod tidy;
mod traces;
mod transcript;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask COMMAND

  test       Run all tests; install the tools that they need where possible
  generate   Write man pages, completions and the reference below docs/
  check      Fail if a generated file is stale
  transcript [--check]
             Run the README's example again and write its output; or fail if it is stale
  screenshots
             Take the pictures of the pages in docs/serve.md again, with a headless browser
  package [--again]
             Build the packages in target/package; or build them in two folders and compare
  release VERSION
             Set the version, and turn the unreleased changes of CHANGELOG.md into its section
  tidy       Check rules of the source tree: layers, import rings, words, lengths
  fuzz [N]   Run each fuzzer below fuzz/ for N seconds (60)

  corpus     Make a tree with known duplicates; lists them
  race       Race lop against its peers, and write the benchmark pages; lists the races
  counts     Compare system calls, bytes and instructions with the stored ones
  page [--check]
             Write the benchmark pages again from the records; or fail if they are stale
  disk       Put a simulated hard disk in front of a file
  head-trace Record the head of a simulated disk during a scan, for docs/io.md
  filter-graph
             Time inserts into Bloom filters of many sizes, for docs/design/scanning.md
  profile DIR
             Print the shares of the processor time of a scan by kind of work";

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = root.join("docs");
    let command = std::env::args().nth(1);
    let option = std::env::args().nth(2);
    let check = option.as_deref() == Some("--check");
    let again = option.as_deref() == Some("--again");
    let outcome = match command.as_deref() {
        Some("test") => suite::run(&root),
        Some("generate") => {
            generated::of_arguments(&root).and_then(|files| files.write(&docs)).map(|()| Vec::new())
        }
        Some("check") => generated::of_arguments(&root).and_then(|files| files.check(&docs)),
        Some("page") if check => instrument::pages(&root).and_then(|files| files.check(&docs)),
        Some("page") => {
            instrument::pages(&root).and_then(|files| files.write(&docs)).map(|()| Vec::new())
        }
        Some("transcript") => transcript::run(&root, check),
        Some("screenshots") => screenshots::run(&root),
        Some("package") if again => package::reproduce(&root),
        Some("package") => package::run(&root),
        Some("release") => release::run(&root, option.as_deref()),
        Some("tidy") => tidy::run(&root),
        Some("fuzz") => fuzz::run(&root, std::env::args().nth(2).as_deref()),
        Some("corpus" | "race" | "counts" | "disk" | "head-trace" | "filter-graph" | "profile") => {
            let args: Vec<_> = std::env::args_os().skip(1).collect();
            match instrument::run(&root, &args) {
                Ok(true) => Ok(Vec::new()),
                Ok(false) => return ExitCode::FAILURE,
                Err(e) => Err(e),
            }
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
