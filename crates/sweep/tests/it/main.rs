//! Tests on real trees.

mod bindings;
mod disks;
mod explaining;
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
