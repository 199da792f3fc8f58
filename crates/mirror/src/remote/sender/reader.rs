//! Gives a receiver on another host the content of what it asks for.

use std::ffi::CStr;
use std::io;
use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

use fsops::{File, Kind, Stat};
use wire::{Broken, FromSender, Have, Loss, Op, PIECE};

use crate::engine::dir_cache::Held;
use crate::reconcile::copy::is_gone;
use crate::reconcile::copy_bytes::next_stretch;
use crate::remote::sender::Request;
use crate::remote::sender::Sending;
use crate::remote::sender::lister::open;
use crate::remote::sender::loss_of;
use crate::remote::sender::meta_of;

/// A file that keeps changing is sent as it was the last time.
const ATTEMPTS: usize = 2;

/// A thread that reads files.
pub(crate) struct Server<'s, 'a> {
    sending: &'s Sending<'a>,
    held: Held,
    buffer: Vec<u8>,
}

/// Why a file was not sent to its end.
enum Stop {
    Loss(Loss),
    Broken(Broken),
}

impl From<Broken> for Stop {
    fn from(broken: Broken) -> Stop {
        Stop::Broken(broken)
    }
}

impl<'s, 'a> Server<'s, 'a> {
    pub(crate) fn new(sending: &'s Sending<'a>) -> Server<'s, 'a> {
        let held = Held::new(sending.options.open_dirs);
        Server { sending, held, buffer: Vec::new() }
    }

    pub(crate) fn run(mut self) -> Result<(), Broken> {
        while let Some(request) = self.sending.next_request() {
            match self.serve(&request) {
                Ok(()) => {}
                Err(Stop::Loss(loss)) => {
                    let answer = FromSender::Lost { request: request.number, loss };
                    self.sending.out.say(&answer, &[])?;
                }
                Err(Stop::Broken(broken)) => return Err(broken),
            }
        }
        Ok(())
    }

    fn serve(&mut self, request: &Request) -> Result<(), Stop> {
        let at = request.listing.items[request.item];
        let bytes = request.listing.bytes.get(at as usize..).unwrap_or_default();
        let name = CStr::from_bytes_until_nul(bytes).unwrap_or_default();
        let lost = |op| move |e: io::Error| Stop::Loss(loss_of(op, &e));
        let dir = open(&mut self.held, &self.sending.source.top.dir, &request.listing.node);
        let file = dir.and_then(|dir| dir.open_file_quietly(name)).map_err(lost(Op::Open))?;
        let stat = file.stat().map_err(lost(Op::Stat))?;
        if stat.kind != Kind::File {
            return Err(Stop::Loss(Loss::Changed));
        }
        let has_holes = stat.allocated < stat.size;
        let mut stat = stat;
        if stat.size <= PIECE as u64 && !has_holes && request.have.is_none() {
            match self.send_small(request.number, &file, stat)? {
                None => return Ok(()),
                Some(now) => stat = now,
            }
        }
        let large = &self.sending.large;
        let _turn = large.lock().unwrap_or_else(PoisonError::into_inner);
        self.send_large(request, &file, stat)
    }

    /// Sends a file as a whole; returns its metadata if it has become too large for that.
    fn send_small(
        &mut self,
        request: u64,
        file: &File,
        mut stat: Stat,
    ) -> Result<Option<Stat>, Stop> {
        let failed = |e: io::Error| Stop::Loss(loss_of(Op::Read, &e));
        for attempt in 0..=ATTEMPTS {
            let wanted = usize::try_from(stat.size).unwrap_or(usize::MAX).min(PIECE);
            pass(self.sending, wanted)?;
            self.buffer.resize(PIECE, 0);
            let read = file.read_at(&mut self.buffer[..wanted], 0).map_err(failed)?;
            let after = file.stat_now().map_err(failed)?;
            let stable = after.same_version(&stat) && read == wanted;
            if stable || attempt == ATTEMPTS && read == wanted {
                let bytes = &self.buffer[..read];
                let digest = self.sending.options.verify.then(|| blake3::hash(bytes).into());
                let meta = meta_of(&stat, 0);
                let message = FromSender::File { request, meta, stable, digest };
                self.sending.out.say(&message, bytes)?;
                return Ok(None);
            }
            if is_gone(&stat, &after) {
                return Err(Stop::Loss(Loss::Vanished));
            }
            stat = after;
            if stat.size > PIECE as u64 && stat.kind == Kind::File {
                return Ok(Some(stat));
            }
        }
        Err(Stop::Loss(Loss::Changed))
    }

