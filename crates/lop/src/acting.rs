//! Acting on files: from groups of equal files to a run, its report and the update of the catalog.
//!
//! | module | what it does |
//! |---|---|
//! | [`sources`] | Reads groups of equal files from the catalog, a report or a list. |
//! | [`planner`] | Turns groups into plans: which file is kept, what happens to the others. |
//! | [`run`] | Carries plans out as a run and reports what it did. |
//! | [`conclusion`] | Ends every command that changes files: problems, summary, exit code. |
//! | [`catalog_update`] | Records in the catalog what a run or an undo did to files. |

pub(crate) mod catalog_update;
pub(crate) mod conclusion;
pub(crate) mod planner;
pub(crate) mod run;
pub(crate) mod sources;
