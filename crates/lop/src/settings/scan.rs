//! The resolved arguments of `lop scan`.

use std::path::PathBuf;
use std::time::Duration;

use catalog::CONFIGURED;
use device::Io;
use walk::{Filter, OwnFiles};

use crate::args::{self, Format, ScanArgs, ShardArg};
use crate::error::CommandError;
use crate::settings::patterns::Patterns;
use crate::settings::resources::Resources;
use crate::settings::{Configured, Settings};

/// Interval at which a long scan saves its results so far. A scan of a few seconds never reaches it.
const SAVE_EVERY: Duration = Duration::from_secs(60);

/// The settings of a scan.
#[derive(Debug)]
pub(crate) struct ScanSettings {
    pub(crate) args: ScanArgs,
    /// The catalog to commit to, or `None` with `--no-catalog`.
    pub(crate) catalog: Option<PathBuf>,
    /// The format to print the groups in, or `None` if they are not printed.
    pub(crate) format: Option<Format>,
    /// Interval at which a long scan saves its results so far.
    pub(crate) save_every: Duration,
    /// The options that select files, for the record in the catalog.
    pub(crate) options: String,
    pub(crate) patterns: Patterns,
    /// How to find the files. lop's own files are added when the catalog is open, because a first scan creates the
    /// directory by which they are recognised.
    pub(crate) walk: walk::Options,
    pub(crate) compare: dupes::Options,
}

impl ScanSettings {
    /// Resolves the arguments, and raises the descriptor limit of the process.
    ///
    /// # Errors
    ///
    /// Fails if a pattern is not valid, if `--min-size` is above `--max-size`, or if there is no place for the
    /// catalog.
    pub(crate) fn new(mut args: ScanArgs, settings: &Settings) -> Result<Self, CommandError> {
        let catalog = if args.no_catalog { None } else { Some(settings.catalog()?) };
        let typed = selection(&args);
        let configured = add_configured(&mut args, settings);
        let options = recorded(typed, &configured);
        let patterns = Patterns::new(&args.include, &args.exclude, args.ignore_case)?;
        let patterns = patterns.with_configured(configured);
        let filter = filter(&args, &patterns)?;
        let resources = Resources::new(args.threads, args.io.into());
        let format = args.format.or(args.no_catalog.then_some(settings.default_format()));
        let digests = catalog.is_some() || format.is_some_and(Format::shows_digests);
        Ok(ScanSettings {
            format,
            save_every: args.save_every.map_or(SAVE_EVERY, Duration::from_millis),
            options,
            patterns,
            walk: resources.walk(filter, args.one_file_system, OwnFiles::default()),
            compare: dupes::Options { digests, hardlinks: args.hardlinks, ..resources.compare() },
            args,
            catalog,
        })
    }
}

impl ScanSettings {
    /// Returns the directories and files to scan, unless there is a list of files.
    pub(crate) fn roots(&self) -> Vec<PathBuf> {
        if self.args.paths.is_empty() { vec![PathBuf::from(".")] } else { self.args.paths.clone() }
    }

    /// Returns whether the scan has to examine all files, even if a watcher noted which ones changed: because the user
    /// requested it, or because the scan prints all groups, reads all files again or computes all digests.
    pub(crate) fn examines_all(&self) -> bool {
        let ScanArgs { full, reread, hash_all, .. } = self.args;
        full || self.format.is_some() || reread || hash_all
    }
}

/// Adds the roots and patterns of the configuration to the arguments. Says which roots are scanned, because the user
/// named none of them. Returns the patterns.
fn add_configured(args: &mut ScanArgs, settings: &Settings) -> Vec<String> {
    let config = settings.config();
    if let ([], None, [first, ..]) = (&args.paths[..], &args.files_from, config.roots()) {
        args.paths = config.roots().iter().map(|root| root.value.clone()).collect();
        let roots: Vec<_> = args.paths.iter().map(|root| root.display().to_string()).collect();
        let (roots, place) = (roots.join(", "), &first.place);
        settings.summarize(format!("Scanning the roots of {place}: {roots}").as_bytes());
    }
    for Configured { value, place } in &config.exclude {
        settings.note_configured(&format!("excluding {value}"), place);
    }
    let patterns: Vec<String> = config.exclude.iter().map(|glob| glob.value.clone()).collect();
    args.exclude.splice(0..0, patterns.iter().cloned());
    patterns
}

/// Returns the options for the record in the catalog: the typed ones, and then the patterns of the configuration.
fn recorded(typed: String, configured: &[String]) -> String {
    let patterns = configured.iter().map(|glob| format!(" --exclude {glob}"));
    let patterns: String = patterns.collect();
    let patterns = if patterns.is_empty() { patterns } else { format!("{CONFIGURED}{patterns}") };
    let parts = [typed, patterns].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" ")
}

/// Returns the typed options that select files in the form of a command line.
fn selection(args: &ScanArgs) -> String {
    let mut words = Vec::new();
    let sizes = [("--min-size", args.min_size), ("--max-size", args.max_size)];
    words.extend(sizes.iter().filter_map(|(name, size)| size.map(|size| format!("{name} {size}"))));
    words.extend(args.include.iter().map(|glob| format!("--include {glob}")));
    words.extend(args.exclude.iter().map(|glob| format!("--exclude {glob}")));
    words.extend(args.shard.as_ref().map(|ShardArg(_, typed)| format!("--shard {typed}")));
    let flags = [
        ("--ignore-case", args.ignore_case),
        ("--one-file-system", args.one_file_system),
        ("--no-hidden", args.no_hidden),
        ("--system-dirs", args.system_dirs),
        ("--empty", args.empty),
        ("--hardlinks", args.hardlinks),
        ("--files-from", args.files_from.is_some()),
    ];
    words.extend(flags.iter().filter(|(_, given)| *given).map(|(name, _)| (*name).to_string()));
    words.join(" ")
}

impl From<args::Io> for Io {
    fn from(io: args::Io) -> Io {
        match io {
            args::Io::Auto => Io::Auto,
            args::Io::Hdd => Io::Hdd,
            args::Io::Ssd => Io::Ssd,
            args::Io::Cached => Io::Cached,
        }
    }
}

fn filter(args: &ScanArgs, patterns: &Patterns) -> Result<Filter, CommandError> {
    let mut filter = Filter::default();
    filter.min_size = args.min_size.unwrap_or(0);
    filter.max_size = args.max_size.unwrap_or(u64::MAX);
    filter.hidden = !args.no_hidden;
    filter.empty = args.empty;
    filter.system_dirs = args.system_dirs;
    filter.pseudo = false;
    filter.shard = args.shard.as_ref().map(|ShardArg(shard, _)| *shard);
    if filter.min_size > filter.max_size {
        return Err(CommandError::usage("--min-size is above --max-size"));
    }
    let Patterns { include, exclude, .. } = patterns.clone();
    Ok(filter.with_globs(include, exclude))
}
