//! The client of a watcher: sends one question, and returns the answer.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::answer::{Answer, Position, Unseen};
use crate::protocol::{
    Connection, MAX_ANSWER_BYTES, MAX_QUESTION_BYTES, Question, Request, encode,
};
use crate::socket::{connect, is_trusted, peer_user, watcher_paths};

/// The reason why a client gets no answer.
#[derive(Debug, Error)]
pub enum NoWatcher {
    /// No watcher runs for this catalog, which is normal.
    #[error("no watcher runs")]
    NotRunning,
    /// Another user listens at the path of the socket.
    #[error("user {user} listens at {}", path.display())]
    OtherUser {
        /// The path of the socket.
        path: PathBuf,
        /// The user id.
        user: u32,
    },
    /// The watcher does not respond, or this process does not understand its answer.
    #[error("cannot ask the watcher at {}", path.display())]
    Failed {
        /// The path of the socket.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// Asks the watcher of the catalog at `catalog` for the changes below `roots` since the position
/// `since`. Without `since`, the answer contains only the position.
///
/// The roots must be absolute paths without links. The answer contains everything that changed before
/// the call. Afterwards, the watcher may discard the changes up to `since`, so the catalog must already
/// contain them.
///
/// # Errors
///
/// Fails if no watcher runs, if the watcher belongs neither to root nor to the user of this process, or
/// if it does not answer within `timeout`.
pub fn ask(
    catalog: &Path,
    roots: &[PathBuf],
    since: Option<Position>,
    timeout: Duration,
) -> Result<Answer, NoWatcher> {
    let roots = roots.iter().map(|root| root.as_os_str().as_bytes().to_vec()).collect();
    request(catalog, &Request::Changes(Question { roots, since }), timeout)
}

/// Asks the watcher of the catalog at `catalog` for the changes below each root since a position, to
/// show them to a person. The changes below a root without a position are unknown.
///
/// The roots must be absolute paths without links. The watcher keeps its notes and counts, so the next
/// scan gets the same answer as without this question.
///
/// # Errors
///
/// Fails for the same reasons as [`ask`].
pub fn ask_unseen(
    catalog: &Path,
    roots: Vec<(Vec<u8>, Option<Position>)>,
    timeout: Duration,
) -> Result<Unseen, NoWatcher> {
    request(catalog, &Request::Unseen(roots), timeout)
}

/// Sends a request, and returns the answer.
fn request<T: DeserializeOwned>(
    catalog: &Path,
    request: &Request,
    timeout: Duration,
) -> Result<T, NoWatcher> {
    let start = Instant::now();
    let [path, _] = watcher_paths(catalog);
    let failed = |source| NoWatcher::Failed { path: path.clone(), source };
    let stream = connect(&path, timeout).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => NoWatcher::NotRunning,
        _ => failed(error),
    })?;
    let user = peer_user(&stream).map_err(failed)?;
    if !is_trusted(user) {
        return Err(NoWatcher::OtherUser { path, user });
    }
    let question = encode(request, MAX_QUESTION_BYTES)
        .ok_or_else(|| failed(io::Error::new(io::ErrorKind::InvalidInput, "too many roots")))?;
    let mut connection = Connection::new(stream, timeout.saturating_sub(start.elapsed()));
    let sent = connection.send(&question);
    sent.and_then(|()| connection.receive(MAX_ANSWER_BYTES)).map_err(|e| failed(refused(e)))
}

/// Adds an explanation to the error of a connection that ended without an answer. A watcher ends the
/// connection if it does not understand the question.
fn refused(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::ConnectionReset => io::Error::new(
            error.kind(),
            "the watcher ended the connection without an answer; if it is another version of lop, restart it",
        ),
        _ => error,
    }
}
