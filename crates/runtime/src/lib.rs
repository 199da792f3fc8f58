//! Services for long-running processes: progress, cancellation, bounded memory and throttling. Also
//! the text for sizes, counts, names and ages, and times as numbers.
//!
//! This crate has no notion of trees or of the user's files. It never prints or exits.
//!
//! | module | contents |
//! |---|---|
//! | `progress` | counters, the current stage, and the request to stop |
//! | [`memory`] | an allocator that keeps the process within a memory bound |
//! | `spill` | the files behind that allocator, and other unnamed files |
//! | `throttle` | a limit on operations or bytes per second |
//! | `stalls` | files on which threads are blocked |
//! | `signals` | signal masks and dispositions, and stopping the process |
//! | `process` | descriptor limits, descriptor tables, I/O priority |
//! | `sync` | locks without poisoning, and cleanup after a panic |
//! | `usage` | processor time and waits of a thread |
//! | [`quantity`] | sizes and counts as text for people |
//! | [`shown`] | names as text for people |
//! | [`json`] | JSON for programs and terminals |
//! | [`age`] | ages as text |
//! | [`epoch`] | times as numbers since the epoch |

pub mod age;
pub mod epoch;
pub mod json;
pub mod memory;
mod process;
mod progress;
pub mod quantity;
pub mod shown;
mod signals;
mod spill;
mod stalls;
mod sync;
mod throttle;
mod usage;

pub use process::{
    close_descriptors_on_exec, keep_standard_descriptors, own_descriptor_table,
    raise_descriptor_limit, set_idle_io_class, spawn_with_own_descriptors,
};
pub use progress::{Interrupted, Progress, Stage};
pub use signals::{SignalsBlocked, is_ignored, stop_process};
pub use spill::unnamed_file;
pub use stalls::{BlockedThread, blocked_threads};
pub use sync::{Condvar, Mutex, OnPanic, on_panic};
pub use throttle::{Throttle, Turns};
pub use usage::{ThreadUsage, process_cpu, time_without_processor};
