//! The tree of the example in the README: a home folder with typical accumulated copies.
//!
//! Sizes are whole blocks. Contents, names and times are fixed, so that the output is the same on
//! every machine.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// All sizes are multiples of this value, so that they equal the allocated space on all common file
/// systems.
const BLOCK: u64 = 4096;

/// The time of the first file, 1 May 2023. Each following file is one day newer.
const FIRST: Duration = Duration::from_secs(1_682_899_200);
const DAY: Duration = Duration::from_secs(86_400);

/// The first bytes of the thumbnails that Windows stored, and of the settings that the Finder stored.
const THUMBS_DB: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
const DS_STORE: &[u8] = b"\0\0\0\x01Bud1";

/// Creates the home folder and an empty disk.
#[expect(clippy::disallowed_methods, reason = "makes a tree of its own")]
pub(super) fn make(home: &Path, mounted: &Path) -> io::Result<()> {
    fs::create_dir_all(mounted.join("backup"))?;
    for (day, (path, content, blocks)) in (0u32..).zip(files()) {
        let path = home.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let signature = match path.file_name().and_then(|name| name.to_str()) {
            Some("Thumbs.db") => THUMBS_DB,
            Some(".DS_Store") => DS_STORE,
            _ => b"",
        };
        let mut file = File::create(path)?;
        file.write_all(signature)?;
        let rest = blocks * BLOCK - signature.len() as u64;
        file.write_all(&bytes(content, rest))?;
        file.set_modified(SystemTime::UNIX_EPOCH + FIRST + DAY * day)?;
        // The allocated space is final only after the file is on the disk.
        file.sync_all()?;
    }
    std::os::unix::fs::symlink("../photos", home.join("old-laptop/my photos"))
}

/// Returns the path of each file, its content number, and its size in blocks.
fn files() -> Vec<(String, u64, u64)> {
    // The number of a picture determines its size.
    let picture = |path: &str, number: u64| {
        (format!("{path}/IMG_{number:04}.jpg"), number, 30 + number * 37 % 91)
    };
    let mut files: Vec<_> = (401..=460).map(|number| picture("photos/2023", number)).collect();
    files.extend((501..=540).map(|number| picture("photos/2024", number)));
    files.extend((401..=425).map(|number| picture("old-laptop/pictures", number)));
    let other = [
        ("old-laptop/notes.txt", 1, 1),
        ("old-laptop/manual.pdf", 2, 480),
        ("Downloads/manual.pdf", 2, 480),
        ("Downloads/manual (1).pdf", 2, 480),
        ("Downloads/tickets.pdf", 3, 35),
        ("projects/site/logo.png", 4, 12),
        ("projects/site/public/logo.png", 4, 12),
        ("projects/site/index.html", 5, 2),
        ("projects/site/package.json", 6, 1),
        ("projects/site/node_modules/.package-lock.json", 7, 1),
        ("projects/site/node_modules/left/index.js", 8, 3),
        ("projects/site/node_modules/right/index.js", 9, 4),
        ("photos/2024/Thumbs.db", 10, 28),
        ("photos/2024/.DS_Store", 11, 2),
        ("photos/2023/Thumbs.db", 12, 61),
    ];
    files.extend(other.map(|(path, content, blocks)| (path.into(), content, blocks)));
    let (_, content, blocks) = picture("", 412);
    files.push(("Downloads/IMG_0412 (1).jpg".into(), content, blocks));
    files
}

/// Returns bytes that differ for each number (`SplitMix64`).
fn bytes(number: u64, length: u64) -> Vec<u8> {
    let word = |at: u64| {
        let mut word = (number << 32 | at).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ (word >> 31)).to_le_bytes()
    };
    (0..length / 8).flat_map(word).collect()
}
