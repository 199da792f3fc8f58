//! What a catalog would tell, made up by a test.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fsops::Stat;
use mirror::{ContentHint, ContentHints, Options};

/// Hints, right or wrong.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// What is said of files of the source, by their paths.
    of_source: HashMap<Vec<u8>, ContentHint>,
    /// Where it is said that contents are in the destination.
    places: Vec<Vec<u8>>,
    /// A file that grows when somebody asks where one like it is.
    growing: Option<PathBuf>,
}

impl Told {
    /// Returns one that knows of no source, and of these files of the destination.
    pub(crate) fn of(places: &[&str]) -> Told {
        let places = places.iter().map(|place| place.as_bytes().to_vec()).collect();
        Told { places, ..Told::default() }
    }

    /// Has it know the digests of the files of a directory, and say that `also` has the same content.
    pub(crate) fn with_digests(mut self, dir: &Path, also: &str) -> Told {
        for entry in fs::read_dir(dir).expect("listed") {
            let entry = entry.expect("read");
            let bytes = fs::read(entry.path()).expect("read");
            let name = entry.file_name().as_bytes().to_vec();
            self = self.with_digest(&name, &bytes, also);
        }
        self
    }

    /// Has it say that a file of the source has these bytes, and that `also` has them.
    pub(crate) fn with_digest(mut self, path: &[u8], bytes: &[u8], also: &str) -> Told {
        let hint =
            ContentHint { digest: blake3::hash(bytes).into(), also: also.as_bytes().to_vec() };
        self.of_source.insert(path.to_vec(), hint);
        self
    }

    /// Has a file get a byte more when somebody asks where one like it is.
    pub(crate) fn growing(self, path: PathBuf) -> Told {
        Told { growing: Some(path), ..self }
    }

    /// Returns these options with what it tells.
    pub(crate) fn to(self, options: Options) -> Options {
        Options { content_hints: Some(Arc::new(self)), ..options }
    }
}

impl ContentHints for Told {
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
