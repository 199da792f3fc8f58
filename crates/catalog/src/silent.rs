//! Finds out which disks do not answer, before remembered files are looked at: one on a mount whose
//! server is gone would hold up a scan that does not even go there.

use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread::Builder;
use std::time::{Duration, Instant};

use fsops::Dir;

/// How long answers are waited for: a disk that stands still starts in 5 to 15 seconds.
const PATIENCE: Duration = Duration::from_secs(20);

/// Opens a directory of each volume, given by its absolute path, in threads that nobody waits for;
/// leaves those in the map that do not answer. An error is an answer.
pub(crate) fn retain_silent(of_volume: &mut HashMap<i64, Vec<u8>>) {
    let (sender, answers) = channel();
    of_volume.retain(|&volume, path| {
        let (sender, path) = (sender.clone(), std::mem::take(path));
        let look = move || {
            let below = path.strip_prefix(b"/").unwrap_or(&path);
            let dir = Dir::open(Path::new("/")).and_then(|top| top.open_below(below));
            let _answer = dir.and_then(|dir| dir.stat());
            // Too late, if nobody listens any more.
            let _told = sender.send(volume);
        };
        // Without a thread there is no way but to find out.
        Builder::new().spawn(look).is_ok()
    });
    drop(sender);
    let end = Instant::now() + PATIENCE;
    while !of_volume.is_empty() {
        let left = end.saturating_duration_since(Instant::now());
        let Ok(volume) = answers.recv_timeout(left) else { return };
        of_volume.remove(&volume);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::retain_silent;

    #[test]
    fn what_is_there_answers_and_so_does_what_is_not() {
        let mut volumes = HashMap::from([(1, b"/tmp".to_vec()), (2, b"/no/such".to_vec())]);
        retain_silent(&mut volumes);
        assert!(volumes.is_empty());
    }
}
