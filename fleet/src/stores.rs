//! Object stores: opens the place that a URL names, and reads and writes objects there.
//!
//! All calls block, and several threads can make them at the same time. The requests run on a small
//! asynchronous runtime that belongs to the [`Store`], so the rest of the program needs none. Every request has a
//! time limit, so a store that does not answer causes an error and does not block the program forever.
//!
//! The address and the credentials come from the same environment variables that AWS tools read. Credentials MUST NOT
//! appear in an error, so an error contains only the code and the message of an answer.

mod errors;
mod fetch;
mod place;
mod upload;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use object_store::aws::AmazonS3;
use object_store::path::{Path as Key, PathPart};
use object_store::{ObjectStore, ObjectStoreExt, WriteMultipart};
use tokio::runtime::{Builder, Runtime};

pub(crate) use self::errors::Error;
use self::errors::Kind;
pub(crate) use self::fetch::{Fetched, fetch_newest};
pub(crate) use self::place::is_url;
pub(crate) use self::upload::{Uploaded, upload};

/// Size of a part of a large object in bytes. The minimum of S3 is 5 MiB. A part of 8 MiB arrives within
/// [`place::REQUEST_TIMEOUT`] if a connection transfers at least 0.6 Mbit/s.
const PART_SIZE: u64 = 8 << 20;

/// Maximum number of parts that S3 allows for an object.
const MOST_PARTS: u64 = 10_000;

/// Number of parts of an object that are sent at the same time.
const PARTS_AT_ONCE: usize = 3;

/// Number of exports that are copied at the same time. With [`PARTS_AT_ONCE`], an upload holds at most 16 parts, or
/// 128 MiB, in memory.
const EXPORTS_AT_ONCE: usize = 4;

/// Time limit for a request that transfers little data, including all retries.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// A place in an object store: an S3 bucket, and a prefix of the keys of its objects.
#[derive(Debug)]
pub(crate) struct Store {
    client: AmazonS3,
    bucket: String,
    prefix: Key,
    /// Name of the server, for messages.
    server: String,
    /// `Some` until the store is dropped.
    runtime: Option<Runtime>,
}

impl Store {
    /// Opens the place `url`, such as `s3://bucket/fleet`. Sends no request.
    ///
    /// # Errors
    ///
    /// Fails if the URL or an environment variable is not valid.
    pub(crate) fn open(url: &str) -> Result<Store, Error> {
        let place::Place { client, bucket, prefix, server } = place::open(url)?;
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.map_err(|e| Error::new(url, format!("cannot start threads: {e}")))?;
        Ok(Store { client, bucket, prefix, server, runtime: Some(runtime) })
    }

    /// Returns the key of an object, or of a folder of objects, below this place.
    fn key(&self, names: &[&str]) -> Key {
        names.iter().fold(self.prefix.clone(), |key, name| key.join(PathPart::from(*name)))
    }

    /// Returns the URL of an object or a folder below this place.
    pub(crate) fn url(&self, names: &[&str]) -> String {
        let key = self.key(names);
        let slash = if key.is_root() { "" } else { "/" };
        format!("s3://{}{slash}{key}", self.bucket)
    }

    /// Returns the names of the folders in a folder, sorted.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be listed, or if it contains a name that no file can have, such as `..`.
    fn folders(&self, names: &[&str]) -> Result<Vec<String>, Error> {
        let key = self.key(names);
        let listed = self.answer(names, self.client.list_with_delimiter(Some(&key)))?;
        let folders = listed.common_prefixes.iter().filter_map(|folder| folder.filename());
        let mut folders: Vec<String> = folders.map(str::to_owned).collect();
        folders.sort_unstable();
        Ok(folders)
    }

