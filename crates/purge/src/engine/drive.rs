//! Runs the workers of a removal until the tree is empty or a stop is requested.

use super::disk_order;
use crate::engine::job::{Job, PurgeTask, Tally};
use crate::engine::nodes::TOP;
use crate::engine::worker::Worker;

impl Job<'_> {
    /// Empties the top directory as far as possible. Returns whether it is empty.
    pub(crate) fn run(&self, tally: &mut Tally) -> bool {
        let mut rest = self.queue.drain();
        while !rest.is_empty() && !self.progress.poll_stop() {
            self.queue.restart(rest);
            if self.goes_by_disk_order() {
                disk_order::round(self, tally);
            } else {
                tally.add(self.pool().run(|meter| Worker::new(self).run(meter)));
            }
            rest = std::mem::take(&mut tally.rest);
            rest.extend(self.queue.drain());
            // Help tasks are obsolete, because the worker that offered the batch has already
            // completed it.
            rest.retain(|task| matches!(task, PurgeTask::Empty { .. }));
        }
        !self.nodes().stays(TOP)
    }
}
