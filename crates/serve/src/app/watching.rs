//! Asks the watcher of the catalog (`lop watch`) for the changes since the last scans.
//!
//! However many pages are open, the server asks only one question at a time and at most once a second, and
//! takes at most a tenth of the watcher's time. The questions do not change the notes of the watcher, so the
//! next scan still finds all changes.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use watch::{NoWatcher, Position, Unseen};

use super::App;
use crate::error::PageError;

/// Maximum time that a page waits for the watcher. The watcher answers at once, unless a busy system delays it.
const PATIENCE: Duration = Duration::from_secs(1);

/// Minimum time between an answer and the next question.
const INTERVAL: Duration = Duration::from_secs(1);

/// The server waits this many times as long as the last answer took before it asks again.
const REST: u32 = 9;

/// The knowledge of the server about changes that no scan has seen yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// No watcher runs.
    NoWatcher,
    /// The watcher did not answer. The text says why.
    Silent(String),
    /// The answer of the watcher.
    Unseen(Arc<Unseen>),
}

/// The last answer.
#[derive(Debug, Default)]
pub(super) struct Watching(Mutex<Option<Known>>);

#[derive(Debug)]
struct Known {
    /// The version of the catalog that the question was about.
    version: u64,
    /// The time from which on the server may ask again.
    until: Instant,
    news: News,
}

impl Known {
    /// Returns whether the server uses this answer again, for a version of the catalog. A new version makes an
    /// answer outdated at once. If the watcher did not answer, the server waits until `until` in any case.
    fn is_for(&self, version: u64, now: Instant) -> bool {
        let is_same = self.version == version || matches!(self.news, News::Silent(_));
        is_same && now < self.until
    }
}

impl Watching {
    /// Returns the changes below the roots of the catalog since their last scans.
    ///
    /// # Errors
    ///
    /// Fails if the catalog does not exist or cannot be read.
    pub(super) async fn news(&self, app: &Arc<App>) -> Result<News, PageError> {
        // Requests of other pages wait for this lock, and then get the same answer.
        let mut last = self.0.lock().await;
        let version = app.blocking(App::catalog_version).await?;
        if let Some(known) = last.as_ref().filter(|known| known.is_for(version, Instant::now())) {
            return Ok(known.news.clone());
        }
        let (news, took) = app
            .blocking(|app| {
                let roots = app.with_catalog(|catalog| Ok(catalog.watched_roots()?))?;
                let roots = roots.into_iter().map(|root| {
                    let since =
                        root.position.map(|at| Position { session: at.watcher, number: at.number });
                    (root.path, since)
                });
                let start = Instant::now();
                Ok((ask(app.catalog_path(), roots.collect()), start.elapsed()))
            })
            .await?;
        let until = Instant::now() + INTERVAL.max(took * REST);
        *last = Some(Known { version, until, news: news.clone() });
        Ok(news)
    }
}

fn ask(catalog: &Path, roots: Vec<(Vec<u8>, Option<Position>)>) -> News {
    match watch::ask_unseen(catalog, roots, PATIENCE) {
        Ok(unseen) => News::Unseen(Arc::new(unseen)),
        Err(NoWatcher::NotRunning) => News::NoWatcher,
        Err(NoWatcher::OtherUser { user, .. }) => {
            News::Silent(format!("another user (id {user}) listens at the socket of lop watch"))
        }
        Err(NoWatcher::Failed { source, .. }) if source.kind() == ErrorKind::TimedOut => {
            News::Silent("lop watch did not answer in time".into())
        }
        Err(NoWatcher::Failed { source, .. }) => {
            News::Silent(format!("lop watch did not answer: {}", fsops::io_text(&source)))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::time::{Duration, Instant};

    use futures_util::future::join_all;
    use watch::watcher_paths;

    use super::{Known, News};
    use crate::testing::TestServer;

    #[test]
    fn an_answer_counts_until_the_catalog_changes_or_the_watcher_has_rested() {
        let now = Instant::now();
        let until = now + Duration::from_secs(5);
        let silent = || News::Silent("busy".into());
        for (news, is_for_next) in [(News::NoWatcher, false), (silent(), true)] {
            let known = Known { version: 7, until, news };
            assert!(known.is_for(7, now));
            assert!(!known.is_for(7, until));
            assert_eq!(known.is_for(8, now), is_for_next, "{known:?}");
        }
    }

    #[test]
    fn a_watcher_that_does_not_answer_gets_one_question_for_all_pages() {
        let server = TestServer::new(false);
        server.make_catalog();
        let [path, _] = watcher_paths(server.app.catalog_path());
        let listener = UnixListener::bind(path).expect("listens");
        let pages = (0..20).map(|_| server.app.news());
        let news = server.runtime.block_on(join_all(pages));
        for news in news {
            assert!(matches!(news, Ok(News::Silent(_))), "{news:?}");
        }
        listener.set_nonblocking(true).expect("set");
        let questions = std::iter::from_fn(|| listener.accept().ok()).count();
        assert_eq!(questions, 1);
    }
}
