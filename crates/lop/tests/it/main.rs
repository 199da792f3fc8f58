//! Tests of the program as users run it: arguments, output, exit codes, and the catalog.

#![expect(
    clippy::disallowed_methods,
    reason = "tests change the trees they made to see what the program makes of it"
)]

mod acting;
mod asking;
mod browsing;
mod catalogs;
mod choosing;
mod consent;
mod contains;
mod damage;
mod dedupe;
mod defaults;
mod disks;
mod exits;
mod folders;
mod followed;
mod forged;
mod forgetting;
mod formats;
mod full;
mod histories;
mod interrupts;
mod itself;
mod journals;
mod json;
mod keeping;
mod keys;
mod lists;
mod lop;
mod manual;
mod masked;
mod memory;
mod messages;
mod mirror;
mod mirror_judges;
mod mirror_remote;
mod mirror_users;
mod mounts;
mod odd;
mod partial;
mod patterns;
mod plans;
mod purge;
mod purge_background;
mod purge_disks;
mod purge_missing;
mod quarantine;
mod rescan;
mod resuming;
mod roots;
mod selection;
mod status;
mod stored;
mod streams;
mod systems;
mod together;
mod undoing;
mod uniques;
mod upkeep;
mod verifying;
mod views;
mod ways;
