//! Changes the catalog, always in one transaction.
//!
//! `commit` writes the result of a scan (`findings`) as a `delta` to the stored rows, and uses
//! `scans` and `counts`. `marks` records files that were found damaged, and `forget` removes what
//! is below a path. `changes` and `follow` record what lop itself did to files.

pub(crate) mod changes;
mod commit;
mod counts;
mod delta;
pub(crate) mod findings;
mod follow;
mod forget;
pub(crate) mod marks;
pub(crate) mod operation;
mod scans;
