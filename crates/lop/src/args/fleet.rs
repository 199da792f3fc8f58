//! The arguments of `lop export`, `lop import` and `lop survey`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::StorageArgs;
use crate::quantity::parse_size;

/// How the names of files and directories are exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportNames {
    /// As they are
    Plain,
    /// As hashes that need the key
    Keyed,
    /// Not at all
    None,
}

/// Export the catalog as Parquet files, for queries over many hosts
///
/// Writes a new folder HOST/EXPORT below DIR, such as nas/20261127T230151.123Z. It contains the inodes, names,
/// directories and problems of the catalog as Parquet files, which DuckDB, Spark and other engines read, and a
/// manifest. The folder appears when it is complete, and lop never changes it afterwards. Export all hosts to one
/// folder, or copy their folders to one place, to query them together; all inodes are in
/// '/srv/fleet/*/*/inodes*.parquet'.
///
/// If DIR is a URL such as s3://bucket/fleet, lop writes the folder to TMPDIR (/var/tmp if not set), uploads it with
/// lop-fleet, and then removes it. lop-fleet must be installed. 'lop-fleet upload --help' names the environment
/// variables for the credentials.
///
/// Queries compare hosts by digests. Files that are identical to another file of their host have a digest;
/// 'lop scan --hash-all' computes the digests of all other files. The export contains names, so only you can read it.
/// 'lop import' makes a catalog of an export.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop export /srv/fleet                     Export the catalog of this host
  lop export --names none /srv/fleet        Export no names
  lop export --key ~/fleet.key /srv/fleet   Show digests and names only as hashes
  lop export s3://bucket/fleet              Export to an object store")]
pub(crate) struct ExportArgs {
    /// Folder for the exports of all hosts, created if it does not exist; or a URL that begins with 's3://'
    #[arg(value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// Name of this host in the export [default: the host name]
    ///
    /// It may contain letters, digits, '.', '-' and '_', and begins with a letter or a digit.
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Option<String>,

    /// How to export names: plain, keyed (as hashes that need the key) or none
    /// [default: plain, or keyed with --key]
    ///
    /// Without names, the export contains neither names nor directories.
    #[arg(long, value_name = "HOW", hide_possible_values = true)]
    pub(crate) names: Option<ExportNames>,

    /// Replace digests and heads by hashes that need the secret in FILE
    ///
    /// A digest tells everybody who has the same file that this host has it, too. With a key, only hosts that use the
    /// same secret can be compared. Sizes, times and inode numbers stay visible. FILE has at least 16 bytes; to make
    /// one: head -c 32 /dev/urandom > FILE
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,

    /// Remove the older exports of this host when the new one is complete; not with a URL
    #[arg(long)]
    pub(crate) replace: bool,
}

/// Make a catalog of an export, so that this host can answer for another one
///
/// DIR is the folder of one export, such as /srv/fleet/nas/20261127T230151.123Z. lop checks the digest of each of its
/// files and creates the catalog, which must not exist yet. 'lop status', 'lop space' and SQL queries then show what
/// the other host had at the time of the export. Its files count as offline, unless their file system is mounted here.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop import --catalog nas.db /srv/fleet/nas/20261127T230151.123Z
  lop status --catalog nas.db               What was scanned there, and when?
  lop space --catalog nas.db                Where are its bytes?")]
pub(crate) struct ImportArgs {
    /// Folder of the export
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

/// Read the files that other hosts may have, so that exports can be compared
///
/// 'lop scan' computes no digest of a file that is unique on its host. 'lop scan --hash-all' does, but reads all files.
/// In a survey, each host reads only files that another host may have. Run this command on all hosts, then
/// 'lop-fleet answer' once, and repeat both until nothing is left to read:
///
/// First, each host lists the sizes of its files. Then it reads the first 8 KiB of those files whose size another host
/// has, and lists hashes of these heads. Finally, it reads those files whose size and head another host has, and
/// computes their digests.
///
/// 'lop export' then exports the digests. lop reads the largest files first. After an interruption, the next run
/// continues there. Later surveys read only new and changed files. The lists are in the folder HOST/_survey below DIR.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop survey /srv/fleet                     Take part in the survey
  lop survey --min-size 64k /srv/fleet      Include smaller files")]
pub(crate) struct SurveyArgs {
    /// Folder for the exports of all hosts; created if it does not exist
    #[arg(value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// Name of this host [default: the host name]
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Option<String>,

    /// Leave out files smaller than SIZE
    ///
    /// Files of at least 1 MiB are usually few, but contain most of the bytes.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "1M")]
    pub(crate) min_size: u64,

    /// Replace heads by hashes that need the secret in FILE
    ///
    /// Only hosts that use the same secret can be compared. Sizes stay visible. 'lop export --help' describes FILE.
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) storage: StorageArgs,
}
