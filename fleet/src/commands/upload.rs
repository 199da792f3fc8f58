//! `lop-fleet upload`: copies exports to an object store.

use std::error::Error;

use export::Stored;
use runtime::quantity::{count, size};
use serde::Serialize;

use crate::Exit;
use crate::args::UploadArgs;
use crate::output::{Output, complain, shown, text};
use crate::stores::{Store, Uploaded, each, upload};
use crate::table::table;

/// Runs the command.
pub(crate) fn run(args: &UploadArgs, output: Output) -> Result<Exit, Box<dyn Error>> {
    let store = Store::open(&args.url)?;
    let (exports, has_problems) = crate::exports::complete(&args.dir, &args.hosts)?;
    let hosts = each(&exports, |export| {
        let uploaded = upload(&store, export).map_err(|error| {
            complain(&*error);
            text(&*error)
        });
        HostDocument::new(export, uploaded)
    });
    let document = Document { hosts };
    output.print(&document, text_of(&document.hosts).as_bytes())?;
    let failed = document.hosts.iter().filter(|host| host.error.is_some()).count();
    Ok(Exit::of_hosts(document.hosts.len(), failed, has_problems))
}

#[derive(Serialize)]
struct Document {
    hosts: Vec<HostDocument>,
}

#[derive(Serialize)]
struct HostDocument {
    #[serde(rename = "host")]
    name: String,
    files_uploaded: u64,
    bytes_uploaded: u64,
    export_id: String,
    error: Option<String>,
}

impl HostDocument {
    fn new(export: &Stored, uploaded: Result<Uploaded, String>) -> HostDocument {
        let (sent, error) = match uploaded {
            Ok(sent) => (sent, None),
            Err(reason) => (Uploaded::default(), Some(reason)),
        };
        HostDocument {
            name: export.host.clone(),
            files_uploaded: sent.files,
            bytes_uploaded: sent.bytes,
            export_id: export.export_id.clone(),
            error,
        }
    }
}

fn text_of(hosts: &[HostDocument]) -> String {
    let heading = ["HOST", "FILES UPLOADED", "BYTES UPLOADED", "EXPORT"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for host in hosts {
        let export = if host.error.is_some() { "failed" } else { host.export_id.as_str() };
        rows.push(vec![
            shown(&host.name),
            count(host.files_uploaded),
            size(host.bytes_uploaded),
            shown(export),
        ]);
    }
    table(&rows)
}
