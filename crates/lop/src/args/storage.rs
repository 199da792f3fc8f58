//! The arguments about storage and threads that several commands share.

use std::num::NonZeroUsize;

use clap::Args;

use super::Io;
use crate::quantity::at_least_one;

/// The kind of storage, and the number of threads.
#[derive(Debug, Args)]
pub(crate) struct StorageArgs {
    /// Kind of storage: auto (measure it), hdd, ssd or cached
    #[arg(long, value_name = "KIND", default_value = "auto", hide_default_value = true)]
    #[arg(hide_possible_values = true)]
    pub(crate) io: Io,

    /// Use N threads [default: one per processor, more while they wait for storage]
    #[arg(long, value_name = "N", value_parser = at_least_one::<NonZeroUsize>)]
    pub(crate) threads: Option<NonZeroUsize>,
}
