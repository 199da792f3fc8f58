//! Sends the bytes of a file in pieces.
//!
//! A piece is read only when the connection can take it and the limit of the rate permits it, so a slow
//! client holds one piece of memory and no thread.

use std::future::Future;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Bytes;
use fsops::File;
use hyper::body::{Body, Frame, SizeHint};
use runtime::Throttle;
use tokio::runtime::Handle;
use tokio::time::sleep;

use crate::app::App;
use crate::app::disks::{ANSWER_TIMEOUT, Disks};

/// Maximum size of a piece in bytes.
const PIECE: usize = 256 << 10;

/// Minimum size of a piece in bytes.
const SMALL_PIECE: usize = 4 << 10;

/// Number of pieces that a limit of the rate permits per second, so that clients share it evenly.
const PIECES_PER_SECOND: u64 = 8;

type Reading = Pin<Box<dyn Future<Output = io::Result<Bytes>> + Send>>;

/// The bytes of a file from one offset to another.
pub(super) struct FileBody {
    /// `None` only while the value is dropped.
    file: Option<Arc<File>>,
    disks: Arc<Disks>,
    rate: Arc<Throttle>,
    device: u64,
    at: u64,
    end: u64,
    reading: Option<Reading>,
}

impl FileBody {
    /// Returns the bytes of a range of a file on the disk `device`.
    pub(super) fn new(app: &App, file: File, device: u64, range: Range<u64>) -> FileBody {
        let (disks, rate) = (Arc::clone(&app.disks), Arc::clone(&app.file_rate));
        let (file, at, end) = (Some(Arc::new(file)), range.start, range.end);
        FileBody { file, disks, rate, device, at, end, reading: None }
    }

    /// Returns the size of the next piece.
    fn next_length(&self) -> usize {
        let rest = usize::try_from(self.end - self.at).unwrap_or(PIECE);
        rest.min(self.rate.rate().map_or(PIECE, |rate| {
            let share = rate.get() / PIECES_PER_SECOND;
            usize::try_from(share).unwrap_or(PIECE).clamp(SMALL_PIECE, PIECE)
        }))
    }
}

impl Drop for FileBody {
    /// Closes the file on another thread, because that may wait for the disk as well.
    fn drop(&mut self) {
        self.reading = None;
        if let (Some(file), Ok(runtime)) = (self.file.take(), Handle::try_current()) {
            let (disks, device) = (Arc::clone(&self.disks), self.device);
            runtime
                .spawn(async move { disks.run(device, Duration::MAX, move || drop(file)).await });
        }
    }
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let body = self.get_mut();
        let Some(file) = body.file.as_ref().filter(|_| body.at < body.end) else {
            return Poll::Ready(None);
        };
        let length = body.next_length();
        let start = || -> Reading {
            let (file, disks) = (Arc::clone(file), Arc::clone(&body.disks));
            let (rate, device, at) = (Arc::clone(&body.rate), body.device, body.at);
            Box::pin(async move {
                let wait = rate.reserve(length as u64);
                if !wait.is_zero() {
                    sleep(wait).await;
                }
                read(file, disks, device, at, length).await
            })
        };
        let read = ready!(body.reading.get_or_insert_with(start).as_mut().poll(context));
        body.reading = None;
        match &read {
            Ok(piece) => body.at += piece.len() as u64,
            Err(_) => body.at = body.end,
        }
        Poll::Ready(Some(read.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.at >= self.end
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.end.saturating_sub(self.at))
    }
}

/// Reads exactly `length` bytes on another thread. Fails if the disk does not answer or the file has become
/// shorter, so the client notices that the response is not complete.
async fn read(
    file: Arc<File>,
    disks: Arc<Disks>,
    device: u64,
    at: u64,
    length: usize,
) -> io::Result<Bytes> {
    let work = move || {
        let mut piece = vec![0; length];
        let filled = file.read_at(&mut piece, at)?;
        if filled < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(piece.into()) }
    };
    let read = disks.run(device, ANSWER_TIMEOUT, work).await;
    read.unwrap_or_else(|_no_answer| Err(io::ErrorKind::TimedOut.into()))
}