    /// Returns the bytes of an object, or `None` if the object does not exist.
    ///
    /// # Errors
    ///
    /// Fails if the object cannot be read or is larger than `most` bytes.
    pub(crate) fn read(&self, names: &[&str], most: usize) -> Result<Option<Vec<u8>>, Error> {
        let url = self.url(names);
        let read = self.answer(names, async {
            let found = self.client.get(&self.key(names)).await?;
            match found.meta.size {
                size if size > most as u64 => Ok(Err(Error::too_large(&url, size))),
                _ => found.bytes().await.map(Ok),
            }
        });
        match read {
            Ok(read) => read.map(|bytes| Some(bytes.into())),
            Err(error) if error.kind == Kind::Missing => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the size of an object, or `None` if the object does not exist.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be used.
    fn size(&self, names: &[&str]) -> Result<Option<u64>, Error> {
        match self.answer(names, self.client.head(&self.key(names))) {
            Ok(found) => Ok(Some(found.size)),
            Err(error) if error.kind == Kind::Missing => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns a range of an object.
    ///
    /// # Errors
    ///
    /// Fails if the object does not exist or cannot be read.
    fn read_range(&self, names: &[&str], range: Range<u64>) -> Result<Vec<u8>, Error> {
        let key = self.key(names);
        self.wait(names, self.client.get_range(&key, range)).map(Into::into)
    }

    /// Calls `each` with the parts of an object, in their order.
    ///
    /// # Errors
    ///
    /// Fails if the object does not exist or cannot be read, or if `each` fails.
    pub(crate) fn download(
        &self,
        names: &[&str],
        mut each: impl FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<(), Box<dyn std::error::Error>> {
        let size = self.size(names)?;
        let size = size.ok_or_else(|| format!("{}: there is no such object", self.url(names)))?;
        let mut at = 0;
        while at < size {
            let end = size.min(at + PART_SIZE);
            each(&self.read_range(names, at..end)?)?;
            at = end;
        }
        Ok(())
    }

    /// Writes an object of at most [`PART_SIZE`] bytes.
    ///
    /// # Errors
    ///
    /// Fails if the object cannot be written. The store then has no such object, or still has the old one.
    fn write(&self, names: &[&str], bytes: Vec<u8>) -> Result<(), Error> {
        self.wait(names, self.client.put(&self.key(names), bytes.into())).map(drop)
    }

    /// Begins a large object. It appears when all of its parts have been sent.
    ///
    /// # Errors
    ///
    /// Fails if the store refuses it.
    fn begin<'a>(&'a self, names: &'a [&'a str], part_size: usize) -> Result<Large<'a>, Error> {
        let upload = self.answer(names, self.client.put_multipart(&self.key(names)))?;
        let parts = WriteMultipart::new_with_chunk_size(upload, part_size);
        Ok(Large { store: self, names, parts })
    }

    /// Waits for a request that transfers little data, for at most [`ANSWER_TIMEOUT`].
    fn answer<T>(
        &self,
        names: &[&str],
        request: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, Error> {
        let limited = async { tokio::time::timeout(ANSWER_TIMEOUT, request).await };
        match self.runtime().block_on(limited) {
            Ok(answer) => answer.map_err(|e| self.error(names, &e)),
            Err(_elapsed) => {
                let seconds = ANSWER_TIMEOUT.as_secs();
                let reason = format!("{} has not answered within {seconds} s", self.server);
                Err(Error::new(&self.url(names), reason))
            }
        }
    }

    /// Waits for a request that transfers data.
    fn wait<T>(
        &self,
        names: &[&str],
        request: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, Error> {
        self.runtime().block_on(request).map_err(|e| self.error(names, &e))
    }

    fn error(&self, names: &[&str], error: &object_store::Error) -> Error {
        Error::of(&self.url(names), &self.server, error)
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("present until the drop")
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // The program cannot interrupt a thread that resolves a host name, so it does not wait for such a thread.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A large object that is being written in parts.
struct Large<'a> {
    store: &'a Store,
    names: &'a [&'a str],
    parts: WriteMultipart,
}

impl Large<'_> {
    /// Sends the next part. First waits until fewer than [`PARTS_AT_ONCE`] earlier parts are in flight.
    ///
    /// # Errors
    ///
    /// Fails if an earlier part could not be sent.
    fn send(&mut self, part: Vec<u8>) -> Result<(), Error> {
        let Large { store, names, parts } = self;
        store.wait(names, async {
            parts.wait_for_capacity(PARTS_AT_ONCE).await?;
            parts.put(part.into());
            Ok(())
        })
    }

    /// Waits until all parts have arrived, and makes the object appear.
    ///
    /// # Errors
    ///
    /// Fails if a part could not be sent. The store then has no such object, or still has the old one.
    fn finish(self) -> Result<(), Error> {
        self.store.wait(self.names, self.parts.finish()).map(drop)
    }

    /// Asks the store to remove the parts that have arrived.
    fn abort(self) {
        // The caller reports the error that ended the upload.
        drop(self.store.answer(self.names, self.parts.abort()));
    }
}

/// Calls `work` for each item, for several items in parallel. Returns the results in the order of the items.
pub(crate) fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        loop {
            let number = next.fetch_add(1, Relaxed);
            match items.get(number) {
                Some(item) => done.push((number, work(item))),
                None => return done,
            }
        }
    };
    let mut results = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..items.len().min(EXPORTS_AT_ONCE)).map(|_| scope.spawn(run)).collect();
        let joined = threads.into_iter().map(|thread| thread.join().expect("no panic"));
        joined.flatten().collect::<Vec<_>>()
    });
    results.sort_unstable_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::each;

    #[test]
    fn results_have_the_order_of_the_items() {
        let items: Vec<u64> = (0..1000).collect();
        assert_eq!(each(&items, |item| item * 2), (0..2000).step_by(2).collect::<Vec<u64>>());
        assert!(each(&[], |item: &u64| *item).is_empty());
    }
}
