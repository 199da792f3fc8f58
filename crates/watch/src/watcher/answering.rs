//! Receives the questions of clients, and answers them.

use std::io;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::Watcher;
use crate::answer::{Answer, ChangedDir, Changes, Entries, Position, Unknown, Unseen};
use crate::area::Areas;
use crate::fanotify::{self, Resolver};
use crate::inotify;
use crate::notes::Directories;
use crate::paths::is_at_or_below;
use crate::protocol::{
    Connection, MAX_ANSWER_BYTES, MAX_QUESTION_BYTES, Question, Request, encode,
};
use crate::socket::{is_trusted, peer_user};

/// Maximum time to receive a question, and maximum time to send the answer. Meanwhile, the kernel queues further
/// events.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(5);

impl Watcher {
    /// Answers all clients that are waiting.
    pub(super) fn answer_clients(&mut self) {
        while let Ok((stream, _)) = self.socket.listener.accept() {
            // If the connection fails, the client reports the error.
            let _failed = self.answer_client(stream);
            self.control.update(self.notes.fresh(), self.notes.number());
        }
    }

    fn answer_client(&mut self, stream: UnixStream) -> io::Result<()> {
        if !is_trusted(peer_user(&stream)?) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        stream.set_nonblocking(false)?;
        let mut connection = Connection::new(stream, CLIENT_TIMEOUT);
        let request: Request = connection.receive(MAX_QUESTION_BYTES)?;
        let bytes = match &request {
            Request::Changes(question) => encoded(&self.answer(question)),
            Request::Unseen(roots) => encode(&self.unseen(roots), MAX_ANSWER_BYTES),
        };
        connection.extend(CLIENT_TIMEOUT);
        connection.send(&bytes.unwrap_or_default())?;
        if let Request::Changes(question) = &request {
            // A scan first asks without roots whether a watcher runs. This answer contains no changes.
            if !question.roots.is_empty() {
                self.forget_answered(question);
            }
            self.control.answered();
        }
        Ok(())
    }

    /// Reads all events that are waiting, and returns the answer.
    pub(super) fn answer(&mut self, question: &Question) -> Answer {
        self.update_areas();
        self.drain();
        let since = self.number(question.since);
        let changes = since.and_then(|since| self.changes_since(&question.roots, since));
        Answer {
            position: Position { session: self.session, number: self.notes.number() },
            changes,
        }
    }

    /// Reads all events that are waiting, and returns the changes that no scan has seen yet. Keeps the
    /// notes and the counts.
    fn unseen(&mut self, roots: &[(Vec<u8>, Option<Position>)]) -> Unseen {
        self.update_areas();
        self.drain();
        let (mut answer, mut known) = (Unseen::default(), Vec::new());
        for (root, since) in roots {
            match self.number_known(root, *since) {
                Ok(since) => known.push((root.clone(), since)),
                Err(reason) => answer.unknown.push((root.clone(), reason)),
            }
        }
        let known_roots = || known.iter().map(|(root, _)| root);
        for path in self.areas.unwatched().filter(|path| is_below(known_roots(), path)) {
            answer.unknown.push((path.to_vec(), Unknown::NotWatched(path.to_vec())));
        }
        let mut directories = Sources::new(&self.areas, self.inotify.as_ref());
        if let Err(reason) = self.notes.unseen(&known, &mut directories, &mut answer) {
            let unknown = known.into_iter().map(|(root, _)| (root, reason.clone()));
            answer = Unseen { unknown: answer.unknown, ..Unseen::default() };
            answer.unknown.extend(unknown);
        }
        answer
    }

    /// Returns the number of a position if all changes below `root` since then are known.
    fn number_known(&self, root: &Vec<u8>, since: Option<Position>) -> Result<u64, Unknown> {
        let since = self.number(since)?;
        self.areas.check(root, since)?;
        self.notes.check(std::slice::from_ref(root), since)?;
        Ok(since)
    }

    /// Returns the number of a position. Fails if another watcher created the position.
    fn number(&self, since: Option<Position>) -> Result<u64, Unknown> {
        let since = since.ok_or(Unknown::NoPosition)?;
        if since.session == self.session { Ok(since.number) } else { Err(Unknown::OtherSession) }
    }

    pub(super) fn changes_since(
        &mut self,
        roots: &[Vec<u8>],
        since: u64,
    ) -> Result<Changes, Unknown> {
        for root in roots {
            self.areas.check(root, since)?;
        }
        let mut directories = Sources::new(&self.areas, self.inotify.as_ref());
        let mut changes = self.notes.changes(roots, since, &mut directories)?;
        let unwatched = self.areas.unwatched().filter(|path| is_below(roots.iter(), path));
        changes.dirs.extend(
            unwatched.map(|path| ChangedDir { path: path.to_vec(), entries: Entries::Tree }),
        );
        changes.dirs.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(changes)
    }

    /// Discards the notes of changes that the catalog of the client already contains, and counts the
    /// remaining changes.
    fn forget_answered(&mut self, question: &Question) {
        let mut directories = Sources::new(&self.areas, self.inotify.as_ref());
        let all = &self.areas.roots;
        self.notes.answered(&question.roots, all, &mut directories);
        let since = question.since.filter(|since| since.session == self.session);
        let Some(since) = since.filter(|since| since.number <= self.notes.number()) else { return };
        self.notes.discard(&question.roots, since.number, all, &mut directories);
    }
}

/// Encodes an answer. If it would be too long, encodes [`Unknown::TooMany`] instead of the changes.
fn encoded(answer: &Answer) -> Option<Vec<u8>> {
    encode(answer, MAX_ANSWER_BYTES).or_else(|| {
        let changes = Err(Unknown::TooMany);
        encode(&Answer { changes, ..*answer }, MAX_ANSWER_BYTES)
    })
}

/// Returns whether a path is one of `roots` or below one.
fn is_below<'r>(mut roots: impl Iterator<Item = &'r Vec<u8>>, path: &[u8]) -> bool {
    roots.any(|root| is_at_or_below(root, path))
}

/// Finds the paths of directories by the keys of both sources.
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
    fn paths(&mut self, key: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        if key.first() == Some(&fanotify::KEY) {
            return fanotify::Source::paths(key, self.areas, &mut self.resolver);
        }
        Ok(self.inotify.and_then(|source| source.path(key)).into_iter().collect())
    }
}
