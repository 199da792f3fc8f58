//! Changes the catalog, always in one transaction.
//!
//! `commit` writes a scan, from its `findings`, as the `delta` to what is stored; `scans` and
//! `counts` are parts of it. `marks` records files found damaged, `forget` removes what is below a
//! path, `changes` and `follow` record what lop itself did with files.

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
