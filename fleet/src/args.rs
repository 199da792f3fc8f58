//! The arguments. The doc comments are the help texts.

#![expect(clippy::doc_markdown, reason = "the comments are printed as they are")]

mod inventory;
mod sql;
mod stores;

use std::ffi::OsString;
use std::path::PathBuf;

use action::plan::Kind;
use clap::{Args, Parser, Subcommand, ValueEnum};
use runtime::quantity::parse_size;

pub(crate) use self::inventory::InventoryArgs;
pub(crate) use self::sql::SqlArgs;
pub(crate) use self::stores::UploadArgs;

use crate::engines::Engine;

/// Answers questions over the exports of many hosts
///
/// 'lop export DIR' on each host writes its catalog to a folder. Collect the folders of all hosts in one place, for
/// example with 'lop mirror' or rsync. lop-fleet uses the newest complete export of each host.
#[derive(Debug, Parser)]
#[command(name = "lop-fleet", version, max_term_width = 80, subcommand_required = true)]
#[command(arg_required_else_help = true)]
pub(crate) struct Cli {
    /// Print results as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Report(ReportArgs),
    Where(WhereArgs),
    Uniques(UniquesArgs),
    Contains(ContainsArgs),
    Check(CheckArgs),
    Answer(AnswerArgs),
    Collect(CollectArgs),
    Inventory(InventoryArgs),
    Upload(UploadArgs),
    Plan(PlanArgs),
    Growth(GrowthArgs),
    Sql(SqlArgs),
}

/// Show what the hosts have in common, and what exists on one host only
///
/// For each host, the report shows how many bytes other hosts have as well, how many exist on this host only, and how
/// many may exist elsewhere but have not been compared: another host has a file of this size and beginning, and at
/// least one of the two has no digest. 'lop scan --hash-all' and a new export resolve these.
///
/// The bytes that each pair of hosts share, and the contents with the most redundant copies, follow. Empty files are
/// left out. A file with several hard links counts once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop-fleet report /srv/fleet                   What do the hosts have in common?
  lop-fleet report --min-size 1M /srv/fleet     The same for large files
  lop-fleet report --host nas --host laptop /srv/fleet
  lop-fleet report --html /srv/fleet > fleet.html   Write a web page with graphs")]
pub(crate) struct ReportArgs {
    /// Folder with the exports of all hosts
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,

    /// Compare only this host; can be repeated [default: all hosts]
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,

    /// Compare only files of at least SIZE
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "1")]
    #[arg(hide_default_value = true)]
    pub(crate) min_size: u64,

    /// Print the report as a web page
    ///
    /// The page also shows how the hosts have grown. It is a single file that loads no other files.
    #[arg(long, conflicts_with = "json")]
    pub(crate) html: bool,

    /// Show N contents and N pairs of hosts
    #[arg(long, value_name = "N", default_value = "10")]
    pub(crate) limit: usize,

    /// Engine for the comparison: local (this process), or spark://HOST:PORT (a Spark cluster)
    ///
    /// For a cluster, lop-fleet runs spark-submit. All workers must be able to read DIR at the same path.
    #[arg(long, value_name = "ENGINE", default_value = "local")]
    pub(crate) engine: Engine,

    /// Use about this much memory; has no effect with Spark
    ///
    /// The less memory, the more often parts of the exports are read.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "1G")]
    pub(crate) memory: u64,
}

/// Show on which hosts a file or a content is
///
/// Prints a line HOST:PATH for each name of each file with this content, and the number of files on each host that may
/// have it: they have no digest, and no other size or beginning. If they are the only ones, the exit code is 3. If
/// there are none, either, it is 6: no export has the content.
///
/// If a file with the name FILE|DIGEST exists, lop-fleet reads it. Empty files cannot be searched, because exports do
/// not contain them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop-fleet where /srv/fleet ~/film.mkv         Who else has this film?
  lop-fleet where /srv/fleet ea8f163db38682925e4491c5e58d4bb3506ef8c14eb78a86e908c5624a67200f")]
pub(crate) struct WhereArgs {
    /// Folder with the exports of all hosts
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,

    /// A file, a BLAKE3 digest as printed by b3sum, or the MD5 digest of an object
    #[arg(value_name = "FILE|DIGEST")]
    pub(crate) what: PathBuf,

    /// Search only this host; can be repeated [default: all hosts]
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,

    /// The secret with which the exports were made
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
}

/// List the files of a directory that exist on no other host
///
/// Prints the paths of the files that no other host has, and those that have not been compared, because another host
/// has a file of the same size and beginning, and one of the two has no digest. Empty files are left out. The exit code
/// is 6 if a file is on no other host, and 3 if none is, but some have not been compared.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop-fleet uniques /srv/fleet laptop:/home     What would be lost with the laptop?")]
pub(crate) struct UniquesArgs {
    /// Folder with the exports of all hosts
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,

    /// A directory of a host, with its absolute path there
    #[arg(value_name = "HOST:PATH")]
    pub(crate) wanted: OsString,
}

/// Check whether a directory has every file of another one, on any hosts
///
/// Prints the paths of the files of the first directory that are not anywhere in the second one, and those that have
/// not been compared. Names and folders do not matter, only contents. Empty files are left out. The exit code is 0 if
/// the second directory has all files, 6 if one is missing, and 3 if none is, but some have not been compared.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop-fleet contains /srv/fleet laptop:/home/me/photos nas:/srv/photos")]
pub(crate) struct ContainsArgs {
    /// Folder with the exports of all hosts
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,

