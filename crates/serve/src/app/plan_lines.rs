//! The lines of a saved plan. A plan may be larger than memory, so only the positions of its lines are kept.

use std::io::{self, BufRead};
use std::sync::{Arc, Mutex, PoisonError};

use action::plan::SavedAction;
use review::Needle;

use crate::jobs::Output;

/// The lines of a plan.
#[derive(Debug)]
pub(crate) struct PlanLines {
    output: Output,
    /// Where each line starts, and where the last one ends.
    starts: Vec<u64>,
    /// Total size of the files to act on.
    bytes: u64,
    /// The last filter, and the lines that match it.
    filtered: Mutex<Option<(String, Arc<Vec<u32>>)>>,
}

impl PlanLines {
    /// Reads a plan once, and notes where its lines start.
    ///
    /// # Errors
    ///
    /// Fails if the plan cannot be read, or if one of its lines is not a line of a plan.
    pub(crate) fn index(output: Output) -> io::Result<PlanLines> {
        let (mut starts, mut bytes) = (vec![0], 0u64);
        each_line(&output, |line, end| {
            starts.push(end);
            bytes = bytes.saturating_add(action(line)?.size);
            Ok(())
        })?;
        Ok(PlanLines { output, starts, bytes, filtered: Mutex::default() })
    }

    /// Returns the number of lines, which is the number of files to act on.
    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.starts.len() - 1).unwrap_or(u32::MAX)
    }

    /// Returns the total size of the files to act on, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the lines whose paths contain a text, in any case of ASCII letters. Returns `None` for
    /// all lines.
    ///
    /// # Errors
    ///
    /// Fails if the plan cannot be read.
    pub(crate) fn matching(&self, text: &str) -> io::Result<Option<Arc<Vec<u32>>>> {
        if text.trim().is_empty() {
            return Ok(None);
        }
        let mut last = self.filtered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = last.as_ref().filter(|(of, _)| of == text) {
            return Ok(Some(Arc::clone(found)));
        }
        let (mut found, mut at) = (Vec::new(), 0);
        let wanted = Needle::new(text.trim().as_bytes());
        each_line(&self.output, |line, _| {
            let action = action(line)?;
            if wanted.is_in(&action.path) || wanted.is_in(&action.kept) {
                found.push(at);
            }
            at += 1;
            Ok(())
        })?;
        let found = Arc::new(found);
        *last = Some((text.to_owned(), Arc::clone(&found)));
        Ok(Some(found))
    }

    /// Returns the action of one line.
    ///
    /// # Errors
    ///
    /// Fails if the plan cannot be read.
    pub(crate) fn action(&self, at: u32) -> io::Result<SavedAction> {
        action(&self.read(at, at + 1)?)
    }

    /// Returns the bytes of the lines from `from` up to `to`.
    ///
    /// # Errors
    ///
    /// Fails if the plan cannot be read.
    pub(crate) fn read(&self, from: u32, to: u32) -> io::Result<Vec<u8>> {
        let (start, end) = (self.starts[from as usize], self.starts[to as usize]);
        let mut bytes = vec![0; usize::try_from(end - start).map_err(io::Error::other)?];
        let mut done = 0;
        while done < bytes.len() {
            match self.output.read_at(&mut bytes[done..], start + done as u64)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                more => done += more,
            }
        }
        Ok(bytes)
    }
}

fn action(line: &[u8]) -> io::Result<SavedAction> {
    SavedAction::read(line).map_err(io::Error::other)
}

/// Calls `each` for every line with the position of its end.
fn each_line(
    output: &Output,
    mut each: impl FnMut(&[u8], u64) -> io::Result<()>,
) -> io::Result<()> {
    let (mut reader, mut line, mut end) = (output.reader(), Vec::new(), 0);
    while reader.read_until(b'\n', &mut line)? > 0 {
        end += line.len() as u64;
        each(&line, end)?;
        line.clear();
    }
    Ok(())
}
