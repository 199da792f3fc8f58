//! The options that limit the rate at which a server sends. Commands that start a server include them with
//! `#[command(flatten)]`.

use std::num::NonZeroU64;

use clap::Args;

use crate::quantity::parse_rate;

/// Limits of the rate at which a server sends, in bytes per second.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct RateArgs {
    /// Send at most RATE bytes per second on each connection: 500k, 20MiB
    ///
    /// The limit applies to files and pages. It does not delay the first bytes of a connection.
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) limit_rate: Option<NonZeroU64>,

    /// Send at most RATE bytes per second on all connections together: 500k, 20MiB
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub(crate) limit_rate_total: Option<NonZeroU64>,
}
