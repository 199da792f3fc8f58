//! The file readers. They send the content of requested files.

use std::ffi::CStr;
use std::io;
use std::ops::Range;

use std::sync::atomic::Ordering::Relaxed;

use fsops::{File, Kind, ReadBuffer, Stat};
use wire::{CHUNK_BYTES, ConnectionError, FromSender, KnownPrefix, Loss, Op};

use crate::engine::dir_cache::DirCache;
use crate::reconcile::copy::has_lost_last_name;
use crate::reconcile::copy_bytes::next_data_range;
use crate::remote::sender::lister::open_source_dir;
use crate::remote::sender::{ContentRequest, SendJob, loss_of, meta_of};

/// The maximum number of retries if a file changes while it is read. The data of the last attempt
/// is used even if the file changes again.
const MAX_RETRIES: usize = 2;

/// A thread that reads files.
pub(crate) struct FileReader<'s, 'a> {
    sending: &'s SendJob<'a>,
    dir_cache: DirCache,
    buffer: ReadBuffer,
}

/// The reason why a file was not sent completely.
enum ReadStop {
    Loss(Loss),
    ConnectionError(ConnectionError),
}

impl From<ConnectionError> for ReadStop {
    fn from(broken: ConnectionError) -> ReadStop {
        ReadStop::ConnectionError(broken)
    }
}

impl<'s, 'a> FileReader<'s, 'a> {
    pub(crate) fn new(sending: &'s SendJob<'a>) -> FileReader<'s, 'a> {
        let dir_cache = DirCache::new(sending.options.open_dirs);
        FileReader { sending, dir_cache, buffer: ReadBuffer::default() }
    }

    pub(crate) fn run(mut self) -> Result<(), ConnectionError> {
        while let Some(request) = self.sending.next_request() {
            match self.answer(&request) {
                Ok(()) => {}
                Err(ReadStop::Loss(loss)) => {
                    let answer = FromSender::Lost { request: request.number, loss };
                    self.sending.out.send(&answer, &[])?;
                }
                Err(ReadStop::ConnectionError(broken)) => return Err(broken),
            }
        }
        Ok(())
    }

    fn answer(&mut self, request: &ContentRequest) -> Result<(), ReadStop> {
        let at = request.listing.items[request.item];
        let bytes = request.listing.bytes.get(at as usize..).unwrap_or_default();
        let name = CStr::from_bytes_until_nul(bytes).unwrap_or_default();
        let lost = |op| move |e: io::Error| ReadStop::Loss(loss_of(op, &e));
        let dir = open_source_dir(
            &mut self.dir_cache,
            &self.sending.source.top.dir,
            &request.listing.node,
        );
        let file = dir.and_then(|dir| dir.open_file_quietly(name)).map_err(lost(Op::Open))?;
        let stat = file.stat().map_err(lost(Op::Stat))?;
        if stat.kind != Kind::File {
            return Err(ReadStop::Loss(Loss::Changed));
        }
        let has_holes = stat.allocated < stat.size;
        let mut stat = stat;
        if stat.size <= CHUNK_BYTES as u64 && !has_holes && request.have.is_none() {
            match self.send_small(request.number, &file, stat)? {
                None => return Ok(()),
                Some(now) => stat = now,
            }
        }
        let large_file_lock = &self.sending.large_file_lock;
        let _turn = large_file_lock.lock();
        self.send_large(request, &file, stat)
    }

    /// Sends a file in one message. If the file has grown too large for one message, returns its
    /// metadata instead.
    fn send_small(
        &mut self,
        request: u64,
        file: &File,
        mut stat: Stat,
    ) -> Result<Option<Stat>, ReadStop> {
        let failed = |e: io::Error| ReadStop::Loss(loss_of(Op::Read, &e));
        for attempt in 0..=MAX_RETRIES {
            let wanted = usize::try_from(stat.size).unwrap_or(usize::MAX).min(CHUNK_BYTES);
            throttle(self.sending, wanted)?;
            let buffer = &mut self.buffer.bytes(CHUNK_BYTES)[..wanted];
            let read = file.read_at(buffer, 0).map_err(failed)?;
            let after = file.stat_uncached().map_err(failed)?;
            let stable = after.same_version(&stat) && read == wanted;
            if stable || attempt == MAX_RETRIES && read == wanted {
                let bytes = &buffer[..read];
                let digest = self.sending.options.verify.then(|| blake3::hash(bytes).into());
                let meta = meta_of(&stat, 0);
                let message = FromSender::File { request, meta, stable, digest };
                self.sending.out.send(&message, bytes)?;
                return Ok(None);
            }
            if has_lost_last_name(&stat, &after) {
                return Err(ReadStop::Loss(Loss::Vanished));
            }
            stat = after;
            if stat.size > CHUNK_BYTES as u64 && stat.kind == Kind::File {
                return Ok(Some(stat));
            }
        }
        Err(ReadStop::Loss(Loss::Changed))
    }

