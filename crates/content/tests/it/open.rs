//! Creates test files and opens them.

use fsops::File;
use testkit::{Content, TempTree, TreeBuilder};

/// Test files in a temporary directory, open for reading.
pub(crate) struct Opened {
    files: Vec<File>,
    pub(crate) tree: TempTree,
}

impl Opened {
    /// Creates and opens a file for each element of `contents`. The file is named after its index.
    pub(crate) fn new(contents: &[Content]) -> Opened {
        let mut builder = TreeBuilder::new();
        for (i, content) in contents.iter().enumerate() {
            builder = builder.file(i.to_string(), content.clone());
        }
        let tree = builder.make_temp();
        let open = |i: usize| File::open(&tree.join(i.to_string())).expect("a new file");
        Opened { files: (0..contents.len()).map(open).collect(), tree }
    }

    /// Returns the files in the order of `contents`.
    pub(crate) fn files(&self) -> Vec<&File> {
        self.files.iter().collect()
    }

    pub(crate) fn file(&self, position: usize) -> &File {
        &self.files[position]
    }
}

/// Returns options that compute digests and make as many probes as in a warm cache.
pub(crate) fn options(sparse: bool) -> content::CompareOptions {
    content::CompareOptions { sparse, digest: true, quantum: 16 << 10 }
}
