//! Turns groups of identical files into a run, reports the result of the run, and updates the catalog.
//!
//! | module | what it does |
//! |---|---|
//! | [`sources`] | Reads groups of identical files from the catalog, a report or a list. |
//! | [`decided`] | Finds what the decisions of the user mean for the files of a group. |
//! | [`planner`] | Turns groups into plans: selects the kept file, and the files to act on. |
//! | [`run`] | Carries out plans as a run and reports the result. |
//! | [`conclusion`] | Ends every command that changes files: problems, summary, exit code. |
//! | [`catalog_update`] | Records in the catalog how a run or an undo changed files. |

pub(crate) mod catalog_update;
pub(crate) mod conclusion;
pub(crate) mod decided;
pub(crate) mod planner;
pub(crate) mod run;
pub(crate) mod sources;
