//! The event loop of a watcher.
//!
//! One thread reads events and answers questions. After the thread has read all events, it reads no
//! further events for the time of [`REST`], unless a question arrives. During this time, the kernel
//! merges equal events.

mod answering;
mod mounts;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use thiserror::Error;

use crate::answer::Unknown;
use crate::area::{Area, Areas, OwnPaths, Watched};
use crate::notes::Notes;
use crate::socket::{Socket, Taken, watcher_paths};
use crate::status::Control;
use crate::{fanotify, inotify};

use self::mounts::MountTable;

/// The pause after the watcher has read all events. While a compiler builds a project, most files cause several events
/// within this time, and the kernel merges them.
const REST: Duration = Duration::from_millis(200);

/// The catalog and the directories of a watcher.
#[derive(Clone, Debug)]
pub struct Options {
    /// The absolute path of the catalog, which does not have to exist. Its directory must exist.
    pub catalog: PathBuf,
    /// The directories to watch, as absolute paths without links.
    pub roots: Vec<PathBuf>,
    /// Files that lop itself changes, such as those of the catalog.
    pub own: Vec<PathBuf>,
}

/// The reason why a watcher cannot start.
#[derive(Debug, Error)]
pub enum StartError {
    /// Another watcher runs for the catalog. Contains its process id, if known.
    #[error("another lop watch is running for this catalog")]
    Running(Option<u32>),
    /// The watcher cannot create the socket or the lock.
    #[error(transparent)]
    Socket(#[from] fsops::Error),
    /// The system refuses another resource that the watcher needs.
    #[error("the system refuses a resource that the watcher needs")]
    System(#[source] io::Error),
}

/// A watcher.
#[derive(Debug)]
pub struct Watcher {
    socket: Socket,
    session: [u8; 16],
    areas: Areas,
    notes: Notes,
    fanotify: Result<fanotify::Source, String>,
    inotify: Option<inotify::Source>,
    mount_table: MountTable,
    control: Control,
}

impl Watcher {
    /// Starts to watch. The watcher notes every change below the watched roots that happens after this
    /// function has returned.
    ///
    /// If the watcher cannot watch a root, this function does not fail. [`Watcher::watched`] tells which roots the
    /// watcher watches.
    ///
    /// # Errors
    ///
    /// Fails if another watcher runs for the catalog, if the watcher cannot create the socket, or if the system refuses
    /// another resource.
    pub fn start(options: Options) -> Result<Watcher, StartError> {
        let system = StartError::System;
        let socket = Socket::listen(&options.catalog)?
            .map_err(|Taken(process)| StartError::Running(process))?;
        let mut session = [0; 16];
        getrandom::fill(&mut session).map_err(|error| system(io::Error::other(error)))?;
        let own = [&options.own[..], &watcher_paths(&options.catalog)].concat();
        let roots = options.roots.into_iter();
        let roots = roots.map(|root| root.into_os_string().into_encoded_bytes()).collect();
        let fanotify = fanotify::Source::new(fsops::EventQueue::Unlimited);
        let mut watcher = Watcher {
            socket,
            session,
            areas: Areas::new(roots, OwnPaths::new(&own)),
            notes: Notes::default(),
            fanotify: fanotify.map_err(|error| mounts::fanotify_text(&error)),
            inotify: None,
            mount_table: MountTable::open().map_err(system)?,
            control: Control::new().map_err(system)?,
        };
        watcher.update_areas();
        // The areas are new, but nothing has changed yet.
        watcher.notes.reset_counts();
        Ok(watcher)
    }

    /// Returns the roots and the mounts below them.
    pub fn watched(&self) -> Vec<Watched> {
        let watched = |area: &Area| Watched {
            path: area.planned.path.clone(),
            is_root: self.areas.roots.contains(&area.planned.path),
            file_system: area.planned.kind.clone(),
            means: area.means.clone(),
        };
        self.areas.list.iter().map(watched).collect()
    }

    /// Returns the control of this watcher.
    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Runs until a call of [`Control::stop`].
    ///
    /// # Errors
    ///
    /// Fails if the system refuses to wait for events.
    pub fn run(mut self) -> io::Result<()> {
        let mut rest_until: Option<Instant> = None;
        loop {
            let ready = self.wait(rest_until)?;
            if ready.is_stopped {
                return Ok(());
            }
            if ready.is_check {
                self.control.start_check();
                self.update_areas();
                self.retry_unwatched();
            }
            if ready.has_new_mounts {
                self.update_areas();
            }
            if ready.has_events || rest_until.is_some_and(|end| Instant::now() >= end) {
                rest_until = ready.has_events.then(|| Instant::now() + REST);
                if ready.has_events {
                    self.drain();
                }
            }
            if ready.has_clients {
                self.answer_clients();
            }
            self.control.update(self.notes.fresh(), self.notes.number());
        }
    }

    /// Waits for an event, a question, a change of the mount table or the request to stop, and not longer
    /// than until the end of a rest. Ignores events during a rest.
    fn wait(&self, rest_until: Option<Instant>) -> io::Result<Ready> {
        let left = rest_until.map(|end| end.saturating_duration_since(Instant::now()));
        let left = left.filter(|left| !left.is_zero());
        let mut fds = vec![
            PollFd::from_borrowed_fd(self.control.stopped(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.mount_table.as_fd(), PollFlags::PRI),
            PollFd::from_borrowed_fd(self.socket.listener.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.control.checks(), PollFlags::IN),
        ];
        if left.is_none() {
            let sources = self.sources().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
            fds.extend(sources);
        }
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        Ok(Ready {
            is_stopped: is_ready(&fds[0]),
            has_new_mounts: is_ready(&fds[1]),
            has_clients: is_ready(&fds[2]),
            is_check: is_ready(&fds[3]),
            has_events: fds[4..].iter().any(is_ready),
        })
    }

    fn sources(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let fanotify = self.fanotify.as_ref().ok().map(AsFd::as_fd);
        fanotify.into_iter().chain(self.inotify.as_ref().map(AsFd::as_fd))
    }

    /// Reads all events that are waiting.
    fn drain(&mut self) {
        let (mut is_lost, mut is_outdated) = (false, false);
        if let Ok(fanotify) = &mut self.fanotify {
            match fanotify.drain(&mut self.areas, &mut self.notes) {
                Ok(outdated) => is_outdated = outdated,
                Err(_) => is_lost = true,
            }
        }
        if let Some(inotify) = &mut self.inotify
            && inotify.drain(&self.areas.own, &mut self.notes).is_err()
        {
            // The number of sources is limited, so this one has to be closed before `update_areas` creates another one.
            self.inotify = None;
            is_lost = true;
        }
        if is_lost {
            self.notes.lose(Unknown::EventsLost);
        }
        let has_lost_area = self.areas.list.iter().any(|area| self.has_lost(area));
        let is_changed = (is_outdated || has_lost_area) && self.update_areas();
        if is_outdated && !is_changed {
            // Another mount covered an area only for a moment, so its directories seemed to be outside.
            if let Ok(fanotify) = &mut self.fanotify {
                fanotify.forget_places();
            }
            self.notes.lose(Unknown::EventsLost);
        }
    }
}

/// The reasons for which a wait has ended.
#[expect(clippy::struct_excessive_bools, reason = "several reasons can come together")]
struct Ready {
    is_stopped: bool,
    has_new_mounts: bool,
    has_clients: bool,
    is_check: bool,
    has_events: bool,
}

#[cfg(test)]
mod tests;
