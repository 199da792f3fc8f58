//! Hints about contents, as a catalog would provide them.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fsops::Stat;
use mirror::{ContentHint, ContentHints, Options};

/// Hints that a test invents. They may be wrong.
#[derive(Debug, Default)]
pub(crate) struct FakeHints {
    /// Hints for files of the source, by path.
    of_source: HashMap<Vec<u8>, ContentHint>,
    /// Paths in the destination that are offered for any content.
    places: Vec<Vec<u8>>,
    /// A file that grows when a hint about it is requested.
    growing: Option<PathBuf>,
}

impl FakeHints {
    /// Returns hints about files of the destination only.
    pub(crate) fn of(places: &[&str]) -> FakeHints {
        let places = places.iter().map(|place| place.as_bytes().to_vec()).collect();
        FakeHints { places, ..FakeHints::default() }
    }

    /// Adds the digests of the files in a directory, and claims that each file has the same content as `also`.
    pub(crate) fn with_digests(mut self, dir: &Path, also: &str) -> FakeHints {
        for entry in fs::read_dir(dir).expect("listed") {
            let entry = entry.expect("read");
            let bytes = fs::read(entry.path()).expect("read");
            let name = entry.file_name().as_bytes().to_vec();
            self = self.with_digest(&name, &bytes, also);
        }
        self
    }

    /// Claims that a file of the source and the file `also` both consist of `bytes`.
    pub(crate) fn with_digest(mut self, path: &[u8], bytes: &[u8], also: &str) -> FakeHints {
        let hint =
            ContentHint { digest: blake3::hash(bytes).into(), also: also.as_bytes().to_vec() };
        self.of_source.insert(path.to_vec(), hint);
        self
    }

    /// Makes a file grow by a byte when a hint about it is requested.
    pub(crate) fn growing(self, path: PathBuf) -> FakeHints {
        FakeHints { growing: Some(path), ..self }
    }

    /// Returns the options with these hints.
    pub(crate) fn to(self, options: Options) -> Options {
        Options { content_hints: Some(Arc::new(self)), ..options }
    }
}

impl ContentHints for FakeHints {
    fn of_source(&self, dir: &[u8], name: &[u8], _: &Stat) -> Option<ContentHint> {
        let path = if dir.is_empty() { name.to_vec() } else { [dir, b"/", name].concat() };
        self.of_source.get(&path).cloned()
    }

    fn in_destination(&self, _: &[u8], _: &Stat, _: Option<&[u8; 32]>) -> Vec<Vec<u8>> {
        if let Some(path) = &self.growing {
            let file = fs::OpenOptions::new().append(true).open(path);
            file.expect("there").write_all(b"!").expect("written");
        }
        self.places.clone()
    }
}
