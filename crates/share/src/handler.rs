//! Answers requests: from the cache, from what the kernel has in memory, or by a job that may wait.

use std::sync::Arc;
use std::time::Instant;

use httpd::server::{Bytes, Finish, Handler, OwnedRequest, Reply, Request, Response};

use crate::cache::{Bounds, Cache, Counters};
use crate::directory;
use crate::file::SharedFile;
use crate::notices;
use crate::path::Path;
use crate::search::{How, Searched};
use crate::shared::Shared;

/// The handler of a thread.
pub(crate) struct FileHandler {
    shared: Arc<Shared>,
    cache: Cache<Known>,
    counters: Arc<Counters>,
}

/// The knowledge about a path.
pub(crate) enum Known {
    File(Arc<SharedFile>),
    Missing,
}

impl FileHandler {
    /// Creates the handler of a thread, with a cache of its own.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        bounds: Bounds,
        counters: &Arc<Counters>,
    ) -> FileHandler {
        let cache = Cache::new(bounds, Arc::clone(counters));
        FileHandler { shared: Arc::clone(shared), cache, counters: Arc::clone(counters) }
    }

    /// Answers from the cache. Returns `None` if the path is not there, or has to be searched again.
    fn answer_from_cache(&mut self, request: &Request<'_>, now: Instant) -> Option<Response> {
        let entry = self.cache.get(request.path, now)?;
        let counters = &self.counters;
        match entry.value {
            Known::Missing if entry.is_fresh => {
                counters.hits.add(1);
                Some(not_found(request))
            }
            Known::Missing => None,
            Known::File(file) => {
                if entry.is_fresh {
                    if let Some(content) = entry.content {
                        counters.hits.add(1);
                        return Some(file.respond(request, Some(content)));
                    }
                } else if !self.shared.is_unchanged(request.path, file) {
                    return None;
                }
                let (is_fresh, file) = (entry.is_fresh, Arc::clone(file));
                let content = entry.content.cloned();
                if is_fresh {
                    counters.hits.add(1);
                } else {
                    counters.checked.add(1);
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
            Searched::Dir(_) | Searched::Top | Searched::Closed => self.cache.remove(path),
        }
    }
}

impl Handler for FileHandler {
    fn handle(&mut self, request: &Request<'_>, now: Instant) -> Reply<FileHandler> {
        if let Some(response) = self.shared.access.check(request) {
            return Reply::Ready(response);
        }
        if let Some(response) = self.answer_from_cache(request, now) {
            return Reply::Ready(response);
        }
        if let Some(response) = self.shared.statistics_page(request) {
            return Reply::Ready(response);
        }
        self.counters.misses.add(1);
        let Some(path) = Path::decode(request.path) else {
            return Reply::Ready(not_found(request));
        };
        if let Ok(searched) = self.shared.search(&path, How::Cached) {
            self.keep(request.path, &searched, now);
            match searched {
                Searched::File(file) => {
                    if let Some(response) = self.send(request, &file, None) {
                        return Reply::Ready(response);
                    }
                }
                Searched::Missing => return Reply::Ready(not_found(request)),
                Searched::Dir(_) | Searched::Top | Searched::Closed => {}
            }
        }
        let (shared, request) = (Arc::clone(&self.shared), request.to_owned());
        Reply::Later(Box::new(move || search_and_read(&shared, request, &path)))
    }

    fn tidy(&mut self, now: Instant) {
        self.cache.tidy(now);
        self.shared.plans.tidy(now);
    }
}

/// The result of a job.
enum Answer {
    Ready(Response),
    /// A file, with its content if it is small.
    File(Arc<SharedFile>, Option<Bytes>),
}

/// Searches a path and reads what it leads to, on a thread that may wait.
fn search_and_read(
    shared: &Arc<Shared>,
    request: OwnedRequest,
    path: &Path,
) -> Finish<FileHandler> {
    let searched = shared.search(path, How::Waiting).unwrap_or(Searched::Closed);
    let answer = request.get().map(|request| shared.answer(&request, path, &searched));
    Box::new(move |handler: &mut FileHandler| {
        let (Some(request), Some(answer)) = (request.get(), answer) else {
            return Response::text(400, "the request is not valid");
        };
        handler.keep(request.path, &searched, Instant::now());
        match answer {
            Answer::Ready(response) => response,
            Answer::File(file, content) => {
                if let Some(content) = &content {
                    handler.cache.set_content(request.path, content);
                }
                file.respond(&request, content.as_ref())
            }
        }
    })
}

impl Shared {
    /// Answers a request with what was found. This may wait for a disk.
    fn answer(&self, request: &Request<'_>, path: &Path, searched: &Searched) -> Answer {
        Answer::Ready(match searched {
            Searched::File(file) if file.is_small() => match file.read_whole() {
                Ok(content) => return Answer::File(Arc::clone(file), content),
                Err(_) => changing(request),
            },
            Searched::File(file) => return Answer::File(Arc::clone(file), None),
            Searched::Dir(_) if !path.is_dir => directory::redirect(path, request),
            Searched::Dir(found) => self.answer_dir(request, path, found),
            Searched::Top => self.answer_top(request),
            Searched::Missing => not_found(request),
            Searched::Closed => closed(request),
        })
    }

    /// Returns the page with statistics, if the request asks for it and there is one.
    fn statistics_page(&self, request: &Request<'_>) -> Option<Response> {
        let is_wanted = request.path == b"/" && request.query == Some(b"stats");
        let statistics = self.statistics.as_ref().filter(|_| is_wanted)?.read();
        Some(notices::stats_page("Statistics", &statistics.rows()))
    }
}

fn not_found(request: &Request<'_>) -> Response {
    let advice = "There is no file or folder with this name.";
    notices::error(request, 404, "Not found", advice)
}

fn closed(request: &Request<'_>) -> Response {
    let advice = "The server may not read it, or its disk does not answer.";
    notices::error(request, 403, "This cannot be opened", advice)
}

fn changing(request: &Request<'_>) -> Response {
    let advice = "It changes at this moment, or cannot be read. Try again.";
    notices::error(request, 503, "This file cannot be sent", advice)
}

#[cfg(test)]
mod tests;
