//! Answers requests: from the cache, from what the kernel has in memory, or by a job that may wait.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use fsops::{Dir, Kind};
use httpd::server::{Bytes, Finish, Handler, Head, OwnedRequest, Reply, Request, Response};

use crate::cache::{Bounds, Cache, Counters};
use crate::file::SharedFile;
use crate::path::Path;

/// State that the handlers of all threads use.
pub(crate) struct Shared {
    /// The directory that is shared.
    pub(crate) root: Dir,
    /// The device of the directory if it is a local disk. Files on other devices may be on a server
    /// that does not answer, so that even opening them may wait.
    pub(crate) local_device: Option<u64>,
    pub(crate) bounds: Bounds,
    pub(crate) counters: Arc<Counters>,
}

/// The handler of a thread.
pub(crate) struct FileHandler {
    shared: Arc<Shared>,
    cache: Cache<Known>,
}

/// The knowledge about a path.
pub(crate) enum Known {
    File(Arc<SharedFile>),
    Missing,
}

/// The result of a search.
enum Searched {
    File(Arc<SharedFile>),
    /// A file or a link out of the directory does not exist for clients, and directories are not listed.
    Missing,
    /// It exists, but cannot be opened.
    Closed,
}

/// How a search may proceed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// With names and metadata in memory only.
    Cached,
    /// It may wait for a disk.
    Waiting,
}

impl FileHandler {
    pub(crate) fn new(shared: &Arc<Shared>) -> FileHandler {
        let cache = Cache::new(shared.bounds, Arc::clone(&shared.counters));
        FileHandler { shared: Arc::clone(shared), cache }
    }

    /// Answers from the cache. Returns `None` if the path is not there, or has to be searched again.
    fn answer_from_cache(&mut self, request: &Request<'_>, now: Instant) -> Option<Response> {
        let entry = self.cache.get(request.path, now)?;
        let counters = &self.shared.counters;
        match entry.value {
            Known::Missing if entry.is_fresh => {
                counters.hits.fetch_add(1, Relaxed);
                Some(not_found())
            }
            Known::Missing => None,
            Known::File(file) => {
                if entry.is_fresh {
                    if let Some(content) = entry.content {
                        counters.hits.fetch_add(1, Relaxed);
                        return Some(file.respond(request, Some(content)));
                    }
                } else if !self.shared.is_unchanged(request.path, file) {
                    return None;
                }
                let (is_fresh, file) = (entry.is_fresh, Arc::clone(file));
                let content = entry.content.cloned();
                if is_fresh {
                    counters.hits.fetch_add(1, Relaxed);
                } else {
                    counters.checked.fetch_add(1, Relaxed);
                    self.cache.renew(request.path, now);
                }
                self.send(request, &file, content.as_ref())
            }
        }
    }

    /// Answers with a file that is open and unchanged. Returns `None` if its content has to be read from
    /// the disk first, or has changed.
    fn send(
        &mut self,
        request: &Request<'_>,
        file: &Arc<SharedFile>,
        content: Option<&Bytes>,
    ) -> Option<Response> {
        if content.is_some() || !file.is_small() {
            return Some(file.respond(request, content));
        }
        let content = file.read_cached().ok()??;
        self.cache.set_content(request.path, &content);
        Some(file.respond(request, Some(&content)))
    }

    /// Takes the result of a search.
    fn keep(&mut self, path: &[u8], searched: &Searched, now: Instant) {
        match searched {
            Searched::File(file) => self.cache.insert(path, Known::File(Arc::clone(file)), now),
            Searched::Missing => self.cache.insert(path, Known::Missing, now),
            Searched::Closed => self.cache.remove(path),
        }
    }
}

impl Handler for FileHandler {
    fn handle(&mut self, request: &Request<'_>, now: Instant) -> Reply<FileHandler> {
        if let Some(response) = self.answer_from_cache(request, now) {
            return Reply::Ready(response);
        }
        self.shared.counters.misses.fetch_add(1, Relaxed);
        let Some(path) = Path::decode(request.path) else { return Reply::Ready(not_found()) };
        if let Ok(searched) = self.shared.search(&path, How::Cached) {
            self.keep(request.path, &searched, now);
            match searched {
                Searched::File(file) => {
                    if let Some(response) = self.send(request, &file, None) {
                        return Reply::Ready(response);
                    }
                }
                Searched::Missing => return Reply::Ready(not_found()),
                Searched::Closed => {}
            }
        }
        let (shared, request) = (Arc::clone(&self.shared), request.to_owned());
        Reply::Later(Box::new(move || search_and_read(&shared, request, &path)))
    }

    fn tidy(&mut self, now: Instant) {
        self.cache.tidy(now);
    }
}

/// Searches a path and reads a small file, on a thread that may wait.
fn search_and_read(
    shared: &Arc<Shared>,
    request: OwnedRequest,
    path: &Path,
) -> Finish<FileHandler> {
    let searched = shared.search(path, How::Waiting).unwrap_or(Searched::Closed);
    let response = match &searched {
        Searched::File(file) if file.is_small() => match file.read_whole() {
            Ok(content) => Ok((Arc::clone(file), content)),
            Err(_) => Err(Response::text(503, "the file is changing, or cannot be read")),
        },
        Searched::File(file) => Ok((Arc::clone(file), None)),
        Searched::Missing => Err(not_found()),
        Searched::Closed => Err(Response::text(403, "the file cannot be opened")),
    };
    Box::new(move |handler: &mut FileHandler| {
        let Some(request) = request.get() else { return not_found() };
        handler.keep(request.path, &searched, Instant::now());
        match response {
            Err(response) => response,
            Ok((file, content)) => {
                if let Some(content) = &content {
                    handler.cache.set_content(request.path, content);
                }
                file.respond(&request, content.as_ref())
            }
        }
    })
}

impl Shared {
    /// Searches a path.
    ///
    /// # Errors
    ///
    /// Fails with [`io::ErrorKind::WouldBlock`] if the search would have to wait.
    fn search(&self, path: &Path, how: How) -> io::Result<Searched> {
        let found = match how {
            How::Cached => self.root.find_beneath_cached(&path.bytes),
            How::Waiting => self.root.find_beneath(&path.bytes),
        };
        let found = match found {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(error),
            Err(error) if is_missing(&error) => return Ok(Searched::Missing),
            Err(_) => return Ok(Searched::Closed),
        };
        if how == How::Cached && self.local_device != Some(found.stat.device) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(match found.stat.kind {
            Kind::File if !path.is_dir => SharedFile::open(&found, path.name(), None)
                .map_or(Searched::Closed, |file| Searched::File(Arc::new(file))),
            _ => Searched::Missing,
        })
    }

    /// Returns whether the path of a request still leads to the same version of a file. Returns false if
    /// the answer would have to wait.
    fn is_unchanged(&self, path: &[u8], file: &SharedFile) -> bool {
        let found = Path::decode(path).map(|path| self.root.find_beneath_cached(&path.bytes));
        found.is_some_and(|found| {
            found.is_ok_and(|found| {
                self.local_device == Some(found.stat.device)
                    && found.stat.same_version(&file.served.stat)
            })
        })
    }
}

/// Returns whether a search failed because there is nothing to be shown: no such name, or a link that
/// leads out of the directory.
fn is_missing(error: &io::Error) -> bool {
    use io::ErrorKind::{CrossesDevices, InvalidFilename, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | CrossesDevices | InvalidFilename)
}

fn not_found() -> Response {
    Head::new(404).field("content-type", "text/plain; charset=utf-8").with_bytes(*b"not found\n")
}

#[cfg(test)]
mod tests;