    fn send_large(
        &mut self,
        request: &ContentRequest,
        file: &File,
        mut stat: Stat,
    ) -> Result<(), ReadStop> {
        let failed = |e: io::Error| ReadStop::Loss(loss_of(Op::Read, &e));
        let number = request.number;
        let (mut from, mut digest) = self.matching_prefix(file, &stat, request.have)?;
        let begin = FromSender::Begin { request: number, meta: meta_of(&stat, 0), from };
        self.sending.out.send(&begin, &[])?;
        if request.have.is_some_and(|have| have.only) {
            let end = FromSender::End { request: number, stable: true, digest: None };
            return Ok(self.sending.out.send(&end, &[])?);
        }
        for attempt in 0..=MAX_RETRIES {
            let read = self.send_pieces(number, file, &stat, from, &mut digest);
            let after = file.stat_uncached().map_err(failed)?;
            let stable = after.same_version(&stat);
            if stable || attempt == MAX_RETRIES {
                read?;
                let digest = digest.map(|digest| digest.finalize().into());
                let end = FromSender::End { request: number, stable, digest };
                return Ok(self.sending.out.send(&end, &[])?);
            }
            if let Err(ReadStop::ConnectionError(broken)) = read {
                return Err(broken.into());
            }
            if has_lost_last_name(&stat, &after) {
                return Err(ReadStop::Loss(Loss::Vanished));
            }
            if after.kind != Kind::File {
                break;
            }
            stat = after;
            from = 0;
            digest = self.sending.options.verify.then(blake3::Hasher::new);
            let again = FromSender::Again { request: number, meta: meta_of(&stat, 0) };
            self.sending.out.send(&again, &[])?;
        }
        Err(ReadStop::Loss(Loss::Changed))
    }

    /// Returns the number of bytes that the receiver already has. Also returns the hash state after
    /// these bytes if a digest will be sent.
    fn matching_prefix(
        &mut self,
        file: &File,
        stat: &Stat,
        have: Option<KnownPrefix>,
    ) -> Result<(u64, Option<blake3::Hasher>), ReadStop> {
        let verifies = self.sending.options.verify;
        let fresh = || verifies.then(blake3::Hasher::new);
        let Some(have) = have.filter(|have| have.length <= stat.size && have.length > 0) else {
            return Ok((0, fresh()));
        };
        let mut hasher = blake3::Hasher::new();
        let read = self.read(file, 0..have.length, |_, _, bytes| {
            hasher.update(bytes);
            Ok(())
        });
        match read {
            // The file has been truncated. The caller will detect this.
            Err(ReadStop::Loss(Loss::Changed)) => return Ok((0, fresh())),
            read => read?,
        }
        if hasher.finalize().as_bytes() == &have.digest {
            Ok((have.length, Some(hasher).filter(|_| verifies)))
        } else {
            Ok((0, fresh()))
        }
    }

    fn send_pieces(
        &mut self,
        request: u64,
        file: &File,
        stat: &Stat,
        from: u64,
        digest: &mut Option<blake3::Hasher>,
    ) -> Result<(), ReadStop> {
        let failed = |e: io::Error| ReadStop::Loss(loss_of(Op::Read, &e));
        let mut done = from;
        while let Some(data) = next_data_range(file, stat, done).map_err(failed)? {
            if let Some(digest) = digest {
                hash_zeros(digest, data.start - done);
            }
            self.read(file, data.clone(), |sending, at, bytes| {
                if let Some(digest) = digest {
                    digest.update(bytes);
                }
                throttle(sending, bytes.len())?;
                sending.out.send(&FromSender::Piece { request, at }, bytes)
            })?;
            done = data.end;
        }
        if let Some(digest) = digest {
            hash_zeros(digest, stat.size - done);
        }
        Ok(())
    }

    /// Reads a range of a file, and passes each piece to `take`.
    fn read(
        &mut self,
        file: &File,
        range: Range<u64>,
        mut take: impl FnMut(&SendJob<'a>, u64, &[u8]) -> Result<(), ConnectionError>,
    ) -> Result<(), ReadStop> {
        let Range { start: mut at, end } = range;
        while at < end {
            let wanted = usize::try_from(end - at).unwrap_or(usize::MAX).min(CHUNK_BYTES);
            if self.sending.is_over() {
                return Err(ConnectionError::Stopped.into());
            }
            let buffer = &mut self.buffer.bytes(CHUNK_BYTES)[..wanted];
            let read = file.read_at(buffer, at);
            let read = read.map_err(|e| ReadStop::Loss(loss_of(Op::Read, &e)))?;
            if read == 0 {
                return Err(ReadStop::Loss(Loss::Changed));
            }
            take(self.sending, at, &buffer[..read])?;
            at += read as u64;
        }
        Ok(())
    }
}

/// Waits as long as the bandwidth limit requires, if there is one.
fn throttle(sending: &SendJob<'_>, bytes: usize) -> Result<(), ConnectionError> {
    let SendJob { options, progress, .. } = sending;
    if sending.is_over() || !options.bandwidth.pass_some(bytes as u64, progress) {
        return Err(ConnectionError::Stopped);
    }
    progress.bytes_read.fetch_add(bytes as u64, Relaxed);
    Ok(())
}

/// Adds zeros to a digest.
fn hash_zeros(digest: &mut blake3::Hasher, mut length: u64) {
    const ZEROS: [u8; 4096] = [0; 4096];
    while length > 0 {
        let step = length.min(ZEROS.len() as u64);
        digest.update(&ZEROS[..usize::try_from(step).unwrap_or(0)]);
        length -= step;
    }
}
