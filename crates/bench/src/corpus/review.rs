//! `review`: a file server with many groups of identical files, for the review of duplicates.
//!
//! The groups are of the kinds that file servers have: subtrees copied as a whole, dated backups,
//! repeated downloads, and files copied to arbitrary folders. The files are tiny, because the review
//! of a group does not depend on the size of its files. Every content MUST have its own seed.

use super::content::Content;
use super::dice::Dice;
use super::plan::Plan;

/// The number of groups of each kind, per thousand names.
const PHOTOS: u64 = 24;
const PROJECTS: u64 = 16;
const DOCUMENTS: u64 = 36;
const MUSIC: u64 = 12;
const DOWNLOADS: u64 = 12;
const SCATTERED: u64 = 20;

/// Folders that have the same photos.
const PHOTO_ROOTS: [&str; 2] = ["photos", "backup/laptop 2021/photos"];
/// Folders that have the same projects.
const PROJECT_ROOTS: [&str; 3] = ["projects", "archive/old-disk/projects", "backup/work/projects"];
/// Folders that have the same music.
const MUSIC_ROOTS: [&str; 4] =
    ["music", "phone/Music", "usb stick/music", "archive/old pc/My Music"];
/// Number of dated backups of the documents.
const BACKUPS: u64 = 11;

const TOPICS: [&str; 12] = [
    "Taxes",
    "Insurance",
    "House",
    "School",
    "Recipes",
    "Manuals",
    "Letters",
    "Car",
    "Health",
    "Travel",
    "Contracts",
    "Bank statements",
];
const EVENTS: [&str; 10] = [
    "Summer at the lake",
    "Birthday",
    "Winter walk",
    "Garden",
    "City trip",
    "Mountains",
    "Concert",
    "Family dinner",
    "School play",
    "New kitchen",
];
const WORDS: [&str; 16] = [
    "report",
    "draft",
    "invoice",
    "summary",
    "budget",
    "minutes",
    "offer",
    "notes",
    "overview",
    "schedule",
    "inventory",
    "receipt",
    "statement",
    "application",
    "agreement",
    "list",
];
const CODE: [&str; 6] = ["src", "include", "tests", "docs/images", "assets/icons", "scripts"];

/// Plans `review`: about `names` files.
pub(super) fn review(names: u64, scale: f64, seed: u64) -> Plan {
    let (dice, plan) = (Dice::new(seed), Plan::new());
    let mut maker = Maker { dice, plan, scale, content: 0 };
    let share = |per_thousand: u64| names * per_thousand / 1_000;
    maker.photos(share(PHOTOS));
    maker.projects(share(PROJECTS));
    maker.documents(share(DOCUMENTS));
    maker.music(share(MUSIC));
    maker.downloads(share(DOWNLOADS));
    maker.scattered(share(SCATTERED));
    maker.uniques(names.saturating_sub(maker.plan.names.len() as u64));
    maker.plan
}

struct Maker {
    dice: Dice,
    plan: Plan,
    scale: f64,
    /// The number of contents so far.
    content: u64,
}

impl Maker {
    /// Adds photos, about thirty to a folder, to two equal subtrees.
    fn photos(&mut self, groups: u64) {
        for number in 0..groups {
            let album = number / 30;
            let (year, month) = (2006 + album / 48 % 18, 1 + album / 4 % 12);
            let event = pick(&EVENTS, album);
            let folder = format!("{year}/{year}-{month:02} {event} {album:03}");
            let name =
                format!("IMG_{year}{month:02}{:02}_{:06}.jpg", 1 + album % 28, number % 1_000_000);
            self.mirror(&PHOTO_ROOTS, &folder, &name);
        }
    }

    /// Adds files of projects, five to a folder, to three equal subtrees.
    fn projects(&mut self, groups: u64) {
        for number in 0..groups {
            let place = number / 5;
            let folder = format!("project-{:04}/{}", place / 6, pick(&CODE, place));
            let extension = pick(&["rs", "c", "png", "md", "svg", "py"], number);
            let name = format!("{}_{number:06}.{extension}", pick(&WORDS, number));
            self.mirror(&PROJECT_ROOTS, &folder, &name);
        }
    }

    /// Adds documents, six to a folder, and the same documents in each dated backup.
    fn documents(&mut self, groups: u64) {
        let backups = (0..BACKUPS)
            .map(|n| format!("backup/{}-{:02}-01/documents", 2020 + n / 4, 1 + n % 4 * 3));
        let roots: Vec<String> =
            std::iter::once("home/office/documents".to_owned()).chain(backups).collect();
        let roots: Vec<&str> = roots.iter().map(String::as_str).collect();
        for number in 0..groups {
            let place = number / 6;
            let (year, part) = (2003 + place % 20, place / 240);
            let topic = pick(&TOPICS, place / 20);
            let folder = format!("{topic}/{year}/{:03} {}", part, pick(&WORDS, part));
            let extension = pick(&["pdf", "odt", "docx", "txt", "xlsx"], number / 3);
            let name = format!("{year} {} {number:06}.{extension}", pick(&WORDS, number));
            self.mirror(&roots, &folder, &name);
        }
    }

