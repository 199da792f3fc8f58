//! Tests of the program as users run it: arguments, output, exit codes, and the catalog.

#![expect(
    clippy::disallowed_methods,
    reason = "tests change the trees they made to see what the program makes of it"
)]

mod acting;
mod aliases;
mod browsing;
mod catalog_updates;
mod catalogs;
mod concurrency;
mod confirming;
mod contains;
mod damage;
mod data_loss;
mod decided;
mod dedupe;
mod defaults;
mod disk_full;
mod disks;
mod exits;
mod folders;
mod forged;
mod forgetting;
mod formats;
mod hidden_edits;
mod interactive;
mod interrupts;
mod jobs;
mod journals;
mod json;
mod keys;
mod lists;
mod lop;
mod manual;
mod memory;
mod messages;
mod mirror;
mod mirror_oracles;
mod mirror_remote;
mod mirror_users;
mod mounts;
mod odd_trees;
mod own_files;
mod partial;
mod patterns;
mod plans;
mod progress;
mod purge;
mod purge_background;
mod purge_disks;
mod purge_missing;
mod quarantine;
mod quarantined_below;
mod questions;
mod random_histories;
mod rescan;
mod resuming;
mod roots;
mod selection;
mod serve_pages;
mod serving;
mod serving_limits;
mod skipped_stays;
mod space;
mod status;
mod streams;
mod sweep;
mod sweep_disks;
mod sweep_plans;
mod swept;
mod system_dirs;
mod undoing;
mod uniques;
mod upkeep;
mod verifying;