    /// The directory whose files are searched
    #[arg(value_name = "HOST:PATH")]
    pub(crate) wanted: OsString,

    /// The directory that may have them
    #[arg(value_name = "HOST:PATH")]
    pub(crate) container: OsString,
}

/// Check that exports are complete and undamaged
///
/// Reads every file of every export and compares its size, its number of rows and its BLAKE3 digest with the manifest.
/// The exit code is 3 if an export is damaged or incomplete.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop-fleet check /srv/fleet                    Check all exports of all hosts")]
pub(crate) struct CheckArgs {
    /// Folder with the exports of all hosts
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

/// Compare the survey lists of all hosts, and write the answers
///
/// Compares the lists that 'lop survey' has written on each host, and writes an answer for each host: which of its
/// sizes and heads another host has as well. Then run 'lop survey' on the hosts again.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop-fleet answer /srv/fleet                   Write the answers for all hosts")]
pub(crate) struct AnswerArgs {
    /// Folder with the exports of all hosts
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

/// Survey hosts over ssh and collect their exports, or collect exports from an object store
///
/// Each HOST needs lop and a catalog with a scan. lop-fleet runs 'lop survey' on all hosts and answers it until each
/// host has read the files that others may have. It then runs 'lop export' on each host and copies the export with 'lop
/// mirror'. Logins must not ask for a password.
///
/// For a URL such as s3://bucket/fleet, lop-fleet copies the newest complete export of each host that has exports
/// there. It reads the credentials from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and the address of a store outside
/// AWS from AWS_ENDPOINT_URL.
///
/// lop-fleet leaves out a host that fails; the exit code is then 3.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop-fleet collect /srv/fleet nas laptop       Survey and export two hosts
  lop-fleet collect --no-survey /srv/fleet me@nas.example.org
  lop-fleet collect /srv/fleet office=10.0.0.7  Collect the host 10.0.0.7 as 'office'
  lop-fleet collect /srv/fleet s3://bucket/fleet  Collect the uploaded exports")]
pub(crate) struct CollectArgs {
    /// Folder for the exports of all hosts; created if it does not exist
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,

    /// Hosts for ssh, each with its name in exports [default: HOST without the user]; or URLs of object stores
    #[arg(value_name = "[NAME=]HOST|URL", required = true)]
    pub(crate) sources: Vec<String>,

    /// Export the catalogs as they are, and read no files
    #[arg(long)]
    pub(crate) no_survey: bool,

    /// Leave files smaller than SIZE out of the survey
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "1M")]
    pub(crate) min_size: u64,

    /// Use the secret in FILE on each host, as for 'lop export --key'
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<String>,

    /// How to export names, as for 'lop export': plain, keyed or none
    #[arg(long, value_name = "HOW")]
    pub(crate) names: Option<String>,

    /// Command that connects to a host; split into words as in a shell
    #[arg(
        long,
        value_name = "COMMAND",
        default_value = "ssh -o BatchMode=yes -o ConnectTimeout=20"
    )]
    pub(crate) rsh: String,

    /// Path of lop on the hosts
    #[arg(long, value_name = "PATH", default_value = "lop")]
    pub(crate) remote_lop: String,

    /// Folder on each host for its survey and its export
    #[arg(long, value_name = "DIR", default_value = ".local/share/lop/fleet")]
    pub(crate) remote_dir: String,
}

/// Plan actions on the redundant files of a host
///
/// Writes a plan for the files of HOST that are identical to another file of HOST. On HOST, 'lop dedupe --plan FILE'
/// shows which actions are still possible. With --apply, it compares all bytes and then executes the plan.
///
/// Prints the paths of files that stay and that another host has as well. You decide whether you need both copies: lop
/// never removes a file because of a copy on another host.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop-fleet plan --by hardlink --save-plan nas.plan /srv/fleet nas
  lop dedupe --plan nas.plan                    On nas: show which actions are still possible")]
pub(crate) struct PlanArgs {
    /// Folder with the exports of all hosts
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,

    /// The host whose files are in the plan
    #[arg(value_name = "HOST")]
    pub(crate) host: String,

    /// The action for each redundant file
    #[arg(long, value_name = "ACTION")]
    pub(crate) by: By,

    /// Write the plan to a new file
    #[arg(long, value_name = "FILE")]
    pub(crate) save_plan: PathBuf,

    /// Rule that chooses the file that stays, as for 'lop dedupe --keep'; can be repeated
    #[arg(long, value_name = "RULE")]
    pub(crate) keep: Vec<String>,

    /// Leave out files smaller than SIZE
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "1")]
    #[arg(hide_default_value = true)]
    pub(crate) min_size: u64,
}

/// The action on a redundant file.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum By {
    Delete,
    Hardlink,
    Reflink,
    Symlink,
    Quarantine,
}

impl From<By> for Kind {
    fn from(by: By) -> Kind {
        match by {
            By::Delete => Kind::Delete,
            By::Hardlink => Kind::Hardlink,
            By::Reflink => Kind::Reflink,
            By::Symlink => Kind::Symlink,
            By::Quarantine => Kind::Quarantine,
        }
    }
}

/// Show how the files of each host have grown from export to export
///
/// Prints one line for each export, the oldest first, with the differences from the previous export of the host. Empty
/// files are left out, and a file with several hard links counts once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop-fleet growth /srv/fleet                   How have the hosts grown?
  lop-fleet growth --host nas /srv/fleet")]
pub(crate) struct GrowthArgs {
    /// Folder with the exports of all hosts
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,

    /// Show only this host; can be repeated [default: all hosts]
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,
}
