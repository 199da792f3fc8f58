//! Updates the pictures of the pages in `docs/images/serve` and `docs/images/share`.
//!
//! A test in a browser opens the pages and saves the pictures (`crates/lop/tests/it/serve_pictures.rs`).
//! The pictures contain times, so they differ with every run. Update them only if a page looks different.
//! `pngquant` reduces their colours, which makes them a third as large.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::programs;
use crate::traces::Temporary;

/// The pictures that the documentation shows.
const NAMES: [&str; 8] = [
    "serve/start",
    "serve/space",
    "serve/groups",
    "serve/same-folders",
    "serve/plan",
    "serve/run",
    "serve/phone-dark",
    "share/listing",
];

/// Maximum size of a picture and of all pictures, so that the repository stays small.
const MAX_BYTES: u64 = 120_000;
const MAX_TOTAL_BYTES: u64 = 700_000;

/// Runs the test and copies its pictures. Returns the reasons why it did not, or why a picture is too
/// large.
#[expect(clippy::disallowed_methods, reason = "writes to the source tree, not to a user's files")]
pub(crate) fn run(root: &Path) -> io::Result<Vec<String>> {
    let saved = Temporary::new("lop-screenshots")?;
    let mut test = programs::cargo();
    test.args(["test", "--package", "lop", "--test", "it", "serve_pictures::"]).current_dir(root);
    let succeeded = test.env("LOP_SCREENSHOTS", saved.path()).status()?.success();
    let mut complaints = Vec::new();
    if !succeeded {
        complaints.push("the test that takes the pictures failed".into());
    }
    let mut total = 0;
    for name in NAMES {
        let stored = root.join("docs/images").join(name).with_extension("png");
        let picture = saved.path().join(stored.file_name().unwrap_or_default());
        if !picture.exists() {
            complaints.push(format!("{name} is missing: is chromium installed?"));
            continue;
        }
        if !small(&picture)? {
            complaints.push(format!("pngquant does not accept {name}"));
            continue;
        }
        let bytes = fs::metadata(&picture)?.len();
        total += bytes;
        if bytes > MAX_BYTES {
            complaints.push(format!("{name} has {bytes} bytes, more than {MAX_BYTES}"));
        } else if succeeded {
            fs::create_dir_all(stored.parent().unwrap_or(root))?;
            fs::copy(picture, stored)?;
        }
    }
    if total > MAX_TOTAL_BYTES {
        complaints.push(format!("the pictures have {total} bytes, more than {MAX_TOTAL_BYTES}"));
    }
    saved.remove()?;
    Ok(complaints)
}

/// Reduces a picture to 256 colours.
fn small(picture: &Path) -> io::Result<bool> {
    let mut pngquant = Command::new("pngquant");
    pngquant.args(["--force", "--strip", "--speed", "1", "--ext", ".png"]).arg(picture);
    let status = pngquant.status().map_err(|e| {
        io::Error::new(
            e.kind(),
            format!("pngquant: {e}; install it with: apt-get install pngquant"),
        )
    })?;
    Ok(status.success())
}