    fn send_large(&mut self, request: &Request, file: &File, mut stat: Stat) -> Result<(), Stop> {
        let failed = |e: io::Error| Stop::Loss(loss_of(Op::Read, &e));
        let number = request.number;
        let (mut from, mut digest) = self.alike(file, &stat, request.have)?;
        let begin = FromSender::Begin { request: number, meta: meta_of(&stat, 0), from };
        self.sending.out.say(&begin, &[])?;
        if request.have.is_some_and(|have| have.only) {
            let end = FromSender::End { request: number, stable: true, digest: None };
            return Ok(self.sending.out.say(&end, &[])?);
        }
        for attempt in 0..=ATTEMPTS {
            let read = self.send_pieces(number, file, &stat, from, &mut digest);
            let after = file.stat_now().map_err(failed)?;
            let stable = after.same_version(&stat);
            if stable || attempt == ATTEMPTS {
                read?;
                let digest = digest.map(|digest| digest.finalize().into());
                let end = FromSender::End { request: number, stable, digest };
                return Ok(self.sending.out.say(&end, &[])?);
            }
            if let Err(Stop::Broken(broken)) = read {
                return Err(broken.into());
            }
            if is_gone(&stat, &after) {
                return Err(Stop::Loss(Loss::Vanished));
            }
            if after.kind != Kind::File {
                break;
            }
            stat = after;
            from = 0;
            digest = self.sending.options.verify.then(blake3::Hasher::new);
            let again = FromSender::Again { request: number, meta: meta_of(&stat, 0) };
            self.sending.out.say(&again, &[])?;
        }
        Err(Stop::Loss(Loss::Changed))
    }

    /// Returns how many bytes the receiver has already, and the digest of these if one is to be sent.
    fn alike(
        &mut self,
        file: &File,
        stat: &Stat,
        have: Option<Have>,
    ) -> Result<(u64, Option<blake3::Hasher>), Stop> {
        let verifies = self.sending.options.verify;
        let fresh = || verifies.then(blake3::Hasher::new);
        let Some(have) = have.filter(|have| have.length <= stat.size && have.length > 0) else {
            return Ok((0, fresh()));
        };
        let mut hasher = blake3::Hasher::new();
        let read = self.read(file, (0, have.length), |_, _, bytes| {
            hasher.update(bytes);
            Ok(())
        });
        match read {
            // It has become shorter, which will be seen.
            Err(Stop::Loss(Loss::Changed)) => return Ok((0, fresh())),
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
    ) -> Result<(), Stop> {
        let failed = |e: io::Error| Stop::Loss(loss_of(Op::Read, &e));
        let mut done = from;
        while let Some((start, end)) = next_stretch(file, stat, done).map_err(failed)? {
            if let Some(digest) = digest {
                add_hole(digest, start - done);
            }
            self.read(file, (start, end), |sending, at, bytes| {
                if let Some(digest) = digest {
                    digest.update(bytes);
                }
                pass(sending, bytes.len())?;
                sending.out.say(&FromSender::Piece { request, at }, bytes)
            })?;
            done = end;
        }
        if let Some(digest) = digest {
            add_hole(digest, stat.size - done);
        }
        Ok(())
    }

    /// Reads a stretch of a file, and passes on what there is.
    fn read(
        &mut self,
        file: &File,
        (mut at, end): (u64, u64),
        mut take: impl FnMut(&Sending<'a>, u64, &[u8]) -> Result<(), Broken>,
    ) -> Result<(), Stop> {
        self.buffer.resize(PIECE, 0);
        while at < end {
            let wanted = usize::try_from(end - at).unwrap_or(usize::MAX).min(PIECE);
            if self.sending.is_over() {
                return Err(Broken::Stopped.into());
            }
            let read = file.read_at(&mut self.buffer[..wanted], at);
            let read = read.map_err(|e| Stop::Loss(loss_of(Op::Read, &e)))?;
            if read == 0 {
                return Err(Stop::Loss(Loss::Changed));
            }
            take(self.sending, at, &self.buffer[..read])?;
            at += read as u64;
        }
        Ok(())
    }
}

/// Waits until so many bytes may be sent, if there is a limit.
fn pass(sending: &Sending<'_>, bytes: usize) -> Result<(), Broken> {
    let Sending { options, progress, .. } = sending;
    if sending.is_over() || !options.bandwidth.pass_some(bytes as u64, progress) {
        return Err(Broken::Stopped);
    }
    progress.bytes_read.fetch_add(bytes as u64, Relaxed);
    Ok(())
}

/// Adds zeros to a digest.
fn add_hole(digest: &mut blake3::Hasher, mut length: u64) {
    const ZEROS: [u8; 4096] = [0; 4096];
    while length > 0 {
        let step = length.min(ZEROS.len() as u64);
        digest.update(&ZEROS[..usize::try_from(step).unwrap_or(0)]);
        length -= step;
    }
}