    /// Adds music, twelve titles to an album, to four equal subtrees.
    fn music(&mut self, groups: u64) {
        for number in 0..groups {
            let (album, track) = (number / 12, 1 + number % 12);
            let folder = format!("Artist {:03}/Album {album:04}", album / 4);
            self.mirror(&MUSIC_ROOTS, &folder, &format!("{track:02} - Title {number:06}.mp3"));
        }
    }

    /// Adds files that were downloaded several times to the same folder.
    fn downloads(&mut self, groups: u64) {
        for number in 0..groups {
            let dir = self.plan.dir(format!(
                "downloads/{}/week {:04}",
                2015 + number / 3_000,
                number / 10
            ));
            let stem = format!("{}-{number:06}", pick(&WORDS, number));
            let extension = pick(&["pdf", "zip", "iso", "mp4", "exe"], number / 2);
            let content = self.content();
            self.plan.file(dir, format!("{stem}.{extension}"), content);
            for copy in 1..3 + self.dice.below(4) {
                self.plan.file(dir, format!("{stem} ({copy}).{extension}"), content);
            }
        }
    }

    /// Adds files with three to twelve copies in arbitrary folders.
    fn scattered(&mut self, groups: u64) {
        for number in 0..groups {
            let content = self.content();
            let extension = pick(&["jpg", "pdf", "mp4", "png", "txt"], number);
            for copy in 0..3 + self.dice.below(10) {
                let dir = self.any_dir();
                let stem = format!("{} {number:06}", pick(&WORDS, number / 7));
                self.plan.file(dir, format!("{stem} copy{copy:02}.{extension}"), content);
            }
        }
    }

    /// Adds files without a copy, a third of them in folders of their own.
    fn uniques(&mut self, files: u64) {
        for number in 0..files {
            let dir = if number % 3 == 0 {
                self.plan.dir(format!("home/user{}/Desktop/{:05}", number / 15 % 4, number / 15))
            } else {
                self.any_dir()
            };
            let (content, word) = (self.content(), pick(&WORDS, number / 5));
            let extension = pick(&["jpg", "pdf", "mkv", "docx", "db"], number);
            self.plan.file(dir, format!("{word} only {number:06}.{extension}"), content);
        }
    }

    /// Adds a file to the same folder below each root.
    fn mirror(&mut self, roots: &[&str], folder: &str, name: &str) {
        let content = self.content();
        for root in roots {
            let dir = self.plan.dir(format!("{root}/{folder}"));
            self.plan.file(dir, name, content);
        }
    }

    /// Draws one of the folders so far.
    fn any_dir(&mut self) -> u32 {
        let number = self.dice.index(self.plan.dirs().len());
        u32::try_from(number).expect("directories are counted in 32 bits")
    }

    /// Returns a new content, which fits in a block of 4 KiB at scale 1.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes of files")]
    fn content(&mut self) -> Content {
        self.content += 1;
        let size = (self.dice.size(500.0, 1.2) * self.scale) as u64;
        Content::plain(size.clamp(16, 4_096), self.content)
    }
}

/// Returns one of the words, in turn.
fn pick<'a>(words: &[&'a str], number: u64) -> &'a str {
    words[usize::try_from(number % words.len() as u64).expect("an index")]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use super::{PHOTO_ROOTS, review};
    use crate::corpus::SEED;

    #[test]
    fn an_eighth_as_many_groups_as_names_hold_most_files() {
        let counts = review(50_000, 1.0, SEED).counts();
        assert_eq!((counts.names, counts.groups), (50_000, 6_000));
        assert!((37_000..41_000).contains(&counts.in_groups), "{counts}");
        assert!((4_000..6_000).contains(&counts.dirs), "{counts}");
    }

    #[test]
    fn no_path_occurs_twice() {
        let plan = review(50_000, 1.0, SEED);
        assert_eq!(plan.paths().collect::<BTreeSet<_>>().len(), plan.names.len());
    }

    #[test]
    fn the_photos_are_backed_up_completely() {
        let plan = review(20_000, 1.0, SEED);
        let photos = |root: &str| -> BTreeSet<PathBuf> {
            let below =
                plan.paths().filter_map(|path| path.strip_prefix(root).ok().map(PathBuf::from));
            below.filter(|path| path.to_string_lossy().contains("IMG_")).collect()
        };
        let [one, other] = PHOTO_ROOTS.map(photos);
        assert_eq!(one, other);
        assert_eq!(one.len(), 480);
    }
}
