//! Tests of the program as users run it.

#![expect(
    clippy::disallowed_methods,
    reason = "tests damage the exports they made to see what the program makes of them"
)]

mod check;
mod collect;
mod contained;
mod golden;
mod growth;
#[path = "../../../crates/fleet/tests/it/hosts.rs"]
mod hosts;
mod inventory;
mod locate;
mod page;
mod plan;
mod report;
mod report_sql;
mod spark;
mod sql;
mod stores;
mod survey;
mod worlds;

use std::path::Path;

use testkit::{Output, Sandbox};

use crate::hosts::Hosts;

/// The secret of keyed exports.
const SECRET: Option<&[u8]> = Some(b"the secret of the fleet");

/// Runs the program with the folder of exports as the last argument.
fn run(args: &[&str], dir: &Path) -> Output {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    sandbox.command().args(args).arg(dir).run()
}

/// Two hosts that share a file of 1000 bytes. One has a second copy of it, and both have files that
/// differ, or that may be equal.
fn two_hosts() -> Hosts {
    let mut hosts = Hosts::new();
    hosts.export("laptop", &[(1000, 1, 1), (1000, 1, 1), (77, 1, 0), (5000, 2, 0), (0, 0, 0)]);
    hosts.export("nas", &[(1000, 1, 1), (2000, 3, 2), (2000, 3, 2), (5000, 2, 0)]);
    hosts
}

/// Returns the digest of a content of [`two_hosts`].
fn digest(content: u64) -> String {
    content::Digest::of(&content.to_le_bytes()).to_string()
}

/// Returns the document that a run printed.
fn json(output: &Output) -> serde_json::Value {
    serde_json::from_str(output.stdout_str()).expect("JSON")
}
