//! Tests on real trees.

mod bindings;
mod explaining;
mod oracle;
mod preview;
mod random;
mod rule_files;
mod shipped;
mod too_wide;
mod world;
