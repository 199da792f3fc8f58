//! `lop mirror-server`: the process that `lop mirror` starts on the other host.
//!
//! It speaks the protocol on standard input and output and prints nothing else. All messages are printed by the `lop
//! mirror` process that the user started.

use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::sync::Arc;

use device::{Disks, Io};
use mirror::{Options, Reason, Refusal, Reports, Roots, Source};
use runtime::{Progress, Throttle};
use walk::Globs;
use wire::{Answer, ConnectionError, Incoming, Open, Outgoing, Role};

use super::catalog_hints::remembered;
use super::problems::reason_text;
use super::{NEEDS_DIRECTORY, path_of};
use crate::error::{CommandError, io_text};
use crate::exit::Exit;
use crate::monitor::Monitor;
use crate::protected::Protected;
use crate::settings::{Resources, Settings};

/// Runs the command.
pub(crate) fn run(settings: &Settings) -> Result<Exit, CommandError> {
    let progress = Arc::new(Progress::default());
    // Progress is printed by the `lop mirror` process that the user started, possibly on the same terminal.
    let monitor = Monitor::begin(&progress, &settings.without_progress())?;
    let spoken = serve(&progress, settings);
    monitor.finish()?;
    match spoken {
        Ok(()) => Ok(Exit::Done),
        // If the connection still works, the other host has reported the error to the user.
        Err(_) => Ok(Exit::Failed),
    }
}

fn serve(progress: &Progress, settings: &Settings) -> Result<(), ConnectionError> {
    let stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let out = Arc::new(Outgoing::new(stdout));
    let mut incoming = Incoming::new(stdin);
    out.greet(env!("CARGO_PKG_VERSION"))?;
    let greeting = wire::read_greeting(&mut incoming, &|| progress.poll_stop())?;
    if greeting.said.is_none_or(|(protocol, _)| protocol != wire::VERSION) {
        return Err(ConnectionError::ProtocolViolation("no greeting"));
    }
    let (open, _) = wire::decode::<Open>(incoming.next(&|| progress.poll_stop())?)?;
    let options = match options(&open) {
        Ok(options) => options,
        Err(text) => return answer(&out, &Answer::Refused { on_purpose: false, text }),
    };
    // Rates and patterns come from the other host. Only the catalog and the protected folders are those of this host.
    let configured = settings.clone().configured();
    match open.role {
        Role::Send => {
            let settings = configured.as_ref().unwrap_or(settings);
            send(&open, options, settings, progress, &mut incoming, &out)
        }
        Role::Receive => {
            let destination = path_of(&open.path);
            let checked = configured.and_then(|settings| {
                Protected::configured(&settings)?.check(&destination)?;
                Ok(settings)
            });
            match checked {
                Ok(settings) => receive(&open, options, &settings, progress, &mut incoming, &out),
                Err(error) => {
                    answer(&out, &Answer::Refused { on_purpose: true, text: error.text() })
                }
            }
        }
    }
}

fn send(
    open: &Open,
    mut options: Options,
    settings: &Settings,
    progress: &Progress,
    incoming: &mut Incoming<File>,
    out: &Arc<Outgoing<File>>,
) -> Result<(), ConnectionError> {
    let source = Source::open(&path_of(&open.path)).and_then(|source| {
        if open.delete && !open.allow_empty {
            source.check_not_empty()?;
        }
        let there = open.place.as_ref().map_or(Ok(None), |place| source.check_place(place))?;
        Ok((source, there))
    });
    let (source, not_into) = match source {
        Ok(source) => source,
        Err(refusal) => return refuse(out, &refusal),
    };
    options.content_hints = open.reuse.then(|| remembered(settings, Some(source.absolute()), None));
    answer(out, &Answer::Ready(None))?;
    mirror::send(&source, not_into, &options, progress, incoming, out)
}

fn receive(
    open: &Open,
    mut options: Options,
    settings: &Settings,
    progress: &Progress,
    incoming: &mut Incoming<File>,
    out: &Arc<Outgoing<File>>,
) -> Result<(), ConnectionError> {
    let base = open.link_dest.as_deref().map(path_of);
    let roots = match Roots::for_remote_source(&path_of(&open.path), base.as_deref(), open.dry_run)
    {
        Ok(roots) => roots,
        Err(refusal) => return refuse(out, &refusal),
    };
    options.own = settings.own();
    options.content_hints = open.reuse.then(|| remembered(settings, None, roots.destination()));
    answer(out, &Answer::Ready(roots.place()))?;
    let text = |reason: &Reason| reason_text(reason);
    let reports = Reports { lists: open.lists, asks: open.asks };
    mirror::receive_and_report(&roots, &options, progress, reports, &text, incoming, out)
}

fn refuse(out: &Outgoing<File>, refusal: &Refusal) -> Result<(), ConnectionError> {
    let cause = match refusal {
        Refusal::Open { source, .. } if source.kind() == io::ErrorKind::NotADirectory => {
            format!(": {NEEDS_DIRECTORY}")
        }
        Refusal::Open { source, .. } | Refusal::Create { source, .. } => {
            format!(": {}", io_text(source))
        }
        _ => "; nothing was changed".to_string(),
    };
    let (text, on_purpose) = (format!("{refusal}{cause}"), refusal.is_on_purpose());
    answer(out, &Answer::Refused { on_purpose, text })
}

fn answer(out: &Outgoing<File>, answer: &Answer) -> Result<(), ConnectionError> {
    out.send(answer, &[])?;
    out.flush()
}

/// Returns the requested options, or the reason why they are not valid.
fn options(open: &Open) -> Result<Options, String> {
    let globs = |patterns: &[wire::Pattern]| {
        Globs::of_readings(patterns.to_vec(), open.ignore_case).map_err(|e| e.to_string())
    };
    let resources = Resources::automatic();
    Ok(Options {
        dry_run: open.dry_run,
        delete: open.delete,
        max_delete: open.max_delete,
        allow_empty: open.allow_empty,
        checksum: open.checksum,
        verify: open.verify,
        fsync: open.fsync,
        one_file_system: open.one_file_system,
        include: globs(&open.include)?,
        exclude: globs(&open.exclude)?,
        own: walk::OwnFiles::default(),
        content_hints: None,
        bandwidth: Arc::new(Throttle::new(open.bandwidth.and_then(NonZeroU64::new))),
        threads: resources.threads,
        disks: Arc::new(Disks::new(Io::Auto)),
        open_dirs: resources.tree_dirs(),
    })
}
