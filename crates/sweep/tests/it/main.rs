//! Tests on real trees.

#![expect(
    clippy::disallowed_methods,
    reason = "tests change the trees they made to see what becomes of them"
)]

mod bindings;
mod disks;
mod explaining;
mod git;
mod guarded;
mod hostile;
mod oracle;
mod preview;
mod races;
mod random;
mod rule_files;
mod shipped;
mod too_wide;
mod world;
