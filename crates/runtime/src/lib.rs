//! The services of a long-running lop process: progress, cancellation, memory, throttling.
//!
//! This crate knows nothing of files and trees. It never prints or exits.
//!
//! | module | what it has |
//! |---|---|
//! | `progress` | counters that show progress, and the request to stop |
//! | [`memory`] | an allocator with a bound; `spill` moves what exceeds it to files |
//! | `throttle` | a limit on operations or bytes per second |
//! | `stalls` | the files that threads are blocked on |
//! | `signals` | threads that leave signals to others, and ignored signals |
//! | `process` | descriptor limits, descriptor tables and I/O priority |
//! | `usage` | processor time and waits of a thread |

pub mod memory;
mod process;
mod progress;
mod signals;
mod spill;
mod stalls;
mod throttle;
mod usage;

pub use process::{
    close_descriptors_on_exec, own_descriptor_table, raise_descriptor_limit, set_idle_io_class,
};
pub use progress::{Interrupted, Progress, Stage};
pub use signals::{SignalsBlocked, is_ignored};
pub use stalls::{BlockedThread, blocked_threads};
pub use throttle::Throttle;
pub use usage::{ThreadUsage, process_cpu};
