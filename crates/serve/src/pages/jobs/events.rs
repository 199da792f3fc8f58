//! The event stream that informs pages about running jobs.
//!
//! A browser opens at most six connections to a server, so a page opens a stream only while a job is running.
//! The first event contains the current state. The last event, `end`, reports that no job is running.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::watch::Receiver;
use tokio::time::Instant;

use super::title;
use crate::app::App;
use crate::jobs::Job;

/// Minimum time between two events.
const INTERVAL: Duration = Duration::from_millis(250);

/// Time after which a browser connects again.
const RETRY: Duration = Duration::from_secs(1);

/// Interval of the comments that show that a quiet stream is alive.
const COMMENT_INTERVAL: Duration = Duration::from_secs(15);

/// An open stream.
struct Open {
    app: Arc<App>,
    changes: Receiver<u64>,
    /// When the next event may be sent. `None` before the first.
    next: Option<Instant>,
    is_over: bool,
    _place: OwnedSemaphorePermit,
}

/// Answers `GET /events`.
pub(super) async fn stream(State(app): State<Arc<App>>) -> Response {
    let Some(place) = app.streams.open() else {
        return StatusCode::TOO_MANY_REQUESTS.into_response();
    };
    let changes = app.jobs.subscribe();
    let open = Open { app, changes, next: None, is_over: false, _place: place };
    let events = stream::unfold(open, |mut open| async {
        let event = open.event().await?;
        Some((Ok::<_, Infallible>(event), open))
    });
    Sse::new(events).keep_alive(KeepAlive::new().interval(COMMENT_INTERVAL)).into_response()
}

impl Open {
    async fn event(&mut self) -> Option<Event> {
        if self.is_over {
            return None;
        }
        if let Some(next) = self.next {
            self.changes.changed().await.ok()?;
            tokio::time::sleep_until(next).await;
        }
        let generation = *self.changes.borrow_and_update();
        let jobs = self.app.jobs.list();
        let running = jobs.iter().filter(|job| job.is_running());
        let running: Vec<Value> = running.map(|job| brief(job)).collect();
        self.is_over = running.is_empty();
        let event = Event::default().id(generation.to_string());
        let event = if self.next.is_none() { event.retry(RETRY) } else { event };
        self.next = Some(Instant::now() + INTERVAL);
        let event = if self.is_over { event.event("end") } else { event };
        event.json_data(json!({ "jobs": running })).ok()
    }
}

/// Returns what the progress bar shows.
fn brief(job: &Job) -> Value {
    let progress = job.progress.as_ref();
    json!({
        "id": job.id,
        "title": title(job.kind),
        "cancelled": job.cancelled,
        "text": progress.map(|progress| &progress.text),
        "percent": progress.and_then(|progress| progress.done_percent),
        "problems": job.messages_total,
    })
}
