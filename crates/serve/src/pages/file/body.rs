//! Sends the bytes of a file in pieces.
//!
//! A piece is read only when the connection can take it, so a slow client holds one piece of memory
//! and no thread. Few threads read at a time, so other pages do not wait for slow disks.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Bytes;
use fsops::File;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::Semaphore;

/// Bytes of a piece.
const PIECE: usize = 256 << 10;

/// Maximum number of threads that read pieces. Must be less than the number of threads for slow work.
static READERS: Semaphore = Semaphore::const_new(4);

type Reading = Pin<Box<dyn Future<Output = io::Result<Bytes>> + Send>>;

/// The bytes of a file from one offset to another.
pub(super) struct FileBody {
    file: Arc<File>,
    at: u64,
    end: u64,
    reading: Option<Reading>,
}

impl FileBody {
    /// Returns the bytes from `from` up to but not including `to`.
    pub(super) fn new(file: File, from: u64, to: u64) -> FileBody {
        FileBody { file: Arc::new(file), at: from, end: to, reading: None }
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
        if body.at >= body.end {
            return Poll::Ready(None);
        }
        let length = usize::try_from(body.end - body.at).unwrap_or(PIECE).min(PIECE);
        let start = || -> Reading { Box::pin(read(Arc::clone(&body.file), body.at, length)) };
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

/// Reads exactly `length` bytes on another thread. Fails if the file has become shorter, so the client
/// notices that the response is not complete.
async fn read(file: Arc<File>, at: u64, length: usize) -> io::Result<Bytes> {
    let permit = READERS.acquire().await.map_err(io::Error::other)?;
    let work = move || {
        let _reader = permit;
        let mut piece = vec![0; length];
        let filled = file.read_at(&mut piece, at)?;
        if filled < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(piece.into()) }
    };
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}
