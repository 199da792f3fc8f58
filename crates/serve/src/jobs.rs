//! Child processes that run lop, their progress and results.
