//! The groups of the catalog as a user reviews them: filtered, sorted, and decided.
//!
//! [`Review`] loads the groups and the decisions of a catalog and keeps them consistent.
//! [`Review::select`] returns the groups that match a filter. [`Review::decide`] records which files
//! of a group, of a folder set or of a filter stay, and [`Review::settlement`] returns what the
//! decisions mean for the files of a group.
//!
//! This crate does not act on files and does not check whether they are unchanged. `action` checks
//! everything again before it removes a file.
//!
//! | Module        | Contents                                                                   |
//! |---------------|----------------------------------------------------------------------------|
//! | `status`      | the state of a group                                                       |
//! | `index`       | the groups of the catalog in memory                                        |
//! | `filter`      | the language of filters, and the search for groups that match              |
//! | `folder_sets` | groups with the same folder set                                            |
//! | `decisions`   | the decisions in the catalog                                               |
//! | `settle`      | which files of a group stay                                                |
//! | `settled`     | the states of all groups                                                   |
//! | `view`        | the groups that match a filter, in order, and their totals                 |
//! | `preview`     | what a decision would do, before it is recorded                            |
//! | `chosen`      | choices of single files of a group                                        |
//! | `review`      | all of these together                                                      |

mod chosen;
mod decisions;
mod filter;
mod folder_sets;
mod index;
mod preview;
mod review;
mod settle;
mod settled;
mod status;
mod view;

pub use catalog::{Choice, Decider, Decision, Scope};
pub use decisions::Decisions;
pub use filter::{Filter, FilterError, MAX_LENGTH, MAX_TERMS, Needle};
pub use folder_sets::{Folder, FolderSet, FolderSets, folders_below};
pub use index::{Condition, Group, Index, Member};
pub use preview::Preview;
pub use review::{DecideError, Review};
pub use settle::{Fate, Settlement, Void, Why, settle};
pub use settled::Settled;
pub use status::Status;
pub use view::{Sort, Totals};
