//! Ends connections to clients that stop reading.
//!
//! While a client does not read, its connection uses memory, a descriptor and one of the limited number of
//! connections.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A socket whose writes fail if the client takes no bytes for a while.
pub(crate) struct StallGuard<S> {
    socket: S,
    limit: Duration,
    /// Runs while a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S> StallGuard<S> {
    /// Guards a socket. Writes fail if the client takes nothing for the time `limit`.
    pub(crate) fn new(socket: S, limit: Duration) -> StallGuard<S> {
        StallGuard { socket, limit, waiting: None }
    }

    fn watch<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let limit = self.limit;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(limit)));
        waiting.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StallGuard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StallGuard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.watch(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.socket).poll_write_vectored(context, slices);
        self.watch(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.socket).poll_flush(context);
        self.watch(flushed, context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = Pin::new(&mut self.socket).poll_shutdown(context);
        self.watch(ended, context)
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::time::Duration;

    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::StallGuard;

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(test);
    }

    #[test]
    fn a_client_that_takes_nothing_is_dropped() {
        run(async {
            let (client, server) = duplex(10);
            let mut server = StallGuard::new(server, Duration::from_millis(20));
            let error = server.write_all(&[0; 100]).await.expect_err("stalls");
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            drop(client);
        });
    }

    #[test]
    fn a_client_that_reads_gets_everything() {
        run(async {
            let (mut client, server) = duplex(10);
            let mut server = StallGuard::new(server, Duration::from_secs(600));
            let send = async {
                server.write_all(&[7; 1000]).await.expect("sent");
                server.shutdown().await.expect("ended");
            };
            let mut got = Vec::new();
            let ((), read) = tokio::join!(send, client.read_to_end(&mut got));
            assert_eq!((read.expect("read"), got), (1000, vec![7; 1000]));
        });
    }
}
