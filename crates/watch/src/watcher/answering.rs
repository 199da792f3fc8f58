//! Questions of clients and the answers to them.

use std::io;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::Watcher;
use crate::answer::{Answer, ChangedDir, Changes, Entries, Position, Unknown};
use crate::area::Areas;
use crate::fanotify::{self, Resolver};
use crate::inotify;
use crate::notes::Directories;
use crate::protocol::{Connection, MAX_ANSWER_BYTES, MAX_QUESTION_BYTES, Question, encode};
use crate::socket::{is_trusted, peer_user};

/// Maximum time to receive a question, and to send the answer. Meanwhile, the kernel keeps further events.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(5);

impl Watcher {
    /// Answers all clients that are waiting.
    pub(super) fn answer_clients(&mut self) {
        while let Ok((stream, _)) = self.socket.listener.accept() {
            // A client that fails reports this itself.
            let _failed = self.answer_client(stream);
        }
    }

    fn answer_client(&mut self, stream: UnixStream) -> io::Result<()> {
        if !is_trusted(peer_user(&stream)?) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        stream.set_nonblocking(false)?;
        let mut connection = Connection::new(stream, CLIENT_TIMEOUT);
        let question: Question = connection.receive(MAX_QUESTION_BYTES)?;
        let answer = self.answer(&question);
        let bytes = encode(&answer, MAX_ANSWER_BYTES).or_else(|| {
            let changes = Err(Unknown::TooMany);
            encode(&Answer { changes, ..answer }, MAX_ANSWER_BYTES)
        });
        connection.extend(CLIENT_TIMEOUT);
        connection.send(&bytes.unwrap_or_default())?;
        self.forget_answered(&question);
        Ok(())
    }

    /// Reads all events that are waiting, and returns the answer.
    pub(super) fn answer(&mut self, question: &Question) -> Answer {
        self.update_areas();
        self.drain();
        let changes = match question.since {
            None => Err(Unknown::NoPosition),
            Some(since) if since.session != self.session => Err(Unknown::OtherSession),
            Some(since) => self.changes_since(&question.roots, since.number),
        };
        Answer {
            position: Position { session: self.session, number: self.notes.number() },
            changes,
        }
    }

    fn changes_since(&mut self, roots: &[Vec<u8>], since: u64) -> Result<Changes, Unknown> {
        for root in roots {
            self.areas.check(root, since)?;
        }
        let mut directories = Sources::new(&self.areas, self.inotify.as_ref());
        let mut changes = self.notes.changes(roots, since, &mut directories)?;
        let is_below =
            |path: &[u8]| roots.iter().any(|root| crate::paths::is_at_or_below(root, path));
        let unwatched = self.areas.unwatched().filter(|path| is_below(path));
        changes.dirs.extend(
            unwatched.map(|path| ChangedDir { path: path.to_vec(), entries: Entries::Tree }),
        );
        changes.dirs.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(changes)
    }

    /// Discards notes that the catalog of the client contains, and counts changes anew.
    fn forget_answered(&mut self, question: &Question) {
        let mut directories = Sources::new(&self.areas, self.inotify.as_ref());
        let are_all = self.areas.roots.iter().all(|root| question.roots.contains(root));
        self.notes.answered(&question.roots, are_all, &mut directories);
        let since = question.since.filter(|since| since.session == self.session);
        let Some(since) = since.filter(|since| since.number <= self.notes.number()) else { return };
        self.notes.discard(&question.roots, since.number, are_all, &mut directories);
    }
}

/// Finds directories by the keys of both sources.
struct Sources<'w> {
    areas: &'w Areas,
    inotify: Option<&'w inotify::Source>,
    resolver: Resolver,
}

impl<'w> Sources<'w> {
    fn new(areas: &'w Areas, inotify: Option<&'w inotify::Source>) -> Sources<'w> {
        Sources { areas, inotify, resolver: Resolver::default() }
    }
}

impl Directories for Sources<'_> {
    fn paths(&mut self, key: &[u8]) -> Vec<Vec<u8>> {
        if key.first() == Some(&fanotify::KEY) {
            return fanotify::Source::paths(key, self.areas, &mut self.resolver);
        }
        self.inotify.and_then(|source| source.path(key)).into_iter().collect()
    }
}
