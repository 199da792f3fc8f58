//! Sends the bytes of a file in pieces.
//!
//! A piece is read only when the connection can take it, so a slow client holds one piece of memory
//! and no thread.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Bytes;
use fsops::File;
use hyper::body::{Body, Frame, SizeHint};
use tokio::runtime::Handle;

use crate::app::disks::{ANSWER_TIMEOUT, Disks};

/// Bytes of a piece.
const PIECE: usize = 256 << 10;

type Reading = Pin<Box<dyn Future<Output = io::Result<Bytes>> + Send>>;

/// The bytes of a file from one offset to another.
pub(super) struct FileBody {
    /// `None` only while the value is dropped.
    file: Option<Arc<File>>,
    disks: Arc<Disks>,
    device: u64,
    at: u64,
    end: u64,
    reading: Option<Reading>,
}

impl FileBody {
    /// Returns the bytes of a file on the disk `device`, from `from` up to but not including `to`.
    pub(super) fn new(file: File, device: u64, disks: Arc<Disks>, from: u64, to: u64) -> FileBody {
        FileBody { file: Some(Arc::new(file)), disks, device, at: from, end: to, reading: None }
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
        let length = usize::try_from(body.end - body.at).unwrap_or(PIECE).min(PIECE);
        let start = || -> Reading {
            let (file, disks) = (Arc::clone(file), Arc::clone(&body.disks));
            Box::pin(read(file, disks, body.device, body.at, length))
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
