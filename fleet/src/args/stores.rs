//! The arguments of `lop-fleet upload`.

use std::path::PathBuf;

use clap::Args;

/// Copy the newest export of each host to an object store
///
/// Copies the newest complete export of each host to URL/HOST/EXPORT, unless the store already has it. lop-fleet writes
/// the manifest of an export last, so an export without a manifest is incomplete. While it reads a file, it compares
/// the file with the manifest. If a file is damaged, lop-fleet does not write the manifest; the exit code is then 3.
///
/// lop-fleet reads the credentials from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, the region from
/// AWS_REGION, and the address of a store outside AWS from AWS_ENDPOINT_URL.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop-fleet upload /srv/fleet s3://bucket/fleet  Copy the exports of all hosts
  lop-fleet upload --host nas /srv/fleet s3://bucket/fleet")]
pub(crate) struct UploadArgs {
    /// Folder with the exports of all hosts
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,

    /// Place in the store: s3://BUCKET or s3://BUCKET/PREFIX
    #[arg(value_name = "URL")]
    pub(crate) url: String,

    /// Copy only the export of this host; can be repeated [default: all hosts]
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,
}
