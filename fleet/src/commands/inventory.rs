//! `lop-fleet inventory`: exports the objects of an S3 bucket as one more host.

use std::error::Error;

use export::{Exported, Options, export_objects};
use runtime::Progress;
use runtime::quantity::{counted, size};
use serde::Serialize;

use crate::Exit;
use crate::args::InventoryArgs;
use crate::inventory::{Inventory, Objects};
use crate::output::{JsonPath, Output, shown};

/// Runs the command.
pub(crate) fn run(args: &InventoryArgs, output: Output) -> Result<Exit, Box<dyn Error>> {
    let inventory = Inventory::open(&args.manifest)?;
    let host = args.host.clone().unwrap_or_else(|| inventory.bucket().to_owned());
    export::check_host(&host).map_err(|error| format!("{error}; use --host NAME"))?;
    let options = Options {
        host,
        names: args.names.into(),
        key: None,
        created_ms: inventory.created_ms()?,
        replaces: args.replace,
    };
    let Objects { objects, lacks_encryption } = inventory.objects()?;
    let exported =
        export_objects(inventory.bucket(), objects, &args.dir, &options, &Progress::default())?;
    let document = Document::new(&options.host, &exported);
    output.print(&document, document.text().as_bytes())?;
    if lacks_encryption && exported.without_digest > 0 {
        output.note(
            "hint: without the field EncryptionStatus, ETags may not be MD5 digests and are not used; add this field to the inventory",
        );
    }
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct Document {
    host: String,
    files: u64,
    without_digest: u64,
    bytes: u64,
    #[serde(flatten)]
    path: JsonPath,
}

impl Document {
    fn new(host: &str, exported: &Exported) -> Document {
        Document {
            host: host.to_owned(),
            files: exported.inodes,
            without_digest: exported.without_digest,
            bytes: exported.bytes,
            path: JsonPath::new(exported.path.as_os_str().as_encoded_bytes().to_vec()),
        }
    }

    fn text(&self) -> String {
        format!(
            "{} of {} exported to {}, {}; {} without a digest\n",
            counted(self.files, "object", "objects"),
            shown(&self.host),
            shown(&String::from_utf8_lossy(self.path.bytes())),
            size(self.bytes),
            runtime::quantity::count(self.without_digest)
        )
    }
}
