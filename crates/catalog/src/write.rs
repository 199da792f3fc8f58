//! Changes the catalog, always in one transaction.

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
