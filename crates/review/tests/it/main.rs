//! Tests of the crate `review` with catalogs of files that do not exist.

#![expect(clippy::disallowed_methods, reason = "tests create the directories of their files")]

mod deciding;
mod filtering;
mod folder_sets;
mod loading;
mod previewing;
mod properties;
mod shelf;
