//! Changes the catalog, always in one transaction.
//!
//! `commit` determines how the results of a scan (`findings`) differ from the stored rows
//! (`delta`), and writes the differences with the help of `scans`, `counts` and `sizes`. `marks` records
//! files that were found damaged, and `forget` removes everything below a path. `changes` and
//! `follow` record what lop itself did to files. `restore` fills a new catalog with exported rows, and
//! `readings` adds heads and digests that were read between scans.

pub(crate) mod changes;
mod commit;
mod counts;
mod delta;
pub(crate) mod findings;
mod follow;
mod forget;
pub(crate) mod marks;
pub(crate) mod operation;
mod readings;
pub(crate) mod restore;
mod scans;
pub(crate) mod sizes;
